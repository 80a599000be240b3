import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { addInstallation, askBox, mint, openBox, readToken } from './_box.ts';
import { addOrganization, addPerson, ask, cookieOf, logIn, signUpFirst } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

const boxes = setupBoxes();
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const readKeys = async (plane: RunningPlane): Promise<{ kid: string }[]> =>
  (await ask(plane, 'GET /.well-known/jwks.json')).body.keys;
const readKids = async (plane: RunningPlane) => (await readKeys(plane)).map(({ kid }) => kid);

async function start({ now, store }: { now?: () => number; store?: (typeof STORES)[number] } = {}) {
  const plane = await startPlane({ ...(store ? { store } : {}), ...(now ? { now } : {}) });
  const ada = await signUpFirst(plane);
  const id = await addInstallation(plane, ada.cookie);
  const box = await openBox(boxes, { issuer: plane.url, installationId: id, ...(now ? { now } : {}) });
  return { plane, ada, id, box };
}

describe('an identity token', () => {
  test('says who calls, where and in which role, for five minutes', async () => {
    const clock = makeClock();
    const { plane, ada, id } = await start({ now: clock.now });
    const path = `POST /api/v1/installations/${id}/token`;
    const { status, body } = await ask(plane, path, { cookie: ada.cookie, body: { use: 'operate' } });
    const at = Math.floor(clock.now() / 1_000);
    expect([status, body]).toStrictEqual([
      200,
      { token: expect.any(String), expiresAt: new Date((at + 270) * 1_000).toISOString() },
    ]);
    const { header, payload } = readToken(body.token);
    expect(await readKids(plane)).toContain(header.kid);
    expect(header).toStrictEqual({ alg: 'EdDSA', kid: header.kid, typ: 'svc-identity+jwt' });
    expect(payload).toStrictEqual({
      iss: plane.url,
      aud: `${plane.url}/box`,
      sub: ada.userId,
      org: ada.organizationId,
      inst: id,
      role: 'owner',
      name: 'Ada',
      src: 'dashboard',
      jti: expect.stringMatching(/^[\da-f-]{36}$/),
      iat: at - 30,
      exp: at + 270,
    });
  });

  test('is good at a box whose clock is up to a minute ahead or behind, and not far beyond', async () => {
    const clock = makeClock();
    const { plane, ada, id } = await start({ now: clock.now });
    const answers: [number, number, string][] = [];
    for (const seconds of [-90, -59, 0, 59, 240, 400]) {
      const now = () => clock.now() + seconds * 1_000;
      const box = await openBox(boxes, { issuer: plane.url, installationId: id, now });
      const { status, message } = await askBox(box, await mint(plane, id, ada));
      answers.push([seconds, status, /"message":"([^"]+)"/.exec(message)?.[1] ?? '']);
    }
    expect(answers).toStrictEqual([
      [-90, 401, expect.stringMatching(/another time|clock/)],
      [-59, 200, ''],
      [0, 200, ''],
      [59, 200, ''],
      [240, 200, ''],
      [400, 401, expect.stringMatching(/over/)],
    ]);
  });

  test('is taken by a box of the same clock for five minutes after it was made, and not a second longer', async () => {
    const clock = makeClock();
    const { plane, ada, id, box } = await start({ now: clock.now });
    const token = await mint(plane, id, ada);
    const { iat, exp } = readToken(token).payload as { iat: number; exp: number };
    expect(exp - iat).toBe(300);
    const answers: number[] = [];
    for (const seconds of [0, 299, 2]) {
      clock.move(seconds * 1_000);
      answers.push((await askBox(box, token)).status);
    }
    expect(answers).toStrictEqual([200, 200, 401]);
  });

  test('lets its person into the box of the installation', async () => {
    const { plane, ada, id, box } = await start();
    expect((await askBox(box, await mint(plane, id, ada))).status).toBe(200);
    expect((await askBox(box, await mint(plane, id, { ...ada, use: 'mcp' }), 'POST /mcp')).status).toBe(200);
  });

  test('for MCP opens no route, and one for the routes no MCP', async () => {
    const { plane, ada, id, box } = await start();
    const operate = await askBox(box, await mint(plane, id, ada), 'POST /mcp');
    const mcp = await askBox(box, await mint(plane, id, { ...ada, use: 'mcp' }));
    expect([operate, mcp]).toMatchObject([{ status: 401 }, { status: 401, message: /another address/ }]);
  });

  test('of another installation is refused, of the same organisation too', async () => {
    const { plane, ada, box } = await start();
    const other = await addInstallation(plane, ada.cookie, 'other');
    expect(await askBox(box, await mint(plane, other, ada))).toMatchObject({
      status: 401,
      message: /another installation/,
    });
  });

  test('is of the organisation of the installation, and of the role there, whichever is acted in', async () => {
    const { plane, ada, id } = await start();
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'approver' });
    const own = await addOrganization(plane, ada, bo);
    await ask(plane, 'POST /api/v1/session/organization', { cookie: bo.cookie, body: { organization: own } });
    const { payload } = readToken(await mint(plane, id, bo));
    expect(payload).toMatchObject({ org: ada.organizationId, role: 'approver', sub: bo.userId });
  });

  test('has the role of the moment: a change is in the next one', async () => {
    const { plane, ada, id, box } = await start();
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
    const make = () => mint(plane, id, bo);
    const keys = 'GET /api/keys';
    expect([(await askBox(box, await make())).status, (await askBox(box, await make(), keys)).status]).toStrictEqual([
      200, 403,
    ]);
    const path = `/api/v1/orgs/${ada.organizationId}/members/${bo.userId}`;
    await ask(plane, `PATCH ${path}`, { cookie: ada.cookie, body: { role: 'admin' } });
    expect((await askBox(box, await make(), keys)).status).toBe(200);
    await ask(plane, `DELETE ${path}`, { cookie: ada.cookie });
    const gone = await ask(plane, `POST /api/v1/installations/${id}/token`, {
      cookie: bo.cookie,
      body: { use: 'operate' },
    });
    expect([gone.status, gone.body.code]).toStrictEqual([404, 'not_found']);
  });

  test('of a personal token has no higher role than that', async () => {
    const { plane, ada, id } = await start();
    const made = await ask(plane, 'POST /api/v1/tokens', { cookie: ada.cookie, body: { name: 'ci', role: 'viewer' } });
    const { payload } = readToken(await mint(plane, id, { token: made.body.token }));
    expect(payload).toMatchObject({ role: 'viewer', src: 'cli' });
  });

  test.each([{}, { use: 'root' }, { use: 'operate', role: 'owner' }, { use: ['operate'] }])(
    'is not made for %j',
    async (body) => {
      const plane = await startPlane();
      const { cookie } = await signUpFirst(plane);
      const id = await addInstallation(plane, cookie);
      const { status } = await ask(plane, `POST /api/v1/installations/${id}/token`, { cookie, body });
      expect(status).toBe(400);
    },
  );

  test('that is signed otherwise, or names another key or algorithm, is refused', async () => {
    const { plane, ada, id, box } = await start();
    const good = await mint(plane, id, ada);
    const [key] = await readKeys(plane);
    const [, payload = ''] = good.split('.');
    const { header } = readToken(good);
    const mine = generateKeyPairSync('ed25519').privateKey;
    const make = (changed: object, signWith: (text: string) => Buffer) => {
      const text = `${Buffer.from(JSON.stringify({ ...header, ...changed })).toString('base64url')}.${payload}`;
      return `${text}.${signWith(text).toString('base64url')}`;
    };
    const withMine = (text: string) => sign(null, Buffer.from(text), mine);
    const spki = createPublicKey({ key: { ...key }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const tokens = [
      make({}, withMine),
      make({ kid: 'x' }, withMine),
      make({ kid: undefined }, withMine),
      make({ jwk: createPublicKey(mine).export({ format: 'jwk' }) }, withMine),
      make({ alg: 'none' }, () => Buffer.alloc(0)),
      make({ alg: 'HS256' }, (text) => createHmac('sha256', spki).update(text).digest()),
      make({ alg: 'HS256' }, (text) => createHmac('sha256', JSON.stringify(key)).update(text).digest()),
      make({ typ: 'JWT' }, withMine),
      `${good}x`,
      good.replace(
        payload,
        Buffer.from(JSON.stringify({ ...readToken(good).payload, role: 'owner ' })).toString('base64url'),
      ),
    ];
    for (const token of tokens) expect((await askBox(box, token)).status).toBe(401);
    expect((await askBox(box, good)).status).toBe(200);
  });

  test('leaves a row of the audit log an hour, for each part of a box', async () => {
    const clock = makeClock();
    const { plane, ada, id } = await start({ now: clock.now });
    const read = async () => {
      const { items } = (await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, ada)).body;
      return items.filter(({ action }: { action: string }) => action === 'identity.mint');
    };
    for (let n = 0; n < 3; n++) await mint(plane, id, ada);
    expect(await read()).toMatchObject([{ actor: ada.email, target: `shop (${id}): operate as owner` }]);
    await mint(plane, id, { ...ada, use: 'mcp' });
    expect(await read()).toHaveLength(2);
    clock.move(61 * MINUTE);
    await mint(plane, id, ada);
    expect(await read()).toHaveLength(3);
  });
});

describe.each(STORES)('the signing keys on %s', (store) => {
  test('are one that signs and one that will, and may be kept by a cache', async () => {
    const plane = await startPlane({ store });
    const { status, body, headers } = await ask(plane, 'GET /.well-known/jwks.json');
    expect([status, headers.get('cache-control')]).toStrictEqual([200, 'public, max-age=300']);
    expect(body.keys).toHaveLength(2);
    for (const key of body.keys) {
      const { kid, x } = key;
      expect(key).toStrictEqual({ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' });
    }
    expect(JSON.stringify(body)).not.toContain('"d"');
  });

  test('rotate after 30 days while a box goes on checking; the earlier one stays for a day', async () => {
    const clock = makeClock();
    const { plane, ada, id, box } = await start({ store, now: clock.now });
    const first = await mint(plane, id, ada);
    expect((await askBox(box, first)).status).toBe(200);
    const [before, kid] = [await readKids(plane), readToken(first).header.kid];
    clock.move(30 * DAY - MINUTE);
    const cookie = cookieOf(await logIn(plane, ada.email));
    const last = await mint(plane, id, { cookie });
    expect(readToken(last).header.kid).toBe(kid);
    expect((await askBox(box, last)).status).toBe(200);
    clock.move(2 * MINUTE);
    const next = await mint(plane, id, { cookie });
    expect(before).toContain(readToken(next).header.kid);
    expect(readToken(next).header.kid).not.toBe(kid);
    // The box has the set it read before: the key that signs was in it.
    expect((await askBox(box, next)).status).toBe(200);
    expect((await askBox(box, last)).status).toBe(200);
    expect(await readKids(plane)).toHaveLength(3);
    clock.move(DAY - MINUTE);
    expect(await readKids(plane)).toContain(kid);
    clock.move(3 * MINUTE);
    expect(await readKids(plane)).not.toContain(kid);
    expect(await readKids(plane)).toHaveLength(2);
  });

  test('rotate at the start, and are never more than four', async () => {
    const clock = makeClock();
    const env = await makeStore(store);
    const seen = new Set<string>();
    for (let n = 0; n < 6; n++) {
      const plane = await startPlane({ env, now: clock.now });
      const kids = await readKids(plane);
      expect(kids.length).toBeLessThanOrEqual(4);
      for (const kid of kids) seen.add(kid);
      await plane.close();
      clock.move(30 * DAY);
    }
    expect(seen.size).toBe(7);
  });

  test('are the same after a restart, and lie sealed in the store', async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    const token = await mint(plane, id, ada);
    const kids = await readKids(plane);
    await plane.close();
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
    const db = await openStore(full as FullSettings);
    const rows = await db.all<{ privateJwk: string }>(sql`select private_jwk from plane_signing_keys`);
    await db.close();
    for (const { privateJwk } of rows) expect(privateJwk).not.toContain('"d"');
    const again = await startPlane({ env });
    expect(await readKids(again)).toStrictEqual(kids);
    expect(readToken(await mint(again, id, ada)).header.kid).toBe(readToken(token).header.kid);
  });
});

describeWhen(realServers.database, 'two control planes on one database', () => {
  test('make one set, and rotate it once', async () => {
    const clock = makeClock();
    const env = await makeStore('postgres');
    const startBoth = () => Promise.all([1, 2].map(() => startPlane({ env, now: clock.now })));
    const [one, two] = (await startBoth()) as [RunningPlane, RunningPlane];
    expect(await readKids(one)).toStrictEqual(await readKids(two));
    const ada = await signUpFirst(one);
    const id = await addInstallation(one, ada.cookie);
    clock.move(30 * DAY);
    const cookie = cookieOf(await logIn(two, ada.email));
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, n) => mint(n % 2 ? one : two, id, { cookie })));
    expect(new Set(tokens.map((token) => readToken(token).header.kid)).size).toBe(1);
    expect(await readKids(one)).toStrictEqual(await readKids(two));
    expect(await readKids(one)).toHaveLength(3);
  });
});
