import { atMost } from '../engine/at-most.ts';
import { runOutside } from '../engine/context.ts';
import { isStoreDown } from '../engine/persist.ts';
import { real } from '../engine/real.ts';
import type { Log, LogLevel } from '../log.ts';
import { sizeOf, toNewEntry } from './entry.ts';
import type { NewLogEntry } from './entry.ts';
import type { LogStore } from './store.ts';

/** Entries on their way to the store. No call that logs waits for it, and it never takes more memory than it may. */
export interface LogQueue {
  /** Never throws. */
  push(entry: NewLogEntry): void;
  /** Drops what waits of these runs; what is being sent is stored when it answers. */
  forget(runIds: string[]): Promise<void>;
  /** Stores what is left, for at most `CLOSE_MS`. */
  close(): Promise<void>;
}

export interface LogQueueOptions {
  store: Pick<LogStore, 'append'>;
  log: Pick<Log, 'warn'>;
  /** Called with the last id of every batch that is stored. */
  onStored?(last: number): void;
  limits?: Partial<LogQueueLimits>;
}

export interface LogQueueLimits {
  /** Entries of one statement; as soon as there are so many they are sent. */
  batch: number;
  /** Milliseconds an entry waits for others. */
  delayMs: number;
  /** What waits at most; then the least important are dropped, the oldest first. */
  entries: number;
  bytes: number;
  /** The first pause after the store refused; doubled each time, up to 10 seconds. */
  retryMs: number;
  /** Milliseconds between two warnings. */
  warnEveryMs: number;
}

export function createLogQueue({ store, log, onStored, limits: given }: LogQueueOptions): LogQueue {
  const limits = { ...DEFAULTS, ...given };
  let held: NewLogEntry[] = [];
  let bytes = 0;
  let dropped: Partial<Record<LogLevel, number>> = {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | undefined;
  let appending: Promise<unknown> | undefined;
  let pause = 0;
  let warnAt = 0;
  let closed = false;

  const drop = (entries: readonly NewLogEntry[]): void => {
    for (const entry of entries) {
      bytes -= sizeOf(entry);
      dropped[entry.level] = (dropped[entry.level] ?? 0) + 1;
    }
  };
  /** A tenth of it, so that the next ones find room. */
  const makeRoom = (): void => {
    const { kept, gone } = split(held, Math.ceil(held.length / 10));
    held = kept;
    drop(gone);
  };
  const take = (): NewLogEntry[] => {
    const batch = held.splice(0, limits.batch);
    for (const entry of batch) bytes -= sizeOf(entry);
    const notice = toNotice(dropped);
    dropped = {};
    return notice ? [notice, ...batch] : batch;
  };
  const putBack = (batch: readonly NewLogEntry[]): void => {
    held = [...batch, ...held];
    for (const entry of batch) bytes += sizeOf(entry);
    while (held.length > limits.entries || bytes > limits.bytes) makeRoom();
  };
  const warn = (message: string, fields: Record<string, unknown>): void => {
    if (real.performanceNow() < warnAt) return;
    warnAt = real.performanceNow() + limits.warnEveryMs;
    log.warn(message, fields);
  };
  /** False: the store refused, and is to be left alone for a while. */
  const send = async (): Promise<boolean> => {
    const batch = take();
    try {
      const last = await (appending = store.append(batch));
      pause = 0;
      onStored?.(last);
      return true;
    } catch (error) {
      pause = Math.min(LONGEST_PAUSE_MS, pause === 0 ? limits.retryMs : pause * 2);
      if (isStoreDown(error)) {
        putBack(batch);
        warn('Log records cannot be stored; they are held, and stored once the database answers.', { error });
        return false;
      }
      // Sent again it would be refused again, and hold up all that comes after it.
      for (const { level } of batch) dropped[level] = (dropped[level] ?? 0) + 1;
      warn('Log records were refused by the database.', { error, records: batch.length });
      return held.length > 0;
    }
  };
  const sendAll = async (least: number): Promise<void> => {
    while (held.length >= least) if (!(await send())) break;
  };
  const start = (least: number): void => {
    if (sending) return;
    real.clearTimeout(timer);
    timer = undefined;
    // Outside of any run: neither its clock nor its name belongs to what is done here for all of them.
    sending = runOutside(() => sendAll(least)).finally(() => {
      sending = undefined;
      if (held.length > 0) arm();
    });
  };
  const arm = (): void => {
    if (timer !== undefined || sending) return;
    timer = runOutside(() => real.setTimeout(() => start(1), Math.max(pause, limits.delayMs)));
    timer.unref();
  };
  const flush = async (): Promise<void> => {
    await sending;
    if (held.length > 0) start(1);
    await sending;
  };
  return {
    push(entry) {
      if (closed) return;
      if (held.length >= limits.entries || bytes + sizeOf(entry) > limits.bytes) makeRoom();
      held.push(entry);
      bytes += sizeOf(entry);
      if (held.length >= limits.batch && pause === 0) start(1);
      else arm();
    },
    async forget(runIds) {
      const isOf = new Set<string | null>(runIds);
      const gone = held.filter((entry) => isOf.has(entry.runId));
      for (const entry of gone) bytes -= sizeOf(entry);
      if (gone.length > 0) held = held.filter((entry) => !isOf.has(entry.runId));
      await appending?.catch(() => {});
    },
    async close() {
      closed = true;
      await atMost(CLOSE_MS, flush());
      real.clearTimeout(timer);
      // What is left has nowhere to go.
      held = [];
    },
  };
}

// --- internal ---

const DEFAULTS: LogQueueLimits = {
  batch: 500,
  delayMs: 100,
  entries: 10_000,
  bytes: 16 * 1_024 * 1_024,
  retryMs: 1_000,
  warnEveryMs: 60_000,
};
const LONGEST_PAUSE_MS = 10_000;
const CLOSE_MS = 2_000;
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Takes out `count`: the least important, of these the oldest. */
function split(held: readonly NewLogEntry[], count: number): { kept: NewLogEntry[]; gone: NewLogEntry[] } {
  const gone = new Set<NewLogEntry>();
  for (const level of LEVELS)
    for (const entry of held) {
      if (gone.size >= count) break;
      if (entry.level === level) gone.add(entry);
    }
  return { kept: held.filter((entry) => !gone.has(entry)), gone: [...gone] };
}

function toNotice(dropped: Partial<Record<LogLevel, number>>): NewLogEntry | undefined {
  const count = Object.values(dropped).reduce((sum, n) => sum + n, 0);
  if (count === 0) return undefined;
  const message = `${count} log records were dropped, as they came faster than the database took them.`;
  return toNewEntry({ time: new Date(real.now()).toISOString(), level: 'warn', message, dropped });
}
