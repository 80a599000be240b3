import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreClient } from '../stores/client.ts';
import type { PgliteClient } from '../stores/pglite.ts';
import { readWorkspaceMigrations } from './migrations.ts';

/**
 * The relational store of a test box: a PGlite in a folder of its own, opened when something first asks it. It has the
 * box's tables and those of the project, by the migrations of the workspace in `root`.
 */
export interface LazyDatabase {
  client: StoreClient;
  /** The database itself, opened if it is not. */
  pglite(): Promise<PgliteClient>;
  /** Nothing has asked it anything, so there is nothing in it. */
  isBlank(): boolean;
  /** Resolves when it is not being opened: true when it was. Rejects with what keeps it shut, such as a migration. */
  settled(): Promise<boolean>;
  close(): Promise<void>;
}

export function createLazyDatabase(root?: string): LazyDatabase {
  let opened: Promise<{ client: PgliteClient; folder: string }> | undefined;
  let isOpen = false;
  const kept: Statement[] = [];
  const client = async (): Promise<PgliteClient> => {
    const { client: database } = await (opened ??= open(root, kept));
    isOpen = true;
    return database;
  };
  const lazy = createLazyClient(client);
  /** What is only written down is, once something opens the store: no test has to open it for that alone. */
  const keep = (text: string, params?: unknown[]): boolean => {
    if (opened || !text.startsWith(WRITTEN_DOWN)) return false;
    kept.push({ text, params });
    return true;
  };
  return {
    client: {
      ...lazy,
      query: async (text, params, how) => (keep(text, params) ? [] : lazy.query(text, params, how)),
      queryArrays: async (text, params) => (keep(text, params) ? [] : lazy.queryArrays(text, params)),
    },
    pglite: client,
    isBlank: () => opened === undefined,
    async settled() {
      const wasOpening = opened !== undefined && !isOpen;
      await opened;
      return wasOpening;
    },
    async close() {
      if (!opened) return;
      // One that did not open has been taken away.
      const { client: database, folder } = (await opened.catch(() => undefined)) ?? {};
      if (!database || !folder) return;
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A client of a store that is opened by the first call. It is the opener's to close. */
export function createLazyClient(get: () => Promise<StoreClient>): StoreClient {
  return {
    ready: Promise.resolve(),
    query: async (...args) => (await get()).query(...args),
    queryArrays: async (...args) => (await get()).queryArrays(...args),
    exec: async (...args) => (await get()).exec(...args),
    transaction: async (work) => (await get()).transaction(work),
    close: async () => {},
  };
}

// --- internal ---

interface Statement {
  text: string;
  params: unknown[] | undefined;
}

/** Of the activity log, which nothing reads but who asks for it. */
const WRITTEN_DOWN = 'insert into "svc"."activity"';

async function open(root: string | undefined, kept: Statement[]): Promise<{ client: PgliteClient; folder: string }> {
  const [{ openPglite }, { openDatabase }, { applyProjectMigrations }] = await Promise.all([
    import('../stores/pglite.ts'),
    import('../stores/database.ts'),
    import('../stores/project-migrations.ts'),
  ]);
  const migrations = root === undefined ? [] : readWorkspaceMigrations(root);
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  const database = openDatabase(openPglite({ dataDir: join(folder, 'pg') }));
  try {
    await database.ready;
    await applyProjectMigrations(database.client, migrations);
    for (const { text, params } of kept.splice(0)) await database.client.query(text, params);
  } catch (error) {
    await database.close();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return { client: database.client, folder };
}
