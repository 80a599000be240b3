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
import type { SessionPlace, SessionStore } from '../turn/session-store.ts';

/** The turns of a session, by what the journal has of them. */
export interface OpenTurns {
  /** The turn of a session that has not ended. */
  findOpen(sessionId: string): Promise<RunRow | undefined>;
  /** The same by what makes the session. Throws when the agent cannot answer. */
  findOpenTurn(place: SessionPlace): Promise<RunRow | undefined>;
  /** What a request is refused with that such a turn stands in the way of: it waits for an approval, it is blocked, or it goes on. */
  toTurnOpen(open: RunRow): Promise<BoxError>;
  /** A turn of a session, ended or not, by its run or by that of one of its sub-agents. */
  findTurn(place: SessionPlace, runId: string): Promise<RunRow | undefined>;
  /** The conversation of a turn that has not ended, with what it has made so far. */
  readOpenTurn(run: RunRow): Promise<ConversationMessage[]>;
  /** The same in two. */
  splitOpenTurn(run: RunRow): Promise<OpenConversation>;
}

/** The conversation of a turn that has not ended. */
export interface OpenConversation {
  /** Up to what the turn was asked. */
  asked: ConversationMessage[];
  /** What it has made so far. */
  made: ConversationMessage[];
  /** Names of the tools its client runs. */
  clientTools: string[];
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

  const splitOpenTurn = async (run: RunRow): Promise<OpenConversation> => {
    const input = decode(run.input) as TurnInput;
    const [before, records] = await Promise.all([
      sessions.read(run.sessionId ?? '', input.session?.cutAfter, run.runId),
      journal.getRecords(run.runId),
    ]);
    const ofTurn = toRecordedMessages(run.runId, input, records);
    const { length } = input.messages;
    return {
      asked: [...before.messages, ...ofTurn.slice(0, length)],
      made: ofTurn.slice(length),
      clientTools: input.tools.map(({ name }) => name),
    };
  };

  return {
    findOpen,
    splitOpenTurn,
    async findOpenTurn(place) {
      finder.get(place.agent);
      return findOpen(sessions.idOf(place));
    },
    toTurnOpen: async (open) => turnOpen(open, await pending.hasAny(open.runId)),
    async findTurn(place, runId) {
      const sessionId = sessions.idOf(place);
      let run = await journal.getRun(runId);
      while (run && run.sessionId !== sessionId)
        run = run.parentRunId === null ? undefined : await journal.getRun(run.parentRunId);
      return run;
    },
    async readOpenTurn(run) {
      const { asked, made } = await splitOpenTurn(run);
      return [...asked, ...made];
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
