import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findSqlite } from '../../../runtime/src/engine/stores/sqlite/driver.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { useRig } from './_setup.ts';
import type { Box } from './_setup.ts';

const rig = useRig();
const NO_SQLITE = { SVC_SQLITE_DRIVER: 'none' };

async function greet(box: Box, name: string): Promise<string> {
  const { runId } = await box.start('greet', { name });
  expect((await box.finish(runId)).output).toBe(`workflow-1 hello-1 ${name}`);
  return runId;
}
const journalLine = (box: Box) => /^ {2}Journal +(.*)$/m.exec(box.stdout())?.[1];

const native = {
  value: (await findSqlite('better-sqlite3')).opener,
  missing: 'better-sqlite3 (run scripts/sqlite-driver.mjs)',
};

describeWhen(native, 'the journal of two drivers', () => {
  it.each([
    ['better-sqlite3', '@photostructure/sqlite'],
    ['@photostructure/sqlite', 'better-sqlite3'],
  ])('made with %s is read and written with %s', async (one, other) => {
    const workspace = await rig.workspace();
    const first = await workspace.boot({ json: false, env: { SVC_SQLITE_DRIVER: one } });
    expect(journalLine(first)).toBe(`SQLite (${one})`);
    const runId = await greet(first, 'Ada');
    await first.stop();
    const second = await workspace.boot({ json: false, env: { SVC_SQLITE_DRIVER: other } });
    expect(journalLine(second)).toBe(`SQLite (${other})`);
    expect((await second.run(runId)).output).toBe('workflow-1 hello-1 Ada');
    await greet(second, 'Bo');
    await second.stop();
  });
});

describe('the journal', () => {
  it('is on PGlite where no SQLite opens, says so in one line, and stays there', async () => {
    const workspace = await rig.workspace();
    const first = await workspace.boot({ json: false, env: NO_SQLITE });
    expect(journalLine(first)).toMatch(/^PGlite \(no SQLite opens here: .+\)$/);
    const runId = await greet(first, 'Ada');
    await first.stop();
    expect(JSON.parse(workspace.read('.svc/stores.json'))).toEqual({ format: 1, journal: 'pglite' });
    expect(existsSync(workspace.path('.svc/journal.db'))).toBe(false);
    // A SQLite that opens later does not begin an empty journal beside it.
    const second = await workspace.boot({ json: false });
    expect(journalLine(second)).toBe('PGlite (as .svc/stores.json records)');
    expect((await second.run(runId)).status).toBe('completed');
    await second.stop();
  });

  it('that is in SQLite is never replaced by an empty one', async () => {
    const workspace = await rig.workspace();
    const first = await workspace.boot();
    const runId = await greet(first, 'Ada');
    await first.stop();
    const refused = await workspace.dev({ env: NO_SQLITE }).ended;
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stdout);
    expect(error.code).toBe('journal_unavailable');
    expect(error.message).toContain(workspace.path('.svc/journal.db'));
    expect(error.suggestion).toContain('SVC_SQLITE_DRIVER');
    expect(error.suggestion).toContain('.svc/stores.json');
    expect(refused.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(workspace.path('.svc/dev.lock'))).toBe(false);
    const second = await workspace.boot();
    expect((await second.run(runId)).status).toBe('completed');
    await second.stop();
  });

  it('refuses a driver it does not know, by name', async () => {
    const workspace = await rig.workspace();
    const refused = await workspace.dev({ env: { SVC_SQLITE_DRIVER: 'sqlite9' } }).ended;
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout).error.message).toContain('"sqlite9"');
    expect(JSON.parse(refused.stdout).error.message).toContain('better-sqlite3');
  });
});

describe('the secret key', () => {
  it('that is not the one of the first boot is refused by the name of its variable', async () => {
    const workspace = await rig.workspace();
    await (await workspace.boot()).stop();
    const key = Buffer.alloc(32, 7).toString('base64');
    const refused = await workspace.dev({ env: { SVC_SECRET_KEY: key } }).ended;
    expect(refused.code).toBe(1);
    const { error } = JSON.parse(refused.stdout);
    expect(error.code).toBe('secret_key_wrong');
    expect(error.message).toContain('SVC_SECRET_KEY');
    expect(refused.stdout + refused.stderr).not.toContain(key);
    await (await workspace.boot()).stop();
  });

  it('that is no key is refused by the name of its variable', async () => {
    const workspace = await rig.workspace();
    const refused = await workspace.dev({ env: { SVC_SECRET_KEY: 'short' } }).ended;
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout).error).toMatchObject({
      code: 'secret_key_invalid',
      message: expect.stringContaining('SVC_SECRET_KEY'),
    });
  });
});
