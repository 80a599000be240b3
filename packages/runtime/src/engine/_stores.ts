import { afterAll, beforeAll, describe } from 'vitest';
import { realServers } from '../../test/require.ts';
import type { SqlClient } from '../stores/sql.ts';
import { newJournalPath } from './_setup.ts';
import type { Place } from './_setup.ts';
import { createDatabase, openPgClient, sharePglite } from './stores/_clients.ts';
import { createReusedPlaces } from './stores/postgres/_places.ts';
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
    beforeAll(async () => {
      const server = realServers.database.value;
      if (server === undefined) return void (sql = await sharePglite());
      const database = await createDatabase(server);
      sql = openPgClient(database.url);
      drop = database.drop;
    });
    afterAll(async () => {
      await sql.close();
      await drop?.();
    });
    tests(createReusedPlaces(() => sql));
  });
}
