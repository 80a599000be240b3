import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../../../test/require.ts';
import type { SqlClient } from '../../../stores/sql.ts';
import type { CodeStore } from '../../journal/code.ts';
import type { RunFilter } from '../../journal/reading.ts';
import { createDatabase, openPgClient } from '../_clients.ts';
import { createCodeStore } from './code.ts';
import { endedQuery } from './ended.ts';
import { listQuery } from './lists.ts';
import { lookQuery } from './look.ts';
import type { StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';
import { namesOfTables } from './tables.ts';
import { claimQuery } from '../postgres/claim.ts';
import { openPostgresJournal } from '../postgres/journal.ts';
import { IS_LAPSED, lapsedOwners } from '../postgres/owners.ts';
import { NOW } from '../postgres/sql.ts';
import { createPostgresStatements, toNumbered } from '../postgres/statements.ts';
import { findSqlite } from '../sqlite/driver.ts';
import type { SqliteDatabase } from '../sqlite/driver.ts';
import { openSqliteJournal } from '../sqlite/journal.ts';
import { createSqliteStatements } from '../sqlite/statements.ts';

// How the databases read lists of a table of many runs: never all of it for a page.

/** The index that each is found by; `pkey` is the one of the runs' ids. */
const FILTERS: [string, RunFilter, RegExp][] = [
  ['nothing', {}, /pkey/],
  ['name', { name: 'name-7' }, /runs_by_name/],
  ['kind', { kind: 'agent' }, /runs_of_agents/],
  ['status queued', { status: 'queued' }, /runs_free/],
  ['status running', { status: 'running' }, /runs_held/],
  ...(['waiting', 'blocked', 'failed', 'cancelled'] as const).map((status): [string, RunFilter, RegExp] => [
    `status ${status}`,
    { status },
    /runs_by_state/,
  ]),
  ['trigger', { trigger: 'schedule' }, /runs_by_cause/],
  ['session', { sessionId: 's' }, /runs_by_session/],
  ['parent', { parentRunId: 'p' }, /runs_by_parent/],
  ['retried', { retryOf: 'r' }, /runs_by_retry/],
  ['attribute', { attribute: { name: 'orderId', value: 'A-1' } }, /run_attributes/],
  ['client', { client: 'shop' }, /runs_by_client/],
  ['user', { user: 'ada' }, /runs_by_user/],
  ['time', { from: 1_700_000_000_000, to: 1_700_000_100_000 }, /pkey/],
  ...(['blocked', 'failed', 'cancelled'] as const).map((status): [string, RunFilter, RegExp] => [
    `name and status ${status}`,
    { name: 'name-7', status },
    /runs_by_name_state/,
  ]),
  ['name and status waiting', { name: 'name-7', status: 'waiting' }, /runs_by_state|runs_by_name/],
];
const WHERE_ENDED = endedQuery('runs', true);
const ENDED = [10_000, 10_000, 'ffff', 200];
const OPEN_CODES = ['runs_free', 'runs_held', 'runs_paused', 'runs_by_state'];
const ROWS = 20_000;
const COLUMNS = `run_id, trace_id, kind, name, trigger, status, seq, epoch, signals, input, input_tokens, output_tokens,
  cache_read_tokens, cache_write_tokens, total_tokens, created_at, ended_at`;
const values = (id: string) => `
  ${id}, 't', 'workflow', 'name-' || (n % 100), 'api', 'completed', 0, 0, 0, '[1]', 0, 0, 0, 0, 0, n, n`;

describe('SQLite', () => {
  let folder: string;
  let db: SqliteDatabase;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-plans-'));
    const path = join(folder, 'journal.db');
    await (await openSqliteJournal({ path })).close();
    db = (await findSqlite()).opener?.open(path) as SqliteDatabase;
    db.exec(`
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${ROWS})
      insert into runs (${COLUMNS}) select ${values(`printf('%08x', n)`)} from numbers`);
  });
  afterAll(async () => {
    db.close();
    await rm(folder, { recursive: true });
  });

  test.each(FILTERS)('finds runs by %s in an index', (_name, filter, index) => {
    const { sql, params } = listQuery(namesOfTables(), filter, { limit: 50, before: 'ffff' });
    const plan = db.prepare<{ detail: string }>(`explain query plan ${sql}`).all(...params);
    const text = plan.map(({ detail }) => detail.replace('PRIMARY KEY', 'pkey')).join('\n');
    expect(text).toMatch(index);
    expect(text).not.toMatch(/SCAN runs(?! USING (?:INDEX runs_(?:held|paused)|pkey))/);
  });

  test('finds what retention deletes in an index, in its order', () => {
    const plan = db.prepare<{ detail: string }>(`explain query plan ${WHERE_ENDED}`).all(...ENDED);
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/SEARCH runs USING .*INDEX runs_by_end/)]);
  });

  test('finds the runs that wait for their code among those that wait', async () => {
    for (const [text, params] of await askForWaits(createSqliteStatements(db, {} as never, () => 0))) {
      const plan = db.prepare<{ detail: string }>(`explain query plan ${text}`).all(...params);
      const lines = plan.map(({ detail }) => detail).join('\n');
      expect(lines).toMatch(/SEARCH runs USING INDEX runs_(by_state|free)/);
      expect(lines).not.toContain('SCAN runs');
    }
  });

  test('finds the code of open runs without those that have ended', async () => {
    const asked = await askForOpenCodes(createSqliteStatements(db, {} as never, () => 0));
    for (const [text, params] of asked) {
      const plan = db.prepare<{ detail: string }>(`explain query plan ${text}`).all(...params);
      const lines = plan.map(({ detail }) => detail).join('\n');
      for (const index of OPEN_CODES) expect(lines).toContain(index);
      expect(lines).not.toMatch(/SCAN runs(?! USING INDEX runs_(?:held|paused))/);
    }
  });
});

describeWhen(realServers.database, 'Postgres', (server) => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
  beforeAll(async () => {
    database = await createDatabase(server);
    sql = openPgClient(database.url);
    await openPostgresJournal({ sql });
    await sql.exec(`
      insert into journal.runs (${COLUMNS})
      select ${values(`lpad(to_hex(n), 8, '0')`)} from generate_series(1, ${ROWS}) as n;
      update journal.runs set status = (array['blocked', 'failed', 'cancelled'])[1 + created_at % 3] where created_at % 41 = 0;
      analyze journal.runs;`);
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });

  test.each(FILTERS)('finds runs by %s in an index', async (_name, filter, index) => {
    const { sql: text, params } = listQuery(namesOfTables('journal'), filter, { limit: 50, before: 'ffff' });
    const plan = await sql.query<{ 'QUERY PLAN': string }>(`explain ${toNumbered(text)}`, params);
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(lines).toMatch(index);
    expect(lines).not.toContain('Seq Scan');
  });

  test('finds what retention deletes in an index, in its order', async () => {
    const text = toNumbered(WHERE_ENDED.replace('runs', 'journal.runs'));
    const plan = await sql.query<{ 'QUERY PLAN': string }>(`explain ${text}`, ENDED);
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(lines).toContain('runs_by_end');
    expect(lines).not.toMatch(/Sort|Seq Scan/);
  });

  test('finds the runs that wait for their code among those that wait', async () => {
    for (const [text, params] of await askForWaits(createPostgresStatements(sql, namesOfTables('journal')))) {
      const plan = await sql.query<{ 'QUERY PLAN': string }>(`explain ${toNumbered(text)}`, params);
      const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
      expect(lines).toMatch(/Index Scan (using|on) runs_(by_state|free)/);
      expect(lines).not.toContain('Seq Scan on runs');
    }
  });

  test('finds the code of open runs without those that have ended', async () => {
    for (const [text, params] of await askForOpenCodes(createPostgresStatements(sql, namesOfTables('journal')))) {
      const plan = await sql.query<{ 'QUERY PLAN': string }>(`explain ${toNumbered(text)}`, params);
      const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
      for (const index of OPEN_CODES) expect(lines).toContain(index);
      expect(lines).not.toContain('Seq Scan on runs');
    }
  });

  test('a claim and a look that find nothing read neither the runs that are held nor all there are', async () => {
    const tables = namesOfTables('journal');
    const given = `given as (select ${NOW} as now, $1::text as owner)`;
    await sql.exec(`
      insert into journal.runs (${COLUMNS}, owner, lease_until)
      select 'held-' || n, 't', 'workflow', 'w', 'api', 'running', 0, 0, 0, '[1]', 0, 0, 0, 0, 0, n, null, 'owner-' || n % 3,
        ${NOW} + 600000 from generate_series(1, ${ROWS}) as n;
      insert into journal.owners select 'owner-' || n, ${NOW} + 600000 from generate_series(0, 2) as n;`);
    await sql.exec('vacuum analyze journal.runs');
    for (const [text, params] of [
      [claimQuery(tables), ['me', 30_000, 100]],
      [`with ${given}, ${lapsedOwners(tables)} ${lookQuery(tables, IS_LAPSED)}`, ['me']],
    ] as const) {
      const [plan] = await sql.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) ${text}`,
        [...params],
      );
      const read = plan?.['QUERY PLAN'][0].Plan ?? {};
      expect((read['Shared Hit Blocks'] ?? Infinity) + (read['Shared Read Blocks'] ?? Infinity)).toBeLessThan(150);
    }
  });
});

// --- internal ---

type Asked = [string, StoredValue[]][];

/** The statements about runs that the store of kept code asks for open runs, none of which is executed. */
async function askForOpenCodes(statements: Statements): Promise<Asked> {
  const asked = await listAsked(statements, async (code) => {
    await code.listOpen(['a', 'b']);
    await code.drop({ idleMs: 0 });
    await code.listOpenRuns('order', 10);
  });
  expect(asked).toHaveLength(3);
  return asked;
}

/** Those for runs that wait for their code. */
async function askForWaits(statements: Statements): Promise<Asked> {
  const asked = await listAsked(statements, async (code) => {
    await code.wake(['a', 'b']);
    await code.wake(['a', 'b'], { orKept: true });
    await code.countWaiting(10);
  });
  expect(asked).toHaveLength(3);
  return asked;
}

async function listAsked(statements: Statements, ask: (code: CodeStore) => Promise<void>): Promise<Asked> {
  const asked: Asked = [];
  const query = async (text: string, params: StoredValue[]) => {
    asked.push([text, params]);
    return [];
  };
  await ask(createCodeStore({ ...statements, query, commit: async () => {}, now: async () => 0 }));
  return asked.filter(([text]) => text.includes(`${statements.tables.runs} `));
}
