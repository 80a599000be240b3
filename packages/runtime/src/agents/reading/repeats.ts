import { createHash } from 'node:crypto';
import type { Engine, KeyedStart } from '../../engine/engine.ts';
import type { Journal } from '../../engine/journal.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { isFinal } from '../../engine/journal/run.ts';
import { decode } from '../../engine/serialize.ts';
import { idempotencyConflict } from '../../errors.ts';
import type { SessionStore } from '../turn/session-store.ts';
import type { EventBatches, TurnEvent } from '../events/turn-events.ts';
import { SHUTTING_DOWN, toErrorEvent } from '../events/turn-errors.ts';
import type { RunningTurn } from './running-turn.ts';
import type { PendingApprovals } from './pending.ts';
import { followTurn } from './followed-turn.ts';
import type { TurnReaders } from './readers.ts';
import { replayTurn, toEndEvent } from './replay.ts';
import type { TurnInput, TurnKey } from '../turn/input.ts';
import { NO_STATE } from '../../tools/state.ts';

/** Turns that clients ask for again under the key they were begun with. */
export interface Repeats {
  /** The turn of that key. Throws `idempotency_conflict`. */
  find(agent: string, key: TurnKey): Promise<RunRow | undefined>;
  /**
   * Replays the events of the turn from what is recorded, wherever it runs: no model and no tool is called. One that is
   * under way is followed: what it has made so far comes at once, then each piece as it is made. `isWhole`: it is waited
   * for instead, until it has ended or waits for an approval, as one is that has waited before.
   */
  replay(run: RunRow, how?: { isWhole: boolean }): RunningTurn;
}

export interface RepeatsOptions {
  engine: Pick<Engine, 'findRepeat' | 'closing' | 'nextChange'>;
  journal: Pick<Journal, 'getRun' | 'getRecords'>;
  sessions: Pick<SessionStore, 'read'>;
  pending: PendingApprovals;
  readers: TurnReaders;
  /** Whether the answers of the agent's turn have to fit a schema. */
  isChecked(agent: string, input: TurnInput): boolean;
}

export function createRepeats(options: RepeatsOptions): Repeats {
  const { engine, journal, sessions, pending, readers, isChecked } = options;
  const listEvents = async ({ runId }: RunRow): Promise<TurnEvent[]> => {
    const run = await journal.getRun(runId);
    if (!run) return [toEndEvent(run)];
    const input = decode(run.input) as TurnInput;
    const [records, interrupts] = await Promise.all([journal.getRecords(runId), pending.listFirst(runId)]);
    const isUnderWay = !isFinal(run.status) && interrupts.length === 0;
    const { state } =
      !isUnderWay && input.session && run.sessionId !== null ? await sessions.read(run.sessionId) : { state: NO_STATE };
    return replayTurn({ run, isUnderWay, input, records, interrupts, isChecked: isChecked(run.name, input), state });
  };

  const isUnderWay = async ({ runId }: RunRow): Promise<boolean> => {
    const run = await journal.getRun(runId);
    if (!run || isFinal(run.status) || run.status === 'blocked') return false;
    return (await pending.listFirst(runId)).length === 0;
  };

  async function* replayEvents(run: RunRow, gone: AbortSignal): AsyncGenerator<TurnEvent[]> {
    await pending.next(run.runId, [], AbortSignal.any([gone, engine.closing]));
    if (gone.aborted) yield [{ type: 'finish', reason: 'cancelled' }];
    else yield engine.closing.aborted ? [SHUTTING_DOWN] : await listEvents(run);
  }

  async function* followEvents(run: RunRow, gone: AbortSignal): EventBatches {
    const { runId, sessionId, createdAt: startedAt } = run;
    const reader = readers.open(runId, { known: [], isJoining: true });
    const { events: live, leave } = readers.read({ runId, sessionId, startedAt, endsAlone: false }, reader);
    gone.addEventListener('abort', leave, { once: true });
    if (gone.aborted) leave();
    try {
      const nextChange = (signal: AbortSignal) => engine.nextChange(runId, signal);
      yield* followTurn({ live, readMade: async () => (gone.aborted ? [] : listEvents(run)), nextChange });
    } finally {
      gone.removeEventListener('abort', leave);
      leave();
    }
  }

  async function* readEvents(run: RunRow, how: { isWhole: boolean; gone: AbortSignal }): EventBatches {
    const { runId, sessionId, name: agent, createdAt: startedAt } = run;
    yield [{ type: 'turn.start', turnId: runId, runId, sessionId, agent, startedAt }];
    try {
      yield* !how.isWhole && (await isUnderWay(run)) ? followEvents(run, how.gone) : replayEvents(run, how.gone);
    } catch (error) {
      yield [toErrorEvent(error)];
    }
  }

  return {
    async find(agent, key) {
      const found = await engine.findRepeat({ name: agent, ...toStartKey(key) });
      if (found?.outcome === 'idempotency_conflict') throw idempotencyConflict(key.key);
      return found?.run;
    },
    replay(run, { isWhole } = { isWhole: false }) {
      const gone = new AbortController();
      const { session } = decode(run.input) as TurnInput;
      return {
        runId: run.runId,
        sessionId: session ? run.sessionId : null,
        startedAt: run.createdAt,
        events: readEvents(run, { isWhole, gone: gone.signal }),
        leave: () => gone.abort(),
      };
    },
  };
}

/** A key as the engine takes it: those of two callers, or of two wires, are never the same. */
export function toStartKey({ scope, key, digest }: TurnKey): Pick<KeyedStart, 'idempotencyKey' | 'digest'> {
  const hash = createHash('sha256')
    .update(JSON.stringify([...scope, key]))
    .digest('base64url');
  return { idempotencyKey: `turn ${hash}`, digest };
}
