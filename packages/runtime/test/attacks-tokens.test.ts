import { createHash, createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { signUserToken } from '../src/client.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { svc } from '../src/svc.ts';
import { call, json, setupBoxes } from './_setup.ts';

// Tokens of users that no one has signed, on a box over HTTP.

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const as = (value: string) => ({ authorization: `Bearer ${value}` });
const shared = boxes.share({
  agents: { desk: defineDeepAgent({ name: 'desk' }), vault: defineDeepAgent({ name: 'vault' }) },
  workflows: { whoami: { run: async () => svc.context.user }, secret: { run: async () => 'secret' } },
  options: { host: 'image', strategy: operatorToken(TOKEN) },
});

interface Key {
  id: string;
  value: string;
  userSecret: string;
}

const makeKey = async (more: object = {}): Promise<Key> => {
  const grants = { agents: ['desk'], workflows: ['whoami'] };
  return (await call<Key>(await shared(), 'POST /api/keys', { name: 'shop', users: true, grants, ...more }, as(TOKEN)))
    .body;
};

let key: Key;
let other: Key;
let url: string;
beforeAll(async () => {
  [key, other] = [await makeKey(), await makeKey()];
  url = await (await shared()).listen();
});

const b64 = (text: string | object) =>
  Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)).toString('base64url');
const seconds = () => Math.floor(Date.now() / 1_000);
const HEADER = () => ({ alg: 'HS256', typ: 'svc-user+jwt', kid: key.id });
const CLAIMS = () => ({ sub: 'eve', iat: seconds(), exp: seconds() + 600 });
/** Signs whatever stands there, with the right secret unless another is given. */
const sign = (
  header: string | object,
  claims: string | object,
  secret: Buffer | string = secretOf(key),
  alg = 'sha256',
) => {
  const body = `${b64(header)}.${b64(claims)}`;
  return `${body}.${createHmac(alg, secret).update(body).digest('base64url')}`;
};
const secretOf = ({ userSecret }: Key) => Buffer.from(userSecret, 'base64');
const send = (headers: Record<string, string>, path = '/api/workflows/whoami/start') =>
  fetch(url + path, json({}, { headers }));
const statusOf = async (token: string, path?: string) => (await send(as(token), path)).status;

test('one that is as it should be is good', async () => {
  expect(await statusOf(sign(HEADER(), CLAIMS()))).toBe(202);
});

/** What each says of itself is signed with a secret the attacker has, or with none. */
const FORGED: Record<string, () => string> = {
  'with no algorithm': () => `${b64({ ...HEADER(), alg: 'none' })}.${b64(CLAIMS())}.`,
  'with no algorithm, in other letters': () => `${b64({ ...HEADER(), alg: 'nOnE' })}.${b64(CLAIMS())}.`,
  'with an empty signature': () => `${b64(HEADER())}.${b64(CLAIMS())}.`,
  'with a list of algorithms': () => sign({ ...HEADER(), alg: ['HS256', 'none'] }, CLAIMS(), ''),
  'with a public-key algorithm': () => sign({ ...HEADER(), alg: 'RS256' }, CLAIMS()),
  'with the stronger hash': () => sign({ ...HEADER(), alg: 'HS512' }, CLAIMS(), secretOf(key), 'sha512'),
  'with the weaker hash': () => sign({ ...HEADER(), alg: 'HS1' }, CLAIMS(), secretOf(key), 'sha1'),
  'signed with the text of the secret': () => sign(HEADER(), CLAIMS(), key.userSecret),
  'signed with the secret of another key': () => sign(HEADER(), CLAIMS(), secretOf(other)),
  'signed with the digest that is kept of the key': () =>
    sign(HEADER(), CLAIMS(), createHash('sha256').update(key.value).digest()),
  'signed with nothing': () => sign(HEADER(), CLAIMS(), ''),
  'signed with zeros': () => sign(HEADER(), CLAIMS(), Buffer.alloc(32)),
  'with a key of its own in the header': () =>
    sign({ ...HEADER(), jwk: { kty: 'oct', k: b64('mine') } }, CLAIMS(), 'mine'),
  'that says where its keys are': () => sign({ ...HEADER(), jku: `${url}/keys`, x5u: `${url}/keys` }, CLAIMS(), 'mine'),
  'with an extension that is critical': () => sign({ ...HEADER(), crit: ['b64'], b64: false }, CLAIMS()),
  'of a key by SQL': () => sign({ ...HEADER(), kid: "x' or '1'='1" }, CLAIMS(), ''),
  'of a key by a path': () => sign({ ...HEADER(), kid: '../../../../dev/null' }, CLAIMS(), ''),
  'of a list of keys': () => sign({ ...HEADER(), kid: [key.id] }, CLAIMS()),
  'of a key by what every object has': () => sign({ ...HEADER(), kid: '__proto__' }, CLAIMS(), ''),
  'of a key by its id and a zero': () => sign({ ...HEADER(), kid: `${key.id}\0` }, CLAIMS()),
  'whose header names two keys': () =>
    sign(`{"alg":"HS256","typ":"svc-user+jwt","kid":"${key.id}","kid":"${other.id}"}`, CLAIMS()),
  'whose header is no object': () => sign('"HS256"', CLAIMS()),
  'whose claims are no object': () => sign(HEADER(), '[]'),
  'that ends at no time': () => sign(HEADER(), `{"sub":"eve","iat":${seconds()},"exp":1e999}`),
  'that ends in text': () => sign(HEADER(), { ...CLAIMS(), exp: String(seconds() + 600) }),
  'that began in text': () => sign(HEADER(), { ...CLAIMS(), iat: 'now' }),
  'that began long before': () => sign(HEADER(), { ...CLAIMS(), iat: 0 }),
  'that began after it ends': () => sign(HEADER(), { ...CLAIMS(), iat: seconds() + 700 }),
  'that is over': () => sign(HEADER(), { ...CLAIMS(), iat: seconds() - 700, exp: seconds() - 100 }),
  'of no user': () => sign(HEADER(), { ...CLAIMS(), sub: '' }),
  'of a user that is a list': () => sign(HEADER(), { ...CLAIMS(), sub: ['ada'] }),
  'of a user with a line break': () => sign(HEADER(), { ...CLAIMS(), sub: 'ada\nx-svc-user: bob' }),
  'with two more parts': () => `${sign(HEADER(), CLAIMS())}.a.b`,
  'with padding': () => `${sign(HEADER(), CLAIMS())}==`,
  'with one bit of the signature changed': () => {
    const token = sign(HEADER(), CLAIMS());
    const last = token.at(-2);
    return `${token.slice(0, -2)}${last === 'A' ? 'B' : 'A'}${token.at(-1)}`;
  },
  'with the claims of another that is good': () => {
    const [header, , signature] = sign(HEADER(), CLAIMS()).split('.');
    return `${header}.${b64({ ...CLAIMS(), sub: 'ada' })}.${signature}`;
  },
  'as the JSON of a signature': () => {
    const [header, payload, signature] = sign(HEADER(), CLAIMS()).split('.');
    return JSON.stringify({ protected: header, payload, signature });
  },
  'of a megabyte of dots': () => '.'.repeat(10_000),
};

test.each(Object.keys(FORGED))('one %s is none', async (title) => {
  expect(await statusOf((FORGED[title] as () => string)())).toBe(401);
});

describe('one that is good', () => {
  test.each([
    ['/api/runs', 'GET'],
    ['/api/keys', 'GET'],
    ['/api/keys', 'POST'],
    ['/api/secrets', 'GET'],
    ['/api/sessions', 'GET'],
    ['/api/approvals', 'GET'],
    ['/api/activity', 'GET'],
    ['/api/logs', 'GET'],
    ['/api/usage', 'GET'],
    ['/metrics', 'GET'],
  ])('opens no %s (%s)', async (path, method) => {
    const init =
      method === 'GET'
        ? { headers: as(sign(HEADER(), CLAIMS())) }
        : json({}, { headers: as(sign(HEADER(), CLAIMS())) });
    expect([401, 403, 404]).toContain((await fetch(url + path, init)).status);
  });

  test('is none over MCP, and speaks for no other user', async () => {
    const token = sign(HEADER(), CLAIMS());
    expect(await statusOf(token, '/mcp')).toBe(403);
    expect((await send({ ...as(token), 'x-svc-user': 'ada' })).status).toBe(403);
    expect((await send({ 'x-api-key': token })).status).toBe(401);
  });

  test.each([
    { agents: ['vault', '*', 'all'] },
    { workflows: ['secret', 'all'] },
    { grants: 'all' },
    { role: 'owner' },
    { users: true },
  ])('with %j may do no more than its key', async (wider) => {
    const token = sign(HEADER(), { ...CLAIMS(), ...wider });
    expect(await statusOf(token, '/api/workflows/secret/start')).toBe(403);
    const chat = { model: 'vault', messages: [{ role: 'user', content: 'say:hi' }] };
    const answer = await fetch(`${url}/wire-a/v1/chat/completions`, json(chat, { headers: as(token) }));
    expect(answer.status).toBe(403);
  });

  test('gives code no data that reaches for a prototype', async () => {
    const data = '{"__proto__":{"role":"owner"},"plan":"gold"}';
    const token = sign(HEADER(), `{"sub":"eve","iat":${seconds()},"exp":${seconds() + 60},"data":${data}}`);
    const { runId } = (await (await send(as(token))).json()) as { runId: string };
    const { body } = await call<{ output: object }>(
      await shared(),
      `GET /api/runs/${runId}?wait=20s`,
      undefined,
      as(token),
    );
    expect(JSON.stringify(body.output)).toBe('{"id":"eve","data":{"plan":"gold"}}');
    expect(Object.hasOwn(Object.prototype, 'role')).toBe(false);
  });

  test('is not good for a key that was revoked, also where it was good before', async () => {
    const gone = await makeKey();
    const token = await signUserToken(gone, { sub: 'ada' });
    expect(await statusOf(token)).toBe(202);
    await call(await shared(), `POST /api/keys/${gone.id}/revoke`, {}, as(TOKEN));
    expect(await statusOf(token)).toBe(401);
  });
});

test('of two credentials in one request the second opens nothing', async () => {
  const { port } = new URL(url);
  const ask = async (lines: string[]): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    const head = ['GET /api/runs HTTP/1.1', `host: 127.0.0.1:${port}`, 'connection: close', ...lines];
    socket.end(`${head.join('\r\n')}\r\n\r\n`);
    let answer = '';
    for await (const part of socket) answer += String(part);
    return answer.slice(0, 12);
  };
  const [right, wrong] = [`authorization: Bearer ${TOKEN}`, `authorization: Bearer ${sign(HEADER(), CLAIMS())}`];
  expect(await ask([wrong, right])).not.toBe('HTTP/1.1 200');
  expect(await ask([`authorization: Bearer ${TOKEN}, Bearer x`])).toBe('HTTP/1.1 401');
});

/** Of one that is good but for what it says. */
const OVERDONE: Record<string, object | string> = {
  'for all agents, in one word': { agents: 'all' },
  'for agents by number': { agents: { 0: 'desk', length: 1 } },
  'for an agent without a name': { agents: [''] },
  'for 1,001 workflows': { workflows: Array.from({ length: 1_001 }, (_, n) => `w${n}`) },
  'for more than one audience': { aud: ['a', 'b'] },
  'that is not good yet': { nbf: Math.floor(Date.now() / 1_000) + 600 },
  'that begins later': { iat: Math.floor(Date.now() / 1_000) + 3_000, exp: Math.floor(Date.now() / 1_000) + 6_000 },
  'for longer than an hour': { exp: Math.floor(Date.now() / 1_000) + 7_300 },
  'for longer than an hour, by its past': {
    iat: Math.floor(Date.now() / 1_000) - 3_500,
    exp: Math.floor(Date.now() / 1_000) + 3_500,
  },
  'of a user of 257 characters': { sub: 'a'.repeat(257) },
  'of a user with a space': { sub: 'ada lovelace' },
  'of a user with a zero': { sub: 'ada\u0000' },
  'of a user with a control character': { sub: 'ada\u0085' },
  'of a user that is a number': { sub: 7 },
  'with a name of a megabyte': { name: 'x'.repeat(10_000) },
  'with 4 KiB and one byte of data': { data: { a: 'x'.repeat(4_096) } },
  'with data that is a list': { data: ['a'] },
  'with data of 65 levels': { data: JSON.parse(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`) as object },
};

test.each(Object.keys(OVERDONE))('one %s is none', async (title) => {
  expect(await statusOf(sign(HEADER(), { ...CLAIMS(), ...(OVERDONE[title] as object) }))).toBe(401);
});

test.each(['JWT', 'SVC-USER+JWT', 'svc-identity+jwt', 'application/svc-user+jwt2', '', 7, null])(
  'one of the type %j is none',
  async (typ) => {
    // Taken for a token of an operator, it is told to wait like one.
    expect([401, 429]).toContain(await statusOf(sign({ ...HEADER(), typ }, CLAIMS())));
  },
);

describe('one that is shown elsewhere than it belongs', () => {
  test.each<[title: string, ask: (token: string) => [path: string, headers: Record<string, string>]]>([
    ['in the address', (token) => [`/api/workflows/whoami/start?access_token=${token}&token=${token}`, {}]],
    [
      'in a cookie',
      (token) => ['/api/workflows/whoami/start', { cookie: `authorization=Bearer ${token}; token=${token}` }],
    ],
    [
      'as a password',
      (token) => [
        '/api/workflows/whoami/start',
        { authorization: `Basic ${Buffer.from(`eve:${token}`).toString('base64')}` },
      ],
    ],
    ['with another word before it', (token) => ['/api/workflows/whoami/start', { authorization: `Token ${token}` }]],
    ['as the key of a proxy', (token) => ['/api/workflows/whoami/start', { 'proxy-authorization': `Bearer ${token}` }]],
    [
      'in a header of ours',
      (token) => ['/api/workflows/whoami/start', { 'x-svc-user': token, 'x-svc-user-token': token }],
    ],
    ['to the registration', (token) => ['/api/registration/challenge', { authorization: `Bearer ${token}` }]],
  ])('opens nothing: %s', async (_title, ask) => {
    const [path, headers] = ask(sign(HEADER(), CLAIMS()));
    expect([401, 404]).toContain((await send(headers, path)).status);
  });
});

describe('a key whose tokens are out', () => {
  const patch = async (of: Key, more: object) => call(await shared(), `PATCH /api/keys/${of.id}`, more, as(TOKEN));
  /** Within the time that a key is remembered for. */
  const untilRefused = (token: string, path?: string, status = 401) =>
    expect.poll(() => statusOf(token, path), { timeout: 8_000 }).toBe(status);

  test('takes what it loses from them at once', async () => {
    const narrowed = await makeKey({ grants: { agents: ['desk'], workflows: ['whoami', 'secret'] } });
    const token = await signUserToken(narrowed, { sub: 'ada', workflows: ['whoami', 'secret'] });
    expect(await statusOf(token, '/api/workflows/secret/start')).toBe(202);
    await patch(narrowed, { grants: { agents: ['desk'], workflows: ['whoami'] } });
    await untilRefused(token, '/api/workflows/secret/start', 403);
    expect(await statusOf(token)).toBe(202);
  });

  test('that is used from some addresses alone is bound itself, for any user it names; tokens are for browsers', async () => {
    const bound = await makeKey({ addresses: ['203.0.113.0/24'] });
    expect((await send({ ...as(bound.value), 'x-svc-user': 'ada' })).status).toBe(403);
    expect((await send({ ...as(bound.value), 'x-forwarded-for': '203.0.113.1, 198.51.100.1' })).status).toBe(403);
    expect(await statusOf(await signUserToken(bound, { sub: 'ada' }))).toBe(202);
  });

  test('that is rotated signs with the secret of the new one, and the old one ends', async () => {
    const before = await makeKey();
    const { body } = await call<Key>(await shared(), `POST /api/keys/${before.id}/rotate`, {}, as(TOKEN));
    expect(body.id).not.toBe(before.id);
    // The secret of the one with the id of the other.
    expect(await statusOf(sign({ ...HEADER(), kid: body.id }, CLAIMS(), secretOf(before)))).toBe(
      body.userSecret === before.userSecret ? 202 : 401,
    );
    await call(await shared(), `POST /api/keys/${before.id}/revoke`, {}, as(TOKEN));
    await untilRefused(sign({ ...HEADER(), kid: before.id }, CLAIMS(), secretOf(before)));
  });

  test('that ends lets none of them live longer', async () => {
    const now = Date.now();
    const soon = await makeKey({ expiresAt: new Date(now + 3_000).toISOString() });
    const token = await signUserToken(soon, { sub: 'ada', expiresIn: 3_600 });
    expect([202, 401]).toContain(await statusOf(token));
    await untilRefused(token);
  });
});
