import type { Journal } from '../engine/journal.ts';
import type { EndedRun } from '../engine/journal/ends.ts';
import { isStoreDown } from '../engine/persist.ts';
import { BoxError } from '../errors.ts';
import type { EvalRuns } from '../evals/runs.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { Log } from '../log.ts';
import type { Logs } from '../logs/logs.ts';
import type { IdleSession, SessionHistory } from '../sessions/history.ts';

/** How long what is over is kept, in days. Absent: for ever. */
export interface RetentionOptions {
  /** Sessions nothing has happened to for so long go, with their runs. */
  sessionDays?: number;
  /** Runs that ended so long ago go. The messages of a session stay. */
  runDays?: number;
  /** Runs of suites of evals that ended so long ago go, with their results. Default of those of live turns: `runDays`. */
  evalDays?: number;
  /** Log records and hits of guardrails that are so old go. Default: 14. */
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
  sessions: Pick<SessionHistory, 'listIdle'> & { remove(id: string): Promise<unknown> };
  journal: Pick<Journal, 'listEnded' | 'now'>;
  /** Answers those that are gone. */
  deleteRuns(runIds: string[]): Promise<string[]>;
  /** Undefined: none are kept. */
  logs?: Pick<Logs, 'deleteOlder'> | undefined;
  hits?: Pick<Guardrails, 'deleteHitsOlder'> | undefined;
  evalRuns?: Pick<EvalRuns, 'removeOlder'> | undefined;
  /** What the operator wants, rather than what the settings say. */
  logDays?(): Promise<number | undefined> | number | undefined;
  log: Log;
  /** Milliseconds between two looks. Default: an hour. */
  everyMs?: number;
}

export function createRetention(sources: RetentionSources): Retention {
  const { log, settings, everyMs = EVERY_MS } = sources;
  let nextAt = 0;
  let running: Promise<void> | undefined;
  const closing = new AbortController();

  /** Answers whether there may be more. */
  const remove = async (batch: Batch): Promise<boolean> => {
    try {
      return await batch();
    } catch (error) {
      nextAt = performance.now() + Math.min(everyMs, RETRY_MS);
      if (!isStoreDown(error)) log.error('What is too old could not be deleted.', { error });
      return false;
    }
  };
  const look = async (): Promise<void> => {
    const { sessionDays, runDays, evalDays, logDays = LOG_DAYS } = settings();
    let batches = [
      removeLogs(sources, logDays),
      removeHits(sources, logDays),
      ...(sessionDays === undefined ? [] : [removeSessions(sources, sessionDays)]),
      ...(runDays === undefined ? [] : [removeRuns(sources, runDays)]),
      ...(evalDays === undefined && runDays === undefined ? [] : [removeEvalRuns(sources, { evalDays, runDays })]),
    ];
    while (batches.length > 0 && !closing.signal.aborted) {
      const began = performance.now();
      const more = [];
      for (const batch of batches) if (await remove(batch)) more.push(batch);
      batches = more;
      // No more than half of the time: the store is there for others.
      if (more.length > 0) await pause(Math.min(performance.now() - began, LONGEST_PAUSE_MS));
    }
  };
  return {
    sweep() {
      if (closing.signal.aborted || running || performance.now() < nextAt) return;
      nextAt = performance.now() + everyMs;
      running = look()
        .catch((error: unknown) => log.error('What is too old could not be deleted.', { error }))
        .finally(() => (running = undefined));
    },
    async close() {
      closing.abort();
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
const LONGEST_PAUSE_MS = 250;
const SESSIONS = 100;
const RUNS = 200;
/** A commit deletes runs with so many records in sum, or one run. */
const RECORDS = 5_000;
/** Each may have a thousand cases. */
const EVAL_RUNS = 10;
const LOG_DAYS = 14;
const LOG_RECORDS = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes the next ones. Answers whether there may be more. */
type Batch = () => Promise<boolean>;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function removeHits({ hits, logDays }: RetentionSources, days: number): Batch {
  return async () => {
    const removed = (await hits?.deleteHitsOlder((await logDays?.()) ?? days, LOG_RECORDS)) ?? 0;
    return removed === LOG_RECORDS;
  };
}

function removeEvalRuns(
  { evalRuns }: RetentionSources,
  { evalDays: days, runDays: liveDays }: { evalDays: number | undefined; runDays: number | undefined },
): Batch {
  return async () => (await evalRuns?.removeOlder({ days, liveDays }, EVAL_RUNS)) === EVAL_RUNS;
}

function removeLogs({ logs, logDays }: RetentionSources, days: number): Batch {
  return async () => {
    const removed = (await logs?.deleteOlder((await logDays?.()) ?? days, LOG_RECORDS)) ?? 0;
    return removed === LOG_RECORDS;
  };
}

function removeSessions({ sessions, journal, log }: RetentionSources, days: number): Batch {
  let last: IdleSession | undefined;
  return async () => {
    const page = await sessions.listIdle(days, { limit: SESSIONS, ...(last ? { after: last } : {}) });
    for (const { id } of page)
      await sessions.remove(id).catch(async (error: unknown) => {
        if (isKept(error)) return;
        // Rejects if it is the store: then none of the others goes either.
        await journal.now();
        log.error('A session that is too old could not be deleted.', { session: id, error });
      });
    last = page.at(-1);
    return page.length === SESSIONS;
  };
}

/** One whose turn waits for a person is not over, and another replica may have been faster. */
function isKept(error: unknown): boolean {
  return error instanceof BoxError && (error.code === 'turn_in_progress' || error.code === 'session_not_found');
}

function removeRuns(sources: RetentionSources, days: number): Batch {
  const { journal } = sources;
  let before: number | undefined;
  let last: EndedRun | undefined;
  return async () => {
    before ??= Math.floor((await journal.now()) - days * DAY_MS);
    const page = await journal.listEnded(before, { limit: RUNS, ...(last ? { after: last } : {}) });
    const batch = takeBatch(page);
    await deleteEach(
      sources,
      batch.map(({ runId }) => runId),
    );
    last = batch.at(-1);
    return batch.length < page.length || page.length === RUNS;
  };
}

function takeBatch(page: EndedRun[]): EndedRun[] {
  let records = 0;
  const end = page.findIndex(({ seq }, index) => (records += seq) > RECORDS && index > 0);
  return end === -1 ? page : page.slice(0, end);
}

/** One that cannot be deleted keeps no other from it. */
async function deleteEach(
  sources: Pick<RetentionSources, 'deleteRuns' | 'journal' | 'log'>,
  runIds: string[],
): Promise<void> {
  const { deleteRuns, journal, log } = sources;
  try {
    await deleteRuns(runIds);
    return;
  } catch (error) {
    // Rejects if it is the store: then none of the others goes either.
    await journal.now();
    if (runIds.length === 1) {
      log.error('A run that is too old could not be deleted.', { run: runIds[0], error });
      return;
    }
  }
  for (const runId of runIds) await deleteEach(sources, [runId]);
}
