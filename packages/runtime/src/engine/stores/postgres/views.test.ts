import { expect, test } from 'vitest';
import { describeWhen, realServers } from '../../../../test/require.ts';
import { createDatabase, openPgClient } from '../_clients.ts';
import { openPostgresJournal } from './journal.ts';
import { makeViews, VIEW_SCHEMA } from './views.ts';

describeWhen(realServers.database, 'the views of a journal', (server) => {
  test('are made once by replicas that boot together, who had found none', async () => {
    const { url, drop } = await createDatabase(server);
    const replicas = Array.from({ length: 6 }, () => openPgClient(url));
    try {
      const [first] = replicas;
      if (!first) throw new Error('There is no replica.');
      await openPostgresJournal({ sql: first, schema: 'journal' });
      for (let round = 0; round < 15; round++) {
        await first.exec(`drop schema if exists ${VIEW_SCHEMA} cascade`);
        await Promise.all(replicas.map((sql) => makeViews(sql, 'journal')));
        const [found] = await first.query<{ count: number }>(`select count(*)::int4 as count from ${VIEW_SCHEMA}.runs`);
        expect(found).toEqual({ count: 0 });
      }
    } finally {
      await Promise.all(replicas.map((sql) => sql.close()));
      await drop();
    }
  });
});
