import { BoxError } from '../../../errors.ts';
import type { SqlClient } from '../../../stores/sql.ts';
import { isRetryable, isRolledBack } from './errors.ts';

/** A session with a transaction under way. */
export type Transaction = Pick<SqlClient, 'query'>;

/** How often work that the database undid for the sake of other work is tried again. */
export const RETRIES = 3;

/**
 * Runs `work` in a transaction, and again when the database undid it for the sake of another. Throws with the code
 * `store_unavailable` when the connection is lost and the outcome is unknown.
 */
export async function transact<T>(
  sql: SqlClient,
  work: (tx: Transaction) => Promise<T>,
  retries: number = RETRIES,
): Promise<T> {
  try {
    return await sql.transaction(work);
  } catch (error) {
    if (isRetryable(error) && retries > 0) return transact(sql, work, retries - 1);
    throw isRolledBack(error) ? error : unavailable(error);
  }
}

export function unavailable(cause: unknown): BoxError {
  if (cause instanceof BoxError) return cause;
  const message = 'The journal lost its database while it was writing. Try again.';
  return new BoxError('store_unavailable', message, { cause, details: { retryAfter: 1 } });
}
