import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnEvent, Usage } from '../events/turn-events.ts';
import { clientGone, LET_GO, toErrorEvent } from '../events/turn-errors.ts';
import type { RunningTurn } from '../agents.ts';
import { TASK } from '../../tools/builtin/task.ts';
import type { HowRead, LiveTurns, TurnReader } from './live-turns.ts';
import type { RecordedPauses } from './pending.ts';
import { toEndEvent } from './replay.ts';
import { subtractUsage } from '../events/usage.ts';

/** Those who read turns of this process, up to the end that is recorded. */
export interface TurnReaders {
  /** Reads what the turn tells from now on, or all of it at its end. */
  open(runId: string, how?: HowToRead): Reader;
  /** The turn as its reader has it. */
  read(turn: ReadTurn, reader: Reader): RunningTurn;
  /** Tells those who still read that the box has let go of their turn. */
  close(): void;
}

export interface HowToRead extends HowRead {
  /** It may hand a task to a sub-agent, in which a person may be asked. */
  mayAskBelow?: boolean;
  /** The turn is under way, and is known to wait for these approvals: the next ones are read from the journal. */
  known?: readonly string[];
}

/** `done` aborts when nobody reads any more. */
export interface Reader extends TurnReader {
  done: AbortController;
}

export interface ReadTurn extends Pick<RunningTurn, 'runId' | 'sessionId' | 'startedAt'> {
  /** Without a reader it is cancelled. */
  endsAlone: boolean;
  /** What it had used before it was read. Undefined: nothing. */
  before?: Usage;
}

export interface TurnReadersOptions {
  live: LiveTurns;
  engine: Pick<Engine, 'wait' | 'cancel'>;
  pauses: RecordedPauses;
}

export function createTurnReaders({ live, engine, pauses }: TurnReadersOptions): TurnReaders {
  const reading = new Set<(event: TurnEvent) => void>();

  /** Tells the calls the turn waits for next, as the journal has them, and ends what is read. */
  const tellNextPause = (
    runId: string,
    { push, done }: Reader,
    how: { known: readonly string[]; told: Set<string> },
  ) => {
    pauses.next(runId, how.known, done.signal).then(
      (waits) => {
        for (const interrupt of waits) if (!how.told.has(interrupt.id)) push({ type: 'interrupt', ...interrupt });
        if (waits.length > 0) push({ type: 'finish', reason: 'interrupt' });
      },
      (error: unknown) => push(toErrorEvent(error)),
    );
  };

  return {
    open(runId, { mayAskBelow = false, known, ...how } = {}) {
      const reader = { ...live.read(runId, how), done: new AbortController() };
      if (known === undefined && !mayAskBelow) return reader;
      const told = new Set<string>();
      let isWatched = known !== undefined;
      const watch = () => tellNextPause(runId, reader, { known: known ?? [], told });
      const stop = live.tap(runId, (event) => {
        if (event.type === 'interrupt') told.add(event.id);
        if (isWatched || event.type !== 'tool.start' || event.executor !== 'box' || event.name !== TASK) return;
        isWatched = true;
        watch();
      });
      if (isWatched) watch();
      const close = () => {
        stop();
        reader.close();
        reader.done.abort(OVER);
      };
      return { ...reader, close };
    },
    read({ runId, sessionId, startedAt, endsAlone, before }, reader) {
      const { done } = reader;
      const finish = (event: TurnEvent): void => {
        reader.push(event);
        done.abort(OVER);
      };
      reading.add(finish);
      const letGo = (): void => {
        reading.delete(finish);
        reader.close();
      };
      // Also of what is never taken: only events that are begun close it at their end.
      done.signal.addEventListener('abort', letGo, { once: true });
      void engine
        .wait(runId, LONGEST_TIMER_MS, done.signal)
        .then((row) => !done.signal.aborted && finish(toEndEvent(row)))
        .catch((error: unknown) => finish(toErrorEvent(error)));
      const events = untilEnd(reader, (asked) => pauses.whenAsked(runId, asked));
      return {
        runId,
        sessionId,
        startedAt,
        events: before ? withoutUsage(events, before) : events,
        leave() {
          finish({ type: 'finish', reason: 'cancelled' });
          if (endsAlone) engine.cancel(runId, clientGone()).catch(() => {});
        },
      };
    },
    close() {
      for (const finish of reading) finish(LET_GO);
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

/** A turn counts what it uses from its beginning; a reader that came later is told of what was used since. */
async function* withoutUsage(
  batches: AsyncIterable<readonly TurnEvent[]>,
  before: Usage,
): AsyncGenerator<readonly TurnEvent[]> {
  for await (const batch of batches)
    yield batch.map((event) => (event.type === 'usage' ? { ...event, ...subtractUsage(event, before) } : event));
}
