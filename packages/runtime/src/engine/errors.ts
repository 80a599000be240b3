/** Thrown in a step: the step has failed for good, no attempt follows. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
  readonly fatal = true;

  /** Also of one that comes from the journal, or from another copy of this module. */
  static is(value: unknown): value is FatalError {
    return isNamed(value, 'FatalError');
  }
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

  static is(value: unknown): value is RetryableError {
    return isNamed(value, 'RetryableError');
  }
}

/** What a body gets for what it awaits when its run is cancelled, so that `catch` and `finally` can clean up. */
export class RunCancelledError extends Error {
  override readonly name = 'RunCancelledError';
  readonly code: string = 'run_cancelled';
  readonly fatal = true;

  /** Also of one that comes from the journal, or from another copy of this module. */
  static is(value: unknown): value is RunCancelledError {
    return isNamed(value, 'RunCancelledError');
  }
}

/** What a body called that it may not: time, randomness or an effect the run cannot replay. */
export class DeterminismError extends Error {
  override readonly name = 'DeterminismError';
  readonly code = 'not_deterministic';
  readonly fatal = true;
}

/** The code a run has begun with is in no build that is up, and is not kept. */
export class CodeNotKeptError extends Error {
  override readonly name = 'CodeNotKeptError';
  readonly code = 'code_not_kept';
}

/** An error as it was before it was recorded, as far as its class is one of the language's or of this file. */
export function createKnownError({ name, message, errors, ...rest }: KnownError): Error {
  const options = 'cause' in rest ? { cause: rest.cause } : undefined;
  if (errors) return new AggregateError(errors, message, options);
  const type = Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
  return type ? new type(message, options) : new Error(message, options);
}

// --- internal ---

interface KnownError {
  name: string;
  message: string;
  cause?: unknown;
  errors?: unknown[];
}

const CLASSES: Record<string, new (message: string, options?: ErrorOptions) => Error> = {
  EvalError,
  FatalError,
  RangeError,
  ReferenceError,
  RetryableError,
  RunCancelledError,
  SyntaxError,
  TypeError,
  URIError,
};

function isNamed(value: unknown, name: string): boolean {
  return value instanceof Error && value.name === name;
}
