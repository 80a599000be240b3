import { isHidden } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunFilter } from '../engine/journal/reading.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { BoxError } from '../errors.ts';
import { toRun } from './run.ts';
import type { Run } from './run.ts';
import { toStats } from './stats.ts';
import type { RunStats } from './stats.ts';
import { toSteps } from './steps.ts';
import type { Step } from './steps.ts';
import { toTimeline } from './timeline.ts';
import type { Span } from './timeline.ts';

export interface RunPage {
  items: Run[];
  /** Pass it as `cursor` for the next page; null: there is none. */
  nextCursor: string | null;
}

/** Every method but `list` and `find` throws `run_not_found` when there is no such run. */
export interface Runs {
  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage>;
  /** Undefined: no such run. The answer is held until the run is final, for as long as `wait` says. */
  find(runId: string, wait?: { ms: number; signal: AbortSignal }): Promise<Run | undefined>;
  /** The matching runs of the last day, or of the time the filter names, counted in stretches of it. */
  stats(filter: RunFilter, bucketMs: number): Promise<RunStats[]>;
  steps(runId: string): Promise<Step[]>;
  timeline(runId: string): Promise<Span[]>;
  /** Throws `run_final` when nothing is left to cancel. */
  cancel(runId: string): Promise<Run>;
  /** Throws `run_not_blocked`. */
  resume(runId: string): Promise<Run>;
  delete(runId: string): Promise<void>;
  /** The same without what is hidden: such a run is none. */
  without(hidden: Hidden): Runs;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_BUCKETS = 1_000;

export interface RunsOptions {
  journal: Journal;
  engine: Engine;
  /** With what hangs on it. False: it is not final. */
  deleteRun(runId: string): Promise<boolean>;
  hidden?: Hidden;
}

export function createRuns(options: RunsOptions): Runs {
  const { journal, engine, hidden } = options;
  const only = hidden ? { hidden } : {};
  const get = async (runId: string): Promise<RunRow> => {
    const row = await journal.getRun(runId);
    if (!row || isHidden(row, hidden)) throw runNotFound(runId);
    return row;
  };
  return {
    async list(filter, { limit, cursor }) {
      const before = cursor === undefined ? {} : { before: cursor };
      const rows = await journal.listRuns({ ...filter, ...only }, { limit: limit + 1, ...before });
      const items = rows.slice(0, limit).map(toRun);
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.runId ?? null) : null };
    },
    async find(runId, wait) {
      if (hidden) {
        const now = await journal.getRun(runId);
        // Before anything is waited for.
        if (!now || isHidden(now, hidden)) return undefined;
      }
      const signal = wait ? AbortSignal.any([wait.signal, engine.closing]) : engine.closing;
      const row = await engine.wait(runId, wait?.ms ?? 0, signal);
      return row && toRun(row);
    },
    async stats(filter, bucketMs) {
      const { to = engine.clock.now() + 1 } = filter;
      const { from = to - DAY_MS } = filter;
      if ((to - from) / bucketMs > MAX_BUCKETS)
        throw new BoxError('invalid_request', `The time has more than ${MAX_BUCKETS} stretches. Ask for less of it.`);
      return toStats(await journal.tallyRuns({ ...filter, ...only, from, to }, bucketMs), bucketMs);
    },
    async steps(runId) {
      await get(runId);
      return toSteps(await journal.getRecords(runId));
    },
    async timeline(runId) {
      const run = await get(runId);
      const [records, children] = await Promise.all([
        journal.getRecords(runId),
        journal.listRuns({ parentRunId: runId, ...only }, { limit: 200 }),
      ]);
      return toTimeline(toRun(run), toSteps(records), children.map(toRun));
    },
    async cancel(runId) {
      if (hidden) await get(runId);
      const result = await engine.cancel(runId, cancelled());
      if (!result) await get(runId);
      if (result?.outcome === 'final')
        throw new BoxError('run_final', `The run has ended: ${result.status}.`, { details: { status: result.status } });
      return toRun(await get(runId));
    },
    async resume(runId) {
      const run = await get(runId);
      if (!(await engine.unblock(runId)))
        throw new BoxError('run_not_blocked', `The run is ${run.status}; only a blocked one is continued.`);
      return toRun(await get(runId));
    },
    async delete(runId) {
      const run = await get(runId);
      if (!(await options.deleteRun(runId)))
        throw new BoxError('run_not_final', `The run is ${run.status}. Cancel it before you delete it.`);
    },
    without: (more) => createRuns({ ...options, hidden: more }),
  };
}

export function runNotFound(runId: string): BoxError {
  return new BoxError('run_not_found', `There is no run "${runId}".`);
}

// --- internal ---

function cancelled(): Error {
  return Object.assign(new Error('The run was cancelled.'), { code: 'run_cancelled' });
}
