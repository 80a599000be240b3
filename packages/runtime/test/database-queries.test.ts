import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ReadableStore } from '../src/stores/reading/readable.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { openDatabase } from '../src/stores/database.ts';
import type { Database } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import type { StoreClient } from '../src/stores/client.ts';
import { createLazyDatabase } from '../src/testing/database.ts';
import type { BoxOptions } from '../src/box/options.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { HOSTILE } from './_hostile-statements.ts';
import { openPooler } from './_pooler.ts';
import { describeWhen, realServers } from './require.ts';
import { call, setupBoxes } from './_setup.ts';
import type { Answer, TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Result {
  columns: { name: string; type: string }[];
  rows: unknown[][];
  cut: string | null;
  nextCursor: string | null;
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

const query = (box: TestBox, sql: string) => call<Result>(box, 'POST /api/database/query', { sql });
const rowsOf = (box: TestBox, path: string) => call<Result>(box, `GET /api/database/tables/public/${path}`);

/** What was refused: a code of Postgres, or one of ours. */
const toCode = ({ body }: Answer<Result>): string => String(body.details?.['sqlState'] ?? body.code ?? 'it ran');

const TABLES = `
  create table notes (id int primary key, body text not null, tag text, size int8, at timestamptz default '2026-01-02 03:04:05+00');
  insert into notes select n, 'Note ' || n, case when n % 3 = 0 then null else 't' || n % 3 end, n * 10 from generate_series(1, 25) n;
  create table loose (word varchar(5));
  insert into loose select 'w' || n from generate_series(1, 7) n;
  create table many (n int primary key);
  insert into many select * from generate_series(1, 1200);
  create sequence numbers;
  create schema "Other things"; create table "Other things"."a ""table""" (a bool, b jsonb, c float8);
  insert into "Other things"."a ""table""" values (true, '{"x":[1]}', 'NaN');
  create view tagged as select id, tag from notes where tag is not null;
  analyze notes;`;

describe('database queries on PGlite', () => {
  const database = createLazyDatabase();
  const db = createDrizzle(database.client, database.client.ready);
  afterAll(() => database.close());
  describeQueries({
    client: database.client,
    options: { db, readable: { kind: 'embedded', pglite: database.pglite } },
  });
});

describeWhen(realServers.database, 'database queries on Postgres', (url) => {
  const name = `svc_queries_${process.pid}`;
  const address = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  let database: Database;
  const server = openLater(() => database.client);
  const options: Partial<BoxOptions> = {};
  beforeAll(async () => {
    await administer(url, `create database ${name}`);
    const opened = openDatabase(openPg(address));
    database = opened;
    await opened.ready;
    options.db = opened.db;
    options.readable = { kind: 'server', url: address, client: opened.client };
  });
  afterAll(async () => {
    const roles = await database.client.query<{ name: string }>(
      `select rolname as name from svc.installation, pg_roles where rolname = 'svc_query_' || left(replace(id::text, '-', ''), 16)`,
    );
    await database.close();
    await administer(url, `drop database ${name} with (force)`);
    for (const { name: role } of roles) await administer(url, `drop role ${role}`);
  });

  describeQueries({ client: server, options });

  test('the password of the login is sealed, and not readable in the database', async () => {
    const [row] = await server.query<{ sealed: string }>(
      `select sealed::text from svc.secrets where name = 'query_login'`,
    );
    expect(row?.sealed).toContain('wrappedKey');
  });

  test('behind a connection pooler the box boots, and the route says why it has no queries', async () => {
    await administer(url, `alter database ${name} set search_path = public`);
    const pooled = await openPooler(address);
    const opened = openDatabase(openPg(pooled));
    onTestFinished(() => opened.close());
    await opened.ready;
    const readable = { kind: 'server', url: pooled, client: opened.client } as const;
    const box = await boxes.open({ options: { db: opened.db, readable } });
    expect((await call(box, 'GET /api/database/tables')).status).toBe(200);
    const refused = await query(box, 'select 1');
    expect(refused).toMatchObject({ status: 503, body: { code: 'query_login_unavailable' } });
    expect(refused.body.message).toContain('connection pooler');
  });

  test('where the role of the box may make no login it boots, and the route says what to run', async () => {
    const role = `svc_small_${process.pid}`;
    const small = `${name}_small`;
    await administer(url, `create role ${role} login password 'small'`);
    await administer(url, `create database ${small} owner ${role}`);
    const plain = Object.assign(new URL(url), { pathname: `/${small}`, username: role, password: 'small' }).href;
    await administer(Object.assign(new URL(url), { pathname: `/${small}` }).href, 'create extension vector');
    const opened = openDatabase(openPg(plain));
    let login = '';
    try {
      await opened.ready;
      await opened.client.exec('create table notes (id int primary key)');
      const box = await boxes.open({
        options: { db: opened.db, readable: { kind: 'server', url: plain, client: opened.client } },
      });
      expect((await call(box, 'GET /live')).status).toBe(200);
      const refused = await query(box, 'select 1');
      expect(refused).toMatchObject({ status: 503, body: { code: 'query_login_unavailable' } });
      const sql = String(refused.body.details?.['sql']);
      login = /create role "(\w+)" login/.exec(sql)?.[1] ?? '';
      expect(sql).toContain('SCRAM-SHA-256');
      await administer(url, sql);
      expect(await query(box, 'select * from notes')).toMatchObject({ status: 200, body: { rows: [] } });
      // Someone gave it more.
      await administer(url, `alter role ${login} createdb`);
      const again = await boxes.open({
        options: { db: opened.db, readable: { kind: 'server', url: plain, client: opened.client } },
      });
      expect((await query(again, 'select 1')).status).toBe(503);
    } finally {
      await opened.close();
      await administer(url, `drop database ${small} with (force)`);
      if (login) await administer(url, `drop role ${login}`);
      await administer(url, `drop role ${role}`);
    }
  });
});

interface Home {
  client: StoreClient;
  options: Partial<BoxOptions>;
}

function describeQueries({ client, options }: Home): void {
  let box: TestBox;
  const secret = `sk-${randomBytes(12).toString('hex')}`;
  beforeAll(async () => {
    await client.exec(TABLES);
  });
  // Both open what the other has sealed.
  const secretKey = newMasterKey();
  const openFor = (timeoutMs: number) => {
    const readable = { ...(options.readable as ReadableStore), timeoutMs };
    return boxes.share({ options: { ...options, readable, secretKey } })();
  };
  const open = async () => (box ??= await openFor(30_000));

  test('tables are listed with their columns, and those of the box are not', async () => {
    const { body } = await call<{ items: Record<string, unknown>[] }>(await open(), 'GET /api/database/tables');
    expect(body.items.map(({ schema, name, kind, rows }) => [schema, name, kind, rows])).toEqual([
      ['Other things', 'a "table"', 'table', null],
      ['public', 'loose', 'table', null],
      ['public', 'many', 'table', null],
      ['public', 'notes', 'table', 25],
      ['public', 'tagged', 'view', null],
    ]);
    expect(body.items[3]?.['columns']).toEqual([
      { name: 'id', type: 'integer', isNullable: false, isKey: true },
      { name: 'body', type: 'text', isNullable: false, isKey: false },
      { name: 'tag', type: 'text', isNullable: true, isKey: false },
      { name: 'size', type: 'bigint', isNullable: true, isKey: false },
      { name: 'at', type: 'timestamp with time zone', isNullable: true, isKey: false },
    ]);
    const first = await call<Result>(box, 'GET /api/database/tables?limit=3');
    const next = await call<{ items: { name: string }[] }>(
      box,
      `GET /api/database/tables?cursor=${first.body.nextCursor}`,
    );
    expect(next.body.items.map(({ name }) => name)).toEqual(['notes', 'tagged']);
  });

  test('a statement is answered with its columns, and values as JSON has them', async () => {
    const { status, body } = await query(
      await open(),
      `select 1::int2 a, 9007199254740993 b, true c, null d, '{"x":1}'::jsonb a, 'NaN'::float8 f, 1.50 g, '2026-01-02 03:04:05+00'::timestamptz at time zone 'UTC' h; -- over`,
    );
    expect(status).toBe(200);
    expect(body.columns.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'a', 'f', 'g', 'h']);
    expect(body.columns.slice(0, 2).map(({ type }) => type)).toEqual(['smallint', 'bigint']);
    expect(body.rows).toEqual([[1, '9007199254740993', true, null, { x: 1 }, 'NaN', '1.50', '2026-01-02 03:04:05']]);
    expect((await query(box, 'select * from notes where false')).body).toMatchObject({ rows: [], cut: null });
    expect((await query(box, 'select * from notes where false')).body.columns).toHaveLength(5);
    expect((await query(box, 'explain select * from notes')).body.rows[0]?.[0]).toContain('Seq Scan on notes');
  });

  test('an answer ends after 1,000 rows, and within 5 MiB', async () => {
    const many = await query(await open(), 'select * from many order by n');
    expect([many.body.rows.length, many.body.rows.at(-1), many.body.cut]).toEqual([1_000, [1_000], 'rows']);
    const exact = await query(box, 'select * from many order by n limit 1000');
    expect([exact.body.rows.length, exact.body.cut]).toEqual([1_000, null]);
    const large = await query(box, `select n, repeat('x', 100000) from many order by n limit 60`);
    expect(large.body.cut).toBe('size');
    expect(large.body.rows.length).toBeGreaterThan(40);
    expect(large.body.rows.length).toBeLessThan(54);
    expect(large.body.rows.map(([n]) => n)).toEqual(large.body.rows.map((_, n) => n + 1));
  });

  test('an error of the database says what and where', async () => {
    const { status, body } = await query(await open(), 'select nothing from notes');
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'query_failed', details: { sqlState: '42703', position: 8 } });
    expect(body.message).toContain('column "nothing" does not exist');
  });

  test('rows are paged through in any order, each once, those without a value last', async () => {
    await open();
    for (const order of ['', '&sort=tag', '&sort=tag&order=desc', '&sort=at', '&order=desc']) {
      const seen: unknown[][] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const path: string = `notes/rows?limit=7${order}${cursor && `&cursor=${cursor}`}`;
        const { status, body }: Answer<Result> = await rowsOf(box, path);
        expect([status, body.message]).toEqual([200, undefined]);
        seen.push(...body.rows);
        cursor = body.nextCursor;
      }
      expect(new Set(seen.map(([id]) => id)).size).toBe(25);
      expect(seen).toHaveLength(25);
      const ends = order.includes('tag') ? seen.slice(-8) : [];
      expect(ends.filter((row) => row[2] !== null)).toEqual([]);
    }
    const words: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body }: Answer<Result> = await rowsOf(
        box,
        `loose/rows?limit=3&sort=word${cursor && `&cursor=${cursor}`}`,
      );
      words.push(...body.rows.flat());
      cursor = body.nextCursor;
    }
    expect(words).toEqual(['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7']);
  });

  test('rows are filtered, and a value is only ever a value', async () => {
    await open();
    const filtered = (filter: unknown, table = 'notes') =>
      rowsOf(box, `${table}/rows?filter=${encodeURIComponent(JSON.stringify(filter))}`);
    const ids = async (filter: unknown) => (await filtered(filter)).body.rows.map(([id]) => id);
    expect(
      await ids([
        { column: 'id', is: 'gte', value: 23 },
        { column: 'tag', is: 'eq', value: 't2' },
      ]),
    ).toEqual([23]);
    expect(
      await ids([
        { column: 'tag', is: 'null' },
        { column: 'size', is: 'lt', value: '70' },
      ]),
    ).toEqual([3, 6]);
    expect(
      await ids([
        { column: 'body', is: 'contains', value: 'NOTE 2' },
        { column: 'tag', is: 'ne', value: 't2' },
      ]),
    ).toEqual([21, 22, 24, 25]);
    expect(await ids([{ column: 'body', is: 'eq', value: `x' or true --` }])).toEqual([]);
    expect((await filtered([{ column: 'word', is: 'eq', value: 'w1 and more' }], 'loose')).body.rows).toEqual([]);
    expect(await filtered([{ column: 'id', is: 'eq', value: 'many' }])).toMatchObject({
      status: 422,
      body: { code: 'query_failed' },
    });
    for (const filter of [[{ column: 'x"', is: 'null' }], [{ column: 'id', is: 'like', value: 1 }], { a: 1 }, 'x'])
      expect((await filtered(filter)).status).toBe(400);
    expect((await rowsOf(box, 'notes/rows?sort=nothing')).status).toBe(400);
    expect(await rowsOf(box, 'gone/rows')).toMatchObject({ status: 404, body: { code: 'table_not_found' } });
    expect(await call(box, 'GET /api/database/tables/svc/secrets/rows')).toMatchObject({ status: 404 });
    expect((await rowsOf(box, 'notes/rows?cursor=bm8')).body.code).toBe('invalid_cursor');
    const odd = `GET /api/database/tables/Other%20things/${encodeURIComponent('a "table"')}/rows`;
    expect((await call<Result>(box, odd)).body.rows).toEqual([[true, { x: [1] }, 'NaN']]);
  });

  test('a table that a migration brings is readable at once', async () => {
    await query(await open(), 'select 1');
    await client.exec(`create table brought (a int); insert into brought values (7)`);
    expect((await query(box, 'table brought')).body.rows).toEqual([[7]]);
    await client.exec('drop table brought');
  });

  test('no hostile statement runs, changes anything, or holds up who asks whether the box lives', async () => {
    await open();
    await call(box, 'PUT /api/secrets/PAYMENT_KEY', { value: secret });
    await query(box, 'select 1');
    const before = await dump(client);
    const url = await box.listen();
    // For what has to be ended.
    const hasty = await openFor(1_000);
    const found: [string, string][] = [];
    for (const [sql, answers] of HOSTILE) {
      let isOver = false;
      const asked = query(answers.includes('query_timeout') ? hasty : box, sql).finally(() => (isOver = true));
      // However long the statement takes, the answer to this is there.
      const lives = await fetch(`${url}/live`);
      expect(lives.status).toBe(200);
      const isEndless = /sleep|recursive|generate_series/.test(sql);
      expect([sql, isEndless && isOver]).toEqual([sql, false]);
      const answer = await asked;
      expect(JSON.stringify(answer.body)).not.toContain(secret);
      found.push([sql, toCode(answer)]);
    }
    const wrong = found.filter(
      ([sql, code]) =>
        !HOSTILE.find(([each]) => each === sql)?.[1]
          .split(' ')
          .includes(code),
    );
    expect(wrong.map(([sql, code]) => `${sql.slice(0, 100)}: ${code}`)).toEqual([]);
    expect(await dump(client)).toEqual(before);
    expect((await query(box, 'select count(*)::int from notes')).body.rows).toEqual([[25]]);
  });

  test('while as many queries are under way as there may be, another is refused', async () => {
    await open();
    const answers = await Promise.all(Array.from({ length: 5 }, () => query(box, 'select pg_sleep(0.5)')));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 429]);
    expect(answers.find(({ status }) => status === 429)?.body.code).toBe('too_many_queries');
  });
}

/** All that is kept, and who may do what with it. */
async function dump(client: StoreClient): Promise<unknown> {
  const tables = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname !~ '^(pg_|information_schema)' order by 1`,
  );
  const contents: unknown[] = [];
  for (const { name } of tables)
    contents.push([
      name,
      await client.query(
        `select md5(coalesce(string_agg(each::text, '|' order by each::text), '')) as sum from ${name} each`,
      ),
    ]);
  const catalogs = [
    `select relname, relkind::text, relacl::text from pg_class where relnamespace in (select oid from pg_namespace where nspname !~ '^pg_') order by 1, 2`,
    `select proname, proacl::text from pg_proc where proacl is not null order by oid`,
    `select nspname, nspacl::text from pg_namespace where nspname !~ '^pg_(temp|toast)' order by 1`,
    'select last_value, is_called from numbers',
    'select count(*) from pg_largeobject_metadata',
    `select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  ];
  for (const text of catalogs) contents.push(await client.query(text));
  return contents;
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** A client that is there once the test runs. */
function openLater(get: () => StoreClient): StoreClient {
  return {
    ready: Promise.resolve(),
    query: (...args) => get().query(...args),
    queryArrays: (...args) => get().queryArrays(...args),
    exec: (text) => get().exec(text),
    transaction: (work) => get().transaction(work),
    close: async () => {},
  };
}
