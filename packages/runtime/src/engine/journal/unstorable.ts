/**
 * The store refuses a write for what it holds: a number out of its range, a text longer than its index takes, a value of
 * no type it knows. The same write is refused however often it is repeated, and nothing of it is stored.
 */
export class UnstorableError extends Error {
  constructor(cause: unknown) {
    super(`The store cannot hold it: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'UnstorableError';
  }
}
