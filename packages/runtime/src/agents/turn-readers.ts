import type { Engine } from '../engine/engine.ts';
import type { TurnEvent } from '../wires/events.ts';
import { clientGone, toErrorEvent } from './agent-errors.ts';
import type { RunningTurn } from './agents.ts';
import type { LiveTurns, TurnReader } from './live-turns.ts';
import type { RecordedPauses } from './recorded-pauses.ts';
import { toEndEvent } from './retold-turn.ts';

/** Those who read turns of this process, up to the end that is recorded. */
export interface TurnReaders {
  /** Reads what the turn tells from now on, or all of it at its end. */
  open(runId: string, how?: { isWhole?: boolean }): Reader;
  /** The turn as its reader has it. */
  read(turn: ReadTurn, reader: Reader): RunningTurn;
}

/** `done` aborts when nobody reads any more. */
export interface Reader extends TurnReader {
  done: AbortController;
}

export interface ReadTurn extends Pick<RunningTurn, 'runId' | 'sessionId' | 'startedAt'> {
  /** Without a reader it is cancelled. */
  endsAlone: boolean;
}

export interface TurnReadersOptions {
  live: LiveTurns;
  engine: Pick<Engine, 'wait' | 'cancel'>;
  pauses: RecordedPauses;
}

export const LONGEST_TURN_MS = 2_147_483_647;

export function createTurnReaders({ live, engine, pauses }: TurnReadersOptions): TurnReaders {
  return {
    open: (runId, how) => ({ ...live.read(runId, how), done: new AbortController() }),
    read({ runId, sessionId, startedAt, endsAlone }, reader) {
      const { done } = reader;
      const finish = (event: TurnEvent): void => {
        reader.push(event);
        done.abort(OVER);
      };
      void engine
        .wait(runId, LONGEST_TURN_MS, done.signal)
        .then((row) => !done.signal.aborted && finish(toEndEvent(row)))
        .catch((error: unknown) => finish(toErrorEvent(error)));
      return {
        runId,
        sessionId,
        startedAt,
        events: untilEnd(reader, (asked) => pauses.whenAsked(runId, asked)),
        leave() {
          finish({ type: 'finish', reason: 'cancelled' });
          if (endsAlone) engine.cancel(runId, clientGone()).catch(() => {});
        },
      };
    },
  };
}

// --- internal ---

/** A reason, so that none is made for each turn: an AbortError takes its stack with it. */
const OVER = 'The turn has been told.';

async function* untilEnd(
  { batches, close, done }: Reader,
  whenAsked: (approvalIds: string[]) => Promise<void>,
): AsyncGenerator<readonly TurnEvent[]> {
  const asked: string[] = [];
  try {
    for await (const batch of batches) {
      for (const event of batch) if (event.type === 'interrupt') asked.push(event.id);
      // Whoever is told may decide at once.
      if (batch.some((event) => event.type === 'finish' && event.reason === 'interrupt')) await whenAsked(asked);
      yield batch;
    }
  } finally {
    close();
    done.abort(OVER);
  }
}
