import { createHmac } from 'node:crypto';
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeySet } from '../src/auth/key-set.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createLog } from '../src/log.ts';
import { KEY_ID, signatureOf, startPlane } from './_plane.ts';
import type { MintOptions, Plane } from './_plane.ts';
import { call, json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

const openBox = (now?: () => number): Promise<TestBox> =>
  boxes.open({ options: { host: 'image', strategy: plane.strategy({ log, ...(now ? { now } : {}) }) } });
const as = (token: string) => ({ authorization: `Bearer ${token}` });
const ask = (box: TestBox, token: string, route = 'GET /api/runs') =>
  call<{ code: string; message: string; details?: object }>(box, route, undefined, as(token));
const seconds = () => Math.floor(Date.now() / 1_000);

describe('an identity token', () => {
  test('of a person with a role lets that person in', async () => {
    const { status } = await ask(await openBox(), await plane.mint('viewer'));
    expect(status).toBe(200);
  });

  const REFUSED: [title: string, change: () => MintOptions, reason: RegExp][] = [
    ['of another control plane', () => ({ claims: { iss: 'https://elsewhere.example' } }), /another control plane/],
    ['whose issuer has a slash more', () => ({ claims: { iss: `${plane.url}/` } }), /another control plane/],
    ['for another address', () => ({ claims: { aud: `${plane.url}/other` } }), /another address/],
    ['for MCP', () => ({ claims: { aud: `${plane.url}/mcp` } }), /another address/],
    ['for two audiences', () => ({ claims: { aud: [`${plane.url}/box`, 'x'] } }), /more than one audience/],
    ['for a list of one audience', () => ({ claims: { aud: [`${plane.url}/box`] } }), /more than one audience/],
    ['for another installation', () => ({ claims: { inst: 'another' } }), /another installation/],
    ['without an installation', () => ({ claims: { inst: undefined } }), /another installation/],
    ['without a person', () => ({ claims: { sub: undefined } }), /sub/],
    ['without an organization', () => ({ claims: { org: undefined } }), /organization/],
    ['without an end', () => ({ claims: { exp: undefined } }), /exp/],
    ['without a beginning', () => ({ claims: { iat: undefined } }), /iat|another time/],
    ['that is over', () => ({ claims: { iat: seconds() - 331, exp: seconds() - 31 } }), /over/],
    ['good for longer than 330 s', () => ({ claims: { exp: seconds() + 331 } }), /longer than 330 s/],
    ['from the future', () => ({ claims: { iat: seconds() + 60, exp: seconds() + 300 } }), /another time/],
    ['not good yet', () => ({ claims: { nbf: seconds() + 60 } }), /another time/],
    ['of another type', () => ({ header: { typ: 'JWT' } }), /no identity token/],
    ['without a type', () => ({ header: { typ: undefined } }), /no identity token/],
    ['that names no key', () => ({ header: { kid: undefined } }), /no identity token/],
    ['of a key there is not', () => ({ header: { kid: 'key-9' } }), /does not have/],
  ];
  test.each(REFUSED)('%s is refused', async (_title, change, reason) => {
    const { status, body } = await ask(await openBox(), await plane.mint('owner', change()));
    expect([status, body.code]).toEqual([401, 'unauthorized']);
    expect(body.message).toMatch(reason);
  });

  test('that is over says so, for a client to sign in again', async () => {
    const token = await plane.mint('owner', { claims: { iat: seconds() - 400, exp: seconds() - 100 } });
    expect((await ask(await openBox(), token)).body.details).toEqual({ reason: 'expired' });
  });

  test('may be up to 30 s from the other clock', async () => {
    const box = await openBox();
    const early = await plane.mint('viewer', { claims: { iat: seconds() + 20, exp: seconds() + 320 } });
    const late = await plane.mint('viewer', { claims: { iat: seconds() - 310, exp: seconds() - 10 } });
    expect([(await ask(box, early)).status, (await ask(box, late)).status]).toEqual([200, 200]);
  });

  test('with a header that is not understood is refused', async () => {
    const good = await plane.mint('owner');
    const [, payload, signature] = good.split('.');
    const header = { alg: 'EdDSA', kid: KEY_ID, typ: 'svc-identity+jwt', crit: ['exp'], exp: 1 };
    const crit = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`;
    expect((await ask(await openBox(), crit)).status).toBe(401);
  });

  test('that brings its own key, or names where to find one, is checked with the key of the control plane', async () => {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
    const { exportJWK } = await import('jose');
    const header = { jwk: await exportJWK(publicKey), jku: `${plane.url}/mine.json`, x5u: `${plane.url}/x5u` };
    const before = plane.asked();
    const token = await plane.mint('owner', { key: privateKey, header });
    expect((await ask(await openBox(), token)).body.message).toContain('not signed by the control plane');
    expect(plane.asked() - before).toBeLessThanOrEqual(1);
  });

  test('that is signed with a public key as a shared secret, or not at all, is refused', async () => {
    const payload = { iss: plane.url, aud: `${plane.url}/box`, sub: 'u', org: 'acme', role: 'owner' };
    const claims = { ...payload, inst: plane.installationId, iat: seconds(), exp: seconds() + 300 };
    const header = { kid: KEY_ID, typ: 'svc-identity+jwt' };
    const secret = Buffer.from(JSON.stringify(plane.keys[0]));
    const hs256 = await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret);
    const box = await openBox();
    for (const token of [hs256, new UnsecuredJWT(claims).encode(), 'a.b.c', 'nonsense', `${hs256}.x`])
      expect((await ask(box, token)).status).toBe(401);
  });

  test.each(['ES256', 'RS256'])('signed with %s is as good', async (alg) => {
    const key = await plane.addKey(alg, `key-${alg}`);
    const token = await plane.mint('viewer', { key, header: { alg, kid: `key-${alg}` } });
    expect((await ask(await openBox(), token)).status).toBe(200);
  });

  test.each(['root', 'OWNER', '__proto__', 'constructor', 'toString', ''])(
    'with the role "%s" gets 403: the person is known, the role is not',
    async (role) => {
      const { status, body } = await ask(await openBox(), await plane.mint(role));
      expect([status, body.code]).toEqual([403, 'forbidden']);
    },
  );

  test('lets no one in as x-api-key, which takes API keys alone', async () => {
    const box = await openBox();
    const headers = { 'x-api-key': await plane.mint('owner') };
    const asked = await call<{ code: string; message: string }>(box, 'GET /api/runs', undefined, headers);
    expect([asked.status, asked.body.code]).toEqual([401, 'unauthorized']);
    expect(asked.body.message).toContain('"Authorization: Bearer <credential>"');
    const chat = { model: 'helper', messages: [{ role: 'user', content: 'say:hi' }] };
    expect((await call(box, 'POST /wire-a/v1/chat/completions', chat, headers)).status).toBe(401);
    const mcp = { 'x-api-key': await plane.mint('owner', { claims: { aud: `${plane.url}/mcp` } }) };
    expect((await call(box, 'POST /mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, mcp)).status).toBe(401);
  });

  test('names who decided, in the record of the change', async () => {
    const box = await openBox();
    await call(box, 'POST /api/keys', { name: 'ci' }, as(await plane.mint('admin')));
    const { body } = await call<{ items: { operation: string; actor: object; source: string }[] }>(
      box,
      'GET /api/activity?limit=1',
      undefined,
      as(await plane.mint('viewer')),
    );
    expect(body.items).toMatchObject([
      { operation: 'keys.create', actor: { id: 'person user-admin', name: 'Person who is admin', role: 'admin' } },
    ]);
  });

  test('closes the chat of a workflow it opened when it is over; the run goes on', async () => {
    const talk = { mode: 'chat', run: async () => requestApproval({ title: 'Go?' }) };
    // As the box sees it, no time passes until the chat is open.
    const now = Date.now();
    const at = Math.floor(now / 1_000);
    const options = { host: 'image', strategy: plane.strategy({ log, now: () => now }) } as const;
    const box = await boxes.open({ workflows: { talk }, options });
    const headers = as(await plane.mint('member', { claims: { iat: at - 320, exp: at - 28 } }));
    const response = await box.request('/api/workflows/talk/chat', json({}, { headers }));
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/event: auth_expired\ndata: \{\}\n\n$/);
    const viewer = as(await plane.mint('viewer'));
    const list = async () =>
      (await call<{ items: { status: string }[] }>(box, 'GET /api/runs', undefined, viewer)).body.items;
    await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['waiting']);
  });

  test('closes the event stream it opened when it is over', async () => {
    const now = Date.now();
    const box = await openBox(() => now);
    const at = Math.floor(now / 1_000);
    // The 30 s of skew are its own too: one that has 28 s of them behind it.
    const claims = { iat: at - 320, exp: at - 28 };
    const response = await box.request('/api/events', { headers: as(await plane.mint('viewer', { claims })) });
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/event: auth_expired\ndata: \{\}\n\n$/);
  });
});

test('streams that ended with their token count no more: twenty that did, and one that is let in', async () => {
  // As the box sees it, no time passes while they are opened.
  const now = Date.now();
  const box = await openBox(() => now);
  const at = Math.floor(now / 1_000);
  const token = await plane.mint('member', { claims: { iat: at - 300, exp: at - 28 } });
  for (const route of ['/api/logs/tail', '/api/events']) {
    const open = (by: string) => box.request(route, { headers: as(by) });
    const streams = await Promise.all(Array.from({ length: 20 }, () => open(token)));
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
    for (const stream of streams) expect(await stream.text()).toContain('event: auth_expired');
    const next = await open(await plane.mint('member'));
    expect(next.status).toBe(200);
    await next.body?.cancel();
  }
});

describe('the keys of the control plane', () => {
  test('are not read further once there is too much of them, and the answer is let go', async () => {
    let pieces = 0;
    let isCancelled = false;
    const piece = new TextEncoder().encode(`"${'x'.repeat(65_534)}"`);
    const body = new ReadableStream({
      pull(controller) {
        pieces += 1;
        if (pieces > 100) controller.close();
        else controller.enqueue(piece);
      },
      cancel: () => void (isCancelled = true),
    });
    const keys = createKeySet({
      url: 'http://plane.test/keys',
      log,
      now: Date.now,
      fetch: async () => new Response(body),
    });
    await expect(keys.read('k')).rejects.toMatchObject({ code: 'identity_keys_unavailable' });
    expect(isCancelled).toBe(true);
    expect(pieces).toBeLessThan(10);
  });

  test.each(['null', '[]', '{"keys":{}}', '{"keys":[null]}', '{"keys":["a"]}', '{"keys":[[]]}'])(
    'that are %s are none',
    async (text) => {
      const answer = async () => new Response(text);
      const keys = createKeySet({ url: 'http://plane.test/keys', log, now: Date.now, fetch: answer });
      await expect(keys.read('k')).rejects.toMatchObject({ code: 'identity_keys_unavailable' });
    },
  );

  test('are read once for many tokens, and again for a key that is new', async () => {
    const box = await openBox();
    const before = plane.asked();
    for (const role of ['viewer', 'member', 'owner']) await ask(box, await plane.mint(role));
    expect(plane.asked() - before).toBe(1);
  });

  test('are asked for at most once per 30 s, however many tokens name a key there is not', async () => {
    let now = Date.now();
    const box = await openBox(() => now);
    await ask(box, await plane.mint('viewer'));
    const before = plane.asked();
    for (let n = 0; n < 20; n++) await ask(box, await plane.mint('viewer', { header: { kid: `unknown-${n}` } }));
    expect(plane.asked() - before).toBe(0);
    now += 31_000;
    for (let n = 0; n < 20; n++) await ask(box, await plane.mint('viewer', { header: { kid: `unknown-${n}` } }));
    expect(plane.asked() - before).toBe(1);
  });

  test('a rotated key is accepted once it is in the set', async () => {
    let now = Date.now();
    const box = await openBox(() => now);
    await ask(box, await plane.mint('viewer'));
    const key = await plane.addKey('EdDSA', 'key-next');
    now += 31_000;
    const { status } = await ask(box, await plane.mint('viewer', { key, header: { kid: 'key-next' } }));
    expect(status).toBe(200);
  });

  test.each(['is taken out of the set', 'is replaced by another of its id'])(
    'a token that was good is not once its key %s',
    async (how) => {
      let now = Date.now();
      const box = await openBox(() => now);
      const kid = `key-${how}`;
      const key = await plane.addKey('EdDSA', kid);
      const token = await plane.mint('viewer', { key, header: { kid } });
      expect((await ask(box, token)).status).toBe(200);
      plane.keys.pop();
      if (how.startsWith('is replaced')) await plane.addKey('EdDSA', kid);
      expect((await ask(box, token)).status).toBe(200);
      now += 31_000;
      // Whoever asks for a key that is not known has the set read again.
      await ask(box, await plane.mint('viewer', { header: { kid: 'unknown' } }));
      expect(await ask(box, token)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    },
  );

  test('are good for an hour while the control plane is down, and then 503', async () => {
    let now = Date.now();
    const box = await openBox(() => now);
    await ask(box, await plane.mint('viewer'));
    const at = (when: number) => ({
      claims: { iat: Math.floor(when / 1_000), exp: Math.floor(when / 1_000) + 300 },
    });
    plane.isDown = true;
    try {
      now += 59 * 60_000;
      expect((await ask(box, await plane.mint('viewer', at(now)))).status).toBe(200);
      now += 2 * 60_000;
      const late = await ask(box, await plane.mint('viewer', at(now)));
      expect([late.status, late.body.code]).toEqual([503, 'identity_keys_unavailable']);
      const fresh = await ask(await openBox(), await plane.mint('viewer'));
      expect([fresh.status, fresh.body.code]).toEqual([503, 'identity_keys_unavailable']);
    } finally {
      plane.isDown = false;
    }
  });
});

describe('the registration challenge', () => {
  const secret = 'f'.repeat(64);
  const nonce = 'ab'.repeat(32);
  const path = '/api/registration/challenge';
  const body = JSON.stringify({ nonce });
  const open = (): Promise<TestBox> =>
    boxes.open({ options: { registration: { installationId: plane.installationId, hmacSecret: secret } } });
  const send = (box: TestBox, signature: string | undefined, text = body, at = path) =>
    call<{ code: string; proof: string; message: string }>(
      box,
      `POST ${at}`,
      JSON.parse(text),
      signature === undefined ? {} : { 'x-svc-signature': signature },
    );

  test('is answered with a proof over the nonce and the installation', async () => {
    const { status, body: answer } = await send(await open(), signatureOf({ secret, path, body }));
    const proof = createHmac('sha256', secret)
      .update(nonce + plane.installationId)
      .digest('hex');
    expect([status, answer]).toEqual([200, { installationId: plane.installationId, proof }]);
  });

  const good = { secret, path, body };
  const now = () => Math.floor(Date.now() / 1_000);
  const DEFECTS: [string, () => string | undefined][] = [
    ['no signature', () => undefined],
    ['another secret', () => signatureOf({ ...good, secret: 'e'.repeat(64) })],
    ['another body', () => signatureOf({ ...good, body: '{}' })],
    ['another path', () => signatureOf({ ...good, path: `${path}?a=1` })],
    ['another method', () => signatureOf({ ...good, method: 'PUT' })],
    ['a time 61 s ago', () => signatureOf({ ...good, time: now() - 62 })],
    ['a time 61 s ahead', () => signatureOf({ ...good, time: now() + 62 })],
    ['no nonce', () => signatureOf(good).replace(/n=[\da-f]+,/, '')],
    ['members in another order', () => signatureOf(good).split(',').reverse().join(',')],
    ['nonsense', () => 'v1=00'],
    ['upper case', () => signatureOf(good).toUpperCase()],
  ];
  test.each(DEFECTS)('with %s gets the same 401 as any other defect', async (_title, sign) => {
    const { status, body: answer } = await send(await open(), sign());
    expect([status, answer.code, answer.message]).toEqual([
      401,
      'invalid_signature',
      'The signature of this call is not valid.',
    ]);
  });

  test('cannot be sent twice, to another replica neither', async () => {
    const signature = signatureOf(good);
    const [one, other] = [await open(), await open()];
    expect([(await send(one, signature)).status, (await send(other, signature)).status]).toEqual([200, 401]);
  });

  test('opens no other route', async () => {
    const box = await boxes.open({
      options: {
        host: 'image',
        strategy: plane.strategy({ log }),
        registration: { installationId: plane.installationId, hmacSecret: secret },
      },
    });
    const headers = { 'x-svc-signature': signatureOf({ secret, method: 'GET', path: '/api/runs', body: '' }) };
    expect((await call(box, 'GET /api/runs', undefined, headers)).status).toBe(401);
  });

  test('is not there on a box that is registered nowhere', async () => {
    const { status } = await send(await boxes.open(), signatureOf(good));
    expect(status).toBe(404);
  });
});
