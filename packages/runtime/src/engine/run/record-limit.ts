import type { Ambient } from '../handle.ts';
import type { RunRow } from '../journal/run.ts';
import { isNearLimit, nearLimit } from '../limits.ts';
import type { Limits } from '../limits.ts';
import { journalFilling, journalFull } from './outcome.ts';

export interface RecordLimitOptions {
  run: RunRow;
  limits: Limits;
  ambient: Pick<Ambient, 'log'>;
}

/** The most records one run may have: warns once when they come near it. */
export class RecordLimit {
  readonly #options: RecordLimitOptions;
  /** So many records are worth a warning. */
  #warnAt: number;

  constructor(options: RecordLimitOptions) {
    const { run, limits } = options;
    this.#options = options;
    this.#warnAt = isNearLimit(run.seq, limits) ? Infinity : nearLimit(limits);
  }

  /** What ends a run with `count` records that is to have `more`. Undefined: it may have them. */
  check(count: number, more: number): Error | undefined {
    const { run, limits, ambient } = this.#options;
    if (count >= this.#warnAt) {
      this.#warnAt = Infinity;
      ambient.log({ level: 'warn', message: journalFilling(count, limits.records), run });
    }
    return count + more > limits.records ? journalFull(limits.records) : undefined;
  }
}
