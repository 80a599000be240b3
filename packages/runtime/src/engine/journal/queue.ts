import type { RunRow, RunTrigger } from './run.ts';

/** A start that waits for a lock. It becomes a run, with all its creator gave, when the run before it is final. */
export interface QueuedStart {
  triggerId: string;
  serialKey: string;
  name: string;
  trigger: RunTrigger;
  input: string;
  parentRunId: string | null;
  /** The marks its run begins with, as JSON text. */
  attributes: string | null;
  createdAt: number;
}

export interface SerialQueue {
  /** In the order they will begin. */
  list(filter: { name?: string }, page: { limit: number }): Promise<QueuedStart[]>;
  /** Drops a queued start. False: there is none (any more). */
  remove(triggerId: string): Promise<boolean>;
  /** The queued start, the run it has become, or undefined. */
  find(triggerId: string): Promise<{ queued: QueuedStart } | { run: RunRow } | undefined>;
  /** The unfinished run that has the lock. */
  findHolder(serialKey: string): Promise<RunRow | undefined>;
}
