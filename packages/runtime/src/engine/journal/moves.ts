/** A run that is to go on by other code, as it was when it was found to fit. */
export interface RunMove {
  runId: string;
  epoch: number;
  /** How many records it had. */
  seq: number;
  /** The hash of the code it has; null: it is not known. */
  from: string | null;
  to: string;
  /** The process that asks: what it has itself it has, however late it renews. */
  by: string;
  /** It is taken up at once (`queued`), as it waits for nothing but other code. */
  frees: boolean;
}

/** Runs that are given other code than they began with. */
export interface MoveStore {
  /** The ids of unfinished runs whose code is none of these, in order: up to `limit` behind `after`. */
  list(codes: readonly string[], page: { limit: number; after?: string }): Promise<string[]>;
  /**
   * In one statement, with `movedFrom` and `movedAt`. A run that only waits is taken from a process whose lease is over, which
   * can write nothing more to it. False: a process has the run, it has recorded something else, has been taken up or given other
   * code since, is being cancelled, or is final.
   */
  move(move: RunMove): Promise<boolean>;
}
