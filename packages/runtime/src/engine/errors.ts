/** Thrown in a step: the step has failed for good, no attempt follows. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
  readonly fatal = true;
}

export interface RetryableOptions {
  /** When to try again: milliseconds, a duration such as `'10s'`, or a Date. Default: the step's backoff. */
  retryAfter?: number | string | Date;
  cause?: unknown;
}

/** Thrown in a step: try again, at the time the author names. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError';
  readonly retryAfter: number | string | Date | undefined;

  constructor(message: string, options: RetryableOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfter = options.retryAfter;
  }
}

/** What a body called that it may not: time, randomness or an effect the run cannot replay. */
export class DeterminismError extends Error {
  override readonly name = 'DeterminismError';
  readonly code = 'not_deterministic';
  readonly fatal = true;
}
