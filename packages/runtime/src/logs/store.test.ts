import { afterAll, beforeAll } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import { createDatabase } from '../engine/stores/_clients.ts';
import { openDatabase } from '../stores/database.ts';
import type { Database } from '../stores/database.ts';
import { createDrizzle } from '../stores/drizzle.ts';
import { openPg } from '../stores/pg.ts';
import { createLazyDatabase } from '../testing/database.ts';
import { describeLogStore } from './contract.ts';
import { createLogStore } from './store.ts';

const local = createLazyDatabase();
afterAll(() => local.close());
describeLogStore('PGlite', () => createLogStore(createDrizzle(local.client, local.client.ready)));

describeWhen(realServers.database, 'a server', (url) => {
  let database: Database;
  let home: { url: string; drop(): Promise<void> };
  beforeAll(async () => {
    home = await createDatabase(url);
    database = openDatabase(openPg(home.url));
    await database.ready;
  });
  afterAll(async () => {
    await database.close();
    await home.drop();
  });
  describeLogStore('Postgres', () => createLogStore(database.db));
});
