import type { RunAppends } from './journal/appends.ts';
import type { ChunkStore } from './journal/chunks.ts';
import type { CodeStore } from './journal/code.ts';
import type { EarlyStore } from './journal/early.ts';
import type { RunEnds } from './journal/ends.ts';
import type { HookStore } from './journal/hooks.ts';
import type { RunLeases } from './journal/leases.ts';
import type { MoveStore } from './journal/moves.ts';
import type { NoticeStore } from './journal/notices.ts';
import type { SerialQueue } from './journal/queue.ts';
import type { RunReader } from './journal/reading.ts';
import type { ReplicaStore } from './journal/replicas.ts';
import type { ScheduleStore } from './journal/schedules.ts';
import type { RunStarts } from './journal/starts.ts';
import type { RunWatch } from './journal/watching.ts';

/**
 * The journal: runs and their records, and the only authority on them. Two adapters (SQLite, Postgres) pass
 * one contract suite (`stores/contract/`). Times are milliseconds since 1970 by the store's clock.
 * Values (`input`, `output`, `error`) are text made by the one codec (`serialize.ts`); no adapter looks inside.
 *
 * A signal (a resume, the end of a child) raises `signals` of the run and, when it waits, sets `wakeAt` to now, in the
 * commit that caused it. The end of a run, by append or cancel: closes its hooks, signals its parent, and gives its
 * lock to the first queued start, which becomes a `queued` run with the id it is handed.
 */
export interface Journal extends RunReader, RunWatch, RunStarts, RunAppends, RunLeases, RunEnds {
  readonly adapter: 'sqlite' | 'postgres';
  readonly hooks: HookStore;
  readonly queue: SerialQueue;
  readonly schedules: ScheduleStore;
  readonly chunks: ChunkStore;
  readonly replicas: ReplicaStore;
  readonly notices: NoticeStore;
  readonly early: EarlyStore;
  readonly code: CodeStore;
  readonly moves: MoveStore;
  /** The store's clock. */
  now(): Promise<number>;
  close(): Promise<void>;
}
