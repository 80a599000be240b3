import { brotliDecompressSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe } from 'vitest';
import { realServers } from '../../test/require.ts';
import { getPackageFile } from '../stores/package-file.ts';
import type { SqlClient } from '../stores/sql.ts';
import { newJournalPath } from './_setup.ts';
import type { Place } from './_setup.ts';
import { createDatabase, openPgClient, toPgliteClient } from './stores/_clients.ts';
import { openPostgresJournal } from './stores/postgres/journal.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';

/** The same tests on SQLite and on Postgres: a server where there is one, PGlite otherwise. */
export function describeOnStores(name: string, tests: (newPlace: () => Place) => void): void {
  describe(`${name}, on SQLite`, () =>
    tests(() => {
      const path = newJournalPath();
      return { open: () => openSqliteJournal({ path }) };
    }));

  describe(`${name}, on Postgres`, () => {
    let sql: SqlClient;
    let drop: (() => Promise<void>) | undefined;
    let count = 0;
    beforeAll(async () => {
      const server = realServers.database.value;
      if (server === undefined) return void (sql = toPgliteClient(await openPglite()));
      const database = await createDatabase(server);
      sql = openPgClient(database.url);
      drop = database.drop;
    });
    afterAll(async () => {
      await sql.close();
      await drop?.();
    });
    tests(() => {
      const schema = `engine_${++count}`;
      return { open: () => openPostgresJournal({ sql, schema }) };
    });
  });
}

// --- internal ---

function openPglite(): Promise<PGlite> {
  const template = brotliDecompressSync(readFileSync(getPackageFile('template/pglite.tar.br')));
  return PGlite.create({ loadDataDir: new Blob([template]) });
}
