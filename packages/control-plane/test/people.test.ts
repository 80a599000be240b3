import { describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import { makeClock, makeStore, startPlane, STORES } from './_setup.ts';

const HOUR = 3_600_000;

describe.each(STORES)('people on %s', (store) => {
  test('the first person is owner of a first organisation, and the next is invited', async () => {
    const plane = await startPlane({ store });
    const body = { email: ' Ada@Example.com ', password: PASSWORD, name: 'Ada', organization: 'Acme & Söhne' };
    const first = await ask(plane, 'POST /api/v1/auth/signup', { body });
    expect([first.status, first.body]).toMatchObject([
      201,
      {
        user: { email: 'ada@example.com', name: 'Ada' },
        organization: { slug: 'acme-sohne', name: 'Acme & Söhne', role: 'owner' },
        via: 'session',
        endpoint: plane.url,
      },
    ]);
    const me = await ask(plane, 'GET /api/v1/me', { cookie: cookieOf(first) });
    expect([me.status, me.body]).toStrictEqual([200, first.body]);
    const next = await ask(plane, 'POST /api/v1/auth/signup', { body: { ...body, email: 'bo@example.com' } });
    expect([next.status, next.body.code]).toStrictEqual([403, 'signup_closed']);
  });

  test('of two first people at once one is the first', async () => {
    const plane = await startPlane({ store });
    const signUp = (email: string) =>
      ask(plane, 'POST /api/v1/auth/signup', { body: { email, password: PASSWORD, name: 'Me' } });
    const answers = await Promise.all([signUp('ada@example.com'), signUp('bo@example.com')]);
    expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([201, 403]);
  });

  test('a login opens a new session and ends that of the cookie it came with', async () => {
    const plane = await startPlane({ store });
    const { cookie, email } = await signUpFirst(plane);
    const again = await ask(plane, 'POST /api/v1/auth/login', { cookie, body: { email, password: PASSWORD } });
    expect(again.status).toBe(200);
    expect(cookieOf(again)).not.toBe(cookie);
    expect((await ask(plane, 'GET /api/v1/me', { cookie })).status).toBe(401);
    expect((await ask(plane, 'GET /api/v1/me', { cookie: cookieOf(again) })).status).toBe(200);
  });

  test('a value a stranger has chosen for the cookie never becomes a session', async () => {
    const plane = await startPlane({ store });
    const { email } = await signUpFirst(plane);
    const planted = `svc_session=svs_${'A'.repeat(43)}`;
    const answer = await ask(plane, 'POST /api/v1/auth/login', {
      cookie: planted,
      body: { email, password: PASSWORD },
    });
    expect(cookieOf(answer)).not.toBe(planted);
    expect((await ask(plane, 'GET /api/v1/me', { cookie: planted })).status).toBe(401);
  });

  test('a session ends 12 hours after its last use, and after 7 days in any case', async () => {
    const clock = makeClock();
    const plane = await startPlane({ store, now: clock.now });
    const { cookie, email } = await signUpFirst(plane);
    const status = async (sent: string) => (await ask(plane, 'GET /api/v1/me', { cookie: sent })).status;
    for (let half = 1; half <= 15; half++) {
      clock.move(11 * HOUR);
      expect(await status(cookie)).toBe(200);
    }
    clock.move(4 * HOUR);
    expect(await status(cookie)).toBe(401);
    const other = cookieOf(await logIn(plane, email));
    clock.move(12 * HOUR + 1);
    expect(await status(other)).toBe(401);
  });

  test('logout ends the session and removes the cookie, and answers the same without one', async () => {
    const plane = await startPlane({ store });
    const { cookie } = await signUpFirst(plane);
    const out = await ask(plane, 'POST /api/v1/auth/logout', { cookie });
    expect([out.status, out.headers.getSetCookie()]).toMatchObject([204, [expect.stringContaining('Max-Age=0')]]);
    expect((await ask(plane, 'GET /api/v1/me', { cookie })).status).toBe(401);
    expect((await ask(plane, 'POST /api/v1/auth/logout')).status).toBe(204);
  });

  test('five wrong logins a minute are answered, of an account and of an address; right ones are never counted', async () => {
    const clock = makeClock();
    const plane = await startPlane({ store, now: clock.now });
    const { email } = await signUpFirst(plane);
    for (let at = 0; at < 7; at++) expect((await logIn(plane, email)).status).toBe(200);
    for (let at = 0; at < 5; at++)
      expect((await logIn(plane, email, 'wrong')).body).toMatchObject({ code: 'wrong_credentials' });
    const sixth = await logIn(plane, email);
    expect([sixth.status, sixth.body.code]).toStrictEqual([429, 'rate_limited']);
    expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await logIn(plane, 'other@example.com', 'wrong')).status).toBe(429);
    clock.move(Number(sixth.headers.get('retry-after')) * 1_000);
    expect((await logIn(plane, email)).status).toBe(200);
  });

  test('an address there is no account of is answered as one there is', async () => {
    const plane = await startPlane({ store });
    const { email } = await signUpFirst(plane);
    const [known, unknown] = [await logIn(plane, email, 'wrong'), await logIn(plane, 'no@example.com', 'wrong')];
    const { requestId: _, ...first } = known.body;
    const { requestId: __, ...second } = unknown.body;
    expect([known.status, first]).toStrictEqual([unknown.status, second]);
    const names = (headers: Headers) => [...headers.keys()].toSorted();
    expect(names(known.headers)).toStrictEqual(names(unknown.headers));
  });
});

describe('credentials', () => {
  test('a request with an authorization header is never answered as its cookie’s', async () => {
    const plane = await startPlane();
    const { cookie } = await signUpFirst(plane);
    for (const authorization of ['Bearer nothing', 'Basic YTpi', '', 'Bearer']) {
      const answer = await fetch(`${plane.url}/api/v1/me`, { headers: { cookie, authorization } });
      expect(answer.status).toBe(401);
    }
  });

  test('under https the cookie is one of this host alone', async () => {
    const plane = await startPlane({ env: { SVC_PLANE_URL: 'https://studio.example.com' } });
    const answer = await fetch(`${plane.url}/api/v1/auth/signup`, {
      method: 'POST',
      headers: { origin: 'https://studio.example.com', 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: PASSWORD, name: 'Ada' }),
    });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(
      /^__Host-svc_session=svs_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure$/,
    );
  });

  test('what is sent is checked, and a password that is short is refused', async () => {
    const plane = await startPlane();
    const body = { email: 'ada@example.com', password: PASSWORD, name: 'Ada' };
    for (const wrong of [{ password: 'short' }, { email: 'ada' }, { name: ' ' }, { name: 'a\nb' }, { more: 1 }]) {
      const answer = await ask(plane, 'POST /api/v1/auth/signup', { body: { ...body, ...wrong } });
      expect([answer.status, answer.body.code]).toStrictEqual([400, 'invalid_request']);
    }
  });
});

test.each(STORES)('ids are text, whatever they hold, on %s', async (store) => {
  const plane = await startPlane({ store });
  const { cookie } = await signUpFirst(plane);
  const statuses: number[] = [];
  for (const id of ['%zz', '%00', '%2e%2e', "x'--", 'a'.repeat(4_000), '%F0%9F%A6%86', '%ED%A0%80'])
    statuses.push((await ask(plane, `GET /api/v1/installations/${id}`, { cookie })).status);
  for (const organization of ['\0', '\ud800', '{"a":1}'])
    statuses.push((await ask(plane, 'POST /api/v1/session/organization', { cookie, body: { organization } })).status);
  expect(statuses.filter((status) => status !== 404)).toStrictEqual([400, 400, 400, 400]);
});

describeWhen(realServers.database, 'two control planes on one database', () => {
  test('know each other’s sessions, and count wrong logins together', async () => {
    const env = await makeStore('postgres');
    const clock = makeClock();
    const [one, two] = [await startPlane({ env, now: clock.now }), await startPlane({ env, now: clock.now })];
    const { cookie, email } = await signUpFirst(one);
    expect((await ask(two, 'GET /api/v1/me', { cookie })).status).toBe(200);
    for (const plane of [one, two, one, two, one]) expect((await logIn(plane, email, 'wrong')).status).toBe(401);
    expect((await logIn(one, email)).status).toBe(429);
    expect((await logIn(two, email)).status).toBe(429);
    await ask(two, 'POST /api/v1/auth/logout', { cookie });
    expect((await ask(one, 'GET /api/v1/me', { cookie })).status).toBe(401);
  });
});
