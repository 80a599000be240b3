import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import type { CryptoKey } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OWNER } from '../src/auth/caller.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import { createUserTokens } from '../src/auth/user-tokens.ts';
import type { UsersProvider } from '../src/auth/user-tokens.ts';
import { signUserToken } from '../src/client.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { svc } from '../src/svc.ts';
import { defineConfig } from '../src/workspace-config.ts';
import { KEY_ID, startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, json, setupBoxes } from './_setup.ts';

const boxes = setupBoxes();
let issuer: Plane;
beforeAll(async () => {
  issuer = await startPlane();
});
afterAll(() => issuer.close());

const TOKEN = 'the-token-of-the-operator';
const as = (value: string) => ({ authorization: `Bearer ${value}` });
const seconds = () => Math.floor(Date.now() / 1_000);
const provider = (): UsersProvider => ({
  issuer: issuer.url,
  audience: 'shop-app',
  jwksUrl: `${issuer.url}/.well-known/jwks.json`,
  client: 'shop',
});

/** One box for all: each test makes a client of its own. */
const shared = boxes.share({
  agents: { desk: defineDeepAgent({ name: 'desk' }), other: defineDeepAgent({ name: 'other' }) },
  workflows: {
    whoami: { run: async () => svc.context.user },
    talk: { run: async () => svc.context.user?.id, mode: 'chat' },
  },
  options: {
    host: 'image',
    strategy: operatorToken(TOKEN),
    users: () => provider(),
    corsOrigins: () => ['https://shop.example'],
  },
});

interface Key {
  id: string;
  value: string;
  userSecret: string;
}

const makeKey = async (more: object = {}): Promise<Key> => {
  const body = { name: 'shop', users: true, grants: { agents: 'all', workflows: 'all' }, ...more };
  return (await call<Key>(await shared(), 'POST /api/keys', body, as(TOKEN))).body;
};
const revoke = async ({ id }: Key) => call(await shared(), `POST /api/keys/${id}/revoke`, {}, as(TOKEN));
const ask = async (token: string, route = 'POST /api/workflows/whoami/start', body: object = {}) =>
  call<{ code: string; message: string; details: object; runId: string; output: unknown }>(
    await shared(),
    route,
    body,
    as(token),
  );
const chat = async (token: string, model = 'desk', session = 'main') =>
  (await shared()).request(
    '/wire-a/v1/chat/completions',
    json(
      { model, messages: [{ role: 'user', content: 'say:Hello.' }] },
      { headers: { ...as(token), 'x-svc-session': session } },
    ),
  );

interface Forged {
  claims?: object;
  header?: object;
  secret?: string;
}

const forge = (key: Key, { claims = {}, header = {}, secret = key.userSecret }: Forged = {}) =>
  new SignJWT({ sub: 'ada', iat: seconds(), exp: seconds() + 600, ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: 'svc-user+jwt', kid: key.id, ...header })
    .sign(Buffer.from(secret, 'base64'));

describe('a user token', () => {
  test('is good on each wire, for starts, chat workflows and own runs, as its user', async () => {
    const [box, key] = [await shared(), await makeKey()];
    const data = { plan: 'gold', tags: [1] };
    const token = await signUserToken(key, { sub: 'ada', name: 'Ada L.', data });
    const { runId } = (await ask(token)).body;
    const own = (await call(box, `GET /api/runs/${runId}?wait=20s`, undefined, as(token))).body;
    expect(own).toMatchObject({ output: { id: 'ada', name: 'Ada L.', data } });
    expect((await chat(token)).status).toBe(200);
    const messages = { model: 'desk', max_tokens: 9, messages: [{ role: 'user', content: 'say:Hello.' }] };
    expect((await ask(token, 'POST /wire-b/v1/messages', messages)).status).toBe(200);
    const run = { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'say:Hello.' }] };
    const agui = await box.request('/agui/v1/agents/desk', json(run, { headers: as(token) }));
    expect(await agui.text()).toContain('RUN_FINISHED');
    const talk = await box.request('/api/workflows/talk/chat', json({}, { headers: as(token) }));
    expect(await talk.text()).toContain('"output":"ada"');
    const { items } = (await call<{ items: object[] }>(box, `GET /api/sessions?client=${key.id}`, undefined, as(TOKEN)))
      .body;
    expect(items).toMatchObject([{ name: 't' }, { name: 'main', owner: { kind: 'user', id: 'ada', client: key.id } }]);
  });

  test('is a bearer alone, as is the token of the operator', async () => {
    const box = await shared();
    for (const token of [await signUserToken(await makeKey(), { sub: 'ada' }), TOKEN]) {
      const messages = { model: 'desk', max_tokens: 9, messages: [{ role: 'user', content: 'say:Hello.' }] };
      for (const [route, body] of [['POST /wire-b/v1/messages', messages] as const, ['GET /api/runs'] as const])
        expect((await call(box, route, body, { 'x-api-key': token })).status).toBe(401);
    }
  });

  test('is the same user as the header names, and no other', async () => {
    const [box, key] = [await shared(), await makeKey()];
    const { runId } = (await ask(await signUserToken(key, { sub: 'ada' }))).body;
    const read = async (headers: Record<string, string>) =>
      (await call(box, `GET /api/runs/${runId}`, undefined, headers)).status;
    expect(await read({ ...as(key.value), 'x-svc-user': 'ada' })).toBe(200);
    for (const headers of [as(await signUserToken(key, { sub: 'bob' })), as(key.value)])
      expect(await read(headers)).toBe(404);
    const foreign = await signUserToken(await makeKey(), { sub: 'ada' });
    expect(await read(as(foreign))).toBe(404);
  });

  test('speaks for no one else, and opens no operation of people', async () => {
    const [box, key] = [await shared(), await makeKey()];
    const token = await signUserToken(key, { sub: 'ada' });
    const spoken = await call(box, 'POST /api/workflows/whoami/start', {}, { ...as(token), 'x-svc-user': 'bob' });
    expect(spoken).toMatchObject({ status: 403, body: { code: 'users_not_granted' } });
    for (const route of ['GET /api/runs', 'GET /api/keys', 'GET /api/sessions', 'GET /api/logs'])
      expect(await ask(token, route)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  test('has what it names of what its key is granted, and never more', async () => {
    const key = await makeKey({ grants: { agents: ['desk'], workflows: ['talk'] } });
    const wide = await signUserToken(key, { sub: 'ada', agents: ['desk', 'other'], workflows: ['whoami', 'talk'] });
    expect([(await chat(wide)).status, (await chat(wide, 'other')).status, (await ask(wide)).status]).toEqual([
      200, 403, 403,
    ]);
    const narrow = await signUserToken(await makeKey(), { sub: 'ada', agents: ['other'], workflows: [] });
    expect([(await chat(narrow)).status, (await chat(narrow, 'other')).status, (await ask(narrow)).status]).toEqual([
      403, 200, 403,
    ]);
  });

  const REFUSED: [title: string, forged: () => Forged, reason: RegExp][] = [
    ['that is over', () => ({ claims: { iat: seconds() - 700, exp: seconds() - 31 } }), /over/],
    ['good for longer than an hour', () => ({ claims: { exp: seconds() + 3_601 } }), /longer than 3600 s/],
    ['from the future', () => ({ claims: { iat: seconds() + 60, exp: seconds() + 120 } }), /another time/],
    ['not good yet', () => ({ claims: { nbf: seconds() + 60 } }), /another time/],
    ['without an end', () => ({ claims: { exp: undefined } }), /exp/],
    ['without a beginning', () => ({ claims: { iat: undefined } }), /iat|another time/],
    ['without a user', () => ({ claims: { sub: undefined } }), /sub/],
    ['of a user with a space', () => ({ claims: { sub: 'a b' } }), /sub/],
    ['of a user of 257 characters', () => ({ claims: { sub: 'x'.repeat(257) } }), /sub/],
    ['whose data is no object', () => ({ claims: { data: [1] } }), /data/],
    ['whose data is more than 4 KiB', () => ({ claims: { data: { a: 'x'.repeat(4_096) } } }), /data/],
    [
      'whose data is 65 levels deep',
      () => ({ claims: { data: JSON.parse(`${'{"a":'.repeat(66)}1${'}'.repeat(66)}`) } }),
      /data/,
    ],
    ['whose agents are no list', () => ({ claims: { agents: 'all' } }), /agents/],
    ['of another type', () => ({ header: { typ: 'JWT' } }), /not one this box knows/],
    ['of another secret', () => ({ secret: Buffer.alloc(32).toString('base64') }), /not signed with the "userSecret"/],
    ['that names no key', () => ({ header: { kid: undefined } }), /no user token/],
    ['of a key there is not', () => ({ header: { kid: '0'.repeat(20) } }), /signs no user tokens/],
    ['of a key by its prefix', () => ({ header: { kid: 'svc_x' } }), /signs no user tokens/],
    ['with another algorithm of shared secrets', () => ({ header: { alg: 'HS512' } }), /no user token/],
  ];
  test.each(REFUSED)('%s is refused', async (_title, forged, reason) => {
    const { status, body } = await ask(await forge(await makeKey(), forged()));
    expect([status, body.code, body.message]).toEqual([401, 'unauthorized', expect.stringMatching(reason)]);
    expect(body.details).toEqual(reason.source === 'over' ? { reason: 'expired' } : undefined);
  });

  test('whose parts were exchanged is refused', async () => {
    const [a, b] = [await makeKey(), await makeKey()];
    const swapped = await forge(a, { header: { kid: b.id } });
    const [header, , signature] = (await forge(a)).split('.');
    const payload = Buffer.from(JSON.stringify({ sub: 'eve', iat: seconds(), exp: seconds() + 60 })).toString(
      'base64url',
    );
    const none = new UnsecuredJWT({ sub: 'ada', iat: seconds(), exp: seconds() + 60 }).encode().split('.');
    const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: 'svc-user+jwt', kid: a.id })).toString('base64url');
    // What is no secret of the key signs nothing: its value, its digest, nothing at all.
    const byValue = await forge(a, { secret: Buffer.from(a.value).toString('base64') });
    const body = `${header}.${payload}`;
    const byNothing = `${body}.${createHmac('sha256', '').update(body).digest('base64url')}`;
    for (const token of [swapped, `${body}.${signature}`, `${unsigned}.${none[1]}.`, byValue, byNothing])
      expect(await ask(token)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  });

  test('ends with its key, and is none of one that speaks for no users', async () => {
    const key = await makeKey();
    const token = await forge(key);
    expect((await ask(token)).status).toBe(202);
    await revoke(key);
    expect((await ask(token)).body).toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('revoked'),
    });
    const plain = await makeKey({ users: false });
    expect(plain.userSecret).toBeNull();
    expect((await ask(await forge(plain, { secret: key.userSecret }))).status).toBe(401);
  });

  test('is checked under dev too, where everybody else is let in', async () => {
    const dev = await boxes.open({ workflows: { whoami: { run: async () => svc.context.user } } });
    const { body: key } = await call<Key>(dev, 'POST /api/keys', {
      name: 'shop',
      users: true,
      grants: { workflows: 'all' },
    });
    const start = (token: string) => call(dev, 'POST /api/workflows/whoami/start', {}, as(token));
    const { runId } = (await start(await signUserToken(key, { sub: 'ada' }))).body;
    expect((await call(dev, `GET /api/runs/${runId}`)).body.startedBy).toMatchObject({ kind: 'user', id: 'ada' });
    expect((await start(await forge(key, { secret: 'AAAA' }))).status).toBe(401);
    expect((await start('anything')).status).toBe(202);
  });

  test('is sent by a page of an origin that is let in', async () => {
    const box = await shared();
    const page = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const asked = { ...page, 'access-control-request-headers': 'authorization,content-type,x-svc-session' };
    const preflight = await box.request('/agui/v1/agents/desk', { method: 'OPTIONS', headers: asked });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    const token = await signUserToken(await makeKey(), { sub: 'ada' });
    const headers = { ...as(token), origin: 'https://shop.example' };
    const answer = await box.request('/wire-a/v1/models', { headers });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, 'https://shop.example']);
    const refused = await box.request('/wire-a/v1/models', { headers: { ...headers, ...as(`${token}x`) } });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, 'https://shop.example']);
  });
});

test('the secret of a key is shown once and listed nowhere', async () => {
  const [box, key] = [await shared(), await makeKey()];
  expect(Buffer.from(key.userSecret, 'base64')).toHaveLength(32);
  for (const route of ['GET /api/keys', 'GET /api/secrets', 'GET /api/activity'])
    expect(JSON.stringify((await call(box, route, undefined, as(TOKEN))).body)).not.toContain(key.userSecret);
});

describe('a token of the own provider of the workspace', () => {
  const mint = (options: { claims?: object; header?: object; key?: CryptoKey } = {}) => {
    const now = seconds();
    const claims = {
      aud: 'shop-app',
      sub: 'ada',
      name: 'Ada',
      iat: now,
      exp: now + 600,
      inst: undefined,
      role: undefined,
    };
    return issuer.mint('none', {
      ...options,
      claims: { ...claims, ...options.claims },
      header: { typ: 'JWT', ...options.header },
    } as never);
  };
  let key: Key;
  beforeAll(async () => {
    key = await makeKey({ client: 'shop', grants: { agents: ['desk'], workflows: 'all' } });
  });

  test('is a user of its client, and may do what the newest key of that is granted', async () => {
    const token = await mint();
    const { status, body } = await ask(token);
    expect(status).toBe(202);
    expect((await call(await shared(), `GET /api/runs/${body.runId}`, undefined, as(TOKEN))).body.startedBy).toEqual({
      kind: 'user',
      id: 'ada',
      client: 'shop',
      key: key.id,
      user: { id: 'ada', name: 'Ada' },
      role: null,
      name: expect.any(String),
    });
    expect([(await chat(token)).status, (await chat(token, 'other')).status]).toEqual([200, 403]);
    const same = { ...as(key.value), 'x-svc-user': 'ada' };
    expect((await call(await shared(), `GET /api/runs/${body.runId}`, undefined, same)).status).toBe(200);
  });

  test.each(['ES256', 'RS256'])('may be signed with %s', async (alg) => {
    const signing = await issuer.addKey(alg, `users-${alg}`);
    // A set that lacks the key is read again every 30 s at most.
    const fresh = await boxes.open({
      workflows: { whoami: { run: async () => svc.context.user } },
      options: { users: () => provider() },
    });
    await call(fresh, 'POST /api/keys', { name: 'shop', client: 'shop', users: true, grants: { workflows: 'all' } });
    const token = await mint({ key: signing as never, header: { alg, kid: `users-${alg}` } });
    expect((await call(fresh, 'POST /api/workflows/whoami/start', {}, as(token))).status).toBe(202);
  });

  const WRONG: [title: string, options: () => Parameters<typeof mint>[0]][] = [
    ['for another audience', () => ({ claims: { aud: 'other-app' } })],
    ['for two audiences', () => ({ claims: { aud: ['shop-app', 'x'] } })],
    ['that is over', () => ({ claims: { iat: seconds() - 700, exp: seconds() - 60 } })],
    ['good for longer than an hour', () => ({ claims: { exp: seconds() + 3_700 } })],
    ['without a user', () => ({ claims: { sub: undefined } })],
    ['of a key there is not', () => ({ header: { kid: 'nobody' } })],
    ['of another issuer', () => ({ claims: { iss: 'https://elsewhere.example' } })],
    ['that says it is of a person with a seat', () => ({ header: { typ: 'svc-identity+jwt' } })],
  ];
  test.each(WRONG)('%s is refused', async (_title, options) => {
    expect(await ask(await mint(options()))).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  });

  test('signed with its public key as a shared secret, or with another key, is refused', async () => {
    const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
    const claims = { iss: issuer.url, aud: 'shop-app', sub: 'ada', iat: seconds(), exp: seconds() + 60 };
    const shared256 = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: KEY_ID, typ: 'svc-user+jwt' })
      .sign(Buffer.from(JSON.stringify(issuer.keys[0])));
    const other = await mint({ key: privateKey as never });
    for (const token of [shared256, other]) expect((await ask(token)).status).toBe(401);
  });

  test.each([
    ['its key is taken out of the set', () => ({ keys: [] })],
    [
      'its key is replaced by another of its id',
      async () => ({ keys: [{ ...(await exportJWK((await generateKeyPair('EdDSA')).publicKey)), kid: KEY_ID }] }),
    ],
    ['the provider has another audience', () => ({ audience: 'other-app' })],
  ])('that was good is not once %s', async (_how, change) => {
    let from = { ...provider(), keys: [...issuer.keys] };
    const speaker = {
      toCaller: () => ({ ...OWNER, grants: { agents: [], workflows: [] } }),
      readSecret: async () => undefined,
    };
    const tokens = createUserTokens({
      speakers: { findSpeaker: async () => undefined, findSpeakerOf: async () => speaker },
      provider: () => from,
      openKeySet: () => ({ read: async () => ({ keys: from.keys }) }),
      now: Date.now,
    });
    const token = await mint();
    expect(await tokens.verify(token)).toMatchObject({ kind: 'user', user: { id: 'ada' } });
    from = { ...from, ...(await change()) };
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('is good for as long as its client has a key that speaks for users', async () => {
    const gone = await makeKey({ client: 'gone' });
    const box = await boxes.open({
      workflows: { whoami: { run: async () => 1 } },
      options: { users: () => ({ ...provider(), client: 'gone' }) },
    });
    const start = async () => (await call(box, 'POST /api/workflows/whoami/start', {}, as(await mint()))).status;
    expect(await start()).toBe(202);
    await call(box, `POST /api/keys/${gone.id}/revoke`, {});
    expect(await start()).toBe(401);
  });
});

test.each([
  [{ issuer: '', audience: 'a', jwksUrl: 'https://a.example/k', client: 'shop' }, '"users.issuer"'],
  [{ issuer: 'a', audience: 'a', client: 'shop' }, '"users.jwksUrl"'],
  [{ issuer: 'a', audience: 'a', jwksUrl: 'http://a.example/k', client: 'shop' }, 'https address'],
  [{ issuer: 'a', audience: 'a', jwksUrl: 'https://u:p@a.example/k', client: 'shop' }, 'https address'],
  [{ issuer: 'a', audience: 'a', jwksUrl: 'https://a.example/k', client: 'shop', x: 1 }, '"x" is no member'],
])('svc.config.ts with "users" %j is refused', (users, reason) => {
  expect(() => defineConfig({ users: users as UsersProvider })).toThrow(reason);
});
