import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '@svc/runtime/host';
import { sql } from 'drizzle-orm';
import * as pg from 'drizzle-orm/pg-core';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Decisions } from './decisions.ts';
import { planChange } from './generate.ts';
import { EMPTY_SNAPSHOT, takeSnapshot } from './snapshot.ts';
import { listOptions } from './words.ts';

type Schema = Record<string, unknown>;

const folder = mkdtempSync(join(tmpdir(), 'svc-schema-'));
const client = openPglite({ dataDir: join(folder, 'data') });
afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => clear());

const NONE: Decisions = { renames: [], drops: [], converts: [] };
const { integer, text, varchar, pgTable, pgEnum } = pg;

const users = (columns: Record<string, pg.PgColumnBuilderBase>, name = 'users') => ({ users: pgTable(name, columns) });
const mood = (name: string, ...values: [string, ...string[]]) => {
  const type = pgEnum(name, values);
  return { type, users: pgTable('users', { mood: type(), moods: type().array() }) };
};

/** Runs the first schema, then rows, then what leads to the second; answers the statements. */
async function migrate({ from, to, rows, ...decisions }: Case): Promise<string[]> {
  const before = await takeSnapshot(from, EMPTY_SNAPSHOT.id);
  const after = await takeSnapshot(to, before.id);
  for (const statement of (await planChange(EMPTY_SNAPSHOT, after)).statements) await client.exec(statement);
  const goal = await describeDatabase();
  await clear();
  for (const statement of (await planChange(EMPTY_SNAPSHOT, before)).statements) await client.exec(statement);
  if (rows) await client.exec(rows);
  const { statements, questions } = await planChange(before, after, { ...NONE, ...decisions });
  expect(questions).toEqual([]);
  await client.transaction(async (tx) => {
    for (const statement of statements) await tx.exec(statement);
  });
  // It is where a database begins that never was anything else.
  expect(await describeDatabase()).toEqual(goal);
  return statements;
}

/** Tables with their columns, constraints, indexes and policies, and enums and views, as the database shows them. */
async function describeDatabase(): Promise<unknown[]> {
  const names = `('public', 'auth')`;
  const queries = [
    `select table_schema, table_name, column_name, udt_schema, udt_name, is_nullable, column_default, is_identity, is_generated
       from information_schema.columns where table_schema in ${names}`,
    // A key keeps the name it had when its table gets another.
    `select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint where connamespace::regnamespace::text in ${names}`,
    `select indexdef from pg_indexes where schemaname in ${names} and indexname not like '%_pkey'`,
    `select viewname, definition from pg_views where schemaname in ${names}`,
    `select tablename, policyname, cmd from pg_policies where schemaname in ${names}`,
    `select enumtypid::regtype::text, enumlabel from pg_enum`,
  ];
  const found = await Promise.all(queries.map((query) => client.queryArrays(query)));
  return found.map((rows) => rows.map((row) => row.join(' | ')).sort());
}

const clear = () => client.exec('drop schema if exists auth cascade; drop schema public cascade; create schema public');

interface Case extends Partial<Decisions> {
  from: Schema;
  to: Schema;
  rows?: string;
}

async function ask(from: Schema, to: Schema): Promise<Record<string, string[]>> {
  const before = await takeSnapshot(from, EMPTY_SNAPSHOT.id);
  const { statements, questions } = await planChange(before, await takeSnapshot(to, before.id));
  expect(statements).toEqual([]);
  return Object.fromEntries(questions.map((one) => [one.name, listOptions(one).map(({ flag }) => flag)]));
}

describe('a change is done by itself', () => {
  const composite = (...names: ['a' | 'b', ...('a' | 'b')[]]) => ({
    pairs: pgTable('pairs', { a: integer().notNull(), b: integer().notNull() }, (table) => {
      const [first, ...others] = names.map((name) => table[name]);
      return first ? [pg.primaryKey({ columns: [first, ...others] })] : [];
    }),
  });
  const policies = (...names: string[]) => ({
    notes: pgTable('notes', { id: integer() }, () => names.map((name) => pg.pgPolicy(name, { for: 'select' }))),
  });
  const view = (name: string, column: 'id' | 'name') => {
    const table = pgTable('users', { id: integer(), name: text() });
    return { users: table, view: pg.pgView(name).as((query) => query.select({ x: table[column] }).from(table)) };
  };
  const cases: Record<string, Case> = {
    'a table and a reference to it': {
      from: users({ id: integer().primaryKey() }),
      to: (() => {
        const people = pgTable('people', { id: integer().primaryKey() });
        return { people, ...users({ id: integer().primaryKey(), of: integer().references(() => people.id) }) };
      })(),
    },
    'a column with a default': {
      from: users({ id: integer() }),
      to: users({ id: integer(), age: integer().notNull().default(1) }),
    },
    'a value of an enum': { from: mood('mood', 'ok'), to: mood('mood', 'ok', 'sad') },
    'a wider text': { from: users({ name: varchar({ length: 9 }) }), to: users({ name: text() }) },
    'a wider number': { from: users({ age: pg.smallint() }), to: users({ age: pg.bigint({ mode: 'number' }) }) },
    'another default and NOT NULL': {
      from: users({ name: text().default('a') }),
      to: users({ name: text().notNull().default('b') }),
    },
    'an index instead of another': {
      from: { users: pgTable('users', { name: text() }, (table) => [pg.index('one').on(table.name)]) },
      to: { users: pgTable('users', { name: text() }, (table) => [pg.uniqueIndex('two').on(table.name)]) },
    },
    'another primary key': { from: composite('a'), to: composite('a', 'b') },
    'a policy instead of another': { from: policies('one'), to: policies('two') },
    'another computation': {
      from: users({ id: integer(), name: text().generatedAlwaysAs(sql`'x'`) }),
      to: users({ id: integer(), name: text().generatedAlwaysAs(sql`'y'`) }),
    },
    'a view instead of another': { from: view('one', 'id'), to: view('two', 'name') },
    'a view of something else': { from: view('one', 'id'), to: view('one', 'name') },
  };
  it.each(Object.entries(cases))('%s', async (_, one) => {
    expect((await migrate(one)).length).toBeGreaterThan(0);
  });

  it('nothing', async () => {
    expect(await migrate({ from: users({ id: integer() }), to: users({ id: integer() }) })).toEqual([]);
  });
});

describe('a change is asked about', () => {
  const column = users({ id: integer(), name: text() });
  const sequence = (name: string) => ({ counter: pg.pgSequence(name), ...users({ id: integer() }) });
  const auth = (name: string) => ({
    auth: pg.pgSchema('auth'),
    users: pg.pgSchema('auth').table(name, { id: integer() }),
  });
  const cases: [string, Schema, Schema, Record<string, string[]>][] = [
    ['a column that is gone', column, users({ id: integer() }), { 'users.name': ['--drop users.name'] }],
    [
      'a column instead of another',
      column,
      users({ id: integer(), label: text() }),
      { 'users.name': ['--rename users.name=users.label', '--drop users.name'] },
    ],
    [
      'a table instead of another, by its schema',
      column,
      auth('people'),
      { users: ['--rename users=auth.people', '--drop users'] },
    ],
    ['a table that is gone', auth('x'), {}, { 'auth.x': ['--drop auth.x'] }],
    [
      'a value of an enum instead of another',
      mood('mood', 'ok', 'sad'),
      mood('mood', 'ok', 'so so'),
      { 'mood.sad': [`--rename 'mood.sad=mood.so so'`, '--drop mood.sad'] },
    ],
    [
      'an enum instead of another',
      mood('mood', 'ok'),
      mood('state', 'ok'),
      {
        mood: ['--rename mood=state', '--drop mood'],
        'users.mood': ['--convert users.mood'],
        'users.moods': ['--convert users.moods'],
      },
    ],
    ['a sequence instead of another', sequence('a'), sequence('b'), { a: ['--rename a=b', '--drop a'] }],
    [
      'a narrower number',
      users({ age: pg.bigint({ mode: 'number' }) }),
      users({ age: integer() }),
      {
        'users.age': ['--convert users.age'],
      },
    ],
    [
      'fewer digits',
      users({ age: pg.numeric({ precision: 9, scale: 4 }) }),
      users({ age: pg.numeric({ precision: 9, scale: 2 }) }),
      {
        'users.age': ['--convert users.age'],
      },
    ],
    [
      'a column that is to be computed',
      column,
      users({ id: integer(), name: text().generatedAlwaysAs(sql`'x'`) }),
      {
        'users.name': ['--convert users.name'],
      },
    ],
  ];
  it.each(cases)('%s', async (_, from, to, questions) => {
    expect(await ask(from, to)).toEqual(questions);
  });
});

describe('a decided change keeps the rows:', () => {
  it('a table and its columns under other names, in another schema, with what refers to them', async () => {
    const people = pg
      .pgSchema('auth')
      .table('people', { uid: integer().primaryKey().generatedAlwaysAsIdentity(), full: text().unique() });
    const before = pgTable('users', { id: integer().primaryKey().generatedAlwaysAsIdentity(), name: text().unique() });
    const pets = (owner: typeof people.uid | typeof before.id) =>
      pgTable('pets', { id: integer().primaryKey(), owner: integer().references((): pg.AnyPgColumn => owner) });
    await migrate({
      from: { users: before, pets: pets(before.id) },
      to: { auth: pg.pgSchema('auth'), people, pets: pets(people.uid) },
      rows: `insert into users (name) values ('Ada'); insert into pets values (7, 1)`,
      renames: ['users=auth.people', 'users.id=uid', 'auth.people.name=auth.people.full'],
    });
    expect(await client.query('select uid, "full", pets.id from auth.people join pets on owner = uid')).toEqual([
      { uid: 1, full: 'Ada', id: 7 },
    ]);
  });

  it('an enum and its values under other names', async () => {
    await migrate({
      from: mood('mood', 'ok', 'sad'),
      to: mood('state', 'ok', 'blue'),
      rows: `insert into users values ('sad', '{ok,sad}')`,
      renames: ['mood=state', 'mood.sad=state.blue'],
    });
    expect(await client.query('select mood, moods::text from users')).toEqual([{ mood: 'blue', moods: '{ok,blue}' }]);
  });

  it('a sequence under another name goes on', async () => {
    const sequence = (name: string) => ({ counter: pg.pgSequence(name) });
    await migrate({ from: sequence('a'), to: sequence('b'), rows: `select nextval('a')`, renames: ['a=b'] });
    expect(await client.query(`select nextval('b') as next`)).toEqual([{ next: 2 }]);
  });

  it('texts that are numbers', async () => {
    const [from, to] = [users({ age: text() }), users({ age: integer() })];
    await migrate({ from, to, rows: `insert into users values ('42')`, converts: ['users.age'] });
    expect(await client.query('select age from users')).toEqual([{ age: 42 }]);
  });

  it('but for those that are computed from then on', async () => {
    const to = users({ id: integer(), name: text().generatedAlwaysAs(sql`'x'`) });
    const rows = `insert into users values (1, 'Ada')`;
    await migrate({ from: users({ id: integer(), name: text() }), to, rows, converts: ['users.name'] });
    expect(await client.query('select * from users')).toEqual([{ id: 1, name: 'x' }]);
  });

  it('and enum values that are gone where no row has them', async () => {
    const rows = `insert into users values ('ok', '{ok}')`;
    await migrate({ from: mood('mood', 'ok', 'sad'), to: mood('mood', 'ok'), rows, drops: ['mood.sad'] });
    expect(await client.query('select mood from users')).toEqual([{ mood: 'ok' }]);
  });

  it('and enums that give way to others', async () => {
    const rows = `insert into users values ('ok', '{ok}')`;
    const decided = { drops: ['mood'], converts: ['users.mood', 'users.moods'] };
    await migrate({ from: mood('mood', 'ok', 'sad'), to: mood('state', 'ok'), rows, ...decided });
    expect(await client.query('select moods::text from users')).toEqual([{ moods: '{ok}' }]);
  });

  it('what is dropped takes what hangs on it along, and nothing else', async () => {
    const team = pgTable('team', { id: integer().primaryKey() });
    await migrate({
      from: {
        team,
        ...users({ id: integer().primaryKey(), of: integer().references(() => team.id), tag: text().unique() }),
      },
      to: users({ id: integer().primaryKey(), label: text() }),
      rows: `insert into team values (1); insert into users values (1, 1, 'x')`,
      drops: ['team', 'users.of', 'users.tag'],
    });
    expect(await client.query('select * from users')).toEqual([{ id: 1, label: null }]);
  });
});

describe('a schema no database can have', () => {
  it.each<[string, Schema, RegExp]>([
    [
      'two constraints of one name',
      { t: pgTable('t', { a: text().unique('x'), b: text().unique('x') }) },
      /unique constraint x/,
    ],
    [
      'a table in the schema of the box',
      { t: pg.pgSchema('svc').table('t', { a: text() }) },
      /^"t" is declared in "svc"/,
    ],
    ['the schema of its views', { s: pg.pgSchema('svc_view') }, /^A schema is declared in "svc_view"/],
    ['the schema of the box', { s: pg.pgSchema('svc') }, /^A schema is declared in "svc"/],
  ])('%s', async (_, schema, message) => {
    await expect(takeSnapshot(schema, '')).rejects.toThrow(message);
  });
});

describe('a decision about nothing is refused', () => {
  const [from, to] = [users({ id: integer(), name: text() }), users({ id: integer(), label: text() })];
  it.each<[string, Partial<Decisions>]>([
    ['"users.id" is still in src/schema.ts, so it was not renamed.', { renames: ['users.id=users.label'] }],
    ['"users.id" is not new in src/schema.ts, so nothing was renamed to it.', { renames: ['users.name=users.id'] }],
    ['There is nothing to decide about "pets.name", which --rename names.', { renames: ['pets.name=pets.label'] }],
    ['There is nothing to decide about "users.id", which --drop names.', { drops: ['users.id'] }],
    ['There is nothing to decide about "users.name", which --convert names.', { converts: ['users.name'] }],
    ['--rename does not take "users.name".', { renames: ['users.name'] }],
  ])('%s', async (message, decisions) => {
    const before = await takeSnapshot(from, EMPTY_SNAPSHOT.id);
    const after = await takeSnapshot(to, before.id);
    await expect(planChange(before, after, { ...NONE, ...decisions })).rejects.toThrow(message);
  });
});
