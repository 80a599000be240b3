import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readApplied } from '../src/dev/schema/applied.ts';
import type { DevOptions } from '../src/dev/start.ts';
import { runCli } from './_run.ts';
import { ADD_USER, bootDev, columnsOf, listMigrations, SLOW_MS, USERS } from './_schema-dev.ts';
import { readDocument, readError } from './_setup.ts';
import { eventually, useRig } from './e2e/_setup.ts';
import type { Run, Workspace } from './e2e/_setup.ts';

const rig = useRig();

const boot = (workspace: Workspace, options?: Partial<DevOptions>) => bootDev(rig, workspace, options);

describe('src/schema.ts under svc dev', () => {
  it(
    'is migrated at the boot and on each edit that only adds, and the code of the workspace uses its tables',
    async () => {
      const files = { 'src/schema.ts': USERS, 'workflows/add-user.workflow.ts': ADD_USER };
      const dev = await boot(await rig.workspace(files));
      expect(dev.said).toContain('Migrated: .svc/migrations/0000_create_users.sql');
      const { runId } = await dev.call<Run>('/api/workflows/add-user/start', { args: ['Ada'] });
      const run = await dev.call<Run>(`/api/runs/${runId}?wait=20s`);
      expect(run).toMatchObject({ status: 'completed', output: [{ id: 1, name: 'Ada' }] });

      dev.workspace.write(
        'src/columns.ts',
        `import { text } from 'drizzle-orm/pg-core';\nexport const more = { city: text() };\n`,
      );
      dev.edit(
        'src/schema.ts',
        (text) => `import { more } from './columns.ts';\n${text.replace('name:', '...more,\n  name:')}`,
      );
      await dev.heard(/^Migrated: .svc\/migrations\/0001_add_users_city.sql$/);
      expect(await columnsOf(dev, 'users')).toEqual(['id', 'name', 'city']);

      // A module it imports counts as well.
      dev.edit('src/columns.ts', (text) => text.replace('city: text()', 'city: text(), street: text()'));
      await dev.heard(/^Migrated: .*0002_add_users_street.sql$/);
      expect(await dev.query('select name, street from users')).toEqual([{ name: 'Ada', street: null }]);
    },
    SLOW_MS,
  );

  it(
    'a change the rows do not fit is rolled back, its file is not kept, and the next edit is tried',
    async () => {
      const dev = await boot(await rig.workspace({ 'src/schema.ts': USERS }));
      await dev.query(`insert into users (name) values ('Ada')`);
      dev.edit('src/schema.ts', (text) =>
        text.replace('notNull(),\n});', 'notNull(),\n  age: integer().notNull(),\n});'),
      );
      const reason = await dev.heard(/^src\/schema.ts is not applied/);
      expect(reason).toMatch(/contains null values.*There are rows without a value: give the column a default/s);
      expect(dev.migrations()).toEqual(['0000_create_users.sql']);
      expect(await columnsOf(dev, 'users')).toEqual(['id', 'name']);
      expect(dev.workspace.read('.svc/migrations/meta/_journal.json')).not.toContain('0001');
      dev.edit('src/schema.ts', (text) =>
        text.replace('age: integer().notNull()', 'age: integer().notNull().default(7)'),
      );
      await dev.heard(/^Migrated: .*0001_add_users_age.sql$/);
      expect(await dev.query('select name, age from users')).toEqual([{ name: 'Ada', age: 7 }]);
    },
    SLOW_MS,
  );

  it(
    'a rename is not guessed: it is printed with its command, and applied when that has written it',
    async () => {
      const dev = await boot(await rig.workspace({ 'src/schema.ts': USERS }));
      await dev.query(`insert into users (name) values ('Ada')`);
      dev.edit('src/schema.ts', (text) => text.replace('name: text()', 'full_name: text()'));
      const shown = await dev.heard(/^src\/schema.ts is not applied/);
      expect(
        shown
          .split('\n')
          .slice(1)
          .map((line) => line.replaceAll(/ {2,}/g, ' | ')),
      ).toEqual([
        'The column "users.name" is gone, and "users.full_name" is new.',
        ' | svc schema generate --rename users.name=users.full_name | it is "users.full_name" now',
        ' | svc schema generate --drop users.name | it is dropped, with what it holds',
      ]);
      expect(dev.migrations()).toEqual(['0000_create_users.sql']);
      expect(await columnsOf(dev, 'users')).toEqual(['id', 'name']);
      const { root: cwd } = dev.workspace;
      const status = readDocument(await runCli(['schema', 'status', '--json'], { cwd }));
      expect(status).toEqual({
        schema_version: 1,
        migrations: [{ name: '0000_create_users', applied: true }],
        missing: [],
        edited: [],
        changes: [],
        questions: [
          {
            kind: 'column',
            name: 'users.name',
            options: ['--rename users.name=users.full_name', '--drop users.name'],
          },
        ],
      });
      const wrote = await runCli(['schema', 'generate', '--rename', 'users.name=users.full_name', '--json'], { cwd });
      expect(readDocument(wrote)).toMatchObject({
        name: '0001_rename_users_name',
        statements: ['ALTER TABLE "users" RENAME COLUMN "name" TO "full_name";'],
      });
      await dev.heard(/^Migrated: .*0001_rename_users_name.sql$/);
      expect(await dev.query('select * from users')).toEqual([{ id: 1, full_name: 'Ada' }]);
    },
    SLOW_MS,
  );

  it(
    'one that does not load is reported once, and what was good stays',
    async () => {
      const dev = await boot(await rig.workspace({ 'src/schema.ts': USERS }));
      const before = dev.said.length;
      dev.edit('src/schema.ts', (text) => `${text}\nexport const wrong = nothing.at(0);\n`);
      await dev.heard(/nothing is not defined/, before);
      // Nor is there with a foreign migration.
      putMigration(dev.workspace, '0001_by_hand', 'select 1;');
      await dev.heard(/^Migrated: .*0001_by_hand.sql$/);
      // Noted once the file was looked at again.
      await eventually(() => readApplied(dev.workspace.root).some(({ name }) => name === '0001_by_hand'));
      // Another edit, of another file: nothing new about this one.
      const after = dev.said.length;
      dev.edit('workflows/greet.workflow.ts', (text) => `${text}\n// edited\n`);
      dev.edit('src/schema.ts', (text) => text.replace('nothing.at(0)', '1'));
      await dev.heard(/^reloaded/, after);
      expect(dev.said.filter((line) => /nothing is not defined/.test(line))).toHaveLength(1);
      dev.edit('src/schema.ts', (text) => text.replace('wrong = 1', `pets = pgTable('pets', { id: integer() })`));
      await dev.heard(/^Migrated: .*0002_create_pets.sql$/);
      expect(await columnsOf(dev, 'users')).toEqual(['id', 'name']);
    },
    SLOW_MS,
  );

  it(
    'a clone with an empty database is migrated by what is in git, and a database that is ahead is left alone',
    async () => {
      const first = await boot(await rig.workspace({ 'src/schema.ts': USERS }));
      first.edit('src/schema.ts', (text) => `${text}export const pets = pgTable('pets', { id: integer() });\n`);
      await first.heard(/^Migrated: .*0001_create_pets.sql$/);
      await first.close();
      const kept = Object.fromEntries(
        ['src/schema.ts', ...listAll(first.workspace)].map((file) => [file, first.workspace.read(file)]),
      );
      const clone = await boot(await rig.workspace(kept));
      expect(clone.said).toEqual([
        'Migrated: .svc/migrations/0000_create_users.sql',
        'Migrated: .svc/migrations/0001_create_pets.sql',
      ]);
      expect(clone.migrations()).toEqual(['0000_create_users.sql', '0001_create_pets.sql']);
      await clone.close();

      clone.workspace.remove('.svc/migrations');
      const behind = await boot(clone.workspace);
      expect(behind.said).toEqual([
        expect.stringMatching(/^The database carries the migrations "0000_create_users", "0001_create_pets"/),
      ]);
      expect(behind.migrations()).toEqual([]);
    },
    SLOW_MS,
  );

  it.each([
    ['--no-auto-migrate', { autoMigrate: false }, {}],
    ['dev.autoMigrate in svc.json', {}, { 'svc.json': '{ "slug": "small", "dev": { "autoMigrate": false } }' }],
  ])(
    'is left alone with %s, and says so',
    async (_, options, files) => {
      const workspace = await rig.workspace({ 'src/schema.ts': USERS, ...files });
      const dev = await boot(workspace, options);
      expect(dev.said).toEqual([
        'src/schema.ts has changes that no migration holds. Write one with: svc schema generate',
      ]);
      const { root: cwd } = workspace;
      expect((await runCli(['schema', 'generate', '--name', 'first'], { cwd })).stdout).toContain('0000_first.sql');
      await dev.heard(/^Pending: 0000_first. .*svc schema apply$/);
      expect(await columnsOf(dev, 'users')).toEqual([]);
      expect(readDocument(await runCli(['schema', 'apply', '--json'], { cwd })).applied).toEqual(['0000_first']);
      expect(await columnsOf(dev, 'users')).toEqual(['id', 'name']);
    },
    SLOW_MS,
  );

  it(
    'a migration written by hand that fails is named, and tried again when it is saved',
    async () => {
      const dev = await boot(await rig.workspace({ 'src/schema.ts': USERS }));
      const { root: cwd } = dev.workspace;
      await dev.close();
      dev.edit('src/schema.ts', (text) => `${text}export const pets = pgTable('pets', { id: integer() });\n`);
      await runCli(['schema', 'generate'], { cwd });
      dev.edit('.svc/migrations/0001_create_pets.sql', (text) => `${text}select * from nowhere;\n`);
      const again = await boot(dev.workspace);
      expect(again.said).toEqual([
        expect.stringMatching(/^The migration "0001_create_pets" cannot be applied: relation "nowhere" does not exist/),
      ]);
      expect(await columnsOf(again, 'pets')).toEqual([]);
      again.edit('.svc/migrations/0001_create_pets.sql', (text) => text.replace('select * from nowhere;', ''));
      await again.heard(/^Migrated: .*0001_create_pets.sql$/);
      expect(await columnsOf(again, 'pets')).toEqual(['id']);
    },
    SLOW_MS,
  );
});

it('svc schema generate refuses what is not decided, with every flag', async () => {
  const workspace = await rig.workspace({ 'src/schema.ts': USERS });
  const { root: cwd } = workspace;
  await runCli(['schema', 'generate'], { cwd });
  workspace.edit('src/schema.ts', 'name: text()', 'label: text()');
  workspace.edit('src/schema.ts', `'users'`, `'people'`);
  const result = await runCli(['schema', 'generate', '--json'], { cwd });
  expect(result.exitCode).toBe(1);
  expect(readError(result)).toMatchObject({
    code: 'schema_ambiguous',
    suggestion: 'svc schema generate --rename users=people or svc schema generate --drop users',
    details: { questions: [{ kind: 'table', name: 'users', options: ['--rename users=people', '--drop users'] }] },
  });
  const again = await runCli(['schema', 'generate', '--rename', 'users=people', '--json'], { cwd });
  expect(readError(again).details).toMatchObject({ questions: [{ name: 'people.name' }] });
  const flags = ['--rename', 'users=people', '--rename=users.name=label'];
  expect(readDocument(await runCli(['schema', 'generate', ...flags, '--json'], { cwd })).statements).toEqual([
    'ALTER TABLE "users" RENAME TO "people";',
    'ALTER TABLE "people" RENAME COLUMN "name" TO "label";',
  ]);
  const none = await runCli(['schema', 'generate', '--drop', 'users', '--json'], { cwd });
  expect(readError(none).message).toBe('There is nothing to decide about "users", which --drop names.');
  expect(listMigrations(workspace)).toHaveLength(2);
});

/** One that changes no table, as git would put it there: the journal comes last. */
function putMigration({ read, write }: Workspace, tag: string, sql: string): void {
  const journal = JSON.parse(read('.svc/migrations/meta/_journal.json')) as {
    entries: { idx: number; when: number }[];
  };
  const [last] = journal.entries.slice(-1);
  if (!last) throw new Error('There is no migration to put another behind.');
  const toSnapshot = (idx: number) => `.svc/migrations/meta/${String(idx).padStart(4, '0')}_snapshot.json`;
  write(`.svc/migrations/${tag}.sql`, sql);
  const snapshot = JSON.parse(read(toSnapshot(last.idx))) as { id: string };
  write(toSnapshot(last.idx + 1), JSON.stringify({ ...snapshot, id: randomUUID(), prevId: snapshot.id }));
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1, tag } as typeof last);
  write('.svc/migrations/meta/_journal.json', JSON.stringify(journal));
}

function listAll(workspace: Workspace): string[] {
  return readdirSync(workspace.path('.svc/migrations'), { recursive: true, encoding: 'utf8' })
    .map((file) => `.svc/migrations/${file}`)
    .filter((file) => /\.(?:sql|json)$/.test(file) && readFileSync(workspace.path(file)).length > 0);
}
