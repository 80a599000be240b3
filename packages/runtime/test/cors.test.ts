import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createHostCheck } from '../src/http/hosts.ts';
import { defineConfig } from '../src/workspace-config.ts';
import { json, setupBoxes } from './_setup.ts';

const boxes = setupBoxes();
const LOCAL = 'http://localhost:5173';
const KEY = { authorization: 'Bearer any' };

const open = (origins?: string[]) =>
  boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper' }) },
    workflows: { talk: { run: async (input: unknown) => input, mode: 'chat' } },
    ...(origins ? { options: { corsOrigins: () => origins } } : {}),
  });

/** The origin an answer lets read it; null: none. */
async function readerOf(origins: string[] | undefined, origin: string): Promise<string | null> {
  const answer = await (await open(origins)).request('/live', { headers: { origin } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  return answer.headers.get('access-control-allow-origin');
}

describe('by default', () => {
  test.each([
    LOCAL,
    'http://localhost',
    'http://localhost:80',
    'https://studio.svc.example',
    'https://chat.svc.example',
  ])('%s may read', async (origin) => expect(await readerOf(undefined, origin)).toBe(origin));

  test.each([
    'null',
    '',
    '*',
    'https://evil.test',
    'https://localhost:5173',
    'http://localhost.evil.test',
    'http://localhost:5173.evil.test',
    'http://localhost:5173/',
    'http://evil.test#http://localhost:5173',
    'http://127.0.0.1:5173',
    'https://studio.svc.example.evil.test',
    'https://studio.svc.example:8443',
    'http://studio.svc.example',
    'http://localhost:5173, https://evil.test',
  ])('"%s" may not', async (origin) => expect(await readerOf(undefined, origin)).toBeNull());
});

describe('an entry', () => {
  test.each([
    ['https://app.example.com', 'https://app.example.com', true],
    ['https://app.example.com', LOCAL, false],
    ['https://app.example.com:443', 'https://app.example.com', true],
    ['https://APP.example.com', 'https://app.example.com', true],
    ['https://*.example.com', 'https://a.example.com', true],
    ['https://*.example.com', 'https://a.b.example.com', false],
    ['https://*.example.com', 'https://example.com', false],
    ['https://*.example.com', 'https://aXexample.com', false],
    ['https://app.example.com:*', 'https://app.example.com:8443', true],
    ['http://[::1]:*', 'http://[::1]:3000', true],
    ['app://desktop', 'app://desktop', true],
    ['*', 'https://evil.test', false],
    ['https://*', 'https://evil', false],
    ['null', 'null', false],
    ['https://app.example.com/path', 'https://app.example.com', false],
  ])('%s for %s: %s', async (entry, origin, isAllowed) => {
    expect(await readerOf([entry], origin)).toBe(isAllowed ? origin : null);
  });

  test('is looked up again at each request', async () => {
    const origins: string[] = [];
    const box = await open(origins);
    const read = async () => (await box.request('/live', { headers: { origin: LOCAL } })).headers;
    expect((await read()).get('access-control-allow-origin')).toBeNull();
    origins.push(LOCAL);
    expect((await read()).get('access-control-allow-origin')).toBe(LOCAL);
  });

  test.each(['*', 'https://app.example.com/', 'app.example.com', 'https://user@app.example.com', ''])(
    '"%s" in svc.config.ts is refused by name',
    (entry) => expect(() => defineConfig({ studio: { corsOrigins: [entry] } })).toThrow(`the entry "${entry}"`),
  );
});

/** What a browser sends before the request of an SDK. */
const preflight = (origin: string, method: string, headers: string): RequestInit => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': method,
    ...(headers === '' ? {} : { 'access-control-request-headers': headers }),
  },
});

const OPENAI_HEADERS =
  'authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-os,x-stainless-package-version,x-stainless-retry-count,x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout';

describe('a preflight', () => {
  test.each([
    ['/wire-a/v1/chat/completions', 'POST', OPENAI_HEADERS],
    ['/api/runs', 'GET', 'authorization'],
    ['/api/runs/1', 'DELETE', ''],
    ['/api/workflows/talk/start', 'POST', 'content-type,idempotency-key'],
    ['/api/nope', 'POST', 'content-type'],
  ])('of %s is answered with the headers it asks for', async (path, method, headers) => {
    const answer = await (await open()).request(path, preflight(LOCAL, method, headers));
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(answer.headers.get('access-control-allow-origin')).toBe(LOCAL);
    expect(answer.headers.get('access-control-allow-methods')).toContain(method);
    expect(answer.headers.get('access-control-allow-headers')).toBe(headers === '' ? null : headers);
    expect(answer.headers.get('vary')).toBe('access-control-request-method, access-control-request-headers, origin');
  });

  test('of an origin that is not listed is answered, and allows nothing', async () => {
    const answer = await (await open()).request('/api/runs', preflight('https://evil.test', 'POST', OPENAI_HEADERS));
    expect(answer.status).toBe(204);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  test('of a page from the internet says that it may call a private address', async () => {
    const init = preflight(LOCAL, 'GET', '');
    const headers = { ...init.headers, 'access-control-request-private-network': 'true' };
    const answer = await (await open()).request('/live', { ...init, headers });
    expect(answer.headers.get('access-control-allow-private-network')).toBe('true');
  });

  test('under a foreign Host is refused like everything else', async () => {
    const box = await boxes.open({ options: { isAllowedHost: createHostCheck({ listen: false }) } });
    const init = preflight(LOCAL, 'GET', '');
    const answer = await box.request('/live', { ...init, headers: { ...init.headers, host: 'rebound.example' } });
    expect(answer.status).toBe(403);
  });

  test('is what asks for a method: any other OPTIONS is 405', async () => {
    const answer = await (await open()).request('/live', { method: 'OPTIONS', headers: { origin: LOCAL } });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

const message = { messages: [{ role: 'user', content: 'say:hi' }] };
const ANSWERS: [title: string, path: string, init: RequestInit, status: number][] = [
  ['a JSON answer', '/api/runs', {}, 200],
  ['an answer to HEAD', '/live', { method: 'HEAD' }, 200],
  ['a page', '/', { headers: { accept: 'text/html' } }, 200],
  ['a missing route', '/nope', {}, 404],
  ['a method that is not allowed', '/api/runs', { method: 'DELETE' }, 405],
  ['a broken URL', '/api/runs/%E0%A4%A', {}, 400],
  ['a wrong content type', '/api/workflows/talk/start', { method: 'POST', body: 'x' }, 415],
  ['a refusal of the wire', '/wire-a/v1/chat/completions', json({ model: 'none', ...message }, { headers: KEY }), 404],
  ['a missing key', '/wire-a/v1/models', {}, 401],
  [
    'a streamed chat',
    '/wire-a/v1/chat/completions',
    json({ model: 'helper', ...message, stream: true }, { headers: KEY }),
    200,
  ],
  ['an event stream', '/api/workflows/talk/chat', json({}), 200],
];

describe('names its reader, and varies by Origin:', () => {
  test.each(ANSWERS)('%s', async (_title, path, init, status) => {
    const box = await open();
    for (const origin of [LOCAL, 'https://evil.test', undefined]) {
      const headers = { ...init.headers, ...(origin === undefined ? {} : { origin }) };
      const answer = await box.request(path, { ...init, headers });
      await answer.text();
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin === LOCAL ? LOCAL : null);
      expect(answer.headers.get('vary')).toBe('origin');
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ') ?? [];
      for (const name of ['x-request-id', 'request-id']) expect(exposed.includes(name)).toBe(origin === LOCAL);
    }
  });

  test('over a socket too', async () => {
    const url = await (await open()).listen();
    const answer = await fetch(`${url}/api/nope`, { headers: { origin: LOCAL } });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('access-control-allow-origin')).toBe(LOCAL);
  });
});
