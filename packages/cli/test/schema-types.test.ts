import { cpSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncWorkspace } from '@svc/compiler';
import { describe, expect, it, vi } from 'vitest';
import { typecheck } from '../../compiler/test/_typecheck.ts';
import { REPOSITORY, readText } from './_docs.ts';
import { listCompletions } from './_language.ts';
import { empty, linkPackages } from './e2e/_scaffold.ts';
import { useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

const rig = useRig();

// The types of drizzle-orm take a compiler a few seconds, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

const SCHEMA = `import { relations } from 'drizzle-orm';
import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

export const users = pgTable('users', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  name: text().notNull(),
  city: text(),
});

export const posts = pgTable('posts', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  authorId: integer('author_id').notNull().references(() => users.id),
  at: timestamp().notNull().defaultNow(),
});

export const usersRelations = relations(users, ({ many }) => ({ posts: many(posts) }));
export const postsRelations = relations(posts, ({ one }) => ({
  author: one(users, { fields: [posts.authorId], references: [users.id] }),
}));

export const MAX_NAME = 100;
`;

const USE = `import { svc } from '@svc/runtime';
import { eq } from 'drizzle-orm';
import { posts, users } from './src/schema.ts';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

export async function read() {
  const found = await svc.database.query.users.findFirst({ columns: { name: true, city: true }, with: { posts: true } });
  isTrue<Equal<typeof found, { name: string; city: string | null; posts: { id: number; authorId: number; at: Date }[] } | undefined>>();
  const rows = await svc.database.select().from(users).where(eq(users.name, 'Ada'));
  isTrue<Equal<typeof rows, { id: number; name: string; city: string | null }[]>>();
  return svc.database.transaction(async (tx) => {
    await tx.insert(posts).values({ authorId: 1 });
    const [post] = await tx.query.posts.findMany({ with: { author: true }, where: eq(posts.authorId, 1) });
    isTrue<Equal<NonNullable<typeof post>['author']['name'], string>>();
    return post;
  });
}
`;

const MISUSE = `import { svc } from '@svc/runtime';
import { users } from './src/schema.ts';

export const misuses = [
  () => svc.database.query.usres.findMany(),
  () => svc.database.query.users.findMany({ columns: { nmae: true } }),
  () => svc.database.query.users.findMany({ with: { comments: true } }),
  () => svc.database.insert(users).values({ nmae: 'Ada' }),
  async () => (await svc.database.query.users.findMany())[0]?.nmae,
  () => svc.database.query.MAX_NAME,
];
`;

/** A workspace with what an install would bring, and its types. */
async function make(files: Record<string, string>): Promise<Workspace> {
  const workspace = await rig.workspace();
  empty(workspace);
  linkPackages(workspace);
  workspace.write('package.json', '{ "private": true, "type": "module" }\n');
  workspace.write('tsconfig.json', readText('templates/empty/tsconfig.json'));
  for (const [file, text] of Object.entries(files)) workspace.write(file, text);
  await syncWorkspace({ root: workspace.root });
  return workspace;
}

const linesOf = (text: string) => Array.from(text.matchAll(/^misuse\.ts\((\d+),/gm), ([, line]) => Number(line));

describe('the types of svc.database', () => {
  it('are those of src/schema.ts: rows, relations and transactions', async () => {
    const { root } = await make({ 'src/schema.ts': SCHEMA, 'use.ts': USE });
    expect(typecheck(root)).toBe('');
  });

  it('make a wrong table, column or relation an error', async () => {
    const { root } = await make({ 'src/schema.ts': SCHEMA, 'misuse.ts': MISUSE });
    const output = typecheck(root);
    expect(linesOf(output)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(output).toContain(`Property 'usres' does not exist`);
  });

  it('let an editor complete tables, columns and relations', async () => {
    const { root } = await make({ 'src/schema.ts': SCHEMA });
    const start = `import { svc } from '@svc/runtime';\n`;
    const [tables, columns, relations] = listCompletions(root, [
      `${start}void svc.database.query.|`,
      `${start}void svc.database.query.users.findMany({ columns: { | } });`,
      `${start}void svc.database.query.posts.findMany({ with: { | } });`,
    ]);
    expect(tables).toEqual(['posts', 'users']);
    expect(columns).toEqual(['city', 'id', 'name']);
    expect(relations).toEqual(['author']);
  });

  it('are those of any drizzle database where there is no src/schema.ts, and follow when it comes and goes', async () => {
    const use = `import { svc } from '@svc/runtime';\nimport { sql } from 'drizzle-orm';\nexport const now = () => svc.database.execute(sql\`select now()\`);\n`;
    const workspace = await make({ 'use.ts': use });
    expect(typecheck(workspace.root)).toBe('');
    workspace.write('src/schema.ts', SCHEMA);
    expect((await syncWorkspace({ root: workspace.root })).written).toContain('.svc/database.d.ts');
    expect(workspace.read('.svc/database.d.ts')).toContain('../src/schema.js');
    workspace.remove('src');
    expect((await syncWorkspace({ root: workspace.root })).written).toContain('.svc/database.d.ts');
    expect(typecheck(workspace.root)).toBe('');
  });

  it('fit a copy of drizzle-orm of its own, of another version too', async () => {
    const workspace = await make({ 'src/schema.ts': SCHEMA, 'use.ts': USE });
    copyDrizzle(workspace, '0.45.3');
    expect(typecheck(workspace.root)).toBe('');
  });
});

/** In place of the link: another copy than the runtime's. */
function copyDrizzle(workspace: Workspace, version: string): void {
  const path = workspace.path('node_modules/drizzle-orm');
  rmSync(path);
  cpSync(realpathSync(join(REPOSITORY, 'packages/cli/node_modules/drizzle-orm')), path, { recursive: true });
  workspace.edit('node_modules/drizzle-orm/package.json', '"version": "0.45.4"', `"version": "${version}"`);
}
