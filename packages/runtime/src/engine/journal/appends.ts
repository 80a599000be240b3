import type { HookWait, NewHook } from './hooks.ts';
import type { JournalRecord } from './record.ts';
import type { Durability, FinalStatus, RunRow, RunStatus, Tokens } from './run.ts';

/** Columns of the run that change in the same commit as the records. Absent keys stay as they are. */
export interface RunPatch extends Partial<Tokens> {
  status?: RunStatus;
  wakeAt?: number | null;
  waitingFor?: string | null;
  output?: string | null;
  error?: string | null;
  attributes?: string | null;
  state?: string | null;
  closesChildren?: string | null;
  /** True gives the run back: owner and lease become null. A final status does so by itself and sets `endedAt`. */
  release?: boolean;
}

/** What the next run of a chain begins with. */
export interface Continuation {
  input: string;
  codeHash: string | null;
  /** Of each token the `n` of the first resume that the run has not taken; absent: it has taken none. */
  unread: HookWait[];
}

/** One conditional append: it happens whole or not at all. */
export interface Append {
  runId: string;
  epoch: number;
  /** The position the first record must take. */
  seq: number;
  records: JournalRecord[];
  patch: RunPatch;
  durability: Durability;
  /**
   * The signals the writer has taken into account. Where the row has more, `patch.wakeAt` becomes the store's now: a
   * run never goes to sleep on a signal it has not seen.
   */
  signals?: number;
  /** Hooks that come to be, or whose `many` changes, with this append. Of a hook there is, nothing else changes. */
  hooks?: NewHook[];
  /**
   * The id of the run the next queued start becomes, should this append end a run that holds a lock. Without it the lock
   * waits for a claim. To be left out where the run has no `serialKey`: it may cost the append a commit of its own.
   */
  nextRunId?: string;
  /**
   * The append ends the run, and `nextRunId` becomes the next of its chain: `queued`, with the lock, the parent, the
   * unfinished children, the attributes, and the open hooks with their unread resumes. Its parent is not signalled.
   */
  continueAs?: Continuation;
}

export type AppendResult =
  /** `refused`: tokens of `hooks` that another run's open hook has. `promoted`: the start that got the lock, or the next run of the chain, unowned and `queued`. */
  | { outcome: 'appended'; at: number; refused?: string[]; promoted?: RunRow }
  /** A higher epoch owns the run, or it has been deleted: drop it at once. */
  | { outcome: 'fenced' }
  /** The run is final; nothing more is recorded. */
  | { outcome: 'final'; status: FinalStatus }
  /** Same epoch, but the position is taken by records of another writer: read the run again. */
  | { outcome: 'conflict' };

/** How a run goes on, and ends by itself. */
export interface RunAppends {
  /**
   * Commits together with whatever else arrives while a commit is under way: all it carries, or nothing. A repeat with
   * the same record ids answers `appended` again, with the same `refused` and `promoted`, and repeats none of it.
   */
  append(entry: Append): Promise<AppendResult>;
}
