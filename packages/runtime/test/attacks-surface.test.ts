import { createHmac, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUCKET, KEYS } from '../../dev-s3/src/_setup.ts';
import { startObjectServer } from '../../dev-s3/src/server.ts';
import type { ObjectServer } from '../../dev-s3/src/server.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import { signUserToken } from '../src/client.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import type { ProviderSettings } from '../src/provider/provider.ts';
import { createStorage } from '../src/storage/storage.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

// What came to a box after its first review: storage, documents, memory, connections, triggers, the browser and the tunnel, with
// all of which someone has to reach what is not theirs. A deployed box over HTTP.

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const SECRET = 'whsec-of-the-trigger-0123456789';
type Headers = Record<string, string>;
interface Key {
  id: string;
  value: string;
  client: string;
  userSecret: string;
}

const as = (value: string, more: Headers = {}): Headers => ({ authorization: `Bearer ${value}`, ...more });
const owner = as(TOKEN);
const agents = { desk: defineDeepAgent({ name: 'desk' }) };
const workflows = { take: { run: async (input: unknown) => input } };

const stored: ProviderSettings[] = [];
let dir: string;
let server: ObjectServer;
let box: TestBox;
let url: string;
let key: Key;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'objects-'));
  server = await startObjectServer({ dir, port: 0, ...KEYS, buckets: [BUCKET] });
  const storage = createStorage({
    endpoint: server.url,
    bucket: BUCKET,
    region: 'us-east-1',
    forcePathStyle: true,
    ...KEYS,
    prefix: 'acme/support/',
  });
  box = await boxes.share({
    agents,
    workflows,
    options: {
      host: 'image',
      strategy: operatorToken(TOKEN),
      secretKey: newMasterKey(),
      storage,
      provider: {
        environment: { baseUrl: boxes.model.url, apiKey: 'provider-key' },
        store: {
          read: async () => stored.at(-1),
          write: async (settings) => void stored.push(settings),
          remove: async () => {},
        },
        egress: { allowLoopback: false, allowed: [] },
      },
      triggerLimits: { lookMs: 50 },
      engine: { sweepMs: 20 },
    },
  })();
  url = await box.listen();
  const grants = { agents: 'all', workflows: 'all' };
  key = (await call<Key>(box, 'POST /api/keys', { name: 'app', users: true, grants }, owner)).body;
});
afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

const send = async (
  method: string,
  path: string,
  headers: Headers = {},
  body: object | string | undefined = undefined,
) => {
  const init = body === undefined ? { method, headers } : json(body, { method, headers });
  const answer = await fetch(url + path, init);
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};

describe('a caller with a key, a token of a user, or nothing', () => {
  const ROUTES: [method: string, path: string, body?: object][] = [
    ['GET', '/api/storage/objects'],
    ['POST', '/api/storage/objects/download-url', { key: 'a' }],
    ['POST', '/api/storage/objects/upload-url', { key: 'a' }],
    ['POST', '/api/storage/objects/move', { from: 'a', to: 'b' }],
    ['DELETE', '/api/storage/objects?keys=a'],
    ['GET', '/api/rag/collections'],
    ['POST', '/api/rag/collections', { name: 'x' }],
    ['POST', '/api/rag/collections/x/search', { query: 'a' }],
    ['POST', '/api/rag/collections/x/documents', { id: 'a', text: 'b' }],
    ['GET', '/api/memory'],
    ['DELETE', '/api/memory?user=ada'],
    ['GET', '/api/connections'],
    ['POST', '/api/connections', { id: 'x', provider: 'github' }],
    ['POST', '/api/connections/x/authorize', {}],
    ['PUT', '/api/connections/x/credential', { apiKey: 'a' }],
    ['GET', '/api/triggers'],
    ['POST', '/api/triggers', { name: 'x' }],
    ['GET', '/api/browser'],
    ['PUT', '/api/browser', { url: 'ws://localhost:1' }],
    ['GET', '/api/database/tables'],
    ['POST', '/api/database/query', { sql: 'select 1' }],
    ['GET', '/api/usage'],
    ['PUT', '/api/settings/mcp', { enabled: true }],
    ['PUT', '/api/settings/key-expiry', { days: null }],
  ];
  test('reaches none of what people administer', async () => {
    const who: [title: string, headers: Headers, statuses: number[]][] = [
      ['a key', as(key.value), [403, 404]],
      ['a user', as(key.value, { 'x-svc-user': 'ada' }), [403, 404]],
      ['a token', as(await signUserToken(key, { sub: 'ada' })), [403, 404]],
      ['nobody', {}, [401, 404]],
      ['the key as the operator', as(key.value, { 'x-svc-role': 'owner', 'x-svc-operator': TOKEN }), [403, 404]],
    ];
    const wrong: string[] = [];
    for (const [title, headers, statuses] of who)
      for (const [method, path, body] of ROUTES) {
        const { status } = await send(method, path, headers, body);
        if (!statuses.includes(status)) wrong.push(`${title} at ${method} ${path}: ${status}`);
      }
    expect(wrong).toEqual([]);
  });
});

describe('an address that was signed for one object', () => {
  const signed = async (what: 'download' | 'upload', more: object) =>
    JSON.parse((await send('POST', `/api/storage/objects/${what}-url`, owner, more)).text) as {
      url: string;
      headers: Headers;
    };

  test('opens no other, in no other way, and for no longer', async () => {
    const up = await signed('upload', { key: 'mine.txt', contentType: 'text/plain' });
    expect((await fetch(up.url, { method: 'PUT', headers: up.headers, body: 'mine' })).status).toBe(200);
    const { url: down } = await signed('download', { key: 'mine.txt' });
    expect(await (await fetch(down)).text()).toBe('mine');
    const other = new URL(down);
    other.pathname = other.pathname.replace('mine.txt', 'other.txt');
    const longer = new URL(down);
    longer.searchParams.set('X-Amz-Expires', '604800');
    const shown = new URL(down);
    shown.searchParams.set('response-content-type', 'text/html');
    const up2 = new URL(`${down}/../../../other/secret`);
    for (const address of [other, longer, shown, up2])
      expect((await fetch(address)).status).toBeGreaterThanOrEqual(400);
    for (const method of ['PUT', 'DELETE', 'POST'])
      expect((await fetch(down, { method, body: 'x' })).status).toBeGreaterThanOrEqual(400);
    expect(await (await fetch(down)).text()).toBe('mine');
  });

  test('is not made with a header of another in its type, its name or its metadata', async () => {
    for (const more of [
      { contentType: 'text/plain\r\nx-amz-acl: public-read' },
      { metadata: { a: 'b\r\nx-amz-acl: public-read' } },
      { metadata: { 'a\r\nx-amz-acl': 'public-read' } },
      { metadata: { '__proto__ ': 'x' } },
    ]) {
      const { status, text } = await send('POST', '/api/storage/objects/upload-url', owner, { key: 'a', ...more });
      expect([status < 500, /x-amz-acl/i.test(text) && status === 200]).toEqual([true, false]);
    }
  });
});

describe('a file that is uploaded as a document', () => {
  test.each([
    ['a path', '..%2f..%2fetc%2fpasswd'],
    ['a zero', 'a%00.txt'],
    ['half a pair', '%ed%a0%80.txt'],
    ['no encoding', '%zz'],
    ['a line', 'a%0d%0ax: y.txt'],
  ])('whose name has %s is a document of that name, or none', async (_title, name) => {
    await send('POST', '/api/rag/collections', owner, { name: 'files' });
    const answer = await fetch(`${url}/api/rag/collections/files/documents/upload`, {
      method: 'POST',
      headers: { ...owner, 'content-type': 'text/plain', 'x-svc-file-name': name },
      body: 'text',
    });
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers.get('x')).toBeNull();
    await answer.text();
  });

  test('by a form of a foreign page is none', async () => {
    for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded']) {
      const answer = await fetch(`${url}/api/rag/collections/files/documents/upload`, {
        method: 'POST',
        headers: { ...owner, 'content-type': type, origin: 'https://evil.example' },
        body: 'text',
      });
      expect([answer.status < 500 && answer.status >= 400, answer.headers.get('access-control-allow-origin')]).toEqual([
        true,
        null,
      ]);
    }
  });
});

describe('the end of a sign-in', () => {
  test.each([
    '',
    'state=',
    `state=${'x'.repeat(43)}`,
    `state=${'x'.repeat(43)}&state=${'y'.repeat(43)}&code=1`,
    `state=${encodeURIComponent("' or '1'='1")}&code=1`,
    'error=access_denied&error_description=%3Cscript%3Ealert(1)%3C%2Fscript%3E',
    `code=${'x'.repeat(7_000)}`,
    'state=__proto__&code=1',
  ])('that nobody began says nothing, and repeats nothing of its address: %j', async (query) => {
    const { status, text, headers } = await send('GET', `/api/connect/callback?${query}`);
    expect([status, text.includes('<script>'), text.includes('alert(1)')]).toEqual([400, false, false]);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('cache-control')).toContain('no-store');
  });
});

describe('what is set over the API', () => {
  const PRIVATE = [
    'http://169.254.169.254/latest/meta-data',
    'http://127.0.0.1:1/',
    'http://[::1]/',
    'http://0x7f.1/',
    'http://10.0.0.1/',
    'http://168.63.129.16/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://metadata.google.internal./',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'http://user:pass@example.com/',
  ];
  test.each(PRIVATE)('leads to no address of the network of the box: %s', async (address) => {
    const trigger = { name: 'x', target: { workflow: 'take' }, poll: { url: address } };
    const connection = {
      id: `c-${randomUUID().slice(0, 8)}`,
      provider: 'custom',
      auth: 'oauth2',
      baseUrl: address,
      authorizationUrl: address,
      tokenUrl: address,
      clientId: 'x',
    };
    const asked = [
      await send('PUT', '/api/model-provider', owner, { baseUrl: address }),
      await send('POST', '/api/triggers', owner, trigger),
      await send('POST', '/api/connections', owner, connection),
      await send('PUT', '/api/browser', owner, { url: address }),
    ];
    // A name is looked at when it is called.
    const isName = address.includes('metadata.google');
    for (const { status, text } of asked)
      expect([status < 500, isName || status >= 400, text.includes('root:')]).toEqual([true, true, false]);
  });

  test('sends no key that was stored to another address', async () => {
    for (const baseUrl of ['https://8.8.8.8/v1', 'https://8.8.4.4/v1'])
      await send('PUT', '/api/model-provider', owner, {
        baseUrl,
        ...(stored.length === 0 ? { apiKey: 'the-key-of-the-provider' } : {}),
      });
    expect(stored).toEqual([
      { baseUrl: 'https://8.8.8.8/v1', apiKey: 'the-key-of-the-provider' },
      { baseUrl: 'https://8.8.4.4/v1' },
    ]);
  });
});

describe('what a sender writes into a delivery', () => {
  interface Got {
    id: string;
    deliveries: { endedAt: string | null; runId: string | null; problem: unknown }[];
  }
  const make = async (more: object = {}): Promise<string> => {
    const given = { name: 't', target: { workflow: 'take' }, signature: { scheme: 'github' }, secret: SECRET, ...more };
    return (await call<Got>(box, 'POST /api/triggers', given, owner)).body.id;
  };
  const deliver = (id: string, body: string, more: Headers = {}, path = '') =>
    fetch(`${url}/api/inbound/${id}${path}`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'issues',
        'x-github-delivery': randomUUID(),
        'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
        ...more,
      },
    });
  const outputOf = async (id: string): Promise<unknown> => {
    let runId: string | null = null;
    await until(async () => {
      const { body } = await call<Got>(box, `GET /api/triggers/${id}`, undefined, owner);
      runId = body.deliveries[0]?.runId ?? null;
      return body.deliveries.length > 0 && body.deliveries.every(({ endedAt }) => endedAt !== null);
    });
    return (await call(box, `GET /api/runs/${runId}?wait=20s`, undefined, owner)).body.output;
  };

  test('is filled in once: what looks like a place in it is a text', async () => {
    const id = await make({ mapping: { input: { title: '{{body.title}}', all: 'It says {{body.title}}.' } } });
    const title = '{{headers.x-hub-signature-256}} {{trigger.id}} {{body}}';
    expect((await deliver(id, JSON.stringify({ title }))).status).toBe(200);
    expect(await outputOf(id)).toEqual({ title, all: `It says ${title}.` });
  });

  test('reaches nothing that an object inherits, and no credential', async () => {
    const places = [
      'body.constructor.name',
      'body/__proto__/x',
      'headers.authorization',
      'headers.cookie',
      'headers.x-hub-signature-256',
      'query.__proto__',
      'body.list.length',
    ];
    const id = await make({ mapping: { input: Object.fromEntries(places.map((at, n) => [`m${n}`, `{{${at}}}`])) } });
    const credentials = { authorization: 'Bearer stolen', cookie: 'sid=stolen', 'x-api-key': 'stolen' };
    expect((await deliver(id, '{"list":[1]}', credentials, '?__proto__=x')).status).toBe(200);
    expect(await outputOf(id)).toEqual({});
    const whole = await make();
    await deliver(whole, '{"list":[1]}', credentials);
    expect(JSON.stringify(await outputOf(whole))).not.toMatch(/stolen|sha256=/);
  });

  test.each<[title: string, path: (id: string) => string, more: Headers]>([
    ['with the address of a webhook', (id) => `/api/webhooks/${id}`, {}],
    ['below its address', (id) => `/api/inbound/${id}/x`, {}],
    ['in other letters', (id) => `/api/inbound/${id.toUpperCase()}`, {}],
    ['with a zero', (id) => `/api/inbound/${id}%00`, {}],
    ['with a signature in other letters', (id) => `/api/inbound/${id}`, { 'x-hub-signature-256': 'SHA256=' }],
    [
      'with the old signature alone',
      (id) => `/api/inbound/${id}`,
      { 'x-hub-signature-256': '', 'x-hub-signature': 'sha1=' },
    ],
    ['with the token of the operator', (id) => `/api/inbound/${id}`, { 'x-hub-signature-256': '', ...owner }],
  ])('starts nothing %s', async (_title, path, more) => {
    const id = await make();
    const body = '{"a":1}';
    const signature = createHmac('sha256', SECRET).update(body).digest('hex');
    const named = Object.entries(more).map(([name, value]) => [name, value.endsWith('=') ? value + signature : value]);
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
    const answer = await fetch(url + path(id), {
      method: 'POST',
      body,
      headers: { ...headers, ...Object.fromEntries(named) },
    });
    await answer.text();
    expect(answer.status).toBeGreaterThanOrEqual(400);
    const { body: trigger } = await call<Got>(box, `GET /api/triggers/${id}`, undefined, owner);
    expect(trigger.deliveries).toEqual([]);
  });

  test('starts one run, sent 20 times at once', async () => {
    const id = await make();
    const same = { 'x-github-delivery': 'the-same' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(id, '{"a":1}', same)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await outputOf(id);
    expect((await call<Got>(box, `GET /api/triggers/${id}`, undefined, owner)).body.deliveries).toHaveLength(1);
  });

  test('begins no conversation of a client, and none of it goes on in theirs', async () => {
    const mapping = { message: '{{body.text}}', session: '{{body.session}}' };
    const id = await make({ target: { agent: 'desk' }, mapping });
    const session = randomUUID();
    const headers = as(key.value, { 'x-svc-session': session });
    const ask = (content: string) =>
      send('POST', '/wire-a/v1/chat/completions', headers, { model: 'desk', messages: [{ role: 'user', content }] });
    await ask('say:The word is plum.');
    await deliver(id, JSON.stringify({ text: 'say:The word is pear.', session }));
    await outputOf(id);
    expect(JSON.stringify(boxes.model.requests.at(-1))).not.toContain('plum');
    await ask('say:Again.');
    expect(JSON.stringify(boxes.model.requests.at(-1))).not.toContain('pear');
  });
});

describe('a header that says where a request has come from', () => {
  /** What a box answers to a request with these very headers. */
  const ask = (headers: Record<string, string | string[]>, path = '/api/runs') =>
    new Promise<number>((resolve, reject) => {
      const { port } = new URL(url);
      const asked = httpRequest({ port, host: '127.0.0.1', path, headers }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      });
      asked.on('error', reject).end();
    });

  test('lets no one in', async () => {
    const inside = [
      'x-forwarded-for',
      'x-real-ip',
      'forwarded',
      'x-svc-tunnel',
      'x-svc-tunnelled',
      'x-svc-internal',
      'x-svc-caller',
      'x-svc-role',
      'x-svc-installation',
      'x-svc-run',
      'x-forwarded-host',
      'x-original-url',
      'x-rewrite-url',
      'x-http-method-override',
    ];
    for (const name of inside)
      for (const value of ['127.0.0.1', 'for=127.0.0.1', '1', 'owner', '/live', 'operator'])
        expect([name, value, await ask({ [name]: value })]).toEqual([name, value, 401]);
  });

  test('of a user is good for no one without a key that speaks for users', async () => {
    expect(await ask({ 'x-svc-user': 'operator' })).toBe(401);
    expect(await ask({ ...owner, 'x-svc-user': 'ada' })).toBe(403);
    expect(await ask({ authorization: `Bearer ${key.value}`, 'x-svc-user': ['ada', 'bob'] }, '/wire-a/v1/models')).toBe(
      400,
    );
  });
});
