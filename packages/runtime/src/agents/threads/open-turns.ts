import { isFinal } from '../../engine/journal/run.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import type { Journal } from '../../engine/journal.ts';
import { decode } from '../../engine/serialize.ts';
import type { BoxError } from '../../errors.ts';
import { turnOpen } from '../events/turn-errors.ts';
import type { AgentFinder } from '../find-agent.ts';
import type { PendingApprovals } from '../reading/pending.ts';
import { toRecordedMessages } from '../reading/recorded-messages.ts';
import type { ConversationMessage, TurnInput } from '../turn/input.ts';
import type { SessionStore } from '../turn/session-store.ts';

/** The turns of a session, by what the journal has of them. */
export interface OpenTurns {
  /** The turn of a session that has not ended. */
  findOpen(sessionId: string): Promise<RunRow | undefined>;
  /** The same by the names of agent and session. Throws when the agent cannot answer. */
  findOpenTurn(agent: string, sessionName: string): Promise<RunRow | undefined>;
  /** What a request is refused with that such a turn stands in the way of: it waits for an approval, it is blocked, or it goes on. */
  toTurnOpen(open: RunRow): Promise<BoxError>;
  /** A turn of a session, ended or not, by its run or by that of one of its sub-agents. */
  findTurn(agent: string, sessionName: string, runId: string): Promise<RunRow | undefined>;
  /** The conversation of a turn that has not ended, with what it has made so far. */
  readOpenTurn(run: RunRow): Promise<ConversationMessage[]>;
}

export interface OpenTurnsOptions {
  journal: Pick<Journal, 'getRun' | 'getRecords' | 'listRuns'>;
  sessions: SessionStore;
  finder: Pick<AgentFinder, 'get'>;
  pending: Pick<PendingApprovals, 'hasAny'>;
}

export function createOpenTurns({ journal, sessions, finder, pending }: OpenTurnsOptions): OpenTurns {
  const findOpen = async (sessionId: string): Promise<RunRow | undefined> => {
    const runs = await journal.listRuns({ sessionId }, { limit: 20 });
    // What it has other agents do are runs below it.
    return runs.find(({ status, parentRunId }) => !isFinal(status) && parentRunId === null);
  };

  return {
    findOpen,
    async findOpenTurn(agent, sessionName) {
      finder.get(agent);
      return findOpen(sessions.idOf(agent, sessionName));
    },
    toTurnOpen: async (open) => turnOpen(open, await pending.hasAny(open.runId)),
    async findTurn(agent, sessionName, runId) {
      const sessionId = sessions.idOf(agent, sessionName);
      let run = await journal.getRun(runId);
      while (run && run.sessionId !== sessionId)
        run = run.parentRunId === null ? undefined : await journal.getRun(run.parentRunId);
      return run;
    },
    async readOpenTurn(run) {
      const input = decode(run.input) as TurnInput;
      const [before, records] = await Promise.all([
        sessions.read(run.sessionId ?? '', input.session?.cutAfter),
        journal.getRecords(run.runId),
      ]);
      return [...before.messages, ...toRecordedMessages(run.runId, input, records)];
    },
  };
}

/** A turn of a session that has not ended, also one that code in a run has begun: while there is one, the session stays. */
export async function findUnended(journal: Pick<Journal, 'listRuns'>, sessionId: string): Promise<RunRow | undefined> {
  const found = await Promise.all(UNENDED.map((status) => journal.listRuns({ sessionId, status }, { limit: 1 })));
  return found.flat()[0];
}

// --- internal ---

const UNENDED = ['queued', 'running', 'waiting', 'blocked'] as const;
