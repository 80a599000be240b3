import { once } from 'node:events';
import { request as send } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { startProxy } from '../../runtime/test/_proxy.ts';
import { keepAttached } from '../../cli/src/dev/tunnel/keep.ts';
import { startBehind } from '../../cli/test/_tunnel.ts';
import { addInstallation, mint } from './_box.ts';
import { poll, startDevice } from './_oauth.ts';
import { ask, logIn, signUpFirst } from './_people.ts';
import { DATABASE_URL, makeStore, startPlane } from './_setup.ts';

/** What the host of a tunnel answers. */
async function askHost(url: string, publicUrl: string): Promise<number | undefined> {
  const asked = send(url, { headers: { host: new URL(publicUrl).host }, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test.runIf(DATABASE_URL).each(['cut', 'swallow'] as const)(
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
      const answer = await fetch(plane.url + path, { signal: AbortSignal.timeout(2_000) });
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

test.runIf(DATABASE_URL)('a control plane that starts while its database is away says so', async () => {
  const { PLANE_DATABASE_URL: database = '' } = await makeStore('postgres');
  const proxy = await startProxy(database);
  onTestFinished(() => proxy.close());
  proxy.cut();
  await expect(startPlane({ env: { PLANE_DATABASE_URL: proxy.url } })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/database/i),
  });
});
