import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SqlError, StoreClient } from './client.ts';

/** What every home of the relational store promises. The caller opens and closes the client. */
export function describeStoreClient(name: string, getClient: () => StoreClient): void {
  describe(`store client on ${name}`, () => {
    const client = getClient;
    beforeAll(async () => {
      await client().exec(`create schema contract;
        create table contract.items (id int primary key, label text not null unique);
        create type contract.mood as enum ('calm', 'cross')`);
    });
    afterAll(() => client().exec('drop schema contract cascade'));

    it.each(VALUES)('answers %s as %j', async (expression, expected) => {
      const [row] = await client().query<{ value: unknown }>(`select ${expression} as value`);
      expect(row?.value).toEqual(expected);
    });

    it('answers bytes as bytes', async () => {
      const [row] = await client().query<{ value: Uint8Array }>('select $1::bytea as value', [Buffer.from([0, 255])]);
      expect([...(row?.value ?? [])]).toEqual([0, 255]);
    });

    it('takes parameters of each kind', async () => {
      const text =
        'select $1::int8 as big, $2::jsonb as doc, $3::timestamptz as at, $4::text[] as list, $5::bool as flag, $6::text as gone';
      const params = [9007199254740991n, JSON.stringify([1, { a: null }]), new Date(0), ['a,b', '"c"'], false, null];
      const [row] = await client().query(text, params);
      expect(row).toEqual({
        big: 9007199254740991,
        doc: [1, { a: null }],
        at: '1970-01-01 00:00:00+00',
        list: ['a,b', '"c"'],
        flag: false,
        gone: null,
      });
    });

    it('runs a statement that may be kept prepared like any other', async () => {
      const answers: unknown[] = [];
      for (const n of [1, 2, 3]) answers.push(...(await client().query(PREPARED, [n], { prepared: true })));
      expect(answers).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }]);
    });

    it('keeps every column of a join whose names are the same', async () => {
      expect(await client().queryArrays('select 1 as id, 2 as id')).toEqual([[1, 2]]);
    });

    it('passes on what Postgres says about a failed statement', async () => {
      await client().query(`insert into contract.items values (1, 'one')`);
      const error = await client()
        .query(`insert into contract.items values (2, 'one')`)
        .catch((reason: SqlError) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({
        code: '23505',
        severity: 'ERROR',
        constraint: 'items_label_key',
        detail: 'Key (label)=(one) already exists.',
        message: 'duplicate key value violates unique constraint "items_label_key"',
      });
    });

    it('answers the next statement after a failed one', async () => {
      await expect(client().query('select 1/0')).rejects.toMatchObject({ code: '22012' });
      await expect(client().exec('select nowhere')).rejects.toMatchObject({ code: '42703' });
      expect(await client().query('select 1 as one')).toEqual([{ one: 1 }]);
    });

    it('commits a transaction whose work resolves and answers its value', async () => {
      const answer = await client().transaction(async (tx) => {
        await tx.query(`insert into contract.items values (10, 'ten')`);
        return 'done';
      });
      expect(answer).toBe('done');
      expect(await client().query('select label from contract.items where id = 10')).toEqual([{ label: 'ten' }]);
    });

    it('rolls back a transaction whose work rejects, and passes the error on', async () => {
      const failure = new Error('no');
      const work = client().transaction(async (tx) => {
        await tx.query(`insert into contract.items values (11, 'eleven')`);
        throw failure;
      });
      await expect(work).rejects.toBe(failure);
      expect(await client().query('select * from contract.items where id = 11')).toEqual([]);
    });

    it('rejects a transaction that swallowed a failed statement: it was not committed', async () => {
      const work = client().transaction(async (tx) => {
        await tx.query(`insert into contract.items values (12, 'twelve')`);
        await tx.query('select 1/0').catch(() => {});
      });
      await expect(work).rejects.toMatchObject({ code: '25P02' });
      expect(await client().query('select * from contract.items where id = 12')).toEqual([]);
    });

    it('refuses the session of a transaction that is over', async () => {
      const tx = await client().transaction(async (session) => session);
      await expect(tx.query('select 1')).rejects.toThrow('The transaction is over.');
    });

    it('keeps transactions that run at once apart', async () => {
      await client().query(`insert into contract.items values (20, '0')`);
      const add = () =>
        client().transaction(async (tx) => {
          const [row] = await tx.query<{ label: string }>('select label from contract.items where id = 20 for update');
          await tx.query('update contract.items set label = $1 where id = 20', [String(Number(row?.label) + 1)]);
        });
      await Promise.all(Array.from({ length: 8 }, add));
      expect(await client().query('select label from contract.items where id = 20')).toEqual([{ label: '8' }]);
    });

    it('answers statements made at once each with its own rows', async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => client().query('select $1::int as n', [index])),
      );
      expect(answers.map(([row]) => row?.n)).toEqual(Array.from({ length: 50 }, (_, index) => index));
    });
  });
}

// --- internal ---

const PREPARED = 'select $1::int + 1 as n';
const VALUES: [expression: string, expected: unknown][] = [
  ['42::int8', 42],
  ['9223372036854775807::int8', '9223372036854775807'],
  ['array[1, 2]::int8[]', [1, 2]],
  ['count(*)', 1],
  ['1.50::numeric', '1.50'],
  ['1.5::float8', 1.5],
  [`'{"a": [1]}'::jsonb`, { a: [1] }],
  [`'[1, "b"]'::json`, [1, 'b']],
  [`'null'::jsonb`, null],
  [`timestamptz '2026-01-02 03:04:05.678+00'`, '2026-01-02 03:04:05.678+00'],
  [`timestamp '2026-01-02 03:04:05'`, '2026-01-02 03:04:05'],
  [`date '2026-01-02'`, '2026-01-02'],
  [`interval '90 minutes'`, '01:30:00'],
  [`array[timestamptz '2026-01-02 03:04:05+00']`, '{"2026-01-02 03:04:05+00"}'],
  [`array['a', null, 'c,d']`, ['a', null, 'c,d']],
  ['array[true, false]', [true, false]],
  ['true', true],
  ['null::int', null],
  [`'calm'::contract.mood`, 'calm'],
  [`'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid`, '6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
];
