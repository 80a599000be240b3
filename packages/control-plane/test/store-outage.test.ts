import { once } from 'node:events';
import { request as send } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startProxy } from '../../runtime/test/_proxy.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { keepAttached } from '../../cli/src/dev/tunnel/keep.ts';
import { startBehind } from '../../cli/test/_tunnel.ts';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { raw, sql } from '../src/store/sql.ts';
import { addInstallation, mint, openBox } from './_box.ts';
import { decide, poll, refresh, send as sendForm, signInCli, startDevice } from './_oauth.ts';
import { ask, logIn, signUpFirst } from './_people.ts';
import { makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';

const boxes = setupBoxes();

/** What the host of a tunnel answers. */
async function askHost(url: string, publicUrl: string): Promise<number | undefined> {
  const asked = send(url, { headers: { host: new URL(publicUrl).host }, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

describeWhen(realServers.database, 'PostgreSQL that is away', () => {
  test.each(['cut', 'swallow'] as const)(
    'a control plane whose database is lost (%s) says so, stays live, and goes on as before once it is back',
    async (loss) => {
      const { PLANE_DATABASE_URL: database = '' } = await makeStore('postgres');
      const proxy = await startProxy(database);
      onTestFinished(() => proxy.close());
      const plane = await startPlane({ env: { PLANE_DATABASE_URL: proxy.url } });
      const ada = await signUpFirst(plane);
      const id = await addInstallation(plane, ada.cookie);
      const { device_code: code } = await startDevice(plane);
      const tunnel = (await ask(plane, `POST /api/v1/installations/${id}/tunnel`, ada)).body;
      const close = await keepAttached({
        ...tunnel,
        port: await startBehind((_, response) => response.end('here')),
        say: () => {},
        backOff: () => 20,
      });
      onTestFinished(close);
      expect(await askHost(plane.url, tunnel.publicUrl)).toBe(200);

      proxy[loss]();
      const lost = Promise.all([
        ask(plane, 'GET /api/v1/me', ada),
        ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'other' } }),
        ask(plane, `POST /api/v1/installations/${id}/token`, { ...ada, body: { use: 'operate' } }),
        logIn(plane, ada.email),
      ]);
      const polled = poll(plane, code);
      // Meanwhile.
      for (const path of ['/live', '/login', '/.well-known/jwks.json']) {
        const answer = await fetch(plane.url + path, { signal: AbortSignal.timeout(5_000) });
        expect([path, answer.status]).toStrictEqual([path, 200]);
      }
      expect(await askHost(plane.url, tunnel.publicUrl)).toBe(200);
      for (const { status, body, headers } of await lost)
        expect([status, body, Number(headers.get('retry-after'))]).toStrictEqual([
          503,
          {
            code: 'store_unavailable',
            message: 'The database of the control plane cannot be reached. Try again in a moment.',
            requestId: expect.any(String),
          },
          1,
        ]);
      expect([(await polled).status, (await polled).body.error]).toStrictEqual([503, 'temporarily_unavailable']);
      // A tunnel that is nowhere known is not looked for.
      const other = tunnel.publicUrl.replace(tunnel.name, 'f'.repeat(24));
      expect(await askHost(plane.url, other)).toBe(503);

      proxy.restore();
      await expect.poll(async () => (await ask(plane, 'GET /api/v1/me', ada)).status, { timeout: 30_000 }).toBe(200);
      expect(await mint(plane, id, ada)).toEqual(expect.any(String));
      expect((await poll(plane, code)).body.error).toMatch(/authorization_pending|slow_down/);
      expect(await askHost(plane.url, tunnel.publicUrl)).toBe(200);
      expect((await ask(plane, 'GET /api/v1/installations', ada)).body.items).toHaveLength(1);
    },
    120_000,
  );

  test('a control plane that starts while its database is away says so', async () => {
    const { PLANE_DATABASE_URL: database = '' } = await makeStore('postgres');
    const proxy = await startProxy(database);
    onTestFinished(() => proxy.close());
    proxy.cut();
    await expect(startPlane({ env: { PLANE_DATABASE_URL: proxy.url } })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/database/i),
    });
  });
});

describeWhen(realServers.database, 'PostgreSQL that a later version has changed beside this one', () => {
  test('is a sentence that says so for what needs what is gone, and the rest goes on', async () => {
    const env = await makeStore('postgres');
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    const registration = { installationId: id, hmacSecret: 'f'.repeat(64) };
    const box = await (await openBox(boxes, { issuer: plane.url, installationId: id, registration })).listen();
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
    if (!full) throw new Error('The full mode has a store.');
    const db = await openStore(full);
    await db.all(sql`alter table plane_deployments drop column image_tag`);
    const link = () => {
      const body = { url: box, hmacSecret: registration.hmacSecret, imageTag: 'shop:12' };
      return ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body });
    };
    // Of no version: that is a fault.
    expect((await link()).body.code).toBe('internal');
    await db.run(sql`insert into plane_migrations (number, applied_at) values (${1_000}, ${Date.now()})`);
    await db.close();
    const { status, body } = await link();
    expect([status, body.code, body.message]).toStrictEqual([
      503,
      'database_newer',
      'The database was written by a later version of the control plane. Start that one.',
    ]);
    expect((await ask(plane, 'GET /api/v1/me', ada)).status).toBe(200);
    await expect(startPlane({ env })).rejects.toMatchObject({ code: 'database_newer' });
  });
});

describe.each(STORES)('a store on %s whose disk is full', (store) => {
  /** Every write into the tables of a sign-in fails as that of a full disk does, until `free` is called. */
  async function fill(env: Record<string, string>) {
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
    if (!full) throw new Error('The full mode has a store.');
    const db = await openStore(full, { beside: 'write' });
    const tell = (text: string) => (store === 'sqlite' ? db.run(sql`${raw(text)}`) : db.all(sql`${raw(text)}`));
    const events = TABLES.flatMap((table) => ['insert', 'update', 'delete'].map((event) => ({ table, event })));
    if (store === 'postgres')
      await tell(`create function full_disk() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`);
    for (const { table, event } of events)
      await tell(
        `create trigger full_${table}_${event} before ${event} on ${table} ` +
          (store === 'sqlite'
            ? `begin select raise(fail, 'database or disk is full'); end`
            : 'for each row execute function full_disk()'),
      );
    return async () => {
      for (const { table, event } of events)
        await tell(`drop trigger full_${table}_${event}${store === 'sqlite' ? '' : ` on ${table}`}`);
      await db.close();
    };
  }

  test('is temporarily_unavailable to a client of OAuth, 503, and no fault of its request', async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const tokens = await signInCli(plane, ada);
    // Of a session of its own: what is revoked is asked for beside what is renewed.
    const other = await signInCli(plane, ada);
    const pending = await startDevice(plane);
    const approved = await startDevice(plane);
    await decide(plane, ada, approved.user_code);
    const asked = () =>
      Promise.all([
        sendForm(plane, 'device_authorization', { device_name: 'laptop' }),
        poll(plane, pending.device_code),
        poll(plane, approved.device_code),
        refresh(plane, tokens.refresh_token),
        sendForm(plane, 'revoke', { token: other.refresh_token }),
      ]);
    const free = await fill(env);
    for (const { status, body, headers } of await asked())
      expect([status, body, headers.get('retry-after')]).toStrictEqual([
        503,
        {
          error: 'temporarily_unavailable',
          error_description: expect.stringMatching(/^The disk of the control plane is full/),
        },
        '60',
      ]);
    const { status, body } = await logIn(plane, ada.email);
    expect([status, body.code]).toStrictEqual([503, 'store_unavailable']);
    // What reads goes on.
    expect((await ask(plane, 'GET /api/v1/me', { token: tokens.access_token })).status).toBe(200);
    await free();
    const [started, still, granted, refreshed] = await asked();
    expect([started.status, still.body.error, granted.status, refreshed.status]).toStrictEqual([
      200,
      'authorization_pending',
      200,
      200,
    ]);
  });
});

// --- internal ---

const TABLES = [
  'plane_attempts',
  'plane_audit',
  'plane_device_codes',
  'plane_families',
  'plane_refresh_tokens',
  'plane_access_tokens',
  'plane_sessions',
];
