import { asOutcomeUnknown, BoxError } from '../errors.ts';
import type { SqlClient } from './sql.ts';

/** One session of a store: what a transaction hands to its work. */
export interface SqlSession extends Omit<SqlClient, 'transaction' | 'close'> {
  /** As `query`, with each row as an array in column order: joins repeat column names. */
  queryArrays(text: string, params?: unknown[]): Promise<unknown[][]>;
}

/**
 * What both Postgres homes give: the shared client, rows as arrays for drizzle, and word of when it is open.
 * Queries made before then wait. A JSON parameter is text (`JSON.stringify`): the homes disagree about arrays.
 */
export interface StoreClient extends SqlClient, SqlSession {
  /** Resolves when the store answers, rejects when it cannot be opened. */
  readonly ready: Promise<void>;
  transaction<T>(work: (tx: SqlSession) => Promise<T>): Promise<T>;
}

/** What Postgres says about a failed statement; both homes keep these names. */
export interface SqlError extends Error {
  code: string;
  severity?: string;
  detail?: string;
  hint?: string;
  constraint?: string;
  table?: string;
  column?: string;
}

/** A statement that cannot run: the store was closed, was restarted, or stopped by itself. */
export function storeUnavailable(message: string, cause?: unknown): BoxError {
  return new BoxError('store_unavailable', message, { cause, details: { retryAfter: 1 } });
}

/**
 * What a failed statement means to whoever asked: `store_unavailable` when the server cannot be reached, is going down
 * or takes no more connections, `store_full` when its disk is full. Anything else is the statement's own error, as it is.
 */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof BoxError) return error;
  const { code = '', severity } = error as Partial<SqlError>;
  if (code === '53100') return new BoxError('store_full', DISK_FULL, { cause: error });
  const isDown = severity === undefined ? isConnectionLost(error, code) : GOING_DOWN.test(code);
  if (!isDown) return error;
  const down = storeUnavailable(UNREACHABLE, error);
  // A statement was sent, and nobody knows how far it came.
  return severity === undefined && !NOT_SENT.has(code) ? asOutcomeUnknown(down) : down;
}

/**
 * Postgres answers `commit` of a failed transaction with a rollback and no error. Whoever swallowed the statement's
 * error must not believe that it was committed.
 */
export function commitRefused(): SqlError {
  const message = 'The transaction was rolled back: a statement in it failed, and its error was not passed on.';
  return Object.assign(new Error(message), { code: '25P02', severity: 'ERROR' });
}

/** int8 as a number; beyond 2^53 as text, since a wrong number is worse than a string. */
export function parseInt8(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

// --- internal ---

const UNREACHABLE = 'The database cannot be reached. Try again in a moment; GET /health says how it is.';
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
const DISK_FULL = 'The disk of the database is full, so nothing new can be stored. Free some space on it.';

// Lost connections, a server that shuts down or starts up, and one that has no connection or memory left.
const GOING_DOWN = /^(08|57P0|53[23]00)/;

/** Of an error that did not come from the server: a socket's, or the client's own words for a lost connection. */
function isConnectionLost(error: Error, code: string): boolean {
  return /^(E[A-Z]+|EAI_[A-Z]+)$/.test(code) || /connection|connect|not queryable|read timeout/i.test(error.message);
}
