import type { FinalStatus, RunRow } from './run.ts';

export type CancelResult =
  | { outcome: 'cancelled'; cancelled: string[]; promoted: RunRow[] }
  | { outcome: 'final'; status: FinalStatus };

export interface EndedRun {
  runId: string;
  endedAt: number;
  /** How many records it has. */
  seq: number;
}

/** What ends a run, or removes it, from outside. A run's own end is an append. */
export interface RunEnds {
  /**
   * Ends a run that is not final as `cancelled`, whatever its owner, and every unfinished run below it (`parentRunId`),
   * also behind final ones. Each has a higher epoch then. Queued starts below them are dropped.
   * `cancelled` names all of them, `promoted` the queued starts that got their locks (ids from `newRunId`).
   */
  cancel(runId: string, error: string, newRunId: () => string): Promise<CancelResult | undefined>;
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
