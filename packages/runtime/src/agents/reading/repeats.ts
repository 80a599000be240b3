import { createHash } from 'node:crypto';
import type { Engine, KeyedStart } from '../../engine/engine.ts';
import type { Journal } from '../../engine/journal.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { decode } from '../../engine/serialize.ts';
import { idempotencyConflict } from '../../errors.ts';
import type { SessionStore } from '../turn/session-store.ts';
import type { TurnEvent } from '../events/turn-events.ts';
import { SHUTTING_DOWN, toErrorEvent } from '../events/turn-errors.ts';
import type { RunningTurn } from './running-turn.ts';
import type { PendingApprovals } from './pending.ts';
import { replayTurn, toEndEvent } from './replay.ts';
import type { TurnInput, TurnKey } from '../turn/input.ts';
import { NO_STATE } from '../../tools/state.ts';

/** Turns that clients ask for again under the key they were begun with. */
export interface Repeats {
  /** The turn of that key. Throws `idempotency_conflict`. */
  find(agent: string, key: TurnKey): Promise<RunRow | undefined>;
  /**
   * Replays the events of the turn from what is recorded: once it has ended, or waits for an approval, wherever it runs.
   * No model and no tool is called.
   */
  replay(run: RunRow): RunningTurn;
}

export interface RepeatsOptions {
  engine: Pick<Engine, 'findRepeat' | 'closing'>;
  journal: Pick<Journal, 'getRun' | 'getRecords'>;
  sessions: Pick<SessionStore, 'read'>;
  pending: PendingApprovals;
  /** Whether the answers of the agent's turn have to fit a schema. */
  isChecked(agent: string, input: TurnInput): boolean;
}

export function createRepeats({ engine, journal, sessions, pending, isChecked }: RepeatsOptions): Repeats {
  const listEvents = async ({ runId }: RunRow): Promise<TurnEvent[]> => {
    const run = await journal.getRun(runId);
    if (!run) return [toEndEvent(run)];
    const input = decode(run.input) as TurnInput;
    const [records, interrupts, { state }] = await Promise.all([
      journal.getRecords(runId),
      pending.listFirst(runId),
      input.session && run.sessionId !== null ? sessions.read(run.sessionId) : { state: NO_STATE },
    ]);
    return replayTurn({ run, input, records, interrupts, isChecked: isChecked(run.name, input), state });
  };

  async function* replayEvents(run: RunRow, gone: AbortSignal): AsyncGenerator<TurnEvent[]> {
    const { runId, sessionId, name: agent, createdAt: startedAt } = run;
    yield [{ type: 'turn.start', turnId: runId, runId, sessionId, agent, startedAt }];
    try {
      await pending.next(runId, [], AbortSignal.any([gone, engine.closing]));
      if (gone.aborted) yield [{ type: 'finish', reason: 'cancelled' }];
      else yield engine.closing.aborted ? [SHUTTING_DOWN] : await listEvents(run);
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
    replay(run) {
      const gone = new AbortController();
      const { session } = decode(run.input) as TurnInput;
      return {
        runId: run.runId,
        sessionId: session ? run.sessionId : null,
        startedAt: run.createdAt,
        events: replayEvents(run, gone.signal),
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
