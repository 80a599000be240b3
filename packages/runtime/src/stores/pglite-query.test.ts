import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openPglite } from './pglite.ts';
import type { PgliteClient } from './pglite.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-pglite-query-'));
let client: PgliteClient;

beforeAll(() => {
  client = openPglite({ dataDir: join(folder, 'db') });
});
afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => client.exec('drop table if exists things; create table things (id int primary key, name text)'));

const ALL = 'select * from things order by id';

describe.each([true, false])('a statement that is sent again (prepared: %s)', (prepared) => {
  const again = (text = ALL, params: unknown[] = []) => client.query(text, params, { prepared });
  const insert = (id: number, name: unknown) => again('insert into things (id, name) values ($1, $2)', [id, name]);

  it('answers the columns that its table has by now, whichever way they were added', async () => {
    await insert(1, 'a');
    for (let n = 0; n < 8; n++) expect(await again()).toEqual([{ id: 1, name: 'a' }]);
    await client.exec('alter table things add column color text');
    expect(await again()).toEqual([{ id: 1, name: 'a', color: null }]);
    await client.query('alter table things drop column color');
    expect(await again()).toEqual([{ id: 1, name: 'a' }]);
    await client.transaction((tx) => tx.exec('alter table things add column size int'));
    expect(await again()).toEqual([{ id: 1, name: 'a', size: null }]);
  });

  it('takes its values as the type that a column has by now', async () => {
    await insert(1, '["a"]');
    await insert(2, '["b"]');
    await client.exec('alter table things alter column name type jsonb using name::jsonb');
    await insert(3, { c: [1, null] });
    expect(await again()).toMatchObject([{ name: ['a'] }, { name: ['b'] }, { name: { c: [1, null] } }]);
    let inside: unknown[] = [];
    const undone = client.transaction(async (tx) => {
      await tx.query('alter table things alter column name type text');
      inside = await tx.query(ALL, [], { prepared });
      await tx.query('select 1 / 0');
    });
    await expect(undone).rejects.toMatchObject({ code: '22012' });
    expect(inside).toMatchObject([{ name: '["a"]' }, {}, {}]);
    await insert(4, ['d']);
    expect((await again()).at(-1)).toEqual({ id: 4, name: ['d'] });
  });

  it('goes on after the session was reset', async () => {
    await insert(1, 'a');
    await again();
    for (const text of ['discard all', 'deallocate all']) {
      await client.exec(text);
      expect(await again()).toHaveLength(1);
      await client.query(text);
      expect(await again()).toHaveLength(1);
    }
    // As a statement that is not known to change any.
    await again('select 1 as one');
    await client.query(`select set_config('search_path', 'pg_catalog', false)`);
    await expect(again()).rejects.toMatchObject({ code: '42P01' });
    await client.query(`select set_config('search_path', 'public', false)`);
    expect(await again()).toHaveLength(1);
  });

  it('says what is wrong as often as it is, and harms no other', async () => {
    for (let n = 0; n < 3; n++) {
      await expect(again('select id from nowhere')).rejects.toMatchObject({ code: '42P01' });
      await expect(again('select $1::int as n', ['x'])).rejects.toMatchObject({ code: '22P02' });
      expect(await again('select $1::int as n', [n])).toEqual([{ n }]);
      await insert(n, null);
      await expect(insert(n, null)).rejects.toMatchObject({ code: '23505', constraint: 'things_pkey' });
    }
    const failing = client.transaction(async (tx) => {
      await tx.query('insert into things (id, name) values ($1, $2)', [9, null], { prepared });
      await tx.query('insert into things (id, name) values ($1, $2)', [9, null], { prepared });
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(await again('select count(*) as n from things')).toEqual([{ n: 3 }]);
  });

  it('stays right however many others there are, and however often it is sent', async () => {
    for (let n = 0; n < 700; n++) expect(await again(`select ${n} + $1::int as n`, [1])).toEqual([{ n: n + 1 }]);
    for (let n = 0; n < 700; n++) expect(await again('select $1::int as n', [n])).toEqual([{ n }]);
    const [row] = await client.query<{ n: number }>('select count(*) as n from pg_prepared_statements');
    expect(row?.n).toBeLessThanOrEqual(300);
  });

  it('reads and writes values of every kind', async () => {
    const at = '2026-11-29 23:00:00+00';
    const text = `select $1::json as j, $2::jsonb as b, $3::text[] as t, $4::int8 as i, $5::numeric as d, $6::bytea as y,
      $7::timestamptz as at, $8::bool as f, $9::text as n, 'null'::json as u`;
    for (let n = 0; n < 3; n++) {
      const [row] = await again(text, [
        { a: 1 },
        [1, 'x'],
        ['a', 'b,c', null],
        7,
        '1.50',
        Buffer.from([0, 255]),
        at,
        false,
        null,
      ]);
      expect(row).toMatchObject({
        j: { a: 1 },
        b: [1, 'x'],
        t: ['a', 'b,c', null],
        i: 7,
        d: '1.50',
        at,
        f: false,
        n: null,
        u: null,
      });
      expect([...(row as { y: Uint8Array }).y]).toEqual([0, 255]);
    }
  });
});
