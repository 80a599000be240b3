import { Client } from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openPooler } from '../../test/_pooler.ts';
import { describeWhen, realServers } from '../../test/require.ts';
import { openPg } from './pg.ts';
import type { PgOptions } from './pg.ts';

const DATABASE = `svc_route_${process.pid}`;

describeWhen(realServers.database, 'connections behind a pooler', (url) => {
  beforeAll(() => administer(url, `create database ${DATABASE}`));
  afterAll(() => administer(url, `drop database if exists ${DATABASE} with (force)`));

  const open = async (options: PgOptions = {}) => {
    const pooled = await openPooler(urlOf(url, { database: DATABASE }));
    const client = openPg(pooled, { connections: 1, ...options });
    onTestFinished(() => client.close());
    return client;
  };
  const SESSION = `select current_setting('search_path') as path, current_setting('statement_timeout') as "limit",
    (select count(*)::int from pg_prepared_statements) as prepared`;

  it('set nothing up for a session, and prepare nothing in it, which others would get', async () => {
    await administer(url, `alter database ${DATABASE} set search_path = public, extra`);
    const client = await open({ statementTimeoutMs: 5_000 });
    await client.ready;
    for (const n of [1, 2]) await client.query('select $1::int as n', [n], { prepared: true });
    expect(await client.query(SESSION)).toEqual([{ path: 'public, extra', limit: '0', prepared: 0 }]);
    expect(await client.transaction((tx) => tx.query(SESSION))).toMatchObject([{ limit: '5s' }]);
    expect(await client.query(SESSION)).toMatchObject([{ limit: '0' }]);
    await expect(client.transaction((tx) => tx.query('select pg_sleep(9)'))).rejects.toMatchObject({ code: '57014' });
  });

  it('limit a statement outside of a transaction too', async () => {
    await administer(url, `alter database ${DATABASE} set search_path = public`);
    const client = await open({ statementTimeoutMs: 300 });
    await expect(client.query('select pg_sleep(5)')).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await client.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it.each(['svc, public', 'extra, public', 'public, svc'])('are refused where the path is %s', async (path) => {
    await administer(url, `create schema if not exists extra`, DATABASE);
    await administer(url, `alter database ${DATABASE} set search_path = ${path}`);
    const client = await open();
    await expect(client.ready).rejects.toMatchObject({
      code: 'environment_invalid',
      message: expect.stringMatching(
        /^DATABASE_URL leads to a connection pooler, .* set search_path = public/,
      ) as string,
    });
  });

  it('have their session set up and statements prepared where none is in between', async () => {
    await administer(url, `alter database ${DATABASE} set search_path = extra`);
    const client = openPg(urlOf(url, { database: DATABASE }), { connections: 1, statementTimeoutMs: 5_000 });
    onTestFinished(() => client.close());
    await client.ready;
    await client.query('select $1::int as n', [1], { prepared: true });
    expect(await client.query(SESSION)).toEqual([{ path: 'public, extra', limit: '5s', prepared: 1 }]);
  });
});

async function administer(url: string, statement: string, database?: string): Promise<void> {
  const client = new Client({ connectionString: database ? urlOf(url, { database }) : url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function urlOf(url: string, { database }: { database: string }): string {
  const to = new URL(url);
  to.pathname = `/${database}`;
  return to.href;
}
