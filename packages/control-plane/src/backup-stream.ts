import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { backUp, restore } from './backup.ts';
import type { FullSettings } from './config.ts';
import { PlaneError } from './errors.ts';
import { openStore } from './plane.ts';
import { openSealer } from './sealer.ts';

type Place = Pick<FullSettings, 'databaseUrl' | 'dataDir'>;

/**
 * Writes a backup to a stream, as the output of a container, while a control plane runs on the store or not. What breaks off is
 * no backup to `restoreFromStream`. Throws `conflict` where others wrote so much meanwhile that it would have to start over.
 */
export async function backUpToStream(place: Place, output: Writable): Promise<number> {
  const db = await openStore(place, { beside: 'read' });
  // Each write says what has failed.
  output.on('error', () => {});
  const once = onlyOnce();
  try {
    return await backUp(db, Date.now(), async () => {
      once();
      return (line) => write(output, `${line}\n`);
    });
  } finally {
    await db.close();
  }
}

/** Puts a backup from a stream into the store, which holds no one yet. Throws as `restore`, and `secret_key_wrong`. */
export async function restoreFromStream(settings: Place & { secretKey: string }, input: Readable): Promise<number> {
  const db = await openStore(settings);
  const once = onlyOnce();
  try {
    const read = () => {
      once();
      return createInterface({ input, crlfDelay: Infinity });
    };
    return await restore(db, read, (tx) => openSealer(tx, settings.secretKey));
  } finally {
    await db.close();
  }
}

// --- internal ---

/** A stream is not wound back. */
function onlyOnce(): () => void {
  let isBegun = false;
  return () => {
    if (isBegun) throw new PlaneError('conflict', 'The store was written to at the same time. Try again.');
    isBegun = true;
  };
}

function write(output: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
