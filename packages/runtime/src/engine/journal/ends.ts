import type { CancelHow } from './cancel.ts';
import type { ClosePolicy, FinalStatus, RunRow } from './run.ts';

export type CancelResult =
  | { outcome: 'cancelled'; cancelled: string[]; cleaning: string[]; promoted: RunRow[] }
  | { outcome: 'final'; status: FinalStatus };

/** A run, or a start that waits, whose policy concerns the run above it. */
export interface ClosingChild {
  runId: string | null;
  triggerId: string | null;
  closePolicy: Exclude<ClosePolicy, 'abandon'>;
}

export interface EndedRun {
  runId: string;
  endedAt: number;
  /** How many records it has. */
  seq: number;
}

/** What ends a run, or removes it, from outside. A run's own end is an append. */
export interface RunEnds {
  /**
   * Ends a run that is not final as `cancelled`, whatever its owner, and every unfinished run below it (`parentRunId`) but those it abandons,
   * also behind final ones. Each has a higher epoch then. Queued starts below them are dropped.
   * `cancelled` names all of them, `promoted` the queued starts that got their locks (ids from `newRunId`).
   * A run that has begun and has time to clean up goes on (`cleaning`), signalled and no longer paused, with `cancel` and a
   * `deadline`; cancelled again, it ends at once, with what it was cancelled with first.
   */
  cancel(runId: string, error: string, newRunId: () => string, how?: CancelHow): Promise<CancelResult | undefined>;
  /** What is below the run and does not outlive it: unfinished, and with `cancel` not cancelled yet. Those with `cancel` come first. */
  listClosing(runId: string, limit: number): Promise<ClosingChild[]>;
  /** Unfinished runs whose deadline is over, the earliest first. */
  listOverdue(limit: number): Promise<Pick<RunRow, 'runId' | 'name' | 'kind' | 'cancel' | 'timeoutMs'>[]>;
  /**
   * Deletes a final run with its records, hooks, chunks and idempotency key; the runs below it stay.
   * False: it is not final, or there is none.
   */
  deleteRun(runId: string): Promise<boolean>;
  /** The same for several at once, in one commit. Answers those that are gone; one another process is deleting is not. */
  deleteRuns(runIds: string[]): Promise<string[]>;
  /** Final runs that ended before then, by the store's clock; the earliest end first. `after`: the last one of the page before. */
  listEnded(before: number, page: { limit: number; after?: EndedRun }): Promise<EndedRun[]>;
}
