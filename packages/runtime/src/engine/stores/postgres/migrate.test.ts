import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../../../test/require.ts';
import { until } from '../../../../test/_setup.ts';
import type { SqlClient } from '../../../stores/sql.ts';
import { createDatabase, openPgClient } from '../_clients.ts';
import { openPostgresJournal } from './journal.ts';
import { migratePostgres } from './migrate.ts';
import { MIGRATIONS, POSTGRES_VERSION } from './schema.ts';

/** The version before the one that fills a table and makes indexes beside it. */
const BEFORE = MIGRATIONS.findIndex((migration) => {
  const made = migration('s');
  return typeof made !== 'string' && made.fill !== undefined;
});
const ROWS = 3_000;

describeWhen(realServers.database, 'a large journal of an older schema', (server) => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
  let beside: SqlClient;
  let other: SqlClient;
  beforeAll(async () => {
    database = await createDatabase(server);
    sql = openPgClient(database.url);
    beside = openPgClient(database.url);
    other = openPgClient(database.url);
    await migratePostgres(sql, 'journal', { newest: BEFORE });
    await sql.exec(`
      insert into journal.runs (run_id, trace_id, kind, name, trigger, status, seq, epoch, signals, input, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, total_tokens, created_at, ended_at, attributes)
      select lpad(to_hex(n), 8, '0'), 't', 'workflow', 'w', 'api', 'completed', 0, 0, 0, '[1]', 0, 0, 0, 0, 0, n, n,
        '{"order":' || n || ',"odd":"x"}'
      from generate_series(1, ${ROWS}) as n;
      update journal.runs set attributes = '{"odd":"\\u0000\\ud800","order":1}' where run_id = '00000001';`);
  });
  afterAll(async () => {
    await Promise.all([sql.close(), beside.close(), other.close()]);
    await database.drop();
  });

  test('is written to while its indexes are made, by one of those that boot, after one that died at it', async () => {
    const version = async () => (await sql.query<{ version: number }>('select version from journal.schema_version'))[0];
    const indexing = `select 1 from pg_stat_activity where query like 'create index concurrently%' and state = 'active'`;
    await sql.exec('create index runs_by_client on journal.runs (name)');
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    // An index that is made while others write waits for the end of every older snapshot.
    const reader = other.transaction(async (tx) => {
      await tx.exec('set transaction isolation level repeatable read; select 1;');
      await released;
    });
    const migrated = [1, 2].map(() => migratePostgres(sql, 'journal', { beside, large: ROWS - 1 }));
    await until(async () => (await other.query(indexing)).length > 0);
    expect(await version()).toEqual({ version: BEFORE });
    await other.query(`update journal.runs set attributes = '{"order":"new"}' where run_id = '00000002'`);
    release();
    await Promise.all([reader, ...migrated]);
    expect(await version()).toEqual({ version: POSTGRES_VERSION });
    const journal = await openPostgresJournal({ sql });
    const find = async (value: string) => {
      const found = await journal.listRuns({ attribute: { name: 'order', value } }, { limit: 10 });
      return found.map(({ runId }) => runId);
    };
    expect([await find('7'), await find('new'), await find('2')]).toEqual([['00000007'], ['00000002'], []]);
    const [index] = await sql.query(`select indisvalid as ok, pg_get_indexdef(indexrelid) as text from pg_index
      where indexrelid = 'journal.runs_by_client'::regclass`);
    expect(index).toEqual({ ok: true, text: expect.stringContaining('json_of') });
    expect(await journal.listRuns({ attribute: { name: 'odd', value: 'x' } }, { limit: 2 })).toHaveLength(2);
    await journal.close();
  });
});
