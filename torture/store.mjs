// @ts-check
import { openDatabase, openPg, openPostgresJournal, openSqliteJournal } from '../packages/runtime/dist/host.mjs';

/**
 * @typedef {{ store: 'sqlite', path: string } | { store: 'postgres', url: string, schema: string }} StoreSettings
 */

/**
 * @param {StoreSettings} settings
 * @returns {Promise<{ journal: import('../packages/runtime/dist/host.mjs').Journal, exclusive: boolean }>}
 */
export async function openJournal(settings) {
  if (settings.store === 'sqlite')
    return { journal: await openSqliteJournal({ path: settings.path }), exclusive: true };
  const { client } = openDatabase(openPg(settings.url));
  return { journal: await openPostgresJournal({ sql: client, schema: settings.schema }), exclusive: false };
}
