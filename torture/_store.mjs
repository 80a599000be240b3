// @ts-check
import { rmSync } from 'node:fs';
import { openPg, openServerJournal, openSqliteJournal } from '../packages/runtime/dist/host.mjs';

/**
 * @typedef {{ store: 'sqlite', path: string } | { store: 'postgres', url: string, schema: string }} StoreSettings
 * @typedef {import('../packages/runtime/dist/host.mjs').Journal} Journal
 */

/**
 * @param {StoreSettings} settings
 * @returns {Promise<{ journal: Journal, exclusive: boolean, close(): Promise<void> }>}
 */
export async function openJournal(settings) {
  if (settings.store === 'sqlite') {
    const journal = await openSqliteJournal({ path: settings.path });
    return { journal, exclusive: true, close: () => journal.close() };
  }
  const journal = await openServerJournal(settings.url, { schema: settings.schema });
  return { journal, exclusive: false, close: () => journal.close() };
}

/**
 * Forgets everything a torture has left in its store.
 * @param {StoreSettings} settings
 */
export async function removeStore(settings) {
  if (settings.store === 'sqlite') return rmSync(settings.path, { force: true });
  const sql = openPg(settings.url);
  await sql.exec(`drop schema if exists ${settings.schema} cascade`).finally(() => sql.close());
}
