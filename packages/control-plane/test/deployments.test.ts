import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { addInstallation, mint, openBox } from './_box.ts';
import { fakeLookup } from './_lookup.ts';
import { ask, signUpFirst } from './_people.ts';
import type { Loose } from './_people.ts';
import { makeClock, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';

const boxes = setupBoxes();
const SECRET = 'f'.repeat(64);

interface Linked {
  url: string;
  hmacSecret?: string;
  imageTag?: string;
}

async function start(env: Record<string, string> = {}) {
  const plane = await startPlane({ env });
  const ada = await signUpFirst(plane);
  const id = await addInstallation(plane, ada.cookie);
  const link = ({ url, hmacSecret = SECRET, imageTag = 'shop:12' }: Linked) =>
    ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body: { url, hmacSecret, imageTag } });
  const read = async () => (await ask(plane, `GET /api/v1/installations/${id}`, ada)).body.deployment;
  return { plane, ada, id, link, read };
}

/** A deployed box that listens, and takes part in its registration. */
async function startBox(issuer: string, installationId: string, hmacSecret = SECRET): Promise<string> {
  const box = await openBox(boxes, { issuer, installationId, registration: { installationId, hmacSecret } });
  return box.listen();
}

/** Something that answers in the place of a box. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => answer(request, response, body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const send = (response: ServerResponse, body: object, status = 200) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

function proofOf(nonce: string, id: string, secret = SECRET): string {
  return createHmac('sha256', secret)
    .update(nonce + id)
    .digest('hex');
}

describe.each(STORES)('a box on %s', (store) => {
  test('is registered once both sides have proven that they hold the secret', async () => {
    const env = await makeStore(store);
    const { plane, ada, id, link, read } = await start(env);
    expect(await read()).toBe(null);
    const url = await startBox(plane.url, id);
    const { status, body } = await link({ url: `${url}/` });
    const deployment = { url, imageTag: 'shop:12', contract: 15, at: expect.stringMatching(/Z$/) };
    expect([status, body]).toMatchObject([200, { id, name: 'shop', deployment }]);
    expect(await read()).toStrictEqual(deployment);
    const token = await mint(plane, id, ada);
    const runs = await fetch(`${url}/api/runs`, { headers: { authorization: `Bearer ${token}` } });
    expect(runs.status).toBe(200);
    await plane.close();
    expect(JSON.stringify(await readDeployments(env))).not.toContain(SECRET);
  });

  test('is registered again after its address and its secret have changed', async () => {
    const { plane, ada, id, link, read } = await start(await makeStore(store));
    await link({ url: await startBox(plane.url, id) });
    const other = 'e'.repeat(64);
    const url = await startBox(plane.url, id, other);
    expect((await link({ url, hmacSecret: other, imageTag: 'shop:13' })).status).toBe(200);
    expect(await read()).toMatchObject({ url, imageTag: 'shop:13' });
    const { items } = (await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, ada)).body;
    expect(items[0]).toMatchObject({ action: 'installations.link', target: `shop (${id}): ${url} shop:13` });
  });
});

describe('a box that is refused', () => {
  test('leaves what was registered as it was, and says why', async () => {
    const { plane, id, link, read } = await start();
    const good = await startBox(plane.url, id);
    await link({ url: good });
    const before = await read();
    const refusals: [Linked, string][] = [
      [{ url: good, hmacSecret: 'e'.repeat(64) }, 'invalid_signature'],
      [{ url: await startBox(plane.url, randomUUID()) }, 'installation_mismatch'],
      [{ url: 'http://127.0.0.1:1' }, 'box_unreachable'],
      [{ url: 'http://box.invalid' }, 'box_unreachable'],
      [{ url: plane.url }, 'box_unreachable'],
    ];
    for (const [linked, code] of refusals) {
      const { status, body } = await link(linked);
      expect([status, body.code]).toStrictEqual([422, code]);
    }
    expect(await read()).toStrictEqual(before);
  });

  test('that cannot prove that it holds the secret is refused as one that does not accept it', async () => {
    const { id, link, read } = await start();
    const without = await serve((_, response) => send(response, { installationId: id, proof: 'f'.repeat(64) }));
    expect((await link(without)).body.code).toBe('invalid_signature');
    const old = await serve((_, response) =>
      send(response, { installationId: id, proof: proofOf('ab'.repeat(32), id) }),
    );
    expect((await link(old)).body.code).toBe('invalid_signature');
    expect(await read()).toBe(null);
  });

  test('a challenge that was seen on the way cannot be sent again, and says nothing of the secret', async () => {
    const { plane, id, link } = await start();
    const box = await startBox(plane.url, id);
    const taken: { signature: string; body: string }[] = [];
    const between = await serve((request, response, body) => {
      if (body) taken.push({ signature: String(request.headers['x-svc-signature']), body });
      void fetch(`${box}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': 'application/json', 'x-svc-signature': String(request.headers['x-svc-signature']) },
        ...(body ? { body } : {}),
      })
        .then((answer) => answer.json())
        .then((answer) => send(response, answer as object));
    });
    expect((await link(between)).status).toBe(200);
    expect(taken).toHaveLength(1);
    expect(JSON.stringify(taken)).not.toContain(SECRET);
    const again = await fetch(`${box}/api/registration/challenge`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-signature': taken[0]?.signature ?? '' },
      body: taken[0]?.body ?? '',
    });
    expect([again.status, ((await again.json()) as Loose).code]).toStrictEqual([401, 'invalid_signature']);
  });

  const FAULTS: [title: string, answer: (response: ServerResponse, url: string) => void][] = [
    ['a redirect', (response, url) => void response.writeHead(302, { location: `${url}/elsewhere` }).end()],
    [
      'a redirect that keeps the method',
      (response) => void response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    ],
    ['500', (response) => send(response, {}, 500)],
    ['a page', (response) => void response.end('<html>')],
    ['a list', (response) => send(response, [])],
    ['numbers', (response) => send(response, { installationId: 1, proof: 2 })],
    ['a broken connection', (response) => void response.destroy()],
  ];
  test.each(FAULTS)('for %s', async (_title, answer) => {
    const { link, read } = await start();
    const box = await serve((request, response) => answer(response, `http://${request.headers.host}`));
    const { status, body } = await link(box);
    expect([status, body.code, await read()]).toStrictEqual([422, 'box_unreachable', null]);
    expect(box.seen).toHaveLength(1);
  });

  test('for an answer that is too long, which says so', async () => {
    const { link, read } = await start();
    const box = await serve((_, response) => void response.end(Buffer.alloc(10 * 1_048_576, 32)));
    expect((await link(box)).body.message).toContain('longer than 65536 bytes');
    expect(await read()).toBe(null);
  });

  test.each([
    ['never', () => {}],
    ['without an end', (response: ServerResponse) => void response.writeHead(200).write('{')],
    [
      'a byte at a time',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('for an answer that comes %s', async (_title, answer) => {
    const { link, read } = await start();
    const box = await serve((_, response) => answer(response));
    const { timeout } = AbortSignal;
    const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout.call(AbortSignal, ms / 50));
    onTestFinished(() => spy.mockRestore());
    const { body } = await link(box);
    expect(spy).toHaveBeenCalledWith(10_000);
    expect([body.code, body.message, await read()]).toMatchObject(['box_unreachable', /no answer within 10 s/, null]);
  });

  test('for a contract it does not say, nothing is kept', async () => {
    const { id, link, read } = await start();
    const box = await serve((request, response, body) => {
      if (request.method === 'GET') return send(response, { version: 'new' });
      const { nonce } = JSON.parse(body) as { nonce: string };
      return send(response, { installationId: id, proof: proofOf(nonce, id) });
    });
    expect([(await link(box)).body.code, await read()]).toStrictEqual(['box_unreachable', null]);
    expect(box.seen).toHaveLength(2);
  });

  test('ten times a minute is refused before it is asked', async () => {
    const clock = makeClock();
    const plane = await startPlane({ now: clock.now });
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    const body = { url: 'http://127.0.0.1:1', hmacSecret: SECRET, imageTag: 'shop:12' };
    const link = () => ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body });
    for (let n = 0; n < 10; n++) expect((await link()).status).toBe(422);
    expect((await link()).body.code).toBe('rate_limited');
    clock.move(120_000);
    expect((await link()).status).toBe(422);
  });
});

describe.each(STORES)('of many registrations at once on %s', (store) => {
  test('no more than ten ask an address, and those that go well leave room for the next', async () => {
    // A minute that ends meanwhile would let one more in.
    const plane = await startPlane({ env: await makeStore(store), now: makeClock().now });
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    const link = (url: string) => {
      const body = { url, hmacSecret: SECRET, imageTag: 'shop:12' };
      return ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body });
    };
    const box = await startBox(plane.url, id);
    for (let n = 0; n < 12; n++) expect((await link(box)).status).toBe(200);
    const other = await serve((_, response) => void setTimeout(() => send(response, {}, 500), 50));
    const answers = await Promise.all(Array.from({ length: 100 }, () => link(other.url)));
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
    expect(other.seen).toHaveLength(10);
  });
});

describe('an address', () => {
  const PRIVATE = [
    'http://127.0.0.1:8080',
    'http://localhost:8080',
    'http://2130706433',
    'http://0x7f000001',
    'http://0177.0.0.1',
    'http://127.1',
    'http://0',
    'http://0.0.0.0',
    'http://10.1.2.3',
    'http://172.16.0.1',
    'http://192.168.1.1',
    'http://100.64.0.1',
    'http://198.18.0.1',
    'http://224.0.0.1',
    'http://255.255.255.255',
    'http://[::1]:8080',
    'http://[::]',
    'http://[::ffff:10.0.0.1]',
    'http://[::ffff:7f00:1]',
    'http://[fd12:3456::1]',
    'http://[fec0::1]',
  ];
  const NEVER = [
    'http://169.254.169.254',
    'http://2852039166',
    'http://0xa9fea9fe',
    'http://168.63.129.16',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
    'http://[::ffff:169.254.169.254]',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://[64:ff9b::a00:1]',
    'http://[64:ff9b::101:101]',
    'http://[64:ff9b:1::a9fe:a9fe]',
    'http://[2002:a9fe:a9fe::1]',
    'http://[::a9fe:a9fe]',
  ];

  test('of a private network is refused without PLANE_ALLOW_PRIVATE, however it is written', async () => {
    const clock = makeClock();
    const plane = await startPlane({ env: { PLANE_ALLOW_PRIVATE: '0' }, now: clock.now });
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    for (const url of [...PRIVATE, ...NEVER]) {
      clock.move(60_000);
      const body = { url, hmacSecret: SECRET, imageTag: 'shop:12' };
      const answer = await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body });
      expect([url, answer.status, answer.body.code]).toStrictEqual([url, 422, 'address_private']);
    }
  });

  test('of the link, of a cloud’s metadata or of a gateway to them is refused whatever is allowed', async () => {
    const clock = makeClock();
    const plane = await startPlane({ now: clock.now });
    const ada = await signUpFirst(plane);
    const id = await addInstallation(plane, ada.cookie);
    for (const url of NEVER) {
      clock.move(60_000);
      const body = { url, hmacSecret: SECRET, imageTag: 'shop:12' };
      const answer = await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body });
      expect([url, answer.status, answer.body.code]).toStrictEqual([url, 422, 'address_private']);
    }
  });

  test.each([
    'box.example.com',
    'ftp://box.example.com',
    'file:///etc/passwd',
    'http://box.example.com/api',
    'http://box.example.com/?a=1',
    'http://box.example.com/#a',
    'http://me:secret@box.example.com',
    'http://',
    '',
  ])('"%s" is none of a box', async (url) => {
    const { link } = await start();
    const { status, body } = await link({ url });
    expect([status, body.code]).toStrictEqual([400, 'invalid_request']);
  });

  test('that a name leads to is checked for the connection: a name that changes gains nothing', async () => {
    const { plane, id, link, read } = await start();
    const { port } = new URL(await startBox(plane.url, id));
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const asked = fakeLookup((name) => (name === 'box.test' ? (answers.shift() ?? ['127.0.0.1']) : undefined));
    const { body } = await link({ url: `http://box.test:${port}` });
    expect([body.code, asked(), await read()]).toStrictEqual(['address_private', 2, null]);
    expect((await link({ url: `http://box.test:${port}` })).status).toBe(200);
  });

  test.each(['gzip', 'br', 'deflate'])(
    'whose answer is a bomb of %s is none of a box, and costs next to nothing',
    async (encoding) => {
      const { link, read } = await start();
      const brotli = (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
      const pack = { gzip: gzipSync, br: brotli, deflate: deflateSync }[encoding as 'gzip'];
      const bomb = pack(Buffer.alloc(256 * 1_048_576));
      expect(bomb.length).toBeLessThan(300_000);
      const bad = await serve((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding }).end(bomb);
      });
      const before = process.memoryUsage().rss;
      const { status, body } = await link({ url: bad.url });
      expect([status, body.code, await read()]).toStrictEqual([422, 'box_unreachable', null]);
      expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1_048_576);
    },
  );

  test('of several that a name leads to none may be private', async () => {
    const { link } = await start({ PLANE_ALLOW_PRIVATE: '0' });
    fakeLookup((name) => (name === 'box.test' ? ['93.184.215.14', '10.0.0.1'] : undefined));
    expect((await link({ url: 'http://box.test' })).body.code).toBe('address_private');
  });
});

// --- internal ---

async function readDeployments(env: Record<string, string>): Promise<object[]> {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  const db = await openStore(full as FullSettings);
  try {
    return await db.all({ texts: ['select * from plane_deployments'], values: [] });
  } finally {
    await db.close();
  }
}
