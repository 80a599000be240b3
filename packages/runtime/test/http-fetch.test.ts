import { once } from 'node:events';
import { Agent as HttpAgent, createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpFetch } from '../src/provider/http-fetch.ts';
import { createPinnedFetch } from '../src/provider/pinned-fetch.ts';
import { until } from './_setup.ts';

interface Seen {
  url: string;
  method: string;
  body: string;
  headers: IncomingMessage['headers'];
}

async function startServer(answer: (request: IncomingMessage, response: ServerResponse, n: number) => void) {
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      seen.push({ url: request.url ?? '', method: request.method ?? '', body, headers: request.headers });
      answer(request, response, seen.length);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, sockets, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function openFetch(options: Parameters<typeof createHttpFetch>[0] = {}) {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  onTestFinished(() => agents.http.destroy());
  return createHttpFetch({ agents, ...options });
}

describe('a request to a provider', () => {
  test('is sent whole where it is large, with its length, also when its answer comes before its end', async () => {
    const body = JSON.stringify({ text: 'ünï'.repeat(700_000) });
    const server = await startServer((_, response) => response.end('{}'));
    expect((await openFetch()(server.url, { method: 'POST', body })).status).toBe(200);
    expect(server.seen[0]?.body === body).toBe(true);
    expect(server.seen[0]?.headers).toMatchObject({ 'content-length': String(Buffer.byteLength(body)) });
    expect(server.seen[0]?.headers).not.toHaveProperty('transfer-encoding');
    const hasty = createServer((_, response) => response.writeHead(413, { connection: 'close' }).end('{"no":1}'));
    await once(hasty.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void hasty.close());
    const url = `http://127.0.0.1:${(hasty.address() as AddressInfo).port}`;
    const answer = await openFetch()(url, { method: 'POST', body }).catch((error: NodeJS.ErrnoException) => error.code);
    // What is left of the body meets a closed connection, or does not.
    expect(typeof answer === 'object' ? answer.status : ['ECONNRESET', 'EPIPE'].includes(String(answer))).toBeTruthy();
    const gone = new AbortController();
    const aborted = openFetch()(url, { method: 'POST', body, signal: gone.signal });
    gone.abort(new Error('over'));
    await expect(aborted).rejects.toThrow('over');
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('asks for plain text, and reads %s all the same', async (encoding, compress) => {
    const server = await startServer((_, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(compress('{"said":"ünïcode"}')),
    );
    const answer = await openFetch()(server.url, { method: 'POST', body: '{}' });
    expect(await answer.json()).toEqual({ said: 'ünïcode' });
    expect(server.seen[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('goes over one connection after the other has ended', async () => {
    const server = await startServer((_, response) => response.end('well'));
    const send = openFetch();
    for (let n = 0; n < 3; n++)
      expect(await (await send(server.url, { method: 'POST', body: 'x' })).text()).toBe('well');
    expect([server.seen.length, server.sockets.size]).toEqual([3, 1]);
  });

  test('is sent again, once, over a new connection when the kept one was closed under it', async () => {
    const server = await startServer((request, response, n) => {
      if (n === 2) request.socket.destroy();
      else response.end(`answer ${n}`);
    });
    const send = openFetch();
    expect(await (await send(server.url, { method: 'POST', body: 'one' })).text()).toBe('answer 1');
    expect(await (await send(server.url, { method: 'POST', body: 'two' })).text()).toBe('answer 3');
    expect(server.seen.map(({ body }) => body)).toEqual(['one', 'two', 'two']);
  });

  test('of many bytes is sent again over a new connection when the kept one closes while they are sent', async () => {
    const server = await startServer((request, response) => {
      response.end('well');
      response.once('finish', () => setTimeout(() => request.socket.destroy(), 2));
    });
    const send = openFetch();
    const body = 'x'.repeat(3_000_000);
    for (let n = 0; n < 60; n++) {
      expect(await (await send(server.url, { method: 'POST', body })).text()).toBe('well');
      await new Promise((resolve) => setTimeout(resolve, n % 4));
    }
  });

  test('that a new connection breaks off is not sent again', async () => {
    const server = await startServer((request) => request.socket.destroy());
    await expect(openFetch()(server.url, { method: 'POST', body: 'one' })).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect(server.seen.length).toBe(1);
  });

  test('follows a redirect with its body where that is wanted, and answers it where not', async () => {
    const server = await startServer((request, response) =>
      request.url === '/there'
        ? response.end('arrived')
        : response.writeHead(307, { location: '/there' }).end('elsewhere'),
    );
    const init = { method: 'POST', body: 'kept', headers: { 'x-one': '1' } };
    expect(await (await openFetch({ followsRedirects: true })(server.url, init)).text()).toBe('arrived');
    expect(server.seen.at(-1)).toMatchObject({
      url: '/there',
      method: 'POST',
      body: 'kept',
      headers: { 'x-one': '1' },
    });
    expect(await openFetch()(server.url, init)).toMatchObject({ status: 307, ok: false });
    expect((await openFetch({ followsRedirects: true })(server.url, { ...init, redirect: 'manual' })).status).toBe(307);
  });

  test.each([301, 302, 303])('does not follow a %i, which would ask for something else', async (status) => {
    const server = await startServer((_, response) => response.writeHead(status, { location: '/there' }).end());
    const answer = await openFetch({ followsRedirects: true })(server.url, { method: 'POST', body: 'kept' });
    expect(answer).toMatchObject({ status, ok: false });
    expect(server.seen.length).toBe(1);
  });

  test('lets go of an answer that is broken off, read to its middle, or not wanted', async () => {
    const server = await startServer((_, response) => void response.writeHead(200).write('first'));
    const send = openFetch();
    const gone = new AbortController();
    const aborted = await send(server.url, { signal: gone.signal });
    gone.abort();
    await expect(aborted.text()).rejects.toThrow(/abort/i);
    for await (const chunk of (await send(server.url)).body ?? []) if (chunk.byteLength > 0) break;
    await (await send(server.url)).body?.cancel();
    await until(() => server.sockets.size === 0);
  });

  test('to an address of the API keeps no connection that no one uses, and any that someone waits on', async () => {
    const server = await startServer(
      (_, response, n) => void setTimeout(() => response.end('well'), n === 2 ? 400 : 0),
    );
    const send = createPinnedFetch({ allowLoopback: true, allowed: [] }, { idleMs: 100 });
    const ports = new Set<number | undefined>();
    for (let n = 0; n < 3; n++) {
      expect(await (await send(server.url)).text()).toBe('well');
      for (const { remotePort } of server.sockets) ports.add(remotePort);
    }
    expect(ports.size).toBe(1);
    // The server itself would close it after 5 s.
    await until(() => server.sockets.size === 0, 2_000);
  });

  test.each([
    ['as it came', undefined],
    ['unpacked', 'gzip'],
  ])('breaks off an answer without an end at a size, %s, and its connection', async (_how, encoding) => {
    let sent = 0;
    const server = await startServer((_, response) => {
      response.writeHead(200, encoding ? { 'content-encoding': encoding } : {});
      const packer = encoding ? createGzip() : undefined;
      packer?.pipe(response);
      const send = (): void => {
        const isMore = (packer ?? response).write(Buffer.alloc(10_000));
        sent += 10_000;
        if (response.destroyed) return;
        if (isMore) setImmediate(send);
        else (packer ?? response).once('drain', send);
      };
      send();
    });
    const answer = await openFetch({ mostBytes: 100_000 })(server.url);
    await expect(answer.text()).rejects.toMatchObject({
      code: 'model_provider_failed',
      message: 'The model provider answered more than 100000 bytes.',
    });
    await until(() => server.sockets.size === 0);
    expect(sent).toBeLessThan(50_000_000);
    expect(
      await (
        await openFetch({ mostBytes: 100_000 })(
          `${(await startServer((_, response) => response.end('x'.repeat(100_000)))).url}`,
        )
      ).text(),
    ).toHaveLength(100_000);
  });

  test('fails where the answer ends before its length', async () => {
    const server = await startServer((request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('too little');
      response.once('drain', () => {});
      setImmediate(() => request.socket.end());
    });
    await expect((await openFetch()(server.url)).text()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('has no body where there is none, and all headers of the same name', async () => {
    const server = await startServer((_, response) => response.writeHead(204, { 'x-two': ['a', 'b'] }).end());
    const answer = await openFetch()(server.url);
    expect([answer.status, answer.body, answer.headers.get('x-two'), await answer.text()]).toEqual([
      204,
      null,
      'a, b',
      '',
    ]);
  });
});
