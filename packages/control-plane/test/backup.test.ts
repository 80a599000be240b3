import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LEFT_OUT, TABLES } from '../src/backup.ts';
import { backUpToFile, restoreFromFile } from '../src/backup-file.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { makeFolder, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';

const PERSON = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada', organization: 'Acme' };

function toFull(env: Record<string, string>): FullSettings {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  if (!full) throw new Error('The full mode has a store.');
  return full;
}

async function ask(url: string, path: string, body: object): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify(body),
  });
}

describe.each(STORES)('a backup of a control plane on %s', (store) => {
  test.each(STORES)('made while it runs, restored to %s, is the same control plane', async (other) => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    expect((await ask(plane.url, '/api/v1/auth/signup', PERSON)).status).toBe(201);
    const file = join(makeFolder(), 'plane.backup');
    const rows = await backUpToFile(toFull(env), file);
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const target = await makeStore(other);
    expect(await restoreFromFile(toFull(target), file)).toBe(rows);
    const restored = await startPlane({ env: target });
    const login = await ask(restored.url, '/api/v1/auth/login', { email: PERSON.email, password: PERSON.password });
    expect([login.status, await login.json()]).toMatchObject([200, { organization: { name: 'Acme', role: 'owner' } }]);
  });
});

describe('a backup', () => {
  async function make(): Promise<{ env: Record<string, string>; file: string }> {
    const env = await makeStore('sqlite');
    const plane = await startPlane({ env });
    await ask(plane.url, '/api/v1/auth/signup', PERSON);
    const file = join(makeFolder(), 'plane.backup');
    await backUpToFile(toFull(env), file);
    await plane.close();
    return { env, file };
  }

  async function countUsers(env: Record<string, string>): Promise<number> {
    const db = await openStore(toFull(env));
    const row = await db.get<{ n: number }>(sql`select count(*) as n from plane_users`);
    await db.close();
    return Number(row?.n);
  }

  test('has every table of the database, but what is counted for a minute', async () => {
    const db = await openStore(toFull(await makeStore('sqlite')));
    const names = await db.all<{ name: string }>(
      sql`select name from sqlite_master where type = 'table' and name like 'plane_%'`,
    );
    await db.close();
    expect(names.map(({ name }) => name).toSorted()).toStrictEqual(
      [...TABLES.map(({ table }) => table), ...LEFT_OUT].toSorted(),
    );
  });

  test('never takes the place of a file or of a control plane with people in it', async () => {
    const { env, file } = await make();
    const before = readFileSync(file, 'utf8');
    await expect(backUpToFile(toFull(env), file)).rejects.toMatchObject({ code: 'conflict' });
    expect(readFileSync(file, 'utf8')).toBe(before);
    await expect(restoreFromFile(toFull(env), file)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('under another key, cut off, or none at all leaves nothing behind', async () => {
    const { file } = await make();
    const target = await makeStore('sqlite');
    const other = { ...target, PLANE_SECRET_KEY: Buffer.alloc(32, 9).toString('base64') };
    await expect(restoreFromFile(toFull(other), file)).rejects.toMatchObject({ code: 'secret_key_wrong' });
    const lines = readFileSync(file, 'utf8').trimEnd();
    const whole = lines.slice(0, lines.lastIndexOf('\n'));
    for (const text of ['', 'hello', lines.slice(0, -5), whole, `${lines}\n{"table":"sqlite_master","row":{"a":1}}`]) {
      const broken = join(makeFolder(), 'broken.backup');
      writeFileSync(broken, text);
      await expect(restoreFromFile(toFull(target), broken)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    await expect(restoreFromFile(toFull(target), '/nowhere.backup')).rejects.toMatchObject({ code: 'not_found' });
    expect(await countUsers(target)).toBe(0);
    expect(await restoreFromFile(toFull(target), file)).toBeGreaterThan(0);
    expect(await countUsers(target)).toBe(1);
  });
});
