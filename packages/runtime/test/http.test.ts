import { request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createHostCheck } from '../src/http/hosts.ts';
import { splitRoute } from '../src/operations/define.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const MIB = 1_048_576;
const KEY = { authorization: 'Bearer any' };

interface Route {
  method: string;
  path: string;
}

/** Routes that are no operations, as the box's own list names them. */
const PLAIN: Route[] = [
  ['GET', '/'],
  ['GET', '/api/openapi.json'],
  ['GET', '/api/docs'],
  ['GET', '/api/docs/assets/:file'],
  ['GET', '/live'],
  ['GET', '/health'],
  ['GET', '/metrics'],
  ['POST', '/wire-a/v1/chat/completions'],
  ['GET', '/wire-a/v1/models'],
  ['GET', '/wire-a/v1/models/:id'],
  ['POST', '/wire-b/v1/messages'],
  ['POST', '/wire-b/v1/messages/count_tokens'],
  ['GET', '/wire-b/v1/models'],
  ['GET', '/wire-b/v1/models/:id'],
  ['POST', '/agui/v1/agents/:name'],
  ['DELETE', '/agui/v1/agents/:name/:thread/stream'],
  ['POST', '/ui/v1/agents/:name'],
  ['GET', '/ui/v1/agents/:name/:chat'],
  ['GET', '/ui/v1/agents/:name/:chat/stream'],
  ['DELETE', '/ui/v1/agents/:name/:chat/stream'],
  ['POST', '/api/workflows/:name/chat'],
  ['POST', '/mcp'],
  ['POST', '/api/registration/challenge'],
  ['GET', '/api/connect/callback'],
  ['POST', '/api/inbound/:id'],
  ['GET', '/api/webhooks/:token'],
  ['POST', '/api/webhooks/:token'],
  ['PUT', '/api/webhooks/:token'],
  ['PATCH', '/api/webhooks/:token'],
  ['DELETE', '/api/webhooks/:token'],
].map(([method = '', path = '']) => ({ method, path }));
/** Every route the box mounts. Which operations there are is what `operations-plan.test.ts` is about. */
const ROUTES: Route[] = [...PLAIN, ...OPERATIONS.map(({ route }) => splitRoute(route))];
const READS = ROUTES.filter(({ method }) => method === 'GET');
/** Writes that take a JSON body; a webhook takes any, and a signed call is looked at only once its signature is good. */
const WRITES = ROUTES.filter(
  ({ method, path }) =>
    method !== 'GET' && method !== 'DELETE' && !/^\/api\/(?:webhooks|registration|inbound)\//.test(path),
);
/** The same without those that take a file. */
const FILE_ROUTES = OPERATIONS.filter(({ file }) => file).map(({ route }) => splitRoute(route).path);
const JSON_WRITES = WRITES.filter(({ path }) => !FILE_ROUTES.includes(path));
const UNKNOWN: Route[] = [
  { method: 'GET', path: '/nope' },
  { method: 'GET', path: '/wire-a/v1/nope' },
  { method: 'DELETE', path: '/api/runs' },
];

const title = ({ method, path }: Route) => `${method} ${path}`;
const titled = (routes: readonly Route[]) => routes.map((route) => [title(route), route] as const);
/** Names that exist, so that only what is tested is refused. */
const address = (path: string) => path.replace(/:name/, 'echo').replace(/:\w+/g, 'helper');

const PROGRAM = {
  agents: { helper: defineDeepAgent({ name: 'helper' }) },
  workflows: { echo: { run: async (input: unknown) => input, mode: 'chat' } },
};
const open = () => boxes.open(PROGRAM);
/** Of requests that are refused before they reach anything, hundreds may go to one box. */
const theBox = boxes.share(PROGRAM);
const theDevBox = boxes.share({ ...PROGRAM, options: { isAllowedHost: createHostCheck({ listen: false }) } });

interface Refusal {
  code: string;
  message: string;
}

/** The messages wire has the box's code among the details. */
function ofMessages({ type, error }: Record<string, unknown>): Refusal {
  expect(type).toBe('error');
  const { message, details } = error as { message: string; details: { error_code: string } };
  return { message, code: details.error_code };
}

/** How it was refused: in the box's own shape, or the chat wire's on its paths. */
async function refusalOf(answer: Response, path: string) {
  const received = (await answer.json()) as Record<string, unknown>;
  const body = path === '/mcp' ? ofRpc(received) : received;
  const { requestId = answer.headers.get('x-request-id'), ...own } = body;
  const wire = path.startsWith('/wire-a/');
  const refusal = (wire ? body.error : path.startsWith('/wire-b/') ? ofMessages(body) : own) as Refusal;
  expect('type' in refusal && 'param' in refusal).toBe(wire);
  expect(refusal.message).toMatch(/\.$/);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toBe(requestId);
  return { status: answer.status, code: refusal.code };
}

/** A JSON-RPC error, as the box's own shape has it. */
function ofRpc({ error }: Record<string, unknown>): Record<string, unknown> {
  const { message, data } = error as { message: string; data: object };
  return { message, ...data };
}

function send(box: TestBox, { method, path }: Route, init: RequestInit = {}): Promise<Response> {
  const write = method === 'POST' || method === 'PUT' || method === 'PATCH';
  const headers = { ...KEY, ...(write ? { 'content-type': 'application/json' } : {}), ...init.headers };
  return box.request(address(path), { method, ...(write ? { body: '{}' } : {}), ...init, headers });
}

test('the box lists exactly the routes these tests walk', async () => {
  const box = await open();
  const { routes } = (await (await box.request('/')).json()) as { routes: Route[] };
  expect(routes.map(title).sort()).toEqual(ROUTES.map(title).sort());
});

test('a browser gets the list as a page', async () => {
  const page = await (await open()).request('/', { headers: { accept: 'text/html,*/*' } });
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const text = await page.text();
  expect(text).toContain('<td>POST</td><td><code>/api/workflows/:name/start</code></td>');
  const links = Array.from(text.matchAll(/<a href="([^"]*)">/g), ([, href = '']) => href);
  expect(links).toEqual(expect.arrayContaining(['/api/docs', '/health', '/api/runs', '/wire-a/v1/models']));
  expect(links.filter((href) => href.includes(':'))).toEqual([]);
});

describe('under dev, a Host that is not this machine', () => {
  test.each(titled([...ROUTES, ...UNKNOWN]))('is refused on %s', async (_title, route) => {
    const box = await theDevBox();
    const answer = await send(box, route, { headers: { host: 'rebound.example:4242' } });
    expect(await refusalOf(answer, route.path)).toEqual({ status: 403, code: 'host_not_allowed' });
  });

  test.each([
    'evil.test',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'evil.test:4242',
    '0.0.0.0',
    '169.254.1.1',
    '',
  ])('"%s" is refused', async (host) => {
    const box = await theDevBox();
    expect((await box.request('/live', { headers: { host } })).status).toBe(403);
  });

  test.each(['localhost', 'LOCALHOST:1', '127.0.0.1', '127.0.0.1:4242', '[::1]', '[::1]:4242'])(
    '"%s" is let in',
    async (host) => {
      const box = await theDevBox();
      expect((await box.request('/live', { headers: { host } })).status).toBe(200);
    },
  );

  test('is refused over a socket whatever the address of the request says', async () => {
    const { port } = new URL(await (await theDevBox()).listen());
    const rebound = await rawRequest({ port, path: '/live', headers: { host: 'evil.test' } });
    const absolute = await rawRequest({
      port,
      path: 'http://127.0.0.1/live',
      headers: { host: 'evil.test' },
    });
    expect([rebound.statusCode, absolute.statusCode]).toEqual([403, 403]);
  });

  test('a foreign Origin gets its answer and no header that lets a page read it', async () => {
    const box = await theDevBox();
    const answer = await box.request('/live', { headers: { host: 'localhost', origin: 'https://evil.test' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('every answer carries an x-request-id of its own', () => {
  test.each(titled([...ROUTES, ...UNKNOWN]))('%s', async (_title, route) => {
    const box = await theBox();
    const ids = [];
    for (let i = 0; i < 2; i++) ids.push((await send(box, route)).headers.get('x-request-id'));
    expect(ids).toEqual([expect.stringMatching(/^req_[\da-f-]{36}$/), expect.stringMatching(/^req_[\da-f-]{36}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test('also a stream', async () => {
    const box = await open();
    const messages = [{ role: 'user', content: 'say:hi' }];
    const answer = await box.request(
      '/wire-a/v1/chat/completions',
      json({ model: 'helper', messages, stream: true }, { headers: KEY }),
    );
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await answer.text()).toContain('[DONE]');
  });
});

describe('a write', () => {
  const types = [undefined, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'];
  const rows = WRITES.flatMap((route) => types.map((type) => [title(route), String(type), route, type] as const));
  test.each(rows)('%s as %s is 415', async (_title, _type, route, type) => {
    const box = await theBox();
    const answer = await box.request(address(route.path), {
      method: route.method,
      headers: { ...KEY, ...(type === undefined ? {} : { 'content-type': type }) },
      body: new TextEncoder().encode('{}'),
    });
    expect(await refusalOf(answer, route.path)).toEqual({ status: 415, code: 'unsupported_media_type' });
  });

  test.each([undefined, 'text/plain'])(
    'that deletes with a body as %s is 415, and without one is not',
    async (type) => {
      const box = await open();
      const { port } = new URL(await box.listen());
      const headers = { ...KEY, ...(type === undefined ? {} : { 'content-type': type }) };
      const init = { port, path: '/api/runs/nope', method: 'DELETE', headers };
      const bare = await rawRequest(init);
      const announced = await rawRequest({ ...init, headers: { ...headers, 'content-length': '2' }, body: '{}' });
      const chunked = await rawRequest({
        ...init,
        headers: { ...headers, 'transfer-encoding': 'chunked' },
        body: '{}',
      });
      expect([bare.statusCode, announced.statusCode, chunked.statusCode]).toEqual([404, 415, 415]);
      const inside = await box.request('/api/runs/nope', {
        method: 'DELETE',
        headers,
        body: new TextEncoder().encode('{}'),
      });
      expect(inside.status).toBe(415);
    },
  );

  test('without a body needs no content type, but in dev, where a form of any page could send it', async () => {
    const statusOf = async (box: TestBox, headers: Record<string, string>, body = '') => {
      const { port } = new URL(await box.listen());
      const init = { port, path: '/api/runs/nope/cancel', method: 'POST', headers };
      return (await rawRequest({ ...init, body })).statusCode;
    };
    const deployed = await open();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await statusOf(deployed, { 'content-length': '0' })).toBe(404);
    expect(await statusOf(deployed, { 'content-length': '0', ...form })).toBe(404);
    expect(await statusOf(deployed, { 'content-length': '2' }, '{}')).toBe(415);
    expect(await statusOf(deployed, { 'transfer-encoding': 'chunked' }, '{}')).toBe(415);
    const dev = await boxes.open({ ...PROGRAM, options: { isAllowedHost: createHostCheck({ listen: false }) } });
    for (const headers of [{}, form]) expect(await statusOf(dev, { 'content-length': '0', ...headers })).toBe(415);
  });

  test.each(['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.api+json'])(
    'as %s is read',
    async (type) => {
      const box = await open();
      const init = { ...json({ a: 1 }), headers: { 'content-type': type } };
      expect((await box.request('/api/workflows/echo/start', init)).status).toBe(202);
    },
  );

  const malformed = ['{', '{"a":1,}', 'nul', "{'a':1}", '\uFEFF{}', '{"a":\u0000}'];
  test.each(
    JSON_WRITES.flatMap((route) => malformed.map((body) => [title(route), encodeURI(body), route, body] as const)),
  )('%s of %s is 400', async (_title, _body, route, body) => {
    const answer = await send(await theBox(), route, { body });
    expect(await refusalOf(answer, route.path)).toEqual({ status: 400, code: 'invalid_json' });
  });

  test.each([
    ['echo/start', 'lists', 64, 202],
    ['echo/start', 'lists', 65, 400],
    ['echo/start', 'objects', 64, 202],
    ['echo/start', 'objects', 65, 400],
    ['echo/start', 'lists', 200_000, 400],
  ])('to %s of nested %s, %i deep, is %i', async (path, kind, depth, status) => {
    const body =
      kind === 'lists'
        ? '['.repeat(depth) + ']'.repeat(depth)
        : '{"a":'.repeat(depth - 1) + '{}' + '}'.repeat(depth - 1);
    const answer = await (await open()).request(`/api/workflows/${path}`, json(body));
    expect(answer.status).toBe(status);
  });

  test.each([
    ['__proto__', '{"__proto__":{"polluted":true}}'],
    ['constructor', '{"constructor":{"prototype":{"polluted":true}}}'],
    ['a nested __proto__', '{"a":[{"b":{"__proto__":{"polluted":true}}}]}'],
  ])('with the key %s is refused on operate routes', async (_key, body) => {
    const box = await open();
    for (const route of [
      { method: 'POST', path: '/api/workflows/:name/start' },
      { method: 'PUT', path: '/api/model-provider' },
    ])
      expect(await refusalOf(await send(box, route, { body }), route.path)).toEqual({
        status: 400,
        code: 'invalid_json',
      });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('with such keys is answered on the chat wire, and reaches nothing', async () => {
    const box = await open();
    const body =
      '{"model":"helper","messages":[{"role":"user","content":"say:hi","__proto__":{"polluted":1}}],"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const answer = await box.request('/wire-a/v1/chat/completions', json(body, { headers: KEY }));
    expect(answer.status).toBe(200);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(JSON.stringify(box.model.requests.at(-1))).not.toContain('polluted');
  });

  test('with an unknown member is refused on operate routes', async () => {
    const box = await open();
    const body = { baseUrl: box.model.url, apikey: 'typo' };
    const answer = await box.request('/api/model-provider', json(body, { method: 'PUT' }));
    expect(await refusalOf(answer, '/')).toEqual({ status: 400, code: 'invalid_request' });
    expect(box.stored.value).toBeUndefined();
  });

  test('with an unknown member is answered on the chat wire, and the member goes no further', async () => {
    const box = await open();
    const messages = [{ role: 'user', content: 'say:unknown members', mood: 'good' }];
    const body = { model: 'helper', messages, temperature: 0.5, max_tokens: 99, brand_new: 1, store: true, user: 'me' };
    expect((await box.request('/wire-a/v1/chat/completions', json(body, { headers: KEY }))).status).toBe(200);
    expect(box.model.requests.at(-1)).toEqual({
      model: 'test/scripted',
      messages: [{ role: 'user', content: 'say:unknown members' }],
      temperature: 0.5,
      max_tokens: 99,
      stream: true,
      stream_options: { include_usage: true },
    });
  });
});

describe('a body', () => {
  const operate = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
  const chat = (bytes: number) => {
    const [head = '', tail = ''] = JSON.stringify({
      model: 'helper',
      messages: [
        { role: 'user', content: '%' },
        { role: 'user', content: 'say:read' },
      ],
    }).split('%');
    return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
  };

  const OPERATE = '/api/workflows/echo/start';
  const CHAT = '/wire-a/v1/chat/completions';
  test.each([
    ['1 MiB on an operate route', OPERATE, operate(MIB), 202],
    ['32 MiB on the chat wire', CHAT, chat(32 * MIB), 200],
  ])('of %s is taken', async (_title, path, body, status) => {
    expect((await (await open()).request(path, json(body, { headers: KEY }))).status).toBe(status);
  });

  test.each([
    ['1 MiB and a byte on an operate route', OPERATE, operate(MIB + 1)],
    ['32 MiB and a byte on the chat wire', CHAT, chat(32 * MIB + 1)],
  ])('of %s is 413', async (_title, path, body) => {
    const answer = await (await open()).request(path, json(body, { headers: KEY }));
    expect(await refusalOf(answer, path)).toEqual({ status: 413, code: 'payload_too_large' });
  });

  test('too large is 413 over a socket too, with and without a length announced', async () => {
    const box = await open();
    const { port } = new URL(await box.listen());
    const headers = { 'content-type': 'application/json' };
    const path = '/api/workflows/echo/start';
    const body = operate(3 * MIB);
    const announced = await rawRequest({
      port,
      path,
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
      body,
    });
    const chunked = await rawRequest({
      port,
      path,
      method: 'POST',
      headers: { ...headers, 'transfer-encoding': 'chunked' },
      body,
    });
    expect([announced.statusCode, chunked.statusCode]).toEqual([413, 413]);
    expect((await fetch(`http://127.0.0.1:${port}/live`)).status).toBe(200);
  });

  test('that breaks off is no failure of the box', async () => {
    const box = await open();
    const body = new ReadableStream({
      pull: (controller) => controller.error(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })),
    });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' };
    const answer = await box.request('/api/workflows/echo/start', init as RequestInit);
    expect(await refusalOf(answer, '/')).toEqual({ status: 400, code: 'invalid_request' });
    expect(box.logs).toEqual([]);
  });
});

describe('an address', () => {
  test.each([
    ['/nope', 404, 'not_found'],
    ['/api/nope', 404, 'not_found'],
    ['/API/runs', 404, 'not_found'],
    ['//api/runs', 404, 'not_found'],
    ['/wire-a/v1/responses', 404, 'not_found'],
    ['/wire-a/v1/embeddings', 404, 'not_found'],
    ['/api/runs/%', 400, 'invalid_request'],
    ['/api/runs/%zz', 400, 'invalid_request'],
    ['/api/workflows/%E0%A4%A/schema', 400, 'invalid_request'],
    ['/wire-a/v1/models/%ff', 400, 'invalid_request'],
    ['/api/workflows/a%2Fb', 404, 'workflow_not_found'],
    ['/api/workflows/__proto__', 404, 'workflow_not_found'],
    ['/wire-a/v1/models/toString', 404, 'model_not_found'],
    ['/api/runs/nope/steps', 404, 'run_not_found'],
    ['/api/approvals/nope', 404, 'approval_not_found'],
    ['/api/recurring-jobs/nope', 404, 'job_not_found'],
    ['/api/workflows/nope/queue', 404, 'workflow_not_found'],
    ['/api/workflows/hooks/nope', 404, 'not_found'],
    ['/api/runs?nope=1', 400, 'invalid_request'],
    ['/api/runs?__proto__=1', 400, 'invalid_request'],
    ['/api/workflows?name=x', 400, 'invalid_request'],
  ])('%s is %i %s', async (path, status, code) => {
    const box = await open();
    expect(await refusalOf(await box.request(path, { headers: KEY }), path)).toEqual({ status, code });
    expect(box.logs).toEqual([]);
  });

  test.each(['/api/runs?name=', '/wire-a/v1/models/'])('of %s and 9,000 characters more is 414', async (start) => {
    const box = await open();
    const answer = await box.request(start + 'x'.repeat(9_000), { headers: KEY });
    expect(await refusalOf(answer, start)).toEqual({ status: 414, code: 'uri_too_long' });
  });

  test('with a malformed escape is 400 over a socket too', async () => {
    const url = await (await open()).listen();
    expect((await fetch(`${url}/api/runs/%zz`)).status).toBe(400);
  });

  test('a trailing slash changes nothing', async () => {
    expect((await (await open()).request('/api/runs/')).status).toBe(200);
  });
});

/** An address without parameters may be one of a route with a parameter, too. */
const fits = (path: string, pattern: string) => new RegExp(`^${pattern.replace(/:\w+/g, '[^/:]+')}$`).test(path);

describe('a method the address has not', () => {
  const allowed = (path: string) =>
    ROUTES.filter((route) => route.path === path || fits(address(path), route.path)).flatMap(({ method }) =>
      method === 'GET' ? ['GET', 'HEAD'] : method,
    );
  const rows = [...new Set(ROUTES.map(({ path }) => path))].flatMap((path) =>
    ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
      .filter((method) => !allowed(path).includes(method))
      .map((method) => [method, path, [...new Set(allowed(path))].join(', ')] as const),
  );
  test.each(rows)('%s %s is 405, allowed: %s', async (method, path, allow) => {
    const box = await theBox();
    const answer = await box.request(address(path), {
      method,
      headers: { ...KEY, 'content-type': 'application/json' },
    });
    expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow });
    expect(await answer.text()).toMatch(method === 'HEAD' ? /^$/ : /"(?:error_)?code":"method_not_allowed"/);
  });
});

describe('HEAD answers like GET, without a body', () => {
  test.each(titled(READS))('%s', async (_title, { path }) => {
    const box = await open();
    const [get, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => box.request(address(path), { method, headers: KEY })),
    );
    expect(head?.status).toBe(get?.status);
    expect(head?.headers.get('content-type')).toBe(get?.headers.get('content-type'));
    expect(await head?.text()).toBe('');
  });

  test('over a socket', async () => {
    const url = await (await open()).listen();
    expect((await fetch(`${url}/live`, { method: 'HEAD' })).status).toBe(200);
  });
});

test('what the box did not foresee is a bare 500, and the log has the rest', async () => {
  const services = () => {
    throw new Error('A secret path: /home/me.');
  };
  const box = await boxes.open({ options: { services } });
  const answer = await box.request('/api/services');
  const body = (await answer.json()) as Record<string, unknown>;
  expect(answer.status).toBe(500);
  expect(body).toEqual({
    code: 'internal',
    message: 'Something went wrong inside the box. The log of this request says what.',
    requestId: answer.headers.get('x-request-id'),
  });
  expect(box.logs).toMatchObject([{ requestId: body.requestId, error: { message: 'A secret path: /home/me.' } }]);
});

test('health names what fails, and /live does not look', async () => {
  const probes = {
    database: async () => {},
    kv: async () => {
      throw new Error('The store is gone.');
    },
  };
  const box = await boxes.open({ options: { probes } });
  const health = await box.request('/health');
  expect(health.status).toBe(503);
  expect(await health.json()).toEqual({
    status: 'degraded',
    checks: {
      database: { status: 'ok' },
      kv: { status: 'failed', reason: 'It does not work as it should. The log of the box says why.' },
    },
  });
  expect(await (await box.request('/live')).json()).toEqual({ status: 'ok' });
  expect(await (await box.request('/api/health')).json()).toEqual({ host: 'dev', slug: 'test-box' });
  expect(await (await box.request('/api/contract')).json()).toMatchObject({ version: 15, minSupported: 1 });
});

interface RawRequest extends Omit<RequestOptions, 'path'> {
  path: string;
  body?: string;
}

/** A request with exactly these headers, as no fetch would send it. */
function rawRequest({ body, ...options }: RawRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', ...options }, (response) => {
      response.resume();
      response.on('end', () => resolve(response));
    });
    request.on('error', reject);
    request.end(body);
  });
}
