import type { RunRow, RunStatus, RunTrigger } from './run.ts';

/** A start that waits: for a time, or for a place of its lock. It becomes a run, with all its creator gave, after that. */
export interface QueuedStart {
  triggerId: string;
  /** The lock it waits for, now or after its time; null: none. */
  serialKey: string | null;
  /** How many runs may hold that lock at once. */
  limit: number | null;
  name: string;
  trigger: RunTrigger;
  input: string;
  parentRunId: string | null;
  /** The marks its run begins with, as JSON text. */
  attributes: string | null;
  startedBy: string | null;
  /** Among those that wait for one lock, higher ones begin first. */
  priority: number;
  /** The time it waits for; null: it waits for a place. */
  readyAt: number | null;
  waitsFor: 'lock' | 'delay' | 'throttle' | 'debounce';
  createdAt: number;
  /** Its number in the order in which starts were queued. */
  queueNo: number;
}

/** Where a page of them ended. */
export type QueuePlace = Pick<QueuedStart, 'readyAt' | 'priority' | 'queueNo'>;

/** A start that waits, or the run that one has become. */
export interface FoundStart {
  triggerId: string;
  /** Null: it waits. */
  runId: string | null;
  name: string;
  status: RunStatus;
  attributes: string | null;
  createdAt: number;
}

export interface SerialQueue {
  /** In the order they will begin, as far as that is known. */
  list(filter: { name?: string }, page: { limit: number; after?: QueuePlace }): Promise<QueuedStart[]>;
  /** Drops a queued start. False: there is none (any more). */
  remove(triggerId: string): Promise<boolean>;
  /** The queued start, the run it has become, or undefined. */
  find(triggerId: string): Promise<{ queued: QueuedStart } | { run: RunRow } | undefined>;
  /** Starts that wait, and runs that have waited, whose trigger ids begin with that: newest first. */
  listByTrigger(prefix: string, limit: number): Promise<FoundStart[]>;
  /** The unfinished run that has held a place of the lock for the longest. */
  findHolder(serialKey: string): Promise<RunRow | undefined>;
}
