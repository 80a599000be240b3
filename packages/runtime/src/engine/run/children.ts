import type { RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';
import type { Driver } from './driver.ts';

/** The runs below one run: which starts are under way, whether its end concerns them, and whether they know of it. */
export class Children {
  readonly #run: RunRow;
  // Most runs start none.
  #starts: Set<Promise<unknown>> | undefined;
  #isFresh = false;
  /** The runs below it have been notified, and those it waits for are over. */
  isFollowed = false;
  /** What was started below it before its body is given its cancel is cancelled. */
  areCancelled = false;

  constructor(run: RunRow) {
    this.#run = run;
  }

  /** A run with a policy is about to be started below it. False: that is known already. */
  note(): boolean {
    if (this.#run.closesChildren !== null) return false;
    this.#run.closesChildren = '1';
    this.#isFresh = true;
    return true;
  }

  /** Starts a run below it. */
  start<T>(work: () => Promise<T>): Promise<T> {
    const starts = (this.#starts ??= new Set());
    const start = work().finally(() => starts.delete(start));
    starts.add(start);
    return start;
  }

  /** Cancels what was started below the run after its cancel, once no start is under way. */
  async cancel({ cancelChildren }: Pick<Driver, 'cancelChildren'>): Promise<void> {
    await Promise.allSettled(this.#starts ?? []);
    await cancelChildren(this.#run);
    this.areCancelled = true;
  }

  /** The run cannot end before it has looked at those below it. */
  get isDue(): boolean {
    return this.#run.closesChildren !== null && !this.isFollowed;
  }

  get hasFresh(): boolean {
    return this.#isFresh;
  }

  /** What the next append has to write. */
  take(): RunPatch {
    if (!this.#isFresh) return {};
    this.#isFresh = false;
    return { closesChildren: this.#run.closesChildren };
  }
}
