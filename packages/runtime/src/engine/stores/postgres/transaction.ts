import { asOutcomeUnknown, BoxError } from '../../../errors.ts';
import type { SqlClient } from '../../../stores/sql.ts';
import { real } from '../../real.ts';
import { isRetryable, isRolledBack } from './errors.ts';

/** A session with a transaction under way. */
export type Transaction = Pick<SqlClient, 'query'>;

/** The pause before the second retry is up to so long; the later ones are longer. */
const PAUSE_MS = 10;

/** How often work that the database undid for the sake of other work is tried again. */
export const RETRIES = 5;

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
    if (isRetryable(error)) {
      await beforeRetry(error, retries);
      return transact(sql, work, retries - 1);
    }
    throw isRolledBack(error) ? error : unavailable(error);
  }
}

/** The client, whose statements outside of a transaction are tried again as well. */
export function retryClient(sql: SqlClient): SqlClient {
  const query = async <Row>(...given: Parameters<SqlClient['query']>): Promise<Row[]> => {
    for (let retries = RETRIES; ; retries--) {
      try {
        return await sql.query<Row>(...given);
      } catch (error) {
        if (!isRetryable(error)) throw error;
        await beforeRetry(error, retries);
      }
    }
  };
  return { ...sql, query };
}

/** Waits a moment, so that those that undo each other do not meet again. Throws when it has been tried often enough. */
export async function beforeRetry(error: unknown, retries: number): Promise<void> {
  if (retries === 0) {
    const message = 'The database undid the write for the sake of others, time after time. Try again in a moment.';
    throw new BoxError('store_unavailable', message, { cause: error, details: { retryAfter: 1 } });
  }
  await new Promise((resolve) => real.setTimeout(resolve, Math.random() * PAUSE_MS * (RETRIES - retries)));
}

export function unavailable(cause: unknown): BoxError {
  if (cause instanceof BoxError) return cause;
  const message = 'The journal lost its database while it was writing. Try again.';
  const error = new BoxError('store_unavailable', message, { cause, details: { retryAfter: 1 } });
  return asOutcomeUnknown(error);
}
