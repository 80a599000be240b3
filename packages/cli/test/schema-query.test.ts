import { cpSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { REPOSITORY } from './_docs.ts';
import { bootDev, SLOW_MS, USERS } from './_schema-dev.ts';
import { readDocument, readError } from './_setup.ts';
import { useRig } from './e2e/_setup.ts';
import type { Run, Workspace } from './e2e/_setup.ts';

const rig = useRig();

const SCHEMA = `${USERS.replace('import {', `import { relations } from 'drizzle-orm';\nimport { timestamp,`)}
export const posts = pgTable('posts', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  author: integer().notNull().references(() => users.id),
  at: timestamp({ withTimezone: true }).notNull().defaultNow(),
});
export const usersRelations = relations(users, ({ many }) => ({ posts: many(posts) }));
export const postsRelations = relations(posts, ({ one }) => ({
  by: one(users, { fields: [posts.author], references: [users.id] }),
}));
`;

const POST = `import { svc } from '@svc/runtime';
import { eq } from 'drizzle-orm';
import { posts, users } from '../src/schema.ts';

export async function postWorkflow(name: string) {
  'use workflow';
  return post(name);
}

async function post(name: string) {
  'use step';
  const inside = await svc.database.transaction(async (tx) => {
    const [user] = await tx.insert(users).values({ name }).returning();
    await tx.insert(posts).values({ author: user!.id });
    return tx.transaction((deep) => deep.query.users.findFirst({ with: { posts: true } }));
  });
  const found = await svc.database.query.posts.findMany({ with: { by: true }, where: eq(posts.author, 1) });
  return { inside: inside?.posts.length, by: found[0]?.by.name, at: found[0]?.at instanceof Date };
}
`;

const AGENT = `import { defineDeepAgent, defineTool, svc } from '@svc/runtime';
import { z } from 'zod';

const names = defineTool({
  description: 'List the users.',
  inputSchema: z.object({}),
  execute: () => svc.database.query.users.findMany({ columns: { name: true } }),
});

export default defineDeepAgent({ name: 'desk', tools: { names } });
`;

const FILES = {
  'src/schema.ts': SCHEMA,
  'workflows/post.workflow.ts': POST,
  'deep-agents/desk/index.ts': AGENT,
};

describe('svc.database.query', () => {
  it.each([
    ['the drizzle-orm of svc', undefined],
    ['a drizzle-orm of its own', '0.45.3'],
  ])(
    'reads tables and relations in steps, transactions and tools, with %s',
    async (_, version) => {
      const workspace = await rig.workspace(FILES);
      if (version !== undefined) copyDrizzle(workspace, version);
      const dev = await bootDev(rig, workspace);
      expect(dev.said).toEqual(['Migrated: .svc/migrations/0000_create_posts_users.sql']);
      const { runId } = await dev.call<Run>('/api/workflows/post/start', { args: ['Ada'] });
      const run = await dev.call<Run>(`/api/runs/${runId}?wait=20s`);
      expect(run).toMatchObject({ status: 'completed', output: { inside: 1, by: 'Ada', at: true } });
      const message = { role: 'user', content: 'tool:names {}' };
      const turn = await dev.call('/wire-a/v1/chat/completions', { model: 'desk', messages: [message] });
      expect(JSON.stringify(turn)).toContain(String.raw`[{\"name\":\"Ada\"}]`);
    },
    SLOW_MS,
  );

  it(
    'follows an edit of src/schema.ts, and keeps the last good one while that does not load',
    async () => {
      const count = `import { svc } from '@svc/runtime';
export async function countWorkflow() {
  'use workflow';
  return count();
}
async function count() {
  'use step';
  return Object.keys(svc.database.query).sort();
}
`;
      const dev = await bootDev(
        rig,
        await rig.workspace({ 'src/schema.ts': USERS, 'workflows/count.workflow.ts': count }),
      );
      const read = async () => {
        const { runId } = await dev.call<Run>('/api/workflows/count/start', { args: [] });
        return (await dev.call<Run>(`/api/runs/${runId}?wait=20s`)).output;
      };
      expect(await read()).toEqual(['users']);
      const before = dev.said.length;
      dev.edit('src/schema.ts', (text) => `${text}export const pets = pgTable('pets', { id: integer() });\n`);
      await dev.heard(/^reloaded/, before);
      expect(await read()).toEqual(['pets', 'users']);
      dev.edit('src/schema.ts', (text) => `${text}export const broken = nothing;\n`);
      const shown = await dev.heard(/nothing is not defined/, before);
      expect(shown.match(/nothing is not defined/g)).toHaveLength(1);
      expect(await read()).toEqual(['pets', 'users']);
    },
    SLOW_MS,
  );
});

it(
  'a drizzle-orm of another series is one clear error, under svc dev, svc check and svc schema',
  async () => {
    const workspace = await rig.workspace(FILES);
    copyDrizzle(workspace, '0.36.0');
    const { root: cwd } = workspace;
    const message =
      'The project has drizzle-orm 0.36.0 installed, and svc works with 0.45.4. Install drizzle-orm@0.45.4.';
    const generated = await runCli(['schema', 'generate', '--json'], { cwd });
    expect(readError(generated)).toMatchObject({ code: 'drizzle_mismatch', message });
    const checked = readError(await runCli(['check', '--json'], { cwd }));
    expect(checked.details).toMatchObject({ problems: [{ code: 'drizzle_mismatch', file: 'package.json' }] });
    const dev = await bootDev(rig, workspace);
    expect(dev.said).toEqual([expect.stringContaining(message)]);
    expect(dev.migrations()).toEqual([]);
    await dev.close();
    rmSync(workspace.path('node_modules/drizzle-orm'), { recursive: true });
    const missing = readError(await runCli(['schema', 'generate', '--json'], { cwd }));
    expect(missing).toMatchObject({ code: 'schema_invalid', details: { problems: [{ code: 'module_not_found' }] } });
    expect(readDocument(await runCli(['schema', 'apply', '--json'], { cwd })).applied).toEqual([]);
  },
  SLOW_MS,
);

/** In place of the link: another copy than the one svc has. */
function copyDrizzle(workspace: Workspace, version: string): void {
  const path = workspace.path('node_modules/drizzle-orm');
  rmSync(path);
  cpSync(realpathSync(join(REPOSITORY, 'packages/cli/node_modules/drizzle-orm')), path, { recursive: true });
  workspace.edit('node_modules/drizzle-orm/package.json', '"version": "0.45.4"', `"version": "${version}"`);
}
