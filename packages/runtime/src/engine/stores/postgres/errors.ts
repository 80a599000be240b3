/** The database refused the statement and undid it. False: it may have been committed all the same. */
export function isRolledBack(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !UNKNOWN_OUTCOME.test(state);
}

/** A deadlock or a serialization failure: the same statement may well succeed the next time. */
export function isRetryable(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlStateOf(error) ?? '');
}

/** It waited for a lock for as long as `lock_timeout` allows. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03';
}

/** A value in the statement was the cause: bad data, a broken constraint, a limit of the database. */
export function isInvalidData(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlStateOf(error) ?? '');
}

/** A value in the statement can be stored in no attempt: out of range, of another type, or larger than the database takes. */
export function isUnstorable(error: unknown): boolean {
  return /^(22|54)/.test(sqlStateOf(error) ?? '');
}

// --- internal ---

// Lost connections, `statement_completion_unknown`, and a server that ends the session.
const UNKNOWN_OUTCOME = /^(08|40003|57P0)/;
// Five letters or digits. None begins with E, as the codes of system errors do (EPIPE).
const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/;

function sqlStateOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && SQLSTATE.test(code)) return code;
  }
  return undefined;
}
