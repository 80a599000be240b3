import type { Log } from '../log.ts';
import type { ConnectionUse } from './store.ts';

/** Who used what, once a minute each. Whoever calls does not wait for it. */
export function createUseNotes(write: (id: string, use: Omit<ConnectionUse, 'lastUsedAt'>) => Promise<void>, log: Log) {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<unknown>>();
  const note = (id: string, use: Omit<ConnectionUse, 'lastUsedAt'>): void => {
    const name = JSON.stringify([id, use.kind, use.name]);
    const now = performance.now();
    if (now - (noted.get(name) ?? -Infinity) < NOTE_MS) return;
    if (noted.size > MOST_NOTED) noted.clear();
    noted.set(name, now);
    const written = write(id, use)
      .catch((error: unknown) => {
        noted.delete(name);
        log.warn('The use of a connection could not be noted.', { connection: id, error });
      })
      .finally(() => writing.delete(written));
    writing.add(written);
  };
  return Object.assign(note, {
    async close() {
      await Promise.all(writing);
    },
  });
}

// --- internal ---

const NOTE_MS = 60_000;
const MOST_NOTED = 10_000;
