import { toHeldMark } from '../approvals/held-text.ts';
import { ASKED_BY, toChargedMark, toPinnedMarks } from '../engine/box-marks.ts';
import type { PinnedVersion } from '../engine/box-marks.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import { toSessionLock } from '../engine/journal/locks.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import type { PublishedInstructions } from '../prompts/instructions.ts';
import { pairToolCalls } from './model/messages.ts';
import type { OpenTurns } from './threads/open-turns.ts';
import type { ToTurnBody, TurnRun } from './turn-body.ts';
import type { ConversationMessage, TurnInput } from './turn/input.ts';
import type { SessionOwner, SessionStore } from './turn/session-store.ts';

/** How turns begin, whoever asks for one. */
export interface TurnStarts {
  /** Throws `invalid_request` where a turn on a session brings results alone, and of no call of the session. */
  requireAsked(name: string, input: TurnInput, owner: SessionOwner): Promise<void>;
  /** Starts the run of a turn, or finds the one that the same key has started. One turn of a session at a time. */
  startRun(run: TurnRun, input: TurnInput, how: TurnStart): Promise<RunRow>;
}

export type TurnStart = Pick<
  StartRequest,
  'trigger' | 'parentRunId' | 'idempotencyKey' | 'digest' | 'startedBy' | 'timeoutMs'
> & {
  /** Versions that stand for what is published. */
  pinned?: readonly PinnedVersion[];
  key?: string;
  askedBy?: string;
  /** For whom its tokens count. */
  charged?: readonly string[];
};

export interface TurnStartsOptions {
  engine: Pick<Engine, 'start'>;
  sessions: SessionStore;
  instructions?: PublishedInstructions | undefined;
  open: Pick<OpenTurns, 'findOpen' | 'toTurnOpen'>;
  toBody: ToTurnBody;
}

export function createTurnStarts(options: TurnStartsOptions): TurnStarts {
  const { engine, sessions, open: turns, toBody } = options;
  return {
    async requireAsked(agent, { session, messages }, owner) {
      if (!session || messages.length === 0 || messages.some(({ role }) => role !== 'tool')) return;
      const sessionId = sessions.idOf({ agent, name: session.id, owner });
      const before = await sessions.read(sessionId, session.cutAfter);
      const length = (all: ConversationMessage[]) => pairToolCalls(all).length;
      if (length([...before.messages, ...messages]) > length(before.messages)) return;
      // The session has the calls of a turn once it has ended.
      const open = await turns.findOpen(sessionId);
      if (open) throw await turns.toTurnOpen(open);
      throw new BoxError(
        'invalid_request',
        '"messages" holds results of tool calls that this session does not wait for.',
        {
          details: { param: 'messages' },
        },
      );
    },
    async startRun(run, input, how) {
      const { runId, name, sessionId } = run;
      const { key: shownKey, askedBy, charged = [], pinned = [], ...engineStart } = how;
      const asker: Record<string, string> = askedBy === undefined ? {} : { [ASKED_BY]: askedBy };
      const published = await options.instructions?.begin(name, pinned);
      const started = await engine.start({
        runId,
        kind: 'agent',
        name,
        input,
        body: await toBody(run, input, async () => published?.text),
        ...marksOf({
          ...published?.attributes,
          ...asker,
          ...toChargedMark(charged),
          ...toPinnedMarks(null, pinned),
          ...toHeldMark(input.held),
        }),
        ...(sessionId === null ? {} : { sessionId }),
        ...(input.session ? { serial: toSessionLock(String(sessionId)) } : {}),
        ...engineStart,
      });
      if (started.outcome === 'refused') throw await turns.toTurnOpen(started.holder);
      if (started.outcome === 'idempotency_conflict') throw idempotencyConflict(shownKey);
      if (started.outcome === 'created') return started.run;
      if (started.outcome === 'repeated' && how.idempotencyKey !== undefined) return started.run;
      throw new Error(`The start of a turn was ${started.outcome}.`);
    },
  };
}

// --- internal ---

function marksOf(attributes: Record<string, string>): Pick<StartRequest, 'attributes'> {
  return Object.keys(attributes).length > 0 ? { attributes } : {};
}
