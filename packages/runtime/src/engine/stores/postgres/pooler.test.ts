import { afterAll, beforeAll, expect, test } from 'vitest';
import { pgBouncer, startPgBouncer } from '../../../../test/_pgbouncer.ts';
import { describeWhen } from '../../../../test/require.ts';
import { openPg } from '../../../stores/pg.ts';
import type { PgClient } from '../../../stores/pg.ts';
import { describeJournal } from '../contract/journal.ts';
import { createPlaces } from './_places.ts';
import { POSTGRES_VERSION } from './schema.ts';

describeWhen(pgBouncer, 'Postgres journal behind PgBouncer, a session for each transaction', (servers) => {
  let pooler: { url: string; stop(): Promise<void> };
  let sql: PgClient;
  beforeAll(async () => {
    pooler = await startPgBouncer(servers);
    sql = openPg(pooler.url);
    await sql.ready;
  });
  afterAll(async () => {
    await sql.close();
    await pooler.stop();
  });
  describeJournal(
    'contract',
    POSTGRES_VERSION,
    createPlaces(() => sql),
  );

  test('each session of the server is used by many, with no statement prepared in it', async () => {
    const ask = () =>
      sql.query<{ pid: number; prepared: number }>(
        'select pg_backend_pid() as pid, (select count(*)::int4 from pg_prepared_statements) as prepared, pg_sleep(0.01)',
        [],
        { prepared: true },
      );
    const rows = (await Promise.all(Array.from({ length: 40 }, ask))).flat();
    expect(new Set(rows.map(({ pid }) => pid)).size).toBeGreaterThan(1);
    expect(rows.every(({ prepared }) => prepared === 0)).toBe(true);
  });
});
