import type { Journal } from '../engine/journal.ts';
import type { RunFilter } from '../engine/journal/reading.ts';
import { isStoreDown } from '../engine/persist.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Logs } from '../logs/logs.ts';
import type { SessionHistory } from '../sessions/history.ts';

/** How long what is over is kept, in days. Absent: for ever. */
export interface RetentionOptions {
  /** Sessions nothing has happened to for so long go, with their runs. */
  sessionDays?: number;
  /** Runs that ended so long ago go. The messages of a session stay. */
  runDays?: number;
  /** Log records that are so old go. Default: 14. */
  logDays?: number;
}

/** Deletes what is older than the workspace wants to keep. */
export interface Retention {
  /** Looks, if the last look was long enough ago. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface RetentionSources {
  settings(): RetentionOptions;
  sessions: Pick<SessionHistory, 'listIdle' | 'remove'>;
  journal: Pick<Journal, 'listRuns' | 'now'>;
  deleteRun(runId: string): Promise<boolean>;
  /** Undefined: none are kept. */
  logs?: Pick<Logs, 'deleteOlder'> | undefined;
  /** What the operator wants, rather than what the settings say. */
  logDays?(): Promise<number | undefined> | number | undefined;
  log: Log;
  /** Milliseconds between two looks that find nothing left to do. Default: an hour. */
  everyMs?: number;
}

export function createRetention(sources: RetentionSources): Retention {
  const { log, settings, everyMs = EVERY_MS } = sources;
  let nextAt = 0;
  let running: Promise<void> | undefined;
  let closed = false;

  const look = async (): Promise<void> => {
    const { sessionDays, runDays, logDays = LOG_DAYS } = settings();
    const found = [
      await removeLogs(sources, (await sources.logDays?.()) ?? logDays),
      sessionDays === undefined ? 0 : await removeSessions(sources, sessionDays),
      runDays === undefined ? 0 : await removeRuns(sources, runDays),
    ];
    // A full batch: there is more.
    nextAt = Math.max(...found) < BATCH ? performance.now() + everyMs : 0;
  };
  return {
    sweep() {
      if (closed || running || performance.now() < nextAt) return;
      nextAt = performance.now() + RETRY_MS;
      running = look()
        .catch((error: unknown) => {
          if (!isStoreDown(error)) log.error('What is too old could not be deleted.', { error });
        })
        .finally(() => (running = undefined));
    },
    async close() {
      closed = true;
      await running;
    },
  };
}

/** Throws a sentence when a part is wrong. */
export function checkRetention(options: RetentionOptions = {}): void {
  for (const [name, days] of Object.entries(options))
    if (days !== undefined && !(typeof days === 'number' && days > 0))
      throw new TypeError(`retention.${name} is ${String(days)}; it must be a number of days above 0.`);
}

// --- internal ---

const EVERY_MS = 60 * 60 * 1000;
const RETRY_MS = 60_000;
const BATCH = 100;
const LOG_DAYS = 14;
const LOG_BATCH = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const FINAL = ['completed', 'failed', 'cancelled'] as const;

/** Answers how many were deleted. */
async function removeSessions({ sessions }: RetentionSources, days: number): Promise<number> {
  const ids = await sessions.listIdle(days, BATCH);
  let removed = 0;
  for (const id of ids) if (await sessions.remove(id).then(() => true, isKept)) removed += 1;
  return removed;
}

/** One whose turn waits for a person is not over, and another replica may have been faster. */
function isKept(error: unknown): false {
  if (error instanceof BoxError && (error.code === 'turn_in_progress' || error.code === 'session_not_found'))
    return false;
  throw error;
}

/** As many batches of log records as make a batch of the others. */
async function removeLogs({ logs }: RetentionSources, days: number): Promise<number> {
  const removed = (await logs?.deleteOlder(days, LOG_BATCH)) ?? 0;
  return removed < LOG_BATCH ? 0 : BATCH;
}

async function removeRuns({ journal, deleteRun }: RetentionSources, days: number): Promise<number> {
  const before = (await journal.now()) - days * DAY_MS;
  const old = async (filter: RunFilter): Promise<number> => {
    const runs = await journal.listRuns({ ...filter, to: before }, { limit: BATCH });
    const over = runs.filter(({ endedAt }) => endedAt !== null && endedAt < before);
    for (const { runId } of over) await deleteRun(runId);
    return over.length;
  };
  const counts = [];
  for (const status of FINAL) counts.push(await old({ status }));
  return Math.max(...counts);
}
