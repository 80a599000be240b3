import { randomBytes } from 'node:crypto';
import { writeFileSync, appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { boot } from '../../runtime/src/boot/boot.ts';
import type { RunningBox } from '../../runtime/src/boot/boot.ts';
import { createDatabase } from '../../runtime/src/engine/stores/_clients.ts';
import { openPg } from '../../runtime/src/stores/pg.ts';
import { bothServers } from '../../runtime/test/_cluster.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { runCli } from './_run.ts';
import { findPort, readDocument } from './_setup.ts';
import { useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

/** A build, and two boots against a real server. */
const SLOW_MS = 120_000;

const rig = useRig();

const NOTES = `import { integer, pgTable, text } from 'drizzle-orm/pg-core';
export const notes = pgTable('notes', { id: integer().primaryKey(), text: text() });
`;

describeWhen(bothServers, 'the migrations of a bundle', (servers) => {
  const databases: { drop(): Promise<void> }[] = [];
  afterAll(() => Promise.all(databases.map((database) => database.drop())));

  async function makeEnv(): Promise<Record<string, string>> {
    const database = await createDatabase(servers.database);
    databases.push(database);
    return {
      DATABASE_URL: database.url,
      WORKFLOW_KV_URL: servers.kv,
      SVC_SECRET_KEY: randomBytes(32).toString('base64'),
      AGENT_ID: `test-${randomBytes(6).toString('hex')}`,
      MODEL_PROVIDER_BASE_URL: rig.model().url,
    };
  }

  /** A workspace with one migration more than before, built into `dist/<name>`. */
  async function build(workspace: Workspace, name: string): Promise<string> {
    const { root: cwd } = workspace;
    for (const argv of [
      ['schema', 'generate'],
      ['build', '--out', `dist/${name}`],
    ]) {
      const { exitCode, stderr } = await runCli(argv, { cwd });
      if (exitCode !== 0) throw new Error(stderr);
    }
    return join(cwd, 'dist', name);
  }

  async function start(bundleDir: string, env: Record<string, string>, lines: string[] = []): Promise<RunningBox> {
    const PORT = String(await findPort());
    const running = await boot({ env: { ...env, PORT }, bundleDir, write: (line) => void lines.push(line) });
    onTestFinished(() => running.close());
    return running;
  }

  it(
    'are applied before a box serves, each once when two boot together, and an older bundle is refused',
    async () => {
      const [workspace, env] = [await rig.workspace({ 'src/schema.ts': NOTES }), await makeEnv()];
      const first = await build(workspace, 'first');
      workspace.edit('src/schema.ts', 'text: text()', 'text: text(), by: text()');
      const second = await build(workspace, 'second');
      const lines: string[] = [];
      await Promise.all([start(second, env, lines), start(second, env, lines)]);
      const client = openPg(env.DATABASE_URL ?? '');
      onTestFinished(() => client.close());
      expect(await client.query('select name from svc.project_migrations order by id')).toEqual([
        { name: '0000_create_notes' },
        { name: '0001_add_notes_by' },
      ]);
      await client.query(`insert into notes (id, "by") values (1, 'Ada')`);
      const applied = lines.map((line) => (JSON.parse(line) as { migration?: string }).migration).filter(Boolean);
      expect(applied.sort()).toEqual(['0000_create_notes', '0001_add_notes_by']);

      await expect(start(first, env)).rejects.toMatchObject({
        code: 'database_newer',
        message: expect.stringContaining('"0001_add_notes_by"'),
        details: { migrations: ['0001_add_notes_by'] },
      });
    },
    SLOW_MS,
  );

  it(
    'are refused when a file was edited after it was applied, and when one fails, which leaves nothing behind',
    async () => {
      const [workspace, env] = [await rig.workspace({ 'src/schema.ts': NOTES }), await makeEnv()];
      await (await start(await build(workspace, 'first'), env)).close();
      const file = workspace.path('.svc/migrations/0000_create_notes.sql');
      const text = workspace.read('.svc/migrations/0000_create_notes.sql');
      appendFileSync(file, '-- edited');
      await expect(start(await build(workspace, 'edited'), env)).rejects.toMatchObject({
        code: 'migration_changed',
        message: expect.stringContaining('"0000_create_notes.sql"'),
      });
      writeFileSync(file, text);
      workspace.edit('src/schema.ts', 'text: text()', 'text: text(), by: text()');
      await runCli(['schema', 'generate'], { cwd: workspace.root });
      appendFileSync(workspace.path('.svc/migrations/0001_add_notes_by.sql'), 'drop table nowhere;');
      await expect(start(await build(workspace, 'failing'), env)).rejects.toMatchObject({
        code: 'migration_failed',
        details: {
          migration: '0001_add_notes_by',
          statement: 'ALTER TABLE "notes" ADD COLUMN "by" text;\ndrop table nowhere;',
          sqlState: '42P01',
        },
      });
      const client = openPg(env.DATABASE_URL ?? '');
      onTestFinished(() => client.close());
      await expect(client.query('select "by" from notes')).rejects.toMatchObject({ code: '42703' });
      expect(await client.query('select name from svc.project_migrations')).toHaveLength(1);

      // The same, seen from a workspace.
      const status = await runCli(['schema', 'status', '--json'], { cwd: workspace.root, env });
      expect(readDocument(status)).toMatchObject({
        migrations: [
          { name: '0000_create_notes', applied: true },
          { name: '0001_add_notes_by', applied: false },
        ],
        missing: [],
        edited: [],
        changes: [],
      });
    },
    SLOW_MS,
  );

  it('are refused when the bundle holds another file than was built', async () => {
    const [workspace, env] = [await rig.workspace({ 'src/schema.ts': NOTES }), await makeEnv()];
    const bundle = await build(workspace, 'first');
    appendFileSync(join(bundle, 'migrations/0000_create_notes.sql'), 'drop table notes;');
    await expect(start(bundle, env)).rejects.toMatchObject({ code: 'bundle_invalid' });
  });
});
