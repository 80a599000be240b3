import { request as send } from 'node:http';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { operatorToken } from '../../runtime/src/auth/strategy.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { defineDeepAgent } from '../../runtime/src/index.ts';
import { startSignedIn, startUpstream, TOKEN } from './_operator.ts';
import type { SignedIn } from './_operator.ts';

const MIB = 1_048_576;
const boxes = setupBoxes();

async function codeOf(answer: Response): Promise<[number, string]> {
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

function makePromise(): { promise: Promise<string>; resolve(value: string): void } {
  let resolve: (value: string) => void = () => {};
  const promise = new Promise<string>((done) => (resolve = done));
  return { promise, resolve: (value) => resolve(value) };
}

/** A connection that sends, and reads no faster than it is told to. */
function open({ url, cookie }: SignedIn, line: string, headers = ''): Socket {
  const { port, host } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nOrigin: ${url}\r\n${headers}\r\n`);
  return socket;
}

describe('a box behind its control plane', () => {
  test('chats with pages of it, and lists its runs', async () => {
    const desk = defineDeepAgent({ name: 'desk' });
    const box = await boxes.open({ agents: { desk }, options: { host: 'image', strategy: operatorToken(TOKEN) } });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: await box.listen() });
    const chat = await plane.ask('/box/wire-a/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'desk', stream: true, messages: [{ role: 'user', content: 'words:3' }] }),
    });
    expect([chat.status, chat.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/event-stream'),
    ]);
    expect(await chat.text()).toMatch(/data: \[DONE\]\s*$/);
    const runs = await plane.ask('/box/api/runs');
    expect([runs.status, await runs.json()]).toMatchObject([200, { items: [{ status: 'completed' }] }]);
    expect(await codeOf(await fetch(`${plane.url}/box/api/runs`))).toStrictEqual([401, 'unauthorized']);
    const bearer = { headers: { authorization: `Bearer ${TOKEN}` } };
    expect(await codeOf(await fetch(`${plane.url}/box/api/runs`, bearer))).toStrictEqual([401, 'unauthorized']);
  });

  test('is asked by no page of another site, whatever type a body has', async () => {
    const upstream = await startUpstream();
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const origin of ['https://evil.example', 'null', ''])
        expect(await codeOf(await plane.ask('/box/api/runs', { method, headers: { origin } }))).toStrictEqual([
          403,
          'origin_not_allowed',
        ]);
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site };
      expect((await plane.ask('/box/api/runs', { headers })).status).toBe(403);
    }
    expect(upstream.asked).toStrictEqual([]);
    const upload = { method: 'PUT', headers: { 'content-type': 'image/png' }, body: 'bytes' };
    expect((await plane.ask('/box/api/storage/a.png', upload)).status).toBe(200);
    expect(upstream.asked[0]).toMatchObject({ body: 'bytes', headers: { 'content-type': 'image/png' } });
  });

  test('is 502 while it is away, and after it has died in the middle the answer is broken too', async () => {
    const away = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: 'http://127.0.0.1:1' });
    expect(await codeOf(await away.ask('/box/api/runs'))).toStrictEqual([502, 'runtime_unreachable']);
    const upload = { method: 'POST', body: 'x'.repeat(MIB) };
    expect(await codeOf(await away.ask('/box/api/runs', upload))).toStrictEqual([502, 'runtime_unreachable']);
    const dying = await startUpstream((request, response) => {
      if (request.url === '/api/at-once') return void request.socket.destroy();
      response.write('half');
      setTimeout(() => request.socket.destroy(), 20);
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: dying.url });
    expect(await codeOf(await plane.ask('/box/api/at-once', { method: 'POST' }))).toStrictEqual([
      502,
      'runtime_unreachable',
    ]);
    const answer = await plane.ask('/box/api/runs');
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow('terminated');
  });

  test.each(['099 x', '000 x', '999 x'])(
    'is 502 where its status is %s, and nothing of its head is sent',
    async (line) => {
      const upstream = await startUpstream((request) => {
        request.socket.end(`HTTP/1.1 ${line}\r\nx-own: 1\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi`);
      });
      const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
      const answer = await plane.ask('/box/api/runs');
      expect([answer.headers.get('x-own'), answer.headers.get('content-type')]).toStrictEqual([
        null,
        expect.stringContaining('application/json'),
      ]);
      expect(await codeOf(answer)).toStrictEqual([502, 'runtime_unreachable']);
    },
  );

  test('a request on a connection the box has just closed is made once more, where that is safe', async () => {
    const used = new Set<unknown>();
    const upstream = await startUpstream((request, response) => {
      if (used.has(request.socket)) return void request.socket.destroy();
      used.add(request.socket);
      response.end('{}');
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    await (await plane.ask('/box/api/first')).text();
    expect((await plane.ask('/box/api/second')).status).toBe(200);
    expect((await plane.ask('/box/api/third', { method: 'POST' })).status).toBe(502);
    expect(upstream.asked.map(({ target }) => target)).toStrictEqual([
      '/api/first',
      '/api/second',
      '/api/second',
      '/api/third',
    ]);
  });
});

describe('streams', () => {
  test('events come one by one, the head before the first', async () => {
    let events: ServerResponse | undefined;
    const upstream = await startUpstream((_request, response) => {
      events = response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const answer = await plane.ask('/box/api/events');
    const reader = answer.body?.getReader();
    for (const text of ['id: 1\n\n', 'id: 2\n\n']) {
      events?.write(text);
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(text);
    }
    const left = new Promise((done) => events?.once('close', () => done('left')));
    await reader?.cancel();
    expect(await left).toBe('left');
  });

  test('a reader that goes before there is an answer ends the request, too', async () => {
    const left = makePromise();
    const upstream = await startUpstream((request) => void request.socket.once('close', () => left.resolve('left')));
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const socket = open(plane, 'GET /box/api/events');
    await expect.poll(() => upstream.asked.length).toBe(1);
    socket.destroy();
    expect(await left.promise).toBe('left');
  });

  test('a reader that takes nothing holds the box back, and no memory', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(65_536);
    const upstream = await startUpstream((_request, response) => {
      const more = () => {
        for (let isTaken = true; isTaken && sent < 256 * MIB; sent += chunk.length) isTaken = response.write(chunk);
      };
      response.on('drain', more).writeHead(200);
      more();
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    open(plane, 'GET /box/api/file').once('data', function (this: Socket) {
      this.pause();
    });
    let before = -1;
    // Until no more is taken: what fits into the buffers of the connections.
    await expect.poll(() => before === (before = sent) && sent > 0, { interval: 200, timeout: 20_000 }).toBe(true);
    expect(sent).toBeLessThan(32 * MIB);
  });

  test('an upload goes on as it comes, and one that breaks off is broken at the box', async () => {
    const broken = makePromise();
    const upstream = await startUpstream(
      (request) => void request.once('close', () => broken.resolve(String(request.complete))),
    );
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const socket = open(plane, 'PUT /box/api/file', 'Content-Length: 1000\r\n');
    socket.write('first');
    await expect.poll(() => upstream.asked[0]?.body).toBe('first');
    socket.write(' second');
    await expect.poll(() => upstream.asked[0]?.body).toBe('first second');
    socket.destroy();
    expect(await broken.promise).toBe('false');
  });

  test('an upload the box refuses before it has read it is answered with the refusal', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(413).end('{"code":"payload_too_large"}');
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const { port } = new URL(plane.url);
    const status = await new Promise((resolve, reject) => {
      const headers = { cookie: plane.cookie, origin: plane.url };
      const request = send({ port, path: '/box/api/file', method: 'PUT', headers }, ({ statusCode }) =>
        resolve(statusCode),
      );
      request.once('error', reject).end(Buffer.alloc(4 * MIB));
    });
    expect(status).toBe(413);
  });

  test('what is left of an upload the box has refused does not hold up what is asked next on the same connection', async () => {
    const upstream = await startUpstream((request, response) => {
      if (request.method === 'GET') return void response.end('{"is":"next"}');
      response.writeHead(413, { connection: 'close' }).end('{}', () => request.socket.destroy());
    });
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const socket = open(plane, 'PUT /box/api/file', `Content-Length: ${4 * MIB}\r\n`);
    let text = '';
    socket.on('data', (part) => (text += String(part)));
    socket.write('x');
    await expect.poll(() => text).toContain('413');
    socket.write(Buffer.alloc(4 * MIB - 1));
    socket.write(`GET /box/api/next HTTP/1.1\r\nHost: ${new URL(plane.url).host}\r\nCookie: ${plane.cookie}\r\n\r\n`);
    await expect.poll(() => text, { timeout: 20_000 }).toContain('{"is":"next"}');
  });

  test('200 uploads that are half sent hold next to no memory', async () => {
    const upstream = await startUpstream((request) => void request.pause());
    const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: upstream.url });
    const before = process.memoryUsage();
    const half = Buffer.alloc(MIB / 2);
    for (let n = 0; n < 200; n++) open(plane, 'PUT /box/api/file', `Content-Length: ${MIB}\r\n`).write(half);
    await expect.poll(() => upstream.asked.length, { timeout: 20_000 }).toBe(200);
    const { external, arrayBuffers, heapUsed } = process.memoryUsage();
    // Of the 100 MiB that are sent: the sockets of both sides are in this process.
    expect(external + arrayBuffers + heapUsed - before.external - before.arrayBuffers - before.heapUsed).toBeLessThan(
      80 * MIB,
    );
  });
});
