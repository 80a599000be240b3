import { describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { addPerson, ask, signUpFirst } from './_people.ts';
import type { Loose, SignedInPerson } from './_people.ts';
import { decide, DEVICE_GRANT, isGood, poll, refresh, send, signInCli, startDevice } from './_oauth.ts';
import type { Tokens } from './_oauth.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane, StoreName } from './_setup.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

async function start(store: StoreName = 'sqlite') {
  const clock = makeClock();
  const plane = await startPlane({ store, now: clock.now });
  return { plane, clock, ada: await signUpFirst(plane) };
}

const errorOf = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

async function actionsOf(plane: RunningPlane, { cookie, organizationId }: SignedInPerson): Promise<string[]> {
  const { items } = (await ask(plane, `GET /api/v1/orgs/${organizationId}/audit`, { cookie })).body;
  return items.map(({ action }: { action: string }) => action);
}

describe.each(STORES)('the device flow on %s', (store) => {
  test('signs a command line in, for the organisation that was chosen', async () => {
    const { plane, clock, ada } = await start(store);
    const started = await send(plane, 'device_authorization', { device_name: 'laptop' });
    expect([started.status, started.body]).toStrictEqual([
      200,
      {
        device_code: expect.stringMatching(/^svd_[\w-]{43}$/),
        user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verification_uri: `${plane.url}/device`,
        verification_uri_complete: `${plane.url}/device?user_code=${started.body.user_code}`,
        expires_in: 900,
        interval: 5,
      },
    ]);
    const { device_code: code, user_code: userCode } = started.body;
    expect(errorOf(await poll(plane, code))).toStrictEqual([400, 'authorization_pending']);
    const typed = userCode.toLowerCase().replace('-', ' ');
    const shown = await ask(plane, `GET /device?user_code=${encodeURIComponent(typed)}`, ada);
    expect(shown.body).toStrictEqual({
      userCode,
      deviceName: 'laptop',
      address: '127.0.0.1',
      status: 'pending',
      createdAt: new Date(clock.now()).toISOString(),
      expiresAt: new Date(clock.now() + 15 * MINUTE).toISOString(),
    });
    const decided = await decide(plane, ada, typed);
    expect([decided.status, decided.body]).toStrictEqual([200, { status: 'approved' }]);
    const granted = await poll(plane, code);
    expect([granted.status, granted.body, granted.headers.get('cache-control')]).toStrictEqual([
      200,
      {
        access_token: expect.stringMatching(/^sva_[\w-]{43}$/),
        token_type: 'Bearer',
        expires_in: 300,
        refresh_token: expect.stringMatching(/^svr_[\w-]{43}$/),
      },
      'no-store',
    ]);
    const me = await ask(plane, 'GET /api/v1/me', { token: granted.body.access_token });
    expect(me.body).toMatchObject({ via: 'cli', user: { id: ada.userId }, organization: { id: ada.organizationId } });
    expect(await actionsOf(plane, ada)).toContain('device.approve');
  });

  test('polls that come too soon are slowed down by 5 s each', async () => {
    const { plane, clock } = await start(store);
    const { device_code: code } = await startDevice(plane);
    const pollAfter = async (seconds: number) => {
      clock.move(seconds * SECOND);
      return (await poll(plane, code)).body.error;
    };
    expect(await pollAfter(0)).toBe('authorization_pending');
    expect(await pollAfter(5)).toBe('authorization_pending');
    expect(await pollAfter(4)).toBe('slow_down');
    expect(await pollAfter(9)).toBe('slow_down');
    expect(await pollAfter(14)).toBe('slow_down');
    expect(await pollAfter(20)).toBe('authorization_pending');
  });

  test('a code that is denied, or over, says so; one that was used is none', async () => {
    const { plane, clock, ada } = await start(store);
    const denied = await startDevice(plane);
    await decide(plane, ada, denied.user_code, 'deny');
    expect(errorOf(await poll(plane, denied.device_code))).toStrictEqual([400, 'access_denied']);
    const over = await startDevice(plane);
    clock.move(15 * MINUTE);
    expect(errorOf(await poll(plane, over.device_code))).toStrictEqual([400, 'expired_token']);
    expect((await decide(plane, ada, over.user_code)).body.code).toBe('code_unknown');
    const late = await startDevice(plane);
    await decide(plane, ada, late.user_code);
    clock.move(15 * MINUTE);
    expect(errorOf(await poll(plane, late.device_code))).toStrictEqual([400, 'expired_token']);
    const used = await startDevice(plane);
    await decide(plane, ada, used.user_code);
    const { body } = await poll(plane, used.device_code);
    await refresh(plane, body.refresh_token);
    expect(errorOf(await poll(plane, used.device_code))).toStrictEqual([400, 'invalid_grant']);
    expect(errorOf(await poll(plane, 'svd_none'))).toStrictEqual([400, 'invalid_grant']);
  });

  test('an answer with the tokens that was lost is given again, the same, for a minute', async () => {
    const { plane, clock, ada } = await start(store);
    const { device_code: code, user_code: userCode } = await startDevice(plane);
    await decide(plane, ada, userCode);
    const answers = await Promise.all([1, 2, 3].map(() => poll(plane, code)));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    clock.move(MINUTE);
    expect((await poll(plane, code)).body.refresh_token).toBe(answers[0]?.body.refresh_token);
    clock.move(SECOND);
    expect(errorOf(await poll(plane, code))).toStrictEqual([400, 'invalid_grant']);
  });

  test('only hashes of codes and tokens are stored, and what they are made of is in no one place', async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const pending = await startDevice(plane);
    const tokens = await signInCli(plane, ada);
    const next = (await refresh(plane, tokens.refresh_token)).body as Tokens;
    await plane.close();
    const rows = await readRows(env);
    const secrets = [tokens, next].flatMap((one) => [one.access_token, one.refresh_token]);
    for (const secret of [pending.device_code, pending.user_code, pending.user_code.replace('-', ''), ...secrets])
      expect(rows).not.toContain(secret);
  });
});

describe('a code that is approved', () => {
  test('takes a person with the cookie, on a page of our own', async () => {
    const { plane, ada } = await start();
    const tokens = await signInCli(plane, ada);
    const personal = await ask(plane, 'POST /api/v1/tokens', { cookie: ada.cookie, body: { name: 'ci' } });
    const { user_code: code } = await startDevice(plane);
    const body = { user_code: code, organization: ada.organizationId, decision: 'approve' };
    const asked = [{ token: tokens.access_token }, { token: personal.body.token }, {}];
    const answers = [];
    for (const who of asked) answers.push((await ask(plane, 'POST /device', { ...who, body })).status);
    expect(answers).toStrictEqual([403, 403, 401]);
    const elsewhere = await fetch(`${plane.url}/device`, {
      method: 'POST',
      headers: { cookie: ada.cookie, origin: 'https://evil.example', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect([elsewhere.status, ((await elsewhere.json()) as Loose).code]).toStrictEqual([403, 'origin_not_allowed']);
    expect((await ask(plane, `GET /device?user_code=${code}`, ada)).body.status).toBe('pending');
  });

  test('is for an organisation the person is a member of', async () => {
    const { plane, ada } = await start();
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    const own = (await ask(plane, 'POST /api/v1/orgs', { cookie: ada.cookie, body: { name: 'Own' } })).body.id;
    const { user_code: code } = await startDevice(plane);
    expect((await decide(plane, { ...bo, organizationId: own }, code)).body.code).toBe('not_found');
    expect((await decide(plane, bo, code)).status).toBe(200);
    expect((await decide(plane, ada, code)).body.code).toBe('code_unknown');
  });

  test('is shown to the person who answered it, and to no one else', async () => {
    const { plane, ada } = await start();
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    for (const decision of ['approve', 'deny']) {
      const { user_code: code } = await startDevice(plane);
      const show = async (person: SignedInPerson) => (await ask(plane, `GET /device?user_code=${code}`, person)).body;
      expect((await show(bo)).status).toBe('pending');
      await decide(plane, ada, code, decision);
      expect((await show(ada)).status).toBe(decision === 'approve' ? 'approved' : 'denied');
      expect((await show(bo)).code).toBe('code_unknown');
    }
  });

  test('is guessed five times a minute by a person, and from an address, and then not at all', async () => {
    const { plane, clock, ada } = await start();
    const { user_code: code } = await startDevice(plane);
    const guess = async (typed: string, person = ada) => (await decide(plane, person, typed)).body;
    for (let n = 0; n < 3; n++) expect((await ask(plane, `GET /device?user_code=${code}`, ada)).status).toBe(200);
    for (const typed of ['', 'x', 'BCDF-GHJK', 'AAAA-AAAA', 'BCDFGHJKL'])
      expect((await guess(typed)).code).toBe('code_unknown');
    const refused = await decide(plane, ada, code);
    expect([refused.status, refused.body.code, refused.headers.has('retry-after')]).toStrictEqual([
      429,
      'rate_limited',
      true,
    ]);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    expect((await guess(code, bo)).code).toBe('rate_limited');
    clock.move(2 * MINUTE);
    expect((await guess(code)).status).toBe('approved');
  });

  test('a hundred guesses at once are five', async () => {
    const { plane, ada } = await start();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => ask(plane, 'GET /device?user_code=BCDF-GHJK', ada)),
    );
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(95);
  });

  test('shows a name that moves neither the cursor nor the direction of the text', async () => {
    const { plane, ada } = await start();
    const name = `\u001b[2Jlap\u202Etop\u0000\n${'x'.repeat(200)}`;
    const { user_code: code } = await startDevice(plane, name);
    const { deviceName } = (await ask(plane, `GET /device?user_code=${code}`, ada)).body;
    expect(deviceName).toBe(`[2Jlaptop${'x'.repeat(91)}`);
  });
});

describe.each(STORES)('refresh tokens on %s', (store) => {
  test('are used once; the next one is good, and the session goes on', async () => {
    const { plane, clock, ada } = await start(store);
    let tokens = await signInCli(plane, ada);
    for (let n = 0; n < 3; n++) {
      clock.move(29 * DAY);
      expect(await isGood(plane, tokens)).toBe(false);
      const { status, body } = await refresh(plane, tokens.refresh_token);
      expect([status, body.token_type, body.expires_in]).toStrictEqual([200, 'Bearer', 300]);
      tokens = body;
      expect(await isGood(plane, tokens)).toBe(true);
    }
    clock.move(30 * DAY);
    expect(errorOf(await refresh(plane, tokens.refresh_token))).toStrictEqual([400, 'invalid_grant']);
  });

  test('an access token is good for five minutes', async () => {
    const { plane, clock, ada } = await start(store);
    const tokens = await signInCli(plane, ada);
    clock.move(5 * MINUTE - 1);
    expect(await isGood(plane, tokens)).toBe(true);
    clock.move(1);
    expect(await isGood(plane, tokens)).toBe(false);
  });

  test('a lost answer is given again for 10 s, the same', async () => {
    const { plane, clock, ada } = await start(store);
    const tokens = await signInCli(plane, ada);
    const first = await refresh(plane, tokens.refresh_token);
    clock.move(10 * SECOND);
    const again = await refresh(plane, tokens.refresh_token);
    expect(again.body).toStrictEqual({ ...first.body, expires_in: 290 });
    expect(await isGood(plane, again.body)).toBe(true);
    clock.move(1);
    expect(errorOf(await refresh(plane, tokens.refresh_token))).toStrictEqual([400, 'invalid_grant']);
    expect(await isGood(plane, again.body)).toBe(false);
    expect(errorOf(await refresh(plane, again.body.refresh_token))).toStrictEqual([400, 'invalid_grant']);
    expect(await actionsOf(plane, ada)).toContain('cli.reuse');
  });

  test('one that is used again once its successor was ends the session, at once', async () => {
    const { plane, ada } = await start(store);
    const tokens = await signInCli(plane, ada);
    const other = await signInCli(plane, ada);
    const second = (await refresh(plane, tokens.refresh_token)).body;
    const third = (await refresh(plane, second.refresh_token)).body;
    expect(errorOf(await refresh(plane, tokens.refresh_token))).toStrictEqual([400, 'invalid_grant']);
    for (const one of [tokens, second, third]) expect(await isGood(plane, one)).toBe(false);
    expect(errorOf(await refresh(plane, third.refresh_token))).toStrictEqual([400, 'invalid_grant']);
    expect(await isGood(plane, other)).toBe(true);
  });

  test('of many uses at once all are given one successor', async () => {
    const { plane, ada } = await start(store);
    const tokens = await signInCli(plane, ada);
    const answers = await Promise.all(Array.from({ length: 12 }, () => refresh(plane, tokens.refresh_token)));
    expect(answers.map(({ status }) => status)).toStrictEqual(Array.from({ length: 12 }, () => 200));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(await isGood(plane, answers[0]?.body)).toBe(true);
  });

  test('of many sessions at once none is in the way of another', async () => {
    const { plane, ada } = await start(store);
    const sessions: Tokens[] = [];
    for (let n = 0; n < 8; n++) sessions.push(await signInCli(plane, ada));
    const ends = await Promise.all(
      sessions.map(async (tokens) => {
        let last = { status: 200, body: tokens };
        for (let n = 0; n < 10 && last.status === 200; n++) last = await refresh(plane, last.body.refresh_token);
        return last.status;
      }),
    );
    expect(ends).toStrictEqual(sessions.map(() => 200));
  });

  test('a revoked session is over at once, by any of its refresh tokens', async () => {
    const { plane, ada } = await start(store);
    for (const pick of [0, 1]) {
      const first = await signInCli(plane, ada);
      const second = (await refresh(plane, first.refresh_token)).body;
      const { status, body } = await send(plane, 'revoke', { token: [first, second][pick]?.refresh_token ?? '' });
      expect([status, body]).toStrictEqual([200, undefined]);
      expect([await isGood(plane, first), await isGood(plane, second)]).toStrictEqual([false, false]);
      expect(errorOf(await refresh(plane, second.refresh_token))).toStrictEqual([400, 'invalid_grant']);
    }
    expect(await actionsOf(plane, ada)).toContain('cli.logout');
  });

  test('revoking while it is in use leaves nothing that is good', async () => {
    const { plane, ada } = await start(store);
    const tokens = await signInCli(plane, ada);
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => refresh(plane, tokens.refresh_token))),
      send(plane, 'revoke', { token: tokens.refresh_token }),
    ]);
    for (const { status, body } of answers) {
      if (status !== 200) continue;
      expect(await isGood(plane, body)).toBe(false);
      expect((await refresh(plane, body.refresh_token)).status).toBe(400);
    }
  });

  test('a former member cannot use an old session', async () => {
    const { plane, ada } = await start(store);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'member' });
    const tokens = await signInCli(plane, bo);
    await ask(plane, `DELETE /api/v1/orgs/${ada.organizationId}/members/${bo.userId}`, { cookie: ada.cookie });
    expect(await isGood(plane, tokens)).toBe(false);
    expect(errorOf(await refresh(plane, tokens.refresh_token))).toStrictEqual([400, 'invalid_grant']);
  });
});

describeWhen(realServers.database, 'two control planes on one database', () => {
  test('give a token that is used at both one successor', async () => {
    const env = await makeStore('postgres');
    const [one, two] = (await Promise.all([1, 2].map(() => startPlane({ env })))) as [RunningPlane, RunningPlane];
    const ada = await signUpFirst(one);
    let tokens = await signInCli(one, ada);
    for (let n = 0; n < 5; n++) {
      const { refresh_token: token } = tokens;
      const answers = await Promise.all([one, two, one, two].map((plane) => refresh(plane, token)));
      expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200]);
      expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
      tokens = answers[0]?.body;
      expect(await isGood(two, tokens)).toBe(true);
    }
    const { user_code: userCode, device_code: code } = await startDevice(one);
    await decide(two, ada, userCode);
    const polled = await Promise.all([one, two, one, two].map((plane) => poll(plane, code)));
    expect(new Set(polled.map(({ body }) => body.refresh_token)).size).toBe(1);
  });
});

describe('what is no request of OAuth’s', () => {
  const known = `client_id=svc-cli&grant_type=refresh_token&refresh_token=svr_x`;
  test.each<[title: string, path: string, form: string, status: number, error: string]>([
    ['of another client', 'token', 'client_id=other&grant_type=refresh_token', 401, 'invalid_client'],
    ['of no client', 'device_authorization', '', 401, 'invalid_client'],
    ['of no client, to revoke', 'revoke', 'token=x', 401, 'invalid_client'],
    ['with a parameter twice', 'token', `${known}&refresh_token=svr_y`, 400, 'invalid_request'],
    ['with an unknown one twice', 'token', `${known}&a=1&a=2`, 400, 'invalid_request'],
    ['without a type', 'token', 'client_id=svc-cli', 400, 'invalid_request'],
    ['without a token', 'token', 'client_id=svc-cli&grant_type=refresh_token', 400, 'invalid_request'],
    ['of another type', 'token', 'client_id=svc-cli&grant_type=password', 400, 'unsupported_grant_type'],
    ['without a code', 'token', `client_id=svc-cli&grant_type=${DEVICE_GRANT}`, 400, 'invalid_request'],
    ['with a token there is not', 'token', known, 400, 'invalid_grant'],
    ['without a token to revoke', 'revoke', 'client_id=svc-cli', 400, 'invalid_request'],
    ['that is too long', 'token', `client_id=svc-cli&x=${'y'.repeat(70_000)}`, 413, 'invalid_request'],
  ])('%s is refused in OAuth’s own form', async (_title, path, form, status, error) => {
    const plane = await startPlane();
    const answer = await send(plane, path, form);
    expect([answer.status, answer.body]).toStrictEqual([
      status,
      { error, error_description: expect.stringMatching(/^[\x20-\x7e]+$/) },
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('is one in JSON', async () => {
    const plane = await startPlane();
    const response = await fetch(`${plane.url}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([response.status, ((await response.json()) as Loose).error]).toStrictEqual([415, 'invalid_request']);
  });

  test('an unknown token is revoked already; an unknown parameter is passed over', async () => {
    const plane = await startPlane();
    const form = { token: 'none', token_type_hint: 'access_token', more: '1' };
    expect((await send(plane, 'revoke', form)).status).toBe(200);
  });
});

test('the metadata names the addresses as they are', async () => {
  const plane = await startPlane();
  const { body } = await ask(plane, 'GET /.well-known/oauth-authorization-server');
  expect(body).toMatchObject({
    issuer: plane.url,
    token_endpoint: `${plane.url}/oauth/token`,
    jwks_uri: `${plane.url}/.well-known/jwks.json`,
    grant_types_supported: [DEVICE_GRANT, 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
  });
});

test('an address begins sixty sign-ins a minute', async () => {
  const { plane, clock } = await start();
  const begin = async () => errorOf(await send(plane, 'device_authorization', {}));
  for (let n = 0; n < 60; n++) await begin();
  expect(await begin()).toStrictEqual([429, 'temporarily_unavailable']);
  clock.move(MINUTE);
  expect(await begin()).toStrictEqual([200, undefined]);
});

test('an access token that is revoked is over, and its session goes on', async () => {
  const { plane, ada } = await start();
  const tokens = await signInCli(plane, ada);
  await send(plane, 'revoke', { token: tokens.access_token });
  expect(await isGood(plane, tokens)).toBe(false);
  expect((await refresh(plane, tokens.refresh_token)).status).toBe(200);
});

// --- internal ---

/** All that the tables of OAuth hold, as text. */
async function readRows(env: Record<string, string>): Promise<string> {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  const db = await openStore(full as FullSettings);
  try {
    const tables = ['device_codes', 'families', 'refresh_tokens', 'access_tokens'];
    const rows = [];
    for (const table of tables) rows.push(await db.all({ texts: [`select * from plane_${table}`], values: [] }));
    return JSON.stringify(rows);
  } finally {
    await db.close();
  }
}
