import { describe, expect, test } from 'vitest';
import { makeClock, startStandalone } from './_setup.ts';
import { cookieOf, logIn, post, startSignedIn, startUpstream, TOKEN } from './_operator.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const env = { STUDIO_STANDALONE_TOKEN: TOKEN };

function session(plane: { url: string }, cookie: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${plane.url}/api/v1/self-host/session`, { headers: { cookie, ...headers } });
}

async function codeOf(answer: Response): Promise<[number, string]> {
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

describe('the operator', () => {
  test('signs in with the token, is the owner, and signs out', async () => {
    const plane = await startStandalone(env);
    const answer = await logIn(plane);
    expect([answer.status, await answer.json()]).toStrictEqual([200, { role: 'owner', name: 'operator' }]);
    const [header = ''] = answer.headers.getSetCookie();
    expect(header).toMatch(/^svc_session=svo_[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/);
    const cookie = cookieOf(answer);
    expect(await (await session(plane, cookie)).json()).toStrictEqual({ role: 'owner', name: 'operator' });
    const out = await post(plane, '/api/v1/self-host/logout', {}, { cookie });
    expect([out.status, out.headers.getSetCookie()[0]]).toStrictEqual([
      204,
      'svc_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    ]);
    expect(await codeOf(await session(plane, cookie))).toStrictEqual([401, 'unauthorized']);
  });

  test('under https has a cookie that no other host and no plain connection sets', async () => {
    const plane = await startStandalone({ ...env, SVC_PLANE_URL: 'https://studio.example.com' });
    const answer = await logIn(plane, TOKEN, { origin: 'https://studio.example.com' });
    expect(answer.headers.getSetCookie()[0]).toMatch(/^__Host-svc_session=.*; Path=\/; .*; Secure$/);
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
  });

  test('has five wrong tries a minute for each address, and those that are right never count', async () => {
    const clock = makeClock();
    const plane = await startStandalone({ ...env, PLANE_TRUST_PROXY: '127.0.0.1' }, clock.now);
    for (let n = 0; n < 8; n++) expect((await logIn(plane)).status).toBe(200);
    for (let n = 0; n < 5; n++)
      expect(await codeOf(await logIn(plane, 'wrong'))).toStrictEqual([401, 'wrong_credentials']);
    const refused = await logIn(plane);
    expect([refused.status, refused.headers.get('retry-after')]).toStrictEqual([429, '60']);
    expect((await logIn(plane, TOKEN, { 'x-forwarded-for': '203.0.113.9' })).status).toBe(200);
    clock.move(MINUTE);
    expect((await logIn(plane)).status).toBe(200);
  });

  test('cannot say that it is another address where no proxy is trusted', async () => {
    const plane = await startStandalone(env);
    const from = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n}` });
    for (let n = 0; n < 5; n++) expect((await logIn(plane, 'wrong', from(n))).status).toBe(401);
    expect((await logIn(plane, 'wrong', from(9))).status).toBe(429);
  });

  test('is signed in for 12 hours from the last request, and for 7 days at most', async () => {
    const clock = makeClock();
    const plane = await startStandalone(env, clock.now);
    let cookie = cookieOf(await logIn(plane));
    const first = cookie;
    for (let passed = 11 * HOUR; passed < 7 * 24 * HOUR; passed += 11 * HOUR) {
      clock.move(11 * HOUR);
      const answer = await session(plane, cookie);
      expect(answer.status).toBe(200);
      cookie = cookieOf(answer);
    }
    expect((await session(plane, first)).status).toBe(401);
    clock.move(11 * HOUR);
    expect((await session(plane, cookie)).status).toBe(401);
  });

  test('is signed out by another token, and by no restart', async () => {
    const before = await startStandalone(env);
    const cookie = cookieOf(await logIn(before));
    expect((await session(await startStandalone(env), cookie)).status).toBe(200);
    const rotated = await startStandalone({ STUDIO_STANDALONE_TOKEN: `${TOKEN}-2` });
    expect((await session(rotated, cookie)).status).toBe(401);
  });

  test('gets a cookie of its own, whatever it came with', async () => {
    const plane = await startStandalone(env);
    const cookie = cookieOf(await logIn(plane));
    const other = cookieOf(await logIn(plane, TOKEN, { cookie }));
    expect(other).not.toBe(cookie);
    await post(plane, '/api/v1/self-host/logout', {}, { cookie: other });
    expect((await session(plane, cookie)).status).toBe(200);
  });

  test('is not recognised by a cookie that was changed, cut, made up or sent twice', async () => {
    const plane = await startStandalone(env);
    const cookie = cookieOf(await logIn(plane));
    const [name, value = ''] = cookie.split('=');
    const flipped = [...value].map(
      (letter, at) => `${value.slice(0, at)}${letter === 'A' ? 'B' : 'A'}${value.slice(at + 1)}`,
    );
    const forged = [...flipped.slice(4, -1), value.slice(0, -1), `${value}A`, '', 'svo_', `svo_${'A'.repeat(80)}`];
    for (const one of forged) expect((await session(plane, `${name}=${one}`)).status).toBe(401);
    expect((await session(plane, `${cookie}; ${cookie}`)).status).toBe(401);
    expect((await session(plane, cookie, { authorization: 'Bearer x' })).status).toBe(401);
  });

  test('shows the credentials of the box to a person who gives the token once more', async () => {
    const plane = await startSignedIn({ SVC_PUBLIC_URL: 'https://box.example.com' });
    const reveal = (token: string, headers: Record<string, string> = { cookie: plane.cookie }) =>
      post(plane, '/api/v1/self-host/credentials/reveal', { token }, headers);
    const answer = await reveal(TOKEN);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await answer.json()).toStrictEqual({
      publicUrl: 'https://box.example.com',
      mcpUrl: 'https://box.example.com/mcp',
      token: TOKEN,
    });
    expect(await codeOf(await reveal('wrong'))).toStrictEqual([401, 'wrong_credentials']);
    expect(await codeOf(await reveal(TOKEN, {}))).toStrictEqual([401, 'unauthorized']);
  });
});

describe('writes from elsewhere', () => {
  const WRITES = ['login', 'logout', 'credentials/reveal'].map((name) => `/api/v1/self-host/${name}`);

  test.each(WRITES)('%s is refused to pages of other sites, and to forms', async (path) => {
    const plane = await startSignedIn({});
    const { cookie } = plane;
    const strangers: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: plane.url.replace('http:', 'https:').replace(/\d+$/, '1') },
      { origin: `${plane.url}.evil.example` },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ];
    for (const headers of strangers)
      expect(await codeOf(await post(plane, path, { token: TOKEN }, { cookie, ...headers }))).toStrictEqual([
        403,
        'origin_not_allowed',
      ]);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      expect((await post(plane, path, { token: TOKEN }, { cookie, 'content-type': type })).status).toBe(415);
    expect((await plane.ask('/api/v1/self-host/session')).status).toBe(200);
  });

  test('a page is our own by the name it was asked under, where no other was given', async () => {
    const plane = await startStandalone(env);
    const host = `127.0.0.1:${new URL(plane.url).port}`;
    const byAddress = { ...plane, url: `http://${host}` };
    expect((await logIn(byAddress)).status).toBe(200);
    const named = await startStandalone({ ...env, SVC_PLANE_URL: 'https://studio.example.com' });
    expect((await logIn({ ...named, url: named.url.replace('localhost', '127.0.0.1') })).status).toBe(403);
  });
});

describe('the health of a self-hosted stack', () => {
  const health = async ({ url }: { url: string }) => {
    const answer = await fetch(`${url}/api/v1/self-host/health`);
    return [answer.status, await answer.json()];
  };

  test('names the version, and the contract and build of the box', async () => {
    const build = { name: '@svc/runtime', version: '0.1.0' };
    const { url } = await startUpstream((_request, response) => response.end(JSON.stringify({ version: 15, build })));
    const plane = await startStandalone({ ...env, SVC_RUNTIME_INTERNAL_URL: url });
    const agent = { reachable: true, contract: 15, build };
    expect(await health(plane)).toStrictEqual([200, { status: 'ok', version: '0.1.0', agent, minContract: 15 }]);
  });

  test('is 200 with a box that is away, or is none', async () => {
    const nothing = { contract: null, build: null };
    const away = await startStandalone({ ...env, SVC_RUNTIME_INTERNAL_URL: 'http://127.0.0.1:1' });
    expect(await health(away)).toMatchObject([200, { status: 'degraded', agent: { reachable: false, ...nothing } }]);
    const { url } = await startUpstream((_request, response) => response.end('<html>'));
    const other = await startStandalone({ ...env, SVC_RUNTIME_INTERNAL_URL: url });
    expect(await health(other)).toMatchObject([200, { status: 'degraded', agent: { reachable: true, ...nothing } }]);
  });
});
