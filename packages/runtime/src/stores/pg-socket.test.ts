import { connect } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Connection } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { servePostgres } from './pg-socket.ts';
import type { PgSocket } from './pg-socket.ts';
import { openPglite } from './pglite.ts';
import type { PgliteClient } from './pglite.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-socket-'));
const clients: Client[] = [];
let pglite: PgliteClient;
let socket: PgSocket;

beforeAll(async () => {
  pglite = openPglite({ dataDir: join(folder, 'db') });
  socket = await servePostgres({ pglite, port: 0 });
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
});
afterAll(async () => {
  await socket.close();
  await pglite.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('an embedded database with a password', () => {
  const open = async (url: (port: number) => string) => {
    const guarded = await servePostgres({ pglite, port: 0, password: 'right-word' });
    const client = new Client({ connectionString: url(guarded.port) });
    client.on('error', () => {});
    const answer = await client
      .connect()
      .then(async () => (await client.query('select 1 as one')).rows as unknown)
      .catch((error: { code?: string; message: string }) => error.code ?? error.message);
    await client.end().catch(() => {});
    await guarded.close();
    return answer;
  };

  it('lets in a client that shows it', async () =>
    expect(await open((port) => `postgres://postgres:right-word@127.0.0.1:${port}/postgres`)).toEqual([{ one: 1 }]));

  it.each(['postgres:wrong', 'postgres:right-wor', 'postgres:'])('refuses %s', async (user) =>
    expect(await open((port) => `postgres://${user}@127.0.0.1:${port}/postgres`)).not.toEqual([{ one: 1 }]),
  );

  it('says where the right one is', async () =>
    expect(await open((port) => `postgres://postgres:wrong@127.0.0.1:${port}/postgres`)).toBe('28P01'));

  it('runs nothing of a client that sends a statement in its place', async () => {
    const guarded = await servePostgres({ pglite, port: 0, password: 'right-word' });
    const raw = connect(guarded.port, '127.0.0.1');
    const startup = Buffer.from('\0\0\0\0\0\x03\0\0user\0postgres\0\0', 'latin1');
    startup.writeInt32BE(startup.length);
    const query = Buffer.from('Q\0\0\0\0create table taken (n int)\0', 'latin1');
    query.writeInt32BE(query.length - 1, 1);
    raw.write(Buffer.concat([startup, query]));
    await new Promise((resolve) => raw.on('data', () => {}).once('close', resolve));
    expect(await pglite.query(`select to_regclass('taken') as found`)).toEqual([{ found: null }]);
    await guarded.close();
  });
});

describe('the embedded database over the Postgres protocol', () => {
  it('answers a client that came before the database was open', async () => {
    const client = await connectClient();
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('runs statements with parameters, of several kinds, while the box uses it too', async () => {
    const client = await connectClient();
    await client.query('create table shared (id int primary key, who text)');
    await Promise.all([insertRows(client, 'client', 0), insertRows(pglite, 'box', 100)]);
    const { rows } = await client.query('select who, count(*)::int as rows from shared group by who order by who');
    expect(rows).toEqual([
      { who: 'box', rows: 40 },
      { who: 'client', rows: 40 },
    ]);
  });

  it('answers a long result whole', async () => {
    const client = await connectClient();
    const { rows } = await client.query(`select n, repeat('x', 100) as filler from generate_series(1, 20000) n`);
    expect(rows).toHaveLength(20_000);
    expect(rows[19_999]).toEqual({ n: 20_000, filler: 'x'.repeat(100) });
  });

  it('passes on an error and takes the next statement', async () => {
    const client = await connectClient();
    await expect(client.query('select 1/$1::int', [0])).rejects.toMatchObject({ code: '22012' });
    expect((await client.query('select $1::int as n', [7])).rows).toEqual([{ n: 7 }]);
  });

  it('keeps the box out of a transaction of a client', async () => {
    const client = await connectClient();
    await pglite.exec('create table kept (id int)');
    await client.query('begin');
    await client.query('insert into kept values (1)');
    const ours = pglite.query('insert into kept values (2)');
    await client.query('select 1');
    await client.query('rollback');
    await ours;
    expect(await pglite.query('select id from kept')).toEqual([{ id: 2 }]);
  });

  it('rolls back what a client leaves behind, and goes on', async () => {
    const client = await connectClient();
    await pglite.exec('create table left_behind (id int)');
    await client.query('begin');
    await client.query('insert into left_behind values (1)');
    client.connection.stream.destroy();
    expect(await pglite.query('select id from left_behind')).toEqual([]);
  });

  it('keeps the settings of a client to that client', async () => {
    const [one, two] = [await connectClient(), await connectClient()];
    await one.query(`set search_path = svc; set bytea_output = escape; set default_transaction_read_only = on`);
    expect(await pglite.query('show search_path')).toEqual([{ search_path: 'public' }]);
    expect((await two.query('show default_transaction_read_only')).rows).toEqual([
      { default_transaction_read_only: 'off' },
    ]);
    expect((await one.query('show search_path')).rows).toEqual([{ search_path: 'svc' }]);
    await expect(one.query('create table refused (id int)')).rejects.toMatchObject({ code: '25006' });
    await one.query('reset all');
    expect((await one.query('show search_path')).rows).toEqual([{ search_path: 'public' }]);
  });

  it('gives the box its own rights back after a client took a smaller role', async () => {
    const client = await connectClient();
    await client.query('create role small; set role small');
    expect(await pglite.query('select current_user as who')).toEqual([{ who: 'postgres' }]);
    expect((await client.query('select current_user as who')).rows).toEqual([{ who: 'small' }]);
    await client.query('reset role; drop role small');
  });

  it('keeps prepared statements of the same name apart', async () => {
    const [one, two] = [await connectClient(), await connectClient()];
    expect(await askPrepared(one, `select 'one'`)).toEqual([['one']]);
    expect(await askPrepared(two, `select 'two'`)).toEqual([['two']]);
    expect(await askPrepared(one, `select 'one'`)).toEqual([['one']]);
  });

  it('forgets prepared statements and temporary tables when the last client has left', async () => {
    const client = await connectClient();
    await client.query({ name: 'mine', text: 'select 1' });
    await client.query('create temp table passing (id int)');
    await client.end();
    await expect.poll(() => pglite.query('select name from pg_prepared_statements')).toEqual([]);
    await expect(pglite.query('select * from passing')).rejects.toMatchObject({ code: '42P01' });
  });

  it('refuses COPY FROM STDIN, which would end the database, and goes on', async () => {
    const client = await connectClient();
    await client.query('create table copied (id int)');
    await expect(client.query('copy copied from stdin')).rejects.toMatchObject({ code: '0A000' });
    await expect(client.query({ name: 'c', text: 'COPY copied FROM STDIN' })).rejects.toMatchObject({ code: '0A000' });
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('closes a client that holds a transaction open and idle, and lets the others in', async () => {
    const strict = await servePostgres({ pglite, port: 0, idleTransactionMs: 50 });
    const client = await connectClient(strict.port);
    const closed = new Promise<Error & { code?: string }>((done) => client.once('error', done));
    await client.query('begin');
    await client.query('create table idle (id int)');
    expect(await pglite.query(`select to_regclass('idle') as found`)).toEqual([{ found: null }]);
    expect(await closed).toMatchObject({ code: '25P03' });
    await strict.close();
  });

  it('drops its clients when the worker is replaced, and takes new ones', async () => {
    const client = await connectClient();
    const closed = new Promise((done) => client.once('error', done));
    await client.query('begin');
    await pglite.restart();
    await closed;
    expect((await (await connectClient()).query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('says no to encryption and hangs up on what is no Postgres client', async () => {
    expect(await exchange(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]), 1)).toBe('N');
    expect(await exchange(Buffer.from('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'))).toBe('');
    expect(await exchange(Buffer.from([0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 1]))).toBe('');
  });

  it('names a port that is in use', async () => {
    const second = servePostgres({ pglite, port: socket.port });
    await expect(second).rejects.toMatchObject({ code: 'port_busy', details: { port: socket.port } });
    await expect(second).rejects.toThrow(`Port ${socket.port} is in use`);
  });
});

async function connectClient(port = socket.port): Promise<Client & { connection: Connection }> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
  client.on('error', () => {}); // a connection that the test has cut
  await client.connect();
  clients.push(client);
  return client as Client & { connection: Connection };
}

interface Queryable {
  query(text: string, params: unknown[]): Promise<unknown>;
}

async function insertRows(on: Queryable, who: string, first: number): Promise<void> {
  for (let id = first; id < first + 40; id++) await on.query('insert into shared values ($1, $2)', [id, who]);
}

async function askPrepared(client: Client, text: string): Promise<unknown[]> {
  const { rows } = await client.query({ name: 'S_1', text, rowMode: 'array' });
  return rows;
}

/** Sends bytes and answers what came back until the other side hung up, or until `length` bytes. */
async function exchange(bytes: Buffer, length = Infinity): Promise<string> {
  const stream = connect(socket.port, '127.0.0.1');
  stream.write(bytes);
  let answer = '';
  for await (const chunk of stream) {
    answer += String(chunk);
    if (answer.length >= length) break;
  }
  return answer;
}
