import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnEvent, Usage } from '../events/turn-events.ts';
import { clientGone, SHUTTING_DOWN, toErrorEvent } from '../events/turn-errors.ts';
import type { RunningTurn } from './running-turn.ts';
import { TASK } from '../../tools/builtin/task.ts';
import type { HowRead, LiveTurns, TurnReader } from './live-turns.ts';
import type { PendingApprovals } from './pending.ts';
import { toEndEvent } from './replay.ts';
import { subtractUsage } from '../events/usage.ts';

/** The readers of the turns of this process, up to the end that is recorded. */
export interface TurnReaders {
  /** Reads what the turn emits from now on, or all of it at its end. */
  open(runId: string, how?: HowToRead): Reader;
  /** The turn as its reader has it. */
  read(turn: ReadTurn, reader: Reader): RunningTurn;
  /** Ends every reader: the box shuts down. */
  close(): void;
}

export interface HowToRead extends HowRead {
  /** It may hand a task to a sub-agent, whose calls may wait for an approval. */
  mayWaitBelow?: boolean;
  /** The turn is under way, and is known to wait for these approvals: the next ones are read from the journal. */
  known?: readonly string[];
}

/** `done` aborts when it is not read any more. */
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
  pending: PendingApprovals;
}

export function createTurnReaders({ live, engine, pending }: TurnReadersOptions): TurnReaders {
  const reading = new Set<(event: TurnEvent) => void>();

  /** Pushes the calls the turn waits for next, as the journal has them, and ends what is read. */
  const pushNextInterrupts = (
    runId: string,
    { push, done }: Reader,
    how: { known: readonly string[]; seen: Set<string> },
  ) => {
    pending.next(runId, how.known, done.signal).then(
      (waits) => {
        for (const interrupt of waits) if (!how.seen.has(interrupt.id)) push({ type: 'interrupt', ...interrupt });
        if (waits.length > 0) push({ type: 'finish', reason: 'interrupt' });
      },
      (error: unknown) => push(toErrorEvent(error)),
    );
  };

  return {
    open(runId, { mayWaitBelow = false, known, ...how } = {}) {
      const reader = { ...live.read(runId, how), done: new AbortController() };
      if (known === undefined && !mayWaitBelow) return reader;
      const seen = new Set<string>();
      let isWatched = known !== undefined;
      const watch = () => pushNextInterrupts(runId, reader, { known: known ?? [], seen });
      const stop = live.tap(runId, (event) => {
        if (event.type === 'interrupt') seen.add(event.id);
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
      const release = (): void => {
        reading.delete(finish);
        reader.close();
      };
      // Also of what is never taken: only events that are begun close it at their end.
      done.signal.addEventListener('abort', release, { once: true });
      void engine
        .wait(runId, LONGEST_TIMER_MS, done.signal)
        .then((row) => !done.signal.aborted && finish(toEndEvent(row)))
        .catch((error: unknown) => finish(toErrorEvent(error)));
      const events = untilEnd(reader, (ids) => pending.whenRecorded(runId, ids));
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
      for (const finish of reading) finish(SHUTTING_DOWN);
    },
  };
}

// --- internal ---

/** A reason, so that none is made for each turn: an AbortError takes its stack with it. */
const OVER = 'The turn has been read.';

async function* untilEnd(
  { batches, close, done }: Reader,
  whenRecorded: (approvalIds: string[]) => Promise<void>,
): AsyncGenerator<readonly TurnEvent[]> {
  const waiting: string[] = [];
  try {
    for await (const batch of batches) {
      for (const event of batch) if (event.type === 'interrupt') waiting.push(event.id);
      // Whoever reads it may decide at once.
      if (batch.some((event) => event.type === 'finish' && event.reason === 'interrupt')) await whenRecorded(waiting);
      yield batch;
    }
  } finally {
    close();
    done.abort(OVER);
  }
}

/** A turn counts what it uses from its beginning; a reader that came later is given what was used since. */
async function* withoutUsage(
  batches: AsyncIterable<readonly TurnEvent[]>,
  before: Usage,
): AsyncGenerator<readonly TurnEvent[]> {
  for await (const batch of batches)
    yield batch.map((event) => (event.type === 'usage' ? { ...event, ...subtractUsage(event, before) } : event));
}
