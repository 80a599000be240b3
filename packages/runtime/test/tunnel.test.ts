import { randomUUID } from 'node:crypto';
import { request as send } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLAIN_ROUTES } from '../src/box/routes.ts';
import { createHostCheck } from '../src/http/hosts.ts';
import { createLog } from '../src/log.ts';
import { splitRoute } from '../src/operations/define.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { signatureOf, startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { findLocalName } from './_local-name.ts';
import { setupBoxes } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

const HOST = '0123456789abcdef01234567.localhost:3000';
const STUDIO = 'https://studio.example.com';

interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: object;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: { code?: string; message?: string; error?: unknown };
}

/** What the relay sends: `fetch` names no other host. */
function ask(base: string, { method = 'GET', path = '/api/runs', headers = {}, body }: Asked = {}): Promise<Answer> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const request = send(base + path, { method, headers: { host: HOST, ...json, ...headers } }, (response) => {
      const { statusCode: status = 0 } = response;
      // A stream is not waited for: its head says who was let in.
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        resolve({ status, headers: response.headers, body: {} });
        return response.destroy();
      }
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => {
        const isJson = response.headers['content-type']?.includes('json');
        resolve({ status, headers: response.headers, body: isJson && text ? JSON.parse(text) : {} });
      });
      return undefined;
    });
    request.once('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const describeBox = (program: object = {}): TestBoxOptions => ({
  agents: {},
  ...program,
  options: {
    host: 'dev',
    isAllowedHost: createHostCheck({ listen: false }),
    tunnel: {
      strategy: plane.strategy({ log }),
      isAllowedHost: (host) => host === HOST,
      corsOrigins: () => [STUDIO],
    },
  },
});
const open = async (program: object = {}) => {
  const box = await boxes.open(describeBox(program));
  return { box, near: await box.listen(), far: await box.listen({ isTunnel: true }) };
};

/** Of a network for examples: nothing is there, and no one calls it. */
const PUBLIC = 'https://203.0.113.7/';
const LOCAL_NAME = await findLocalName();

const as = (token: string) => ({ authorization: `Bearer ${token}` });
const NEAR = { host: 'localhost' };

describe('a box in development', () => {
  test('lets any caller on its own port in, and through the tunnel those the control plane vouches for', async () => {
    const { near, far } = await open();
    expect((await ask(near, { headers: NEAR })).status).toBe(200);
    expect(await ask(far)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect((await ask(far, { headers: as('anything') })).status).toBe(401);
    expect((await ask(far, { headers: as(await plane.mint('viewer')) })).status).toBe(200);
    const elsewhere = { claims: { inst: '00000000-0000-4000-8000-000000000000' } };
    expect((await ask(far, { headers: as(await plane.mint('owner', elsewhere)) })).status).toBe(401);
  });

  test('answers every route through the tunnel as a deployed box answers a caller without a valid credential', async () => {
    const { far } = await open();
    const deployed = await boxes.open({ options: { host: 'image', strategy: plane.strategy({ log }) } });
    const there = await deployed.listen();
    const routes = [
      ...OPERATIONS.map(({ route }) => splitRoute(route)),
      ...PLAIN_ROUTES.map(({ method, path }) => ({ method, path })),
    ];
    const compare = async (headers: Record<string, string>, { method, path }: { method: string; path: string }) => {
      const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
      const asked = { method, path: path.replace(/:\w+/g, 'some'), headers, ...(hasBody ? { body: {} } : {}) };
      const [here, other] = await Promise.all([ask(far, asked), ask(there, asked)]);
      expect([method, path, here.status, here.body.code]).toEqual([method, path, other.status, other.body.code]);
    };
    for (const headers of [{}, { ...as('anything'), 'x-svc-user': 'ada' }])
      await Promise.all(routes.map((one) => compare(headers, one)));
  });

  test('takes on the chat wires a key of its own through the tunnel, and no other text', async () => {
    const { near, far } = await open();
    const made = await ask(near, { method: 'POST', path: '/api/keys', headers: NEAR, body: { name: 'ci' } });
    const { value: key } = made.body as { value: string };
    const models = { path: '/wire-a/v1/models' };
    expect((await ask(near, { ...models, headers: { ...NEAR, ...as('anything') } })).status).toBe(200);
    expect((await ask(far, { ...models, headers: as('anything') })).status).toBe(401);
    expect((await ask(far, { ...models, headers: as(key) })).status).toBe(200);
    expect((await ask(far, { ...models, headers: { 'x-api-key': key } })).status).toBe(200);
  });

  test('takes at /mcp a token for it, and for the rest of the box one for that', async () => {
    const { far } = await open();
    const mcp = as(await plane.mint('owner', { claims: { aud: `${plane.url}/mcp` } }));
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const accept = { accept: 'application/json, text/event-stream' };
    const post = { method: 'POST', path: '/mcp', body };
    expect((await ask(far, { ...post, headers: accept })).status).toBe(401);
    expect((await ask(far, { ...post, headers: { ...accept, ...as(await plane.mint('owner')) } })).status).toBe(401);
    expect((await ask(far, { ...post, headers: { ...accept, ...mcp } })).status).toBe(200);
    expect((await ask(far, { headers: mcp })).status).toBe(401);
  });

  test('keeps to roles, and lets no person speak for users', async () => {
    const { far } = await open();
    const viewer = as(await plane.mint('viewer'));
    const write = { method: 'POST', path: '/api/keys', body: { name: 'ci' } };
    expect(await ask(far, { ...write, headers: viewer })).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const user = { ...viewer, 'x-svc-user': 'ada' };
    expect(await ask(far, { headers: user })).toMatchObject({ status: 403, body: { code: 'users_not_granted' } });
  });

  test('goes by the port, whatever the headers say of where a request comes from', async () => {
    const { near, far } = await open();
    for (const host of ['localhost', '127.0.0.1', 'evil.example', `x.${HOST}`]) {
      const refused = await ask(far, { headers: { host, 'x-forwarded-host': HOST } });
      expect([host, refused.status, refused.body.code]).toEqual([host, 403, 'host_not_allowed']);
    }
    const forged = {
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'localhost',
      'x-forwarded-proto': 'http',
      forwarded: 'for=127.0.0.1;host=localhost',
    };
    expect((await ask(far, { headers: forged })).status).toBe(401);
    expect((await ask(near, { headers: { host: HOST } })).body.code).toBe('host_not_allowed');
  });

  test('lets the pages of the control plane read what comes through the tunnel, and no others', async () => {
    const { near, far } = await open();
    const allowed = async (base: string, origin: string, headers: Record<string, string>) =>
      (await ask(base, { path: '/live', headers: { ...headers, origin } })).headers['access-control-allow-origin'];
    expect(await allowed(far, STUDIO, {})).toBe(STUDIO);
    expect(await allowed(far, 'http://localhost:5173', {})).toBeUndefined();
    expect(await allowed(near, STUDIO, NEAR)).toBeUndefined();
    const preflight = { origin: STUDIO, 'access-control-request-method': 'GET' };
    const { headers, status } = await ask(far, { method: 'OPTIONS', headers: preflight });
    expect([status, headers['access-control-allow-origin']]).toEqual([204, STUDIO]);
  });

  test('lets no one outside set what this machine is polled for', async () => {
    const { near, far } = await open({ workflows: { take: { run: async () => {} } } });
    const owner = as(await plane.mint('owner'));
    const make = (base: string, url: string, headers: Record<string, string>) => {
      const body = { name: 'x', target: { workflow: 'take' }, poll: { url }, enabled: false };
      return ask(base, { method: 'POST', path: '/api/triggers', headers, body });
    };
    for (const url of ['http://localhost:9/', 'http://localhost.:9/', 'http://a.localhost:9/', 'http://127.0.0.1:9/']) {
      const refused = await make(far, url, owner);
      expect([url, refused.status, refused.body.code]).toEqual([url, 400, 'trigger_invalid']);
      expect([url, (await make(near, url, NEAR)).status]).toEqual([url, 201]);
    }
  });

  test('registers nowhere, whatever is signed', async () => {
    const { far } = await open();
    const path = '/api/registration/challenge';
    const body = { nonce: 'a'.repeat(64) };
    const signature = signatureOf({ secret: 'any', path, body: JSON.stringify(body) });
    const asked = { method: 'POST', path, body, headers: { 'x-svc-signature': signature } };
    expect(await ask(far, asked)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('takes no provider on its own machine from who asks through the tunnel', async () => {
    const { near, far, box } = await open();
    const put = { method: 'PUT', path: '/api/model-provider', body: { baseUrl: `${box.model.url}` } };
    const refused = await ask(far, { ...put, headers: as(await plane.mint('owner')) });
    expect(refused.status).toBe(400);
    expect((await ask(near, { ...put, headers: NEAR })).status).toBe(200);
  });
});

describe('an address of this machine', () => {
  let ports: Promise<{ near: string; far: string }> | undefined;
  let share: (() => Promise<TestBox>) | undefined;
  beforeAll(() => {
    share = boxes.share(describeBox({ workflows: { take: { run: async () => 1 } } }));
  });
  const listen = async () => {
    const box = await share!();
    return { near: await box.listen(), far: await box.listen({ isTunnel: true }) };
  };
  const opened = () => (ports ??= listen());

  describe.each([
    'localhost',
    'localhost.',
    'a.localhost',
    'A.LOCALHOST.',
    '127.0.0.2',
    '[::1]',
    LOCAL_NAME ?? 'localhost',
  ])('asked through the tunnel for %s', (host) => {
    const https = `https://${host}:9/`;
    const custom = { provider: 'custom', auth: 'oauth2', clientId: 'box' };
    const urls = { baseUrl: PUBLIC, authorizationUrl: PUBLIC, tokenUrl: PUBLIC, revocationUrl: PUBLIC };
    test.each([
      ['POST', '/api/connections', { ...custom, ...urls, baseUrl: https }],
      ['POST', '/api/connections', { ...custom, ...urls, baseUrl: `http://${host}:9/` }],
      ['POST', '/api/connections', { ...custom, ...urls, authorizationUrl: https }],
      ['POST', '/api/connections', { ...custom, ...urls, tokenUrl: https }],
      ['POST', '/api/connections', { ...custom, ...urls, revocationUrl: https }],
      ['POST', '/api/connections', { ...custom, ...urls, origins: [new URL(https).origin] }],
      ['POST', '/api/triggers', { name: 'poll', target: { workflow: 'take' }, poll: { url: https, everySeconds: 60 } }],
      ['PUT', '/api/browser', { url: `ws://${host}:9/` }],
      ['PUT', '/api/model-provider', { baseUrl: https }],
    ])('%s %s takes no %j', async (method, path, given) => {
      const { far } = await opened();
      const body = method === 'POST' && path === '/api/connections' ? { id: `c-${randomUUID()}`, ...given } : given;
      const answer = await ask(far, { method, path, body, headers: as(await plane.mint('owner')) });
      expect([answer.status, answer.body.code]).toEqual([400, expect.stringMatching(/_invalid$/)]);
      expect(answer.body.message).toMatch(/loopback|http:/);
    });
  });

  test.skipIf(LOCAL_NAME === undefined)('takes a name that leads to this machine from no one', async () => {
    const { near } = await opened();
    const url = `https://${LOCAL_NAME}:9/`;
    const connection = { id: `c-${randomUUID()}`, provider: 'custom', auth: 'api_key', baseUrl: url };
    for (const [method, path, body] of [
      ['POST', '/api/connections', connection],
      ['PUT', '/api/browser', { url: url.replace('https', 'wss') }],
      ['PUT', '/api/model-provider', { baseUrl: url }],
    ] as const)
      expect((await ask(near, { method, path, body, headers: NEAR })).status).toBe(400);
    const local = { ...connection, baseUrl: 'http://127.0.0.1:9/' };
    expect((await ask(near, { method: 'POST', path: '/api/connections', body: local, headers: NEAR })).status).toBe(
      201,
    );
  });
});

test('a box without a tunnel answers nothing on the port of one', async () => {
  const box = await boxes.open({ options: { host: 'dev', isAllowedHost: createHostCheck({ listen: false }) } });
  const far = await box.listen({ isTunnel: true });
  for (const headers of [{}, NEAR, as(await plane.mint('owner'))])
    expect((await ask(far, { path: '/live', headers })).body.code).toBe('host_not_allowed');
});
