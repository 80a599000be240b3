import { BoxError } from '../../../errors.ts';

/**
 * What a failed transaction means to its caller: `store_full` when the disk has no room, `store_unavailable` when it
 * cannot be written to or another process holds it. Anything else is an error of ours, as it is.
 */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const result = resultOf(error as SqliteError);
  if (result === FULL) return new BoxError('store_full', DISK_FULL, { cause: error });
  return DOWN.has(result) ? new BoxError('store_unavailable', NOT_WRITTEN, { cause: error }) : error;
}

// --- internal ---

/** better-sqlite3 names the result; the others have its number. */
interface SqliteError {
  code?: string;
  errcode?: number;
  sqliteExtendedCode?: number;
}

const FULL = 'FULL';
const DOWN = new Set(['BUSY', 'LOCKED', 'IOERR', 'CANTOPEN', 'READONLY']);
const NAMES: Record<number, string> = { 5: 'BUSY', 6: 'LOCKED', 8: 'READONLY', 10: 'IOERR', 13: FULL, 14: 'CANTOPEN' };

const DISK_FULL = 'The disk under the journal is full, so nothing new can be stored. Free some space on it.';
const NOT_WRITTEN = 'The file of the journal cannot be written to. Try again in a moment; GET /health says how it is.';

function resultOf({ code, errcode, sqliteExtendedCode }: SqliteError): string {
  const named = /^SQLITE_([A-Z]+)/.exec(code ?? '')?.[1];
  // The low byte is the result, the rest says more about it.
  return named ?? NAMES[(errcode ?? sqliteExtendedCode ?? 0) & 0xff] ?? '';
}
