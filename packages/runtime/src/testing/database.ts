import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreClient } from '../stores/client.ts';

/** The relational store of a test box: a PGlite in a folder of its own, opened when something first asks it. */
export interface LazyDatabase {
  client: StoreClient;
  /** Nothing has asked it anything, so there is nothing in it. */
  isBlank(): boolean;
  close(): Promise<void>;
}

export function createLazyDatabase(): LazyDatabase {
  let opened: Promise<{ client: StoreClient; folder: string }> | undefined;
  const client = async (): Promise<StoreClient> => (await (opened ??= open())).client;
  return {
    client: {
      ready: Promise.resolve(),
      query: async (...args) => (await client()).query(...args),
      queryArrays: async (...args) => (await client()).queryArrays(...args),
      exec: async (...args) => (await client()).exec(...args),
      transaction: async (work) => (await client()).transaction(work),
      close: async () => {},
    },
    isBlank: () => opened === undefined,
    async close() {
      if (!opened) return;
      const { client: database, folder } = await opened;
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// --- internal ---

async function open(): Promise<{ client: StoreClient; folder: string }> {
  const [{ openPglite }, { openDatabase }] = await Promise.all([
    import('../stores/pglite.ts'),
    import('../stores/database.ts'),
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  const database = openDatabase(openPglite({ dataDir: join(folder, 'pg') }));
  await database.ready;
  return { client: database.client, folder };
}
