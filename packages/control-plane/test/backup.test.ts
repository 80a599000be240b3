import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { LEFT_OUT, TABLES } from '../src/backup.ts';
import { backUpToFile, restoreFromFile } from '../src/backup-file.ts';
import { backUpToStream, restoreFromStream } from '../src/backup-stream.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { decide, poll, refresh, signInCli, startDevice } from './_oauth.ts';
import { ask as askJson, cookieOf, logIn, signUpFirst } from './_people.ts';
import { makeFolder, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';

const isBuilt = existsSync(new URL('../dist/index.mjs', import.meta.url));
const builtPlane = { value: isBuilt || undefined, missing: 'packages/control-plane/dist (run node scripts/build.mjs)' };

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

describeWhen(builtPlane, 'the backup of the guide', () => {
  test('is a file of its owner alone, whatever the shell leaves open otherwise', async () => {
    const env = { PLANE_SECRET_KEY: SECRET_KEY, ...(await makeStore('sqlite')) };
    await signUpFirst(await startPlane({ env }));
    const guide = readFileSync(new URL('../../../docs/guide/self-host.md', import.meta.url), 'utf8');
    const [, command = ''] = /^```sh plane-backup\n([^]*?)^```$/m.exec(guide) ?? [];
    // In the place of the engine, which has the control plane in a container: the command itself.
    const folder = makeFolder();
    const bin = fileURLToPath(new URL('../bin.mjs', import.meta.url));
    const docker = `#!/bin/sh\nwhile [ "$1" != svc-control-plane ]; do shift; done\nshift\nexec "${process.execPath}" "${bin}" "$@"\n`;
    writeFileSync(join(folder, 'docker'), docker, { mode: 0o755 });
    await promisify(execFile)('sh', ['-euc', `umask 022\n${command}`], {
      cwd: folder,
      env: { ...process.env, ...env, PATH: `${folder}:${process.env.PATH}` },
    });
    const file = join(folder, 'plane.backup');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await restoreFromFile(toFull(await makeStore('sqlite')), file)).toBeGreaterThan(0);
  });
});

describe.each(STORES)('a backup in a stream, of a control plane on %s', (store) => {
  test('is what a file would have been, and one that breaks off leaves nothing', async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    await signUpFirst(plane);
    const output = new PassThrough();
    const [rows, text] = await Promise.all([
      backUpToStream(toFull(env), output).finally(() => output.end()),
      readAll(output),
    ]);
    expect(text.trimEnd().split('\n')).toHaveLength(rows + 2);
    const target = await makeStore(store);
    const broken = Readable.from([text.slice(0, -20)]);
    await expect(restoreFromStream(toFull(target), broken)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await restoreFromStream(toFull(target), Readable.from([text]))).toBe(rows);
    expect((await logIn(await startPlane({ env: target }), PERSON.email)).status).toBe(200);
  });

  test('whose reader goes is one that has failed', async () => {
    const env = await makeStore(store);
    await signUpFirst(await startPlane({ env }));
    const output = new PassThrough();
    output.destroy();
    await expect(backUpToStream(toFull(env), output)).rejects.toThrow(/destroyed/);
  });
});

describe.each(STORES)('a control plane that is restored on %s', (store) => {
  const start = async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const kids = async (of: { url: string }) => {
      const { keys } = (await askJson(of, 'GET /.well-known/jwks.json')).body;
      return keys.map(({ kid }: { kid: string }) => kid) as string[];
    };
    return { env, plane, ada, kids, tokens: await signInCli(plane, ada) };
  };

  test('signs everyone out, and trusts no key that it had', async () => {
    const { env, plane, ada, kids, tokens } = await start();
    const before = await kids(plane);
    const { device_code: code, user_code: userCode } = await startDevice(plane);
    await decide(plane, ada, userCode);
    const file = join(makeFolder(), 'plane.backup');
    await backUpToFile(toFull(env), file);
    // Since then it is used: the one that is good is another.
    expect((await refresh(plane, tokens.refresh_token)).status).toBe(200);
    await plane.close();

    const target = await makeStore(store);
    await restoreFromFile(toFull(target), file);
    const restored = await startPlane({ env: target });
    expect((await refresh(restored, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await poll(restored, code)).body.error).toBe('invalid_grant');
    expect((await askJson(restored, 'GET /api/v1/me', { cookie: ada.cookie })).status).toBe(401);
    expect((await askJson(restored, 'GET /api/v1/me', { token: tokens.access_token })).status).toBe(401);
    const after = await kids(restored);
    expect(after.length).toBeGreaterThan(0);
    expect(after.filter((kid) => before.includes(kid))).toStrictEqual([]);
    expect((await logIn(restored, ada.email)).status).toBe(200);
  });

  test('of a backup that has more in it than one of this version leaves that out', async () => {
    const { env, plane, ada } = await start();
    const made = await askJson(plane, 'POST /api/v1/installations', { cookie: ada.cookie, body: { name: 'shop' } });
    const installationId = made.body.id as string;
    const file = join(makeFolder(), 'plane.backup');
    const rows = await backUpToFile(toFull(env), file);
    await plane.close();
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const session = { id: 'x', secretHash: 'x', userId: ada.userId, createdAt: 1, seenAt: 1, expiresAt: 9e12 };
    const old = [...lines.slice(0, -1), JSON.stringify({ table: 'plane_sessions', row: session })];
    const box = { installationId, url: 'https://box.example', imageTag: 'a', contract: 1, secret: 'sealed' };
    const deployment = { ...box, registeredAt: 1, registeredBy: ada.userId };
    old.push(JSON.stringify({ table: 'plane_deployments', row: deployment }));
    const earlier = join(makeFolder(), 'earlier.backup');
    writeFileSync(earlier, `${[...old, JSON.stringify({ end: rows + 2 })].join('\n')}\n`);
    const target = await makeStore(store);
    expect(await restoreFromFile(toFull(target), earlier)).toBe(rows + 2);
    const restored = await startPlane({ env: target });
    const cookie = cookieOf(await logIn(restored, ada.email));
    const { items } = (await askJson(restored, 'GET /api/v1/sessions', { cookie })).body;
    expect(items).toHaveLength(1);
    const shop = await askJson(restored, `GET /api/v1/installations/${installationId}`, { cookie });
    expect(shop.body.deployment).toMatchObject({ url: 'https://box.example' });
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

  test('has every table of the database, but those that are left out by name', async () => {
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
