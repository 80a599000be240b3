import type { Journal } from '../engine/journal.ts';
import type { Probe } from '../health/health.ts';
import type { BoxStorage } from '../storage/storage.ts';
import type { SqlSession } from '../stores/client.ts';

export interface Probed {
  client: Pick<SqlSession, 'query'>;
  journal: Journal;
  /** Undefined: the box has none. */
  storage: BoxStorage | undefined;
}

/** What `/health` of a deployed box asks, beside Redis. */
export function createProbes({ client, journal, storage }: Probed): Record<string, Probe> {
  return {
    database: () => probeDatabase(client),
    journal: async () => void (await journal.now()),
    ...(storage ? { storage: () => storage.check() } : {}),
  };
}

// --- internal ---

/** With one of these off, the server answers that something is kept which a crash of its machine may take back. */
const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit'];

async function probeDatabase(client: Probed['client']): Promise<string | undefined> {
  const text = `select name from pg_settings where name = any($1) and setting = 'off' order by name`;
  const rows = await client.query<{ name: string }>(text, [SETTINGS]);
  if (rows.length === 0) return undefined;
  const names = rows.map(({ name }) => name).join(', ');
  return `The database runs with ${names} off, so a crash of its machine may lose what was answered. Set it to on.`;
}
