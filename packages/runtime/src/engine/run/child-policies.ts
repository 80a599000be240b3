import type { RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';

/** Whether the end of one run concerns runs below it, and whether they know of it. */
export class ChildPolicies {
  readonly #run: RunRow;
  #isFresh = false;
  /** The runs below it have been notified, and those it waits for are over. */
  isFollowed = false;

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
