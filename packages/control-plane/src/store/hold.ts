import { join } from 'node:path';
import { BoxError } from '../../../runtime/src/errors.ts';
import type { SqliteDatabase, SqliteOpener } from '../../../runtime/src/engine/stores/sqlite/driver.ts';

/**
 * Holds a folder as long as the process lives, by a lock of the system on a file in it: a container that has the same volume
 * knows nothing of the processes of another, and would take the owner of a lock file for dead. Answers how to give it free.
 * Throws `already_running`.
 */
export function holdFolder(opener: SqliteOpener, folder: string): () => void {
  const native = opener.open(join(folder, HOLD_FILE));
  try {
    native.exec('pragma busy_timeout = 0; begin exclusive');
  } catch (error) {
    native.close();
    if (!/database is locked/i.test((error as Error).message)) throw error;
    throw new BoxError('already_running', `Another process is already using "${folder}". Stop it first.`, {
      details: { pid: null, folder },
    });
  }
  return () => release(native);
}

// --- internal ---

const HOLD_FILE = 'plane.hold';

function release(native: SqliteDatabase): void {
  native.exec('rollback');
  native.close();
}
