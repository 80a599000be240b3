import { createReadStream } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { backUp, restore } from './backup.ts';
import type { FullSettings } from './config.ts';
import { notFound, PlaneError } from './errors.ts';
import { openStore } from './plane.ts';
import { openSealer } from './sealer.ts';

type Place = Pick<FullSettings, 'databaseUrl' | 'dataDir'>;

/**
 * Writes a backup of the store to `file`, while a control plane runs on it or not. The file appears whole, readable by its
 * owner alone. Throws `conflict` when it is there already. Answers how many rows it has.
 */
export async function backUpToFile(place: Place, file: string): Promise<number> {
  const db = await openStore(place, { beside: 'read' });
  const draft = join(dirname(file), `.svc-backup-${process.pid}-${Date.now()}`);
  let handle: FileHandle | undefined;
  try {
    const rows = await backUp(db, Date.now(), async () => {
      await handle?.close();
      handle = await open(draft, 'w', 0o600);
      const { write } = createWriter(handle);
      return write;
    });
    await handle?.sync();
    await handle?.close();
    handle = undefined;
    await link(draft, file);
    return rows;
  } catch (error) {
    throw toFileError(error, file);
  } finally {
    await handle?.close();
    await rm(draft, { force: true });
    await db.close();
  }
}

/** Puts the backup in `file` into the store, which holds no one yet. Throws as `restore`, and `secret_key_wrong`. */
export async function restoreFromFile(settings: Place & { secretKey: string }, file: string): Promise<number> {
  const db = await openStore(settings);
  try {
    const read = () => createInterface({ input: createReadStream(file), crlfDelay: Infinity });
    return await restore(db, read, (tx) => openSealer(tx, settings.secretKey));
  } catch (error) {
    throw toFileError(error, file);
  } finally {
    await db.close();
  }
}

// --- internal ---

function createWriter(handle: FileHandle): { write(line: string): Promise<void> } {
  return { write: async (line) => void (await handle.write(`${line}\n`)) };
}

function toFileError(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new PlaneError('conflict', `The file "${file}" is there already. Name another one.`);
  if (code === 'ENOENT') return notFound(`file or folder "${file}"`);
  return error;
}
