import type { Engine } from '../engine/engine.ts';
import { RunCancelledError } from '../engine/errors.ts';
import type { Journal } from '../engine/journal.ts';
import { isFinal } from '../engine/journal/run.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { CANCEL_WAIT_MS } from '../engine/limits.ts';
import { BoxError } from '../errors.ts';
import { toRun } from './run.ts';
import type { Run } from './run.ts';

/** What is done to a run. Each throws `run_not_found` when there is no such run. */
export interface RunControl {
  /** Throws `run_final` when nothing is left to cancel. `isFirst`: a run that cleans up already goes on with it. */
  cancel(runId: string, options?: { waitMs?: number; isFirst?: boolean }): Promise<Run>;
  /** How it has ended, or is ending; `gone`: there is no such run. Undefined: it goes on. */
  endOf(runId: string): Promise<'cancelled' | 'itself' | 'gone' | undefined>;
  /** The last run of the chain. Throws `run_final`. */
  pause(runId: string): Promise<Run>;
  /**
   * Continues a paused run, or on the current code one that is blocked or whose own code does not load: that is `blocked` in
   * the answer, where the code does not fit. Throws `run_not_blocked`.
   */
  resume(runId: string): Promise<Run>;
  delete(runId: string): Promise<void>;
}

export interface RunControlOptions {
  journal: Journal;
  engine: Engine;
  /** With what hangs on it. False: it is not final. */
  deleteRun(runId: string): Promise<boolean>;
}

/** As the caller sees the runs. */
export interface Shown {
  /** Throws `run_not_found`. */
  get(runId: string): Promise<RunRow>;
  toShown(row: RunRow): Run;
  /** Some runs are hidden. */
  isNarrowed: boolean;
}

export function createRunControl(options: RunControlOptions, { get, toShown, isNarrowed }: Shown): RunControl {
  const { journal, engine, deleteRun } = options;
  const getLast = async (runId: string): Promise<RunRow> => {
    const given = await get(runId);
    return (await journal.getLastRun(runId)) ?? given;
  };
  const findLast = async (runId: string): Promise<RunRow | undefined> => {
    try {
      return await getLast(runId);
    } catch (error) {
      if (error instanceof BoxError && error.code === 'run_not_found') return undefined;
      throw error;
    }
  };
  return {
    async cancel(runId, { waitMs = CANCEL_WAIT_MS, isFirst = false } = {}) {
      if (isNarrowed) await get(runId);
      const result = await engine.cancel(runId, new RunCancelledError('The run was cancelled.'), {
        // Nothing runs in a box whose code is not loaded.
        cleansUp: engine.armed,
        isFirst,
      });
      if (!result) await get(runId);
      if (result?.outcome === 'final')
        throw new BoxError('run_final', `The run has ended: ${result.status}.`, { details: { status: result.status } });
      // Most have nothing to clean up, and are over in a moment.
      const isCleaning = result !== undefined && result.cleaning.length > 0 && waitMs > 0;
      const ended = isCleaning ? await engine.wait(runId, waitMs, engine.closing) : undefined;
      return toShown(ended ?? (await journal.getLastRun(runId)) ?? (await get(runId)));
    },
    async endOf(runId) {
      const run = await findLast(runId);
      if (!run) return 'gone';
      if (isFinal(run.status)) return run.status === 'cancelled' ? 'cancelled' : 'itself';
      return run.cancel === null ? undefined : 'cancelled';
    },
    async pause(runId) {
      const run = await getLast(runId);
      if (await engine.pause(run.runId)) return toRun(await getLast(runId));
      const last = await getLast(runId);
      // It has continued in between.
      if (last.runId !== run.runId) return this.pause(runId);
      const { status } = last;
      throw new BoxError('run_final', `The run has ended: ${status}.`, { details: { status } });
    },
    async resume(runId) {
      const run = await getLast(runId);
      if (run.pausedAt !== null && !isFinal(run.status)) {
        await engine.unpause(run.runId);
        const last = await getLast(runId);
        return last.runId === run.runId ? toRun(last) : this.resume(runId);
      }
      if (!(await engine.unblock(run.runId)))
        throw new BoxError(
          'run_not_blocked',
          `The run is ${run.status}; only one is continued that is paused or blocked, or whose code does not load.`,
        );
      return toRun(await untilUnderWay(options, run));
    },
    async delete(runId) {
      const run = await get(runId);
      if (!(await deleteRun(runId)))
        throw new BoxError('run_not_final', `The run is ${run.status}. Cancel it before you delete it.`);
    },
  };
}

// --- internal ---

/** How long an answer waits for a run that was blocked to show that it fits its code. */
const UNDER_WAY_MS = 3_000;

/** The run once it has come further or is blocked again, or what it is when the time is up. */
async function untilUnderWay(
  { journal, engine }: Pick<RunControlOptions, 'journal' | 'engine'>,
  run: RunRow,
): Promise<RunRow> {
  const timeUp = AbortSignal.any([AbortSignal.timeout(UNDER_WAY_MS), engine.closing]);
  for (;;) {
    const changed = engine.nextChange(run.runId, timeUp);
    const row = (await journal.getRun(run.runId)) ?? run;
    const isOnItsWay = row.status === 'queued' || (row.status === 'running' && row.seq === run.seq);
    if (!isOnItsWay || timeUp.aborted || !engine.armed) return row;
    await changed;
  }
}
