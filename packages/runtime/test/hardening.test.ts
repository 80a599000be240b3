import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { call, json, setupBoxes, until } from './_setup.ts';

const boxes = setupBoxes();
const box = boxes.share({ agents: { helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }) } });
const KEY = { authorization: 'Bearer any' };

/** What the server answers to these bytes. */
function ask(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.end(text));
    let answer = '';
    socket.on('data', (part) => (answer += String(part)));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

test('no answer is for a shared cache, or for a browser to guess its type', async () => {
  const asked: [string, RequestInit][] = [
    ['/api/runs', { headers: { 'x-api-key': 'any' } }],
    ['/api/keys', json({ name: 'ci', grants: { agents: 'all' } })],
    ['/wire-a/v1/models', { headers: KEY }],
    ['/wire-b/v1/models', {}],
    ['/api/nothing', {}],
    ['/live', {}],
    ['/', {}],
  ];
  for (const [path, init] of asked) {
    const { headers } = await (await box()).request(path, init);
    expect([path, headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
      path,
      'no-store',
      'nosniff',
    ]);
  }
});

test('a request with two Host headers is refused', async () => {
  const url = await (await boxes.open()).listen();
  const { host } = new URL(url);
  const answer = await ask(url, `GET /live HTTP/1.1\r\nHost: ${host}\r\nhOST: other\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*two Host headers/s);
  expect(await ask(url, `GET /live HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 200 /,
  );
});

test.each([
  ['there may be', { connections: 2 }],
  ['one address may have', { connectionsOfAddress: 2, proxies: { isOne: () => false } }],
])('a connection more than %s is cut off, and served once another has closed', async (_, limits) => {
  const url = await (await boxes.open()).listen(limits);
  const port = Number(new URL(url).port);
  const idle = await Promise.all(
    [1, 2].map(async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    }),
  );
  const request = `GET /live HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`;
  const attempt = () => ask(url, request).catch(() => '');
  await until(async () => (await attempt()) === '');
  expect(await attempt()).toBe('');
  idle[0]?.destroy();
  await until(async () => (await attempt()).startsWith('HTTP/1.1 200 '));
  idle[1]?.destroy();
});

test('proxies have as many connections as there are', async () => {
  const url = await (await boxes.open()).listen({ connectionsOfAddress: 0 });
  expect((await fetch(`${url}/live`)).status).toBe(200);
});

test('what is wrong with a request is not many times the request', async () => {
  const run = (messages: unknown[]) =>
    call<{ code: string; message: string; details: { issues?: unknown[] } }>(
      box_,
      'POST /agui/v1/agents/helper',
      { threadId: 't', runId: 'r', messages },
      KEY,
    );
  const box_ = await box();
  const many = await run(Array.from({ length: 15_000 }, () => ({})));
  expect([many.status, many.body.details.issues?.length]).toEqual([400, 50]);
  const more = await run(Array.from({ length: 30_000 }, () => ({})));
  expect([more.status, more.body.code, more.body.message]).toEqual([
    400,
    'invalid_request',
    '"messages" holds 30000; at most 20000 are taken.',
  ]);
  const most = await run(Array.from({ length: 300_000 }, () => ({})));
  expect([most.status, most.body.code, most.body.details]).toEqual([413, 'payload_too_large', { limit: 50_000 }]);
});

test.each(['/wire-a/v1/chat/completions', '/wire-b/v1/messages'])(
  'a tool on %s whose schema cannot be recorded is refused, with where',
  async (path) => {
    const parameters = '{"type":"object","properties":{"__proto__":{"type":"string"}}}';
    const tool = path.startsWith('/wire-a')
      ? `{"type":"function","function":{"name":"mine","parameters":${parameters}}}`
      : `{"name":"mine","input_schema":${parameters}}`;
    const body = `{"model":"helper","max_tokens":99,"messages":[{"role":"user","content":"say:hello"}],"tools":[${tool}]}`;
    const answer = await (
      await box()
    ).request(path, {
      method: 'POST',
      headers: { ...KEY, 'content-type': 'application/json' },
      body,
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/input\.tools\[0\]\.parameters\.properties.* of the request cannot be recorded/),
    ]);
  },
);
