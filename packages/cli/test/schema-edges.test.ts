import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { bootDev, columnsOf, SLOW_MS, USERS } from './_schema-dev.ts';
import type { Dev } from './_schema-dev.ts';
import { readDocument, readError } from './_setup.ts';
import { eventually, useRig } from './e2e/_setup.ts';

const rig = useRig();

const boot = async (schema = USERS): Promise<Dev> => bootDev(rig, await rig.workspace({ 'src/schema.ts': schema }));
const replace = (dev: Dev, from: string, to: string) => dev.edit('src/schema.ts', (text) => text.replace(from, to));
const generate = (dev: Dev, ...flags: string[]) =>
  runCli(['schema', 'generate', ...flags, '--json'], { cwd: dev.workspace.root });

/** Whoever reads the folder finds one history, and the database has it. */
async function expectInStep(dev: Dev): Promise<void> {
  await eventually(
    async () => {
      const status = readDocument(await runCli(['schema', 'status', '--json'], { cwd: dev.workspace.root }));
      const { migrations, missing, edited, changes, questions } = status as Record<string, unknown[]>;
      expect([missing, edited, changes, questions]).toEqual([[], [], [], []]);
      expect(migrations?.every((one) => (one as { applied: boolean }).applied)).toBe(true);
      return true;
    },
    { within: 60_000, every: 500 },
  );
}

describe('a person who edits src/schema.ts under svc dev', () => {
  it(
    'is asked before a filled column or table goes, and nothing of them is lost until then',
    async () => {
      const dev = await boot(`${USERS}export const pets = pgTable('pets', { id: integer() });\n`);
      await dev.query(`insert into users (name) values ('Ada')`);
      await dev.query('insert into pets (id) values (7)');
      replace(dev, '  name: text().notNull(),\n', '');
      expect(await dev.heard(/is gone/)).toContain('svc schema generate --drop users.name ');
      const before = dev.said.length;
      replace(dev, `export const pets = pgTable('pets'`, `export const animals = pgTable('animals'`);
      const shown = await dev.heard(/The table "pets" is gone, and "animals" is new/, before);
      expect(shown).toContain('Say it of each in one command: svc schema generate ...');
      expect(await dev.query('select name from users')).toEqual([{ name: 'Ada' }]);
      expect(await dev.query('select id from pets')).toEqual([{ id: 7 }]);
      expect(readError(await generate(dev, '--drop', 'users.name')).code).toBe('schema_ambiguous');
      expect(dev.migrations()).toHaveLength(1);
      await generate(dev, '--drop', 'users.name', '--rename', 'pets=animals');
      await dev.heard(/^Migrated: .*0001_/);
      expect(await dev.query('select id from animals')).toEqual([{ id: 7 }]);
      expect(await columnsOf(dev, 'users')).toEqual(['id']);
      await expectInStep(dev);
    },
    SLOW_MS,
  );

  it(
    'is asked before values become another type, and values that do not fit keep the old one',
    async () => {
      const dev = await boot();
      await dev.query(`insert into users (name) values ('Ada'), ('7')`);
      replace(dev, 'name: text()', 'name: integer()');
      expect(await dev.heard(/is to be integer/)).toContain('svc schema generate --convert users.name');
      await generate(dev, '--convert', 'users.name');
      const refused = await dev.heard(/cannot be applied/);
      expect(refused).toMatch(/invalid input syntax.*There are values the new type does not have.*0001_change_schema/s);
      expect(await dev.query('select name from users')).toEqual([{ name: 'Ada' }, { name: '7' }]);
      await dev.query(`update users set name = '8' where name = 'Ada'`);
      // It is tried again when the file is saved.
      dev.edit('.svc/migrations/0001_change_schema.sql', (text) => `${text}\n`);
      await dev.heard(/^Migrated: .*0001_change_schema/);
      expect(await dev.query('select name from users order by name')).toEqual([{ name: 7 }, { name: 8 }]);
      await expectInStep(dev);
    },
    SLOW_MS,
  );

  it(
    'adds a value to an enum at once, and is asked where one goes',
    async () => {
      const dev = await boot(
        USERS.replace('import { ', 'import { pgEnum, ')
          .replace('export const users', `export const mood = pgEnum('mood', ['sad', 'glad']);\nexport const users`)
          .replace('name: text()', `mood: mood(),\n  name: text()`),
      );
      await dev.query(`insert into users (name, mood) values ('Ada', 'sad')`);
      replace(dev, `'glad'`, `'glad', 'calm'`);
      await dev.heard(/^Migrated: .*0001_/);
      replace(dev, `'sad', `, '');
      expect(await dev.heard(/The value "mood.sad" is gone/)).toContain('--drop mood.sad');
      await generate(dev, '--drop', 'mood.sad');
      await dev.heard(/cannot be applied/);
      expect(await dev.query('select mood::text from users')).toEqual([{ mood: 'sad' }]);
      await dev.query(`update users set mood = 'calm'`);
      dev.edit('.svc/migrations/0002_change_schema.sql', (text) => `${text}\n`);
      await dev.heard(/^Migrated: .*0002_/);
      expect(await dev.query('select mood::text from users')).toEqual([{ mood: 'calm' }]);
      await expectInStep(dev);
    },
    SLOW_MS,
  );

  it(
    'may edit while the table is held, and twice in a row: the last edit is what is migrated to',
    async () => {
      const dev = await boot();
      replace(dev, 'name: text()', 'a: text(),\n  name: text()');
      replace(dev, 'name: text()', 'b: text(),\n  name: text()');
      await dev.heard(/^Migrated: .*_b\.sql$|^Migrated: .*0001_add_users_a_users_b/);
      await dev.during(async (query) => {
        await query('lock table users');
        replace(dev, 'name: text()', 'c: text(),\n  name: text()');
        await query('select 1');
        replace(dev, 'name: text()', 'd: text(),\n  name: text()');
      });
      await eventually(async () => (await columnsOf(dev, 'users')).includes('d'), { within: 30_000 });
      await expectInStep(dev);
      expect((await columnsOf(dev, 'users')).sort()).toEqual(['a', 'b', 'c', 'd', 'id', 'name']);
    },
    SLOW_MS,
  );

  it(
    'loses nothing with a file that does not parse, that imports what is not there, or that is gone',
    async () => {
      const dev = await boot();
      await dev.query(`insert into users (name) values ('Ada')`);
      const good = dev.workspace.read('src/schema.ts');
      const said = async (text: string, pattern: RegExp) => {
        const from = dev.said.length;
        dev.workspace.write('src/schema.ts', text);
        await dev.heard(pattern, from);
        expect(dev.said.slice(from).filter((line) => pattern.test(line))).toHaveLength(1);
      };
      await said(good.replace('pgTable(', 'pgTable(('), /src\/schema\.ts:\d+/);
      await said(`import './nowhere.ts';\n${good}`, /nowhere/);
      const before = dev.said.length;
      dev.workspace.remove('src/schema.ts');
      await dev.heard(/^src\/schema.ts is gone. Its tables stay as they are/, before);
      expect(await dev.query('select name from users')).toEqual([{ name: 'Ada' }]);
      expect(dev.migrations()).toEqual(['0000_create_users.sql']);
      dev.workspace.write('src/schema.ts', good.replace('name: text()', 'city: text(),\n  name: text()'));
      await dev.heard(/^Migrated: .*0001_add_users_city/);
      expect(await dev.query('select name, city from users')).toEqual([{ name: 'Ada', city: null }]);
      expect(readFileSync(dev.workspace.path('.svc/migrations/0001_add_users_city.sql'), 'utf8')).not.toMatch(/drop/i);
    },
    SLOW_MS,
  );

  it(
    'hears that a file is gone that went as soon as it was migrated to',
    async () => {
      const workspace = await rig.workspace({ 'src/schema.ts': USERS });
      const lines: string[] = [];
      const say = (line: string): void => {
        lines.push(line);
        if (line.startsWith('Migrated: ')) workspace.remove('src/schema.ts');
      };
      await bootDev(rig, workspace, { say });
      // Any edit has the folder looked at again.
      workspace.write('workflows/rest.workflow.ts', `export async function rest() {\n  'use workflow';\n}\n`);
      const gone = () => lines.some((line) => /^src\/schema.ts is gone. Its tables stay as they are/.test(line));
      await eventually(async () => gone(), { within: 30_000 });
    },
    SLOW_MS,
  );
});
