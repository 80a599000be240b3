import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eq } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { expect, onTestFinished, test } from 'vitest';
import { svc } from '../src/index.ts';
import { markWorkflow } from '../src/internal.ts';
import { createTestBox } from '../src/testing.ts';
import type { TestBoxOptions } from '../src/testing.ts';
import { toStep } from './_setup.ts';

const users = pgTable('users', { id: integer().primaryKey().generatedAlwaysAsIdentity(), name: text().notNull() });
const schema = { users };

const CREATE = `create table users (id integer primary key generated always as identity, name text);
--> statement-breakpoint
alter table users alter column name set not null;`;

/** The workspace's own types are not generated here. */
interface Typed {
  query: { users: { findFirst(options: object): Promise<{ name: string } | undefined> } };
}

const add = toStep('add', async (name: string) => {
  await svc.database.insert(users).values({ name });
  return svc.database.select().from(users).where(eq(users.name, name));
});
const find = toStep('find', async () => (svc.database as unknown as Typed).query.users.findFirst({}));
const join_ = async ({ name }: { name: string }) => {
  const added = await add(name);
  return { added, found: await find() };
};
markWorkflow(join_, 'join');

/** A folder with these migrations, in order. */
function makeRoot(migrations: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-workspace-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const entries = Object.keys(migrations).map((tag, idx) => ({ idx, tag }));
  const files = { ...migrations, 'meta/_journal': JSON.stringify({ dialect: 'postgresql', entries }) };
  for (const [name, content] of Object.entries(files)) {
    const file = join(root, '.svc/migrations', name.startsWith('meta') ? `${name}.json` : `${name}.sql`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  return root;
}

async function open(options: TestBoxOptions) {
  const box = await createTestBox({ workflows: { join: { join: join_ } }, ...options });
  onTestFinished(() => box.close());
  return box;
}

test('a workflow finds the tables of the migrations in a test box, also after a restart, and none of another box', async () => {
  const root = makeRoot({ '0000_users': CREATE, '0001_more': 'alter table users add column city text;' });
  const box = await open({ root, schema });
  const run = await box.workflow('join').start({ name: 'Ada' });
  expect(await run.result()).toEqual({ added: [{ id: 1, name: 'Ada' }], found: { id: 1, name: 'Ada' } });
  await box.restart();
  const again = await box.workflow('join').start({ name: 'Bob' });
  expect(await again.result()).toMatchObject({ added: [{ id: 2 }], found: { name: 'Ada' } });
  const other = await open({ root, schema });
  expect(await (await other.workflow('join').start({ name: 'Eve' })).result()).toMatchObject({ added: [{ id: 1 }] });
});

test('a migration that fails is what the run fails with', async () => {
  const box = await open({ root: makeRoot({ '0000_users': 'create table users (id nonsense);' }), schema });
  const run = await box.workflow('join').start({ name: 'Ada' });
  await expect(run.result()).rejects.toThrow(/The migration "0000_users" cannot be applied: .*nonsense/s);
});

test('a box of a folder without migrations has only the tables of the box', async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-workspace-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const box = await open({ root });
  const run = await box.workflow('join').start({ name: 'Ada' });
  expect(await run.status()).toBe('waiting');
  await box.clock.advance('1 hour');
  await expect(run.result()).rejects.toThrow(/Failed query: insert into "users"/);
});
