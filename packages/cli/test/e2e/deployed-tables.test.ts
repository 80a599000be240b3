import { expect, it } from 'vitest';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { errorsOf, query, recordsOf, SLOW_MS, TOKEN, untilServing, useDeployed } from './_deployed.ts';
import type { Env } from './_deployed.ts';
import { occupy, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();

const SCHEMA = `import { relations } from 'drizzle-orm';
import { bigint, date, integer, jsonb, numeric, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

export const users = pgTable('users', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  name: text().notNull(),
});
export const posts = pgTable('posts', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  author: integer().notNull().references(() => users.id),
  at: timestamp({ withTimezone: true }).notNull(),
  day: date().notNull(),
  price: numeric().notNull(),
  size: bigint({ mode: 'bigint' }).notNull(),
  tags: text().array().notNull(),
  meta: jsonb().$type<{ draft: boolean }>().notNull(),
});
export const usersRelations = relations(users, ({ many }) => ({ posts: many(posts) }));
export const postsRelations = relations(posts, ({ one }) => ({
  by: one(users, { fields: [posts.author], references: [users.id] }),
}));
`;

const POST = `import { svc } from '@svc/runtime';
import { eq } from 'drizzle-orm';
import { posts, users } from '../src/schema.ts';

export async function post(name: string) {
  'use workflow';
  return write(name);
}

const ROW = {
  at: new Date('2026-05-04T03:02:01.123Z'),
  day: '2026-05-04',
  price: '12.25',
  size: 9007199254740991n,
  tags: ['a, b', 'c'],
  meta: { draft: true },
};

async function write(name: string) {
  'use step';
  const inside = await svc.database.transaction(async (tx) => {
    const [user] = await tx.insert(users).values({ name }).returning();
    await tx.insert(posts).values({ author: user!.id, ...ROW });
    const undone = tx.transaction(async (deep) => {
      await deep.insert(users).values({ name: 'Nobody' });
      throw new Error((await deep.query.users.findMany()).map((one) => one.name).join());
    });
    const seen = await undone.catch((error: Error) => error.message);
    return { seen, users: await tx.query.users.findMany({ with: { posts: { columns: { day: true } } } }) };
  });
  const user = await svc.database.query.users.findFirst({ where: eq(users.name, name), with: { posts: true } });
  const found = await svc.database.query.posts.findFirst({ with: { by: { columns: { name: true } } } });
  const { by, ...post } = found!;
  const isTyped = [post, user!.posts[0]!].map(({ at, size }) => at instanceof Date && typeof size === 'bigint');
  return { inside, by, isTyped, post, nested: user!.posts[0] };
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

const OLDER = {
  'src/schema.ts': SCHEMA.slice(0, SCHEMA.indexOf('export const posts')),
  'deep-agents/desk/index.ts': AGENT,
};

describeWhen(bothServers, 'svc build and svc start with src/schema.ts', (servers) => {
  const { makeEnv } = useDeployed(rig, servers);

  async function svc(workspace: Workspace, ...argv: string[]): Promise<void> {
    const { code, stdout, stderr } = await workspace.svc(...argv);
    if (code !== 0) throw new Error(stdout + stderr);
  }

  /** `svc start` on a bundle of this workspace, on a port of its own. */
  function launch({ command }: Workspace, { ports }: Workspace, env: Env, out = 'dist/workspace') {
    const PORT = String(ports.api);
    return command(['start', '--out', out], { env: { STUDIO_STANDALONE_TOKEN: TOKEN, ...env, PORT } });
  }

  async function start(workspace: Workspace, env: Env, out?: string): Promise<Box> {
    const place = await rig.workspace();
    const command = launch(workspace, place, env, out);
    await untilServing(command);
    return workspace.talkTo(command, { port: place.ports.api, key: TOKEN });
  }

  const post = async (box: Box, name: string) => box.finish((await box.start('post', { args: [name] })).runId);
  const appliedBy = (boxes: Box[]) =>
    boxes.flatMap((box) => (recordsOf(box) as { migration?: string }[]).flatMap(({ migration }) => migration ?? []));

  it(
    'serve steps and tools that read tables and relations with svc.database.query',
    async () => {
      const [workspace, env] = [await rig.workspace(FILES), await makeEnv()];
      await svc(workspace, 'schema', 'generate');
      await svc(workspace, 'build');
      const box = await start(workspace, env);
      expect(appliedBy([box])).toEqual(['0000_create_posts_users']);
      const row = {
        id: 1,
        author: 1,
        at: '2026-05-04T03:02:01.123Z',
        day: '2026-05-04',
        price: '12.25',
        size: '9007199254740991',
        tags: ['a, b', 'c'],
        meta: { draft: true },
      };
      expect(await post(box, 'Ada')).toMatchObject({
        error: null,
        output: {
          inside: { seen: 'Ada,Nobody', users: [{ id: 1, name: 'Ada', posts: [{ day: '2026-05-04' }] }] },
          by: { name: 'Ada' },
          isTyped: [true, true],
          post: row,
          nested: row,
        },
      });
      expect(await box.chat('desk', 'tool:names {}')).toContain('[{"name":"Ada"}]');
      expect(await query(env, 'select name from public.users')).toEqual([{ name: 'Ada' }]);
      expect(errorsOf(box)).toEqual([]);
      expect(await box.stop('SIGTERM')).toMatchObject({ code: 0 });
    },
    SLOW_MS,
  );

  it(
    'apply each migration once when two start at once; the older build does not start after that, its code on the newer tables does',
    async () => {
      const [workspace, env] = [await rig.workspace(OLDER), await makeEnv()];
      await svc(workspace, 'schema', 'generate');
      await svc(workspace, 'build', '--out', 'dist/older');
      for (const [file, text] of Object.entries(FILES)) workspace.write(file, text);
      await svc(workspace, 'schema', 'generate');
      await svc(workspace, 'build');

      const boxes = await Promise.all([start(workspace, env), start(workspace, env)]);
      expect(appliedBy(boxes).sort()).toEqual(['0000_create_users', '0001_create_posts']);
      expect(await Promise.all(boxes.map(async (box) => (await post(box, 'Ada')).error))).toEqual([null, null]);

      const taken = await rig.workspace();
      const release = await occupy(taken.ports.api);
      const refused = await launch(workspace, taken, env, 'dist/older').ended;
      await release();
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toBe(`error: ${NEWER}\nhelp: Start the bundle that used it, or a later one.\n`);
      expect((await post(boxes[0]!, 'Bob')).error).toBeNull();
      expect(errorsOf(boxes[0]!)).toEqual([]);
      await Promise.all(boxes.map((box) => box.stop('SIGTERM')));

      // The way back: the code as it was, beside the tables and migrations as they are.
      workspace.remove('workflows/post.workflow.ts');
      await svc(workspace, 'build');
      const back = await start(workspace, env);
      expect(appliedBy([back])).toEqual([]);
      expect(await back.chat('desk', 'tool:names {}')).toContain('Bob');
      expect(errorsOf(back)).toEqual([]);
      await back.stop('SIGTERM');
    },
    SLOW_MS,
  );
});

const NEWER =
  'The database carries the migration "0001_create_posts" of this project, which this build does not hold: a newer build, or another branch, has used it. Run that one or a later one, or use another database.';
