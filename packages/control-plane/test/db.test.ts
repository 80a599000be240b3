import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { onTestFinished } from 'vitest';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import type { Db } from '../src/store/db.ts';
import { raw, sql } from '../src/store/sql.ts';
import { makeStore, SECRET_KEY, STORES } from './_setup.ts';
import type { StoreName } from './_setup.ts';

async function open(name: StoreName): Promise<Db> {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...(await makeStore(name)) });
  if (!full) throw new Error('The full mode has a store.');
  const db = await openStore(full);
  onTestFinished(() => db.close());
  return db;
}

const put = (name: string, value: string) => sql`insert into plane_settings (name, value) values (${name}, ${value})`;
const read = (name: string) => sql`select name, value from plane_settings where name = ${name}`;

describe.each(STORES)('the store on %s', (name) => {
  test('answers rows with members in place of columns', async () => {
    const db = await open(name);
    await db.run(
      sql`insert into plane_organizations (id, slug, name, created_at) values (${'o1'}, ${'acme'}, ${'Acme'}, ${1_795_000_000_000})`,
    );
    expect(await db.get(sql`select * from plane_organizations`)).toStrictEqual({
      id: 'o1',
      slug: 'acme',
      name: 'Acme',
      createdAt: 1_795_000_000_000,
    });
  });

  test('a value is never part of the statement', async () => {
    const db = await open(name);
    const evil = `x'; drop table plane_settings; --`;
    await db.run(put(evil, '1'));
    expect(await db.get(read(evil))).toStrictEqual({ name: evil, value: '1' });
  });

  test('says how many rows a statement has changed', async () => {
    const db = await open(name);
    await db.run(put('a', '1'));
    await db.run(put('b', '1'));
    expect(await db.run(sql`update plane_settings set value = ${'2'}`)).toBe(2);
    expect(await db.run(sql`delete from plane_settings where name = ${'c'}`)).toBe(0);
    expect(await db.run(sql`${put('a', '3')} on conflict (name) do nothing`)).toBe(0);
  });

  test('a transaction that rejects leaves nothing behind', async () => {
    const db = await open(name);
    const failing = db.transaction(async (tx) => {
      await tx.run(put('a', '1'));
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(await db.all(read('a'))).toEqual([]);
  });

  test('transactions that read before they write count as one after the other', async () => {
    const db = await open(name);
    await db.run(put('count', '0'));
    const raise = () =>
      db.transaction(async (tx) => {
        const row = await tx.get<{ value: string }>(read('count'));
        await tx.run(sql`update plane_settings set value = ${String(Number(row?.value) + 1)} where name = ${'count'}`);
      });
    await Promise.all(Array.from({ length: 8 }, raise));
    expect(await db.get(read('count'))).toStrictEqual({ name: 'count', value: '8' });
  });

  test('a statement beside the transaction it is made in is refused, not waited for', async () => {
    const db = await open(name);
    await expect(db.transaction(() => db.run(put('a', '1')))).rejects.toThrow('over its own session');
  });
});

test('a full disk is reported in words, undoes what was begun, and is no matter once there is room', async () => {
  const env = { PLANE_SECRET_KEY: SECRET_KEY, ...(await makeStore('sqlite')) };
  const { full } = readSettings(env);
  if (!full) throw new Error('The full mode has a store.');
  const db = await openStore(full);
  const limit = (pages: number) => db.all(sql`pragma max_page_count = ${raw(String(pages))}`);
  const [size] = await db.all<{ pageCount: number }>(sql`pragma page_count`);
  await limit(Number(size?.pageCount));
  const long = 'x'.repeat(100_000);
  await expect(db.run(put('a', long))).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^The disk of the control plane is full/),
  });
  const failing = db.transaction(async (tx) => {
    await tx.run(put('b', '1'));
    await tx.run(put('c', long));
  });
  await expect(failing).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await db.all(sql`select name from plane_settings`)).toEqual([]);
  await limit(100_000);
  await db.run(put('a', long));
  expect(await db.all(sql`select name from plane_settings`)).toEqual([{ name: 'a' }]);
  await db.close();
});

test('a folder is one control plane’s at a time, also where the other is in a container of its own', async () => {
  const { PLANE_DATA_DIR: folder = '', ...env } = await makeStore('sqlite');
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, PLANE_DATA_DIR: folder, ...env });
  if (!full) throw new Error('The full mode has a store.');
  const first = await openStore(full);
  // As the other container sees it: the process of that number is its own, and has begun at another time.
  writeFileSync(join(folder, 'plane.lock'), JSON.stringify({ pid: process.pid, startTime: '1' }));
  await expect(openStore(full)).rejects.toMatchObject({ code: 'already_running', details: { folder } });
  await expect(first.get(sql`select 1 as one`)).resolves.toMatchObject({ one: 1 });
  await first.close();
  await (await openStore(full)).close();
});

test('a folder is one control plane’s at a time', async () => {
  const env = { PLANE_SECRET_KEY: SECRET_KEY, ...(await makeStore('sqlite')) };
  const { full } = readSettings(env);
  if (!full) throw new Error('The full mode has a store.');
  const first = await openStore(full);
  await expect(openStore(full)).rejects.toMatchObject({ code: 'already_running' });
  await first.close();
  const second = await openStore(full);
  await second.close();
});
