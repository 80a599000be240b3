import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../auth/caller.ts';
import { currentContext, runOutside } from '../engine/context.ts';
import type { Engine } from '../engine/engine.ts';
import type { CodeLine } from '../engine/handle.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { Observer } from '../engine/observer.ts';
import { invalidCursor } from '../errors.ts';
import type { Frames } from '../http/sse.ts';
import type { StreamLimits } from '../auth/stream-limits.ts';
import type { Log, LogRecord, RootLog } from '../log.ts';
import type { Mask } from '../mask.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { toNewEntry } from './entry.ts';
import type { LogEntry } from './entry.ts';
import type { LogFilter } from './filter.ts';
import { createRunLog, factsOf, isSaidAlong, RUN_ENDS } from './lifecycle.ts';
import { createLogQueue } from './queue.ts';
import type { LogQueueLimits } from './queue.ts';
import type { LogStore } from './store.ts';
import { createLogTail, parseId } from './tail.ts';

/** Log records that are kept: what code logs, what happens to runs, and what the box says of itself. */
export interface Logs {
  /** Logs that runs begin and end, and steps fail. Undefined: nothing is kept. */
  readonly observer: Observer | undefined;
  /** A line of the code of a run. Never throws. */
  write(line: CodeLine): void;
  /** Newest first. Throws `invalid_cursor`. */
  list(
    filter: LogFilter,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: LogEntry[]; nextCursor: string | null }>;
  /** Throws `too_many_streams`. */
  follow(filter: LogFilter, request: FollowRequest): Frames;
  deleteRuns(runIds: string[]): Promise<void>;
  /** Deletes at most `limit` that are older than so many days. Answers how many. */
  deleteOlder(days: number, limit: number): Promise<number>;
  /** Ends the streams. What comes after is kept all the same. */
  closeStreams(): Promise<void>;
  close(): Promise<void>;
}

export interface FollowRequest {
  caller: Caller;
  signal: AbortSignal;
  /** Goes on after the entry with that id. */
  lastEventId?: string;
  /** Begins with the first entry that is kept, unless `lastEventId` says where. */
  fromStart?: boolean;
}

export interface LogsOptions {
  store: LogStore;
  log: Log;
  /** Where the records come from. Undefined: none are kept. */
  records: Pick<RootLog, 'listen'> | undefined;
  mask: Mask;
  limits: StreamLimits;
  owner: string;
  kv: KeyValueStore | undefined;
  engine(): Pick<Engine, 'wait' | 'clock'>;
  queue?: Partial<LogQueueLimits> | undefined;
}

export function createLogs(options: LogsOptions): Logs {
  const { store, log, records, mask, limits, owner, kv, engine } = options;
  const tail = createLogTail({ store, owner, kv });
  const queue = createLogQueue({ store, log, onStored: tail.stored, limits: options.queue });
  const stop = records?.listen('debug', (record) => {
    // Of each run that stops the observer makes a record; what the log says is for who reads along, and leaves some out.
    if (!isSaidAlong(record.event)) queue.push(toNewEntry(withRun(record)));
  });
  const observer = records && createRunLog((record) => queue.push(toNewEntry(record)), mask);

  /** Once the run is final and its last record is stored, or has had its time. */
  const untilOver = async (runId: string, signal: AbortSignal): Promise<void> => {
    for (;;) {
      const run = await engine().wait(runId, WAIT_MS, signal);
      signal.throwIfAborted();
      if (run && !isFinal(run.status)) continue;
      const last = (run?.endedAt ?? 0) + LATE_MS;
      while (engine().clock.now() < last && !(await hasEnd(store, runId))) await sleep(LOOK_MS, undefined, { signal });
      return;
    }
  };

  return {
    observer,
    write({ level, message, fields, run, step }) {
      const facts = { ...factsOf(run), ...(step === undefined ? {} : { step }) };
      // Outside: the clock of a body is not the time at which it said this.
      runOutside(() => {
        try {
          log[level](message, { ...facts, ...(fields === undefined ? {} : { fields }) });
        } catch (error) {
          log[level](String(message), { ...facts, fields: { unreadable: String(error) } });
        }
      });
    },
    async list(filter, { limit, cursor }) {
      const before = cursor === undefined ? {} : { before: toPosition(cursor) };
      const found = await store.page(filter, { limit: limit + 1, ...before });
      const items = found.slice(0, limit);
      const last = found.length > limit ? items.at(-1) : undefined;
      return { items, nextCursor: last ? toIdCursor(String(last.id)) : null };
    },
    follow(filter, { caller, signal, lastEventId, fromStart = false }) {
      const release = limits.enter(caller);
      if (signal.aborted) release();
      else signal.addEventListener('abort', release, { once: true });
      const gone = new AbortController();
      const over =
        filter.runId === undefined ? {} : { over: untilOver(filter.runId, AbortSignal.any([signal, gone.signal])) };
      // Heard of where it is awaited, if the stream gets there.
      over.over?.catch(() => {});
      const frames = tail.follow({ filter, after: lastEventId, fromStart, signal, ...over });
      return (async function* () {
        try {
          yield* frames;
        } finally {
          gone.abort();
          release();
        }
      })();
    },
    async deleteRuns(runIds) {
      if (runIds.length === 0) return;
      await queue.forget(runIds);
      await store.deleteRuns(runIds);
    },
    deleteOlder: (days, limit) => store.deleteOlder(days, limit),
    closeStreams: () => tail.close(),
    async close() {
      stop?.();
      await queue.close();
    },
  };
}

// --- internal ---

const WAIT_MS = 60_000;
/** How long after its end the last records of a run may come: the replica that had it sends them in batches. */
const LATE_MS = 3_000;
const LOOK_MS = 50;
/** Steps that were under way may log after the end of their run. */
const LATEST = 20;

async function hasEnd(store: Pick<LogStore, 'page'>, runId: string): Promise<boolean> {
  const latest = await store.page({ runId }, { limit: LATEST });
  return latest.some(({ fields }) => RUN_ENDS.some((event) => event === fields?.event));
}

/** The box says for which run it works; here is added what else is known of that. */
function withRun(record: LogRecord): LogRecord {
  const context = currentContext();
  return context ? { ...factsOf(context.execution.run), ...record } : record;
}

function toPosition(cursor: string): number {
  const id = parseId(parseIdCursor(cursor));
  if (id === undefined) throw invalidCursor(cursor);
  return id;
}
