import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { runCli } from './_run.ts';
import { bootDev, USERS } from './_schema-dev.ts';
import { readDocument, readError } from './_setup.ts';
import { useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

const rig = useRig();

// Some builds each, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

const run = ({ root: cwd }: Workspace, ...argv: string[]) => runCli([...argv, '--json'], { cwd });

interface Found {
  code: string;
  message: string;
  file: string;
}

const problemsOf = async (workspace: Workspace) => {
  const { details } = readError(await run(workspace, 'check'));
  return (details as { problems: Found[] }).problems;
};

/** A workspace with one migration, that of `users`. */
async function makeWorkspace(): Promise<Workspace> {
  const workspace = await rig.workspace({ 'src/schema.ts': USERS });
  expect(readDocument(await run(workspace, 'schema', 'generate')).name).toBe('0000_create_users');
  return workspace;
}

/** As two branches leave it that were merged: each with a migration on top of the first. */
async function mergeBranches(workspace: Workspace): Promise<void> {
  const journal = '.svc/migrations/meta/_journal.json';
  const before = workspace.read(journal);
  workspace.edit('src/schema.ts', 'name: text()', 'city: text(),\n  name: text()');
  await run(workspace, 'schema', 'generate');
  const ours = (JSON.parse(workspace.read(journal)) as { entries: unknown[] }).entries;
  workspace.write(journal, before);
  workspace.rename('.svc/migrations/0001_add_users_city.sql', 'city.sql');
  workspace.edit('src/schema.ts', 'city: text()', 'street: text()');
  await run(workspace, 'schema', 'generate');
  const theirs = JSON.parse(workspace.read(journal)) as { entries: unknown[] };
  workspace.rename('city.sql', '.svc/migrations/0001_add_users_city.sql');
  workspace.write(journal, JSON.stringify({ ...theirs, entries: [...ours, theirs.entries[1]] }));
}

describe('what is built of a workspace with tables', () => {
  it.each(['build', 'package'])('svc %s refuses a src/schema.ts that is ahead of its migrations', async (verb) => {
    const workspace = await makeWorkspace();
    workspace.edit('src/schema.ts', 'name: text()', 'city: text(),\n  name: text()');
    const error = readError(await run(workspace, verb));
    expect(error).toMatchObject({
      code: 'schema_ahead',
      message:
        'src/schema.ts has changes that no migration holds, so a deployed box would not have them: ALTER TABLE "users" ADD COLUMN "city" text;',
      suggestion: 'Write the migration: svc schema generate',
      details: { statements: ['ALTER TABLE "users" ADD COLUMN "city" text;'] },
    });
    expect(['workspace', 'deploy'].filter((name) => existsSync(workspace.path(`dist/${name}`)))).toEqual([]);
    await run(workspace, 'schema', 'generate');
    expect(await run(workspace, verb)).toMatchObject({ exitCode: 0 });
  });

  it('svc check names what no migration holds, and is content once one does', async () => {
    const workspace = await rig.workspace({ 'src/schema.ts': USERS });
    expect(await problemsOf(workspace)).toMatchObject([
      { code: 'schema_ahead', file: 'src/schema.ts', message: expect.stringMatching(/: svc schema generate$/) },
    ]);
    await run(workspace, 'schema', 'generate');
    expect(await run(workspace, 'check')).toMatchObject({ exitCode: 0 });
  });

  it('a change that is to be decided is refused with the flags that decide it', async () => {
    const workspace = await makeWorkspace();
    workspace.edit('src/schema.ts', 'name: text()', 'label: text()');
    expect(readError(await run(workspace, 'build'))).toMatchObject({
      code: 'schema_ambiguous',
      suggestion: 'svc schema generate --rename users.name=users.label or svc schema generate --drop users.name',
    });
    expect(await problemsOf(workspace)).toMatchObject([{ code: 'schema_ambiguous' }]);
  });

  it('a src/schema.ts that does not compile or does not load is refused with its place', async () => {
    const workspace = await makeWorkspace();
    workspace.edit('src/schema.ts', 'pgTable(', 'pgTable((');
    const error = readError(await run(workspace, 'build'));
    expect(error).toMatchObject({
      code: 'schema_invalid',
      details: { problems: [{ code: 'syntax_error', file: 'src/schema.ts' }] },
    });
    workspace.edit('src/schema.ts', 'pgTable((', 'pgTable(');
    workspace.edit('src/schema.ts', 'drizzle-orm/pg-core', 'drizzle-orm/pg-kore');
    expect(await problemsOf(workspace)).toMatchObject([{ file: 'src/schema.ts' }]);
  });

  it('migrations of two merged branches, a file without a line and a line without a file are refused', async () => {
    const workspace = await makeWorkspace();
    await mergeBranches(workspace);
    const merged = readError(await run(workspace, 'build'));
    expect(merged).toMatchObject({
      code: 'migrations_invalid',
      message: expect.stringMatching(/^"0001_add_users_street" does not follow "0001_add_users_city"/),
    });
    expect(await problemsOf(workspace)).toMatchObject([{ code: 'migrations_invalid' }]);
    expect(readError(await run(workspace, 'schema', 'generate'))).toMatchObject({
      code: 'migrations_invalid',
      suggestion: expect.not.stringContaining('Correct src/schema.ts'),
    });

    const other = await makeWorkspace();
    other.write('.svc/migrations/0001_by_hand.sql', 'select 1;');
    expect(readError(await run(other, 'build')).message).toMatch(/^"0001_by_hand.sql" is in no line of the journal/);
    rmSync(other.path('.svc/migrations/0001_by_hand.sql'));
    renameSync(other.path('.svc/migrations/0000_create_users.sql'), other.path('0000.sql'));
    expect(readError(await run(other, 'build'))).toMatchObject({ code: 'migrations_invalid' });
  });

  it('a migration that was edited after svc dev applied it is a problem of svc check, and svc build says so', async () => {
    const workspace = await rig.workspace({ 'src/schema.ts': USERS });
    const dev = await bootDev(rig, workspace);
    await dev.close();
    workspace.edit('.svc/migrations/0000_create_users.sql', 'CREATE TABLE', 'create table');
    expect(await problemsOf(workspace)).toMatchObject([
      { code: 'migration_changed', file: '.svc/migrations/0000_create_users.sql' },
    ]);
    const built = readDocument(await run(workspace, 'build'));
    expect(built.problems).toMatchObject([{ code: 'migration_changed' }]);
    // Who starts over may begin with another history.
    workspace.remove('.svc/pgdata');
    expect(await run(workspace, 'check')).toMatchObject({ exitCode: 0 });
    await run(workspace, 'schema', 'apply');
    expect(await run(workspace, 'check')).toMatchObject({ exitCode: 0 });
  });

  it('a workspace whose src/schema.ts is gone, or that never had one, is built as it is', async () => {
    const workspace = await makeWorkspace();
    workspace.remove('src/schema.ts');
    const { outDir, files } = readDocument(await run(workspace, 'build')) as { outDir: string; files: string[] };
    expect(files).toContain('migrations/0000_create_users.sql');
    expect(readFileSync(`${outDir}/manifest.json`, 'utf8')).not.toContain('databaseSchema');
    expect(await run(await rig.workspace(), 'check')).toMatchObject({ exitCode: 0 });
  });
});
