import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWhen, realServers } from '../../test/require.ts';
import { describeStoreClient } from './contract.ts';
import { describeDatabase } from './database-contract.ts';
import { openDatabase } from './database.ts';
import { openPg } from './pg.ts';
import type { StoreClient } from './client.ts';

const DATABASE = `svc_stores_${process.pid}`;
const ROLE = `svc_plain_${process.pid}`;

describeWhen(realServers.database, 'stores on real Postgres', (url) => {
  let client: StoreClient;
  beforeAll(async () => {
    await administer(url, `create database ${DATABASE}`);
    client = openPg(urlOf(url, { database: DATABASE }));
  });
  afterAll(async () => {
    await client.close();
    await administer(url, `drop database if exists ${DATABASE} with (force)`);
  });

  describeDatabase('Postgres', () => client);
  describeStoreClient('Postgres', () => client);

  it('migrates an empty database once when several boxes start on it at once', async () => {
    const database = `${DATABASE}_fresh`;
    await administer(url, `create database ${database}`);
    const boxes = Array.from({ length: 4 }, () => openDatabase(openPg(urlOf(url, { database }))));
    try {
      await Promise.all(boxes.map((box) => box.ready));
      const rows = await boxes[0]?.client.query<{ hash: string }>('select hash from svc.migrations');
      expect(new Set(rows?.map(({ hash }) => hash)).size).toBe(rows?.length);
    } finally {
      await Promise.all(boxes.map((box) => box.close()));
      await administer(url, `drop database ${database} with (force)`);
    }
  });

  it('leaves a database alone where the vector extension cannot be had', async () => {
    const database = `${DATABASE}_plain`;
    await administer(url, `create role ${ROLE} login password 'plain'`);
    await administer(url, `create database ${database}`);
    const plain = openPg(urlOf(url, { database, user: ROLE, password: 'plain' }));
    try {
      await expect(openDatabase(plain).ready).rejects.toMatchObject({ code: 'vector_unavailable' });
      expect(await plain.query(`select 1 from pg_namespace where nspname = 'svc'`)).toEqual([]);
    } finally {
      await plain.close();
      await administer(url, `drop database ${database} with (force)`);
      await administer(url, `drop role ${ROLE}`);
    }
  });

  it('looks into public first and never into svc, whatever path the server sets', async () => {
    const database = `${DATABASE}_path`;
    await administer(url, `create database ${database}`);
    await administer(url, `alter database ${database} set search_path = svc, "More tables", gone, public`);
    const box = openDatabase(openPg(urlOf(url, { database })));
    try {
      await box.ready;
      await box.client.exec('create schema "More tables"; create table sessions (mine int)');
      expect(await box.client.query('select mine from sessions')).toEqual([]);
      const later = openPg(urlOf(url, { database }));
      const read = `select 'sessions'::regclass::oid = 'public.sessions'::regclass::oid as mine, current_schemas(false)::text[] as path`;
      expect(await later.query(read).finally(() => later.close())).toEqual([
        { mine: true, path: ['public', 'More tables'] },
      ]);
    } finally {
      await box.close();
      await administer(url, `drop database ${database} with (force)`);
    }
  });

  it('goes on after the server ended its connections', async () => {
    await administer(url, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${DATABASE}'`);
    await expect.poll(() => client.query('select 1 as one').catch(() => 'again')).toEqual([{ one: 1 }]);
  });

  it('rejects with what the server said when it cannot be reached', async () => {
    const nowhere = openPg('postgres://svc@127.0.0.1:1/svc');
    await expect(nowhere.ready).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await nowhere.close();
    await expect(nowhere.query('select 1')).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

interface Target {
  database: string;
  user?: string;
  password?: string;
}

function urlOf(url: string, { database, user, password }: Target): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  if (user) parsed.username = user;
  if (password) parsed.password = password;
  return parsed.href;
}

async function administer(url: string, statement: string): Promise<void> {
  const connection = new Client({ connectionString: url });
  await connection.connect();
  await connection.query(statement);
  await connection.end();
}
