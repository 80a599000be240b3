import { BoxError } from '../../../errors.ts';

/**
 * What a failed transaction means to its caller: `store_full` when the disk has no room, `store_unavailable` when it
 * cannot be written to or another process holds it. Anything else is an error of ours, as it is.
 */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const result = resultOf(error);
  if (result === FULL) return new BoxError('store_full', DISK_FULL, { cause: error });
  return DOWN.has(result) ? new BoxError('store_unavailable', NOT_WRITTEN, { cause: error }) : error;
}

/** Another process writes to the file at this moment. */
export function isBusy(error: unknown): boolean {
  const own = error instanceof BoxError ? error.cause : error;
  return own instanceof Error && ['BUSY', 'LOCKED'].includes(resultOf(own));
}

/**
 * A value can be stored in no attempt: larger than SQLite takes, or of a type that the driver cannot hand to it, which
 * each of them says by a `TypeError` or a `RangeError` of its own.
 */
export function isUnstorable(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return error instanceof Error && UNSTORABLE.has(resultOf(error));
}

// --- internal ---

/** better-sqlite3 names the result; the others have its number, but for `all` of @photostructure/sqlite, which has its text alone. */
interface SqliteError {
  code?: string;
  errcode?: number;
  message: string;
}

const FULL = 'FULL';
const DOWN = new Set(['BUSY', 'LOCKED', 'IOERR', 'CANTOPEN', 'READONLY']);
const UNSTORABLE = new Set(['TOOBIG', 'MISMATCH', 'RANGE']);
const NAMES: Record<number, string> = {
  5: 'BUSY',
  6: 'LOCKED',
  8: 'READONLY',
  10: 'IOERR',
  13: FULL,
  14: 'CANTOPEN',
  18: 'TOOBIG',
  20: 'MISMATCH',
  25: 'RANGE',
};

const TEXTS: Record<string, string> = {
  'database is locked': 'BUSY',
  'database table is locked': 'LOCKED',
  'attempt to write a readonly database': 'READONLY',
  'disk I/O error': 'IOERR',
  'database or disk is full': FULL,
  'unable to open database file': 'CANTOPEN',
  'string or blob too big': 'TOOBIG',
  'datatype mismatch': 'MISMATCH',
  'column index out of range': 'RANGE',
};

const DISK_FULL = 'The disk under the journal is full, so nothing new can be stored. Free some space on it.';
const NOT_WRITTEN = 'The file of the journal cannot be written to. Try again in a moment; GET /health says how it is.';

function resultOf({ code = '', errcode, message }: SqliteError): string {
  const named = /^SQLITE_([A-Z]+)/.exec(code)?.[1];
  if (named) return named;
  // The low byte is the result, the rest says more about it.
  if (errcode !== undefined) return NAMES[errcode & 0xff] ?? '';
  return code === 'ERR_SQLITE_ERROR' ? (TEXTS[message] ?? '') : '';
}
