import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { answerTo, ask, begin, openTunnel, startBehind, startRelay } from './_tunnel.ts';

const readText = async (stream: AsyncIterable<unknown>): Promise<string> => {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
};

/** What lies in the buffers of the sockets and of each end, all together. */
const MOST_ON_THE_WAY = 32 * 1_024 * 1_024;

/** Bytes that could be written before nothing was taken for half a second. */
const writeUntilFull = async (to: Writable): Promise<number> => {
  const part = Buffer.alloc(64 * 1_024);
  for (let written = 0; ;) {
    while (to.write(part)) written += part.length;
    written += part.length;
    if (written > 8 * MOST_ON_THE_WAY) return written;
    const drained = await Promise.race([once(to, 'drain'), setTimeout(500, undefined)]);
    if (!drained) return written;
  }
};

const echo = async (request: IncomingMessage, response: ServerResponse) => {
  let size = 0;
  for await (const chunk of request) size += (chunk as Buffer).length;
  const { method, url, headers } = request;
  response.writeHead(201, { 'content-type': 'application/json', 'x-own': 'yes' });
  response.end(JSON.stringify({ method, url, headers, size }));
};

const open = async (behind: Parameters<typeof startBehind>[0] = echo) => {
  const relay = await startRelay();
  const tunnel = await openTunnel(relay, await startBehind(behind));
  return {
    relay,
    tunnel,
    ask: ask.bind(undefined, relay, tunnel.host),
    begin: begin.bind(undefined, relay, tunnel.host),
  };
};

describe('a request through a tunnel', () => {
  it('comes to the box as it was sent, and its answer back', async () => {
    const through = await open();
    const body = '{"text":"é"}';
    const answer = await through.ask({
      method: 'PUT',
      path: '/api/runs?a=%20b',
      headers: { 'content-type': 'application/json', authorization: 'Bearer token', 'x-own': '1' },
      body,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'x-own': 'yes', 'content-type': 'application/json' });
    expect(JSON.parse(answer.text)).toMatchObject({
      method: 'PUT',
      url: '/api/runs?a=%20b',
      size: Buffer.byteLength(body),
      headers: { host: through.tunnel.host, authorization: 'Bearer token', 'x-own': '1' },
    });
  });

  it('says who asks in the words of the relay alone', async () => {
    const through = await open();
    const forged = {
      'x-forwarded-for': '10.9.9.9',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '1',
      'x-real-ip': '10.9.9.9',
      forwarded: 'for=10.9.9.9',
      via: '1.1 evil',
      cookie: 'svc_session=secret',
      'x-hop': 'dropped',
      connection: 'x-hop',
    };
    const { headers } = JSON.parse((await through.ask({ headers: forged })).text);
    expect(headers).toEqual({
      host: through.tunnel.host,
      connection: 'keep-alive',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': through.tunnel.host,
      'x-forwarded-proto': 'http',
    });
  });

  it('goes to the box on the connection of the one before it', async () => {
    const connections = new Set<unknown>();
    const through = await open((request, response) => {
      connections.add(request.socket);
      response.end('ok');
    });
    for (let n = 0; n < 5; n++) expect((await through.ask()).text).toBe('ok');
    expect(connections.size).toBe(1);
  });

  it('of HEAD, and an answer without a body, has none', async () => {
    const through = await open((request, response) => {
      response.writeHead(request.url === '/none' ? 204 : 200, request.url === '/none' ? {} : { 'content-length': 5 });
      response.end(request.url === '/none' ? undefined : 'hello');
    });
    expect(await through.ask({ method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { 'content-length': '5' },
      text: '',
    });
    expect(await through.ask({ path: '/none' })).toMatchObject({ status: 204, text: '' });
    expect(await through.ask()).toMatchObject({ status: 200, text: 'hello' });
  });

  it('sets no cookie for the names beside it', async () => {
    const through = await open((_, response) => response.setHeader('set-cookie', 'a=b; domain=localhost').end());
    expect((await through.ask()).headers['set-cookie']).toBeUndefined();
  });

  it('is answered by the host it names, whatever else it says of hosts', async () => {
    const through = await open();
    const { relay, tunnel } = through;
    const other = await openTunnel(relay, await startBehind((_, response) => response.end('other')));
    expect((await ask(relay, other.host, { headers: { 'x-forwarded-host': tunnel.host } })).text).toBe('other');
    expect((await ask(relay, tunnel.host.toUpperCase())).status).toBe(201);
    expect((await ask(relay, 'localhost')).status).toBe(404);
    const unknown = await ask(relay, `${'0'.repeat(24)}.localhost`);
    expect([unknown.status, JSON.parse(unknown.text).code]).toEqual([502, 'tunnel_closed']);
  });

  it('with an absolute path, or for a WebSocket, is refused', async () => {
    const { relay, tunnel } = await open();
    const socket = connect(relay.port, '127.0.0.1');
    socket.end(`GET http://evil.example/ HTTP/1.1\r\nhost: ${tunnel.host}\r\nconnection: close\r\n\r\n`);
    const text = await readText(socket);
    expect(text).toMatch(/^HTTP\/1.1 400 [^]*"invalid_request"/);
    const upgraded = new WebSocket(`ws://127.0.0.1:${relay.port}/`, { headers: { host: tunnel.host } });
    const [error] = (await once(upgraded, 'error')) as [Error];
    expect(error.message).toBe('Unexpected server response: 400');
  });
});

describe('what is streamed through a tunnel', () => {
  it('comes chunk by chunk', async () => {
    const answers: ServerResponse[] = [];
    const { begin: start } = await open((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      answers.push(response);
    });
    const request = start();
    request.end();
    const answer = await answerTo(request);
    for (const text of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
      answers[0]?.write(text);
      expect(String((await once(answer, 'data'))[0])).toBe(text);
    }
    answers[0]?.end();
    await once(answer, 'end');
    expect(answer.complete).toBe(true);
  });

  it('as a body of 64 MiB arrives whole', async () => {
    const through = await open(async (request, response) => {
      const hash = createHash('sha256');
      for await (const chunk of request) hash.update(chunk as Buffer);
      response.end(hash.digest('hex'));
    });
    const part = randomBytes(64 * 1_024);
    const hash = createHash('sha256');
    const request = through.begin({ method: 'POST' });
    const answered = answerTo(request);
    const parts = function* () {
      for (let at = 0; at < 1_024; at++) {
        hash.update(part);
        yield part;
      }
    };
    await pipeline(Readable.from(parts()), request);
    expect(await readText(await answered)).toBe(hash.digest('hex'));
  });

  it('stops at the client while the box reads nothing of it', async () => {
    const through = await open((_, response) => response.flushHeaders());
    const request = through.begin({ method: 'POST' });
    request.on('error', () => {});
    const written = await writeUntilFull(request);
    expect(written).toBeLessThan(MOST_ON_THE_WAY);
    request.destroy();
  });

  it('stops at the box while it is not read, and holds up no other', async () => {
    const writing: Promise<number>[] = [];
    const through = await open((request, response) => {
      if (request.url === '/quick') return response.end('quick');
      return writing.push(writeUntilFull(response));
    });
    const request = through.begin();
    request.end();
    (await answerTo(request)).pause();
    expect(await writing[0]).toBeLessThan(MOST_ON_THE_WAY);
    expect((await through.ask({ path: '/quick' })).text).toBe('quick');
    request.destroy();
  });

  it('a hundred at once, and the next is asked to wait', async () => {
    const answers: ServerResponse[] = [];
    const through = await open((_, response) => void answers.push(response));
    const all = Array.from({ length: 100 }, () => through.ask());
    await vi.waitUntil(() => answers.length === 100, { timeout: 20_000 });
    const next = await through.ask();
    expect([next.status, next.headers['retry-after'], JSON.parse(next.text).code]).toEqual([503, '1', 'tunnel_busy']);
    for (const [index, response] of answers.entries()) response.end(String(index));
    expect(new Set((await Promise.all(all)).map(({ text }) => text)).size).toBe(100);
    const later = through.ask();
    await vi.waitUntil(() => answers.length === 101);
    answers[100]?.end('later');
    expect((await later).text).toBe('later');
  });
});

describe('a client that goes away', () => {
  it('the client: what the box does for it is aborted', async () => {
    const gone: string[] = [];
    const through = await open((request, response) => {
      response.once('close', () => void gone.push(`${request.url} ${response.writableFinished}`));
      if (request.url !== '/silent') response.write('a');
      request.resume();
    });
    const reading = through.begin({ path: '/read' });
    reading.end();
    await answerTo(reading);
    reading.destroy();
    await vi.waitUntil(() => gone.includes('/read false'));
    const sending = through.begin({ method: 'POST', path: '/send' });
    sending.on('error', () => {});
    sending.write('half');
    await answerTo(sending);
    sending.destroy();
    await vi.waitUntil(() => gone.includes('/send false'));
  });

  it.each(['client', 'connection'])('the %s amid a body: that is no whole one to the box', async (who) => {
    const read: string[] = [];
    const through = await open((request, response) => {
      response.flushHeaders();
      readText(request).then(
        (text) => read.push(`whole: ${text}`),
        () => read.push('broken off'),
      );
    });
    const sending = through.begin({ method: 'POST' });
    sending.on('error', () => {});
    sending.write('half');
    await answerTo(sending);
    if (who === 'client') sending.destroy();
    else through.relay.cut();
    await vi.waitUntil(() => read.length > 0);
    expect(read).toEqual(['broken off']);
  });

  it('the client, before the box has refused an upload it does not read: the next request passes', async () => {
    let refuse = (): void => {};
    const through = await open((request, response) => {
      if (request.url === '/next') return response.end('next');
      // Nothing of the body is read.
      refuse = () => response.writeHead(401).end();
    });
    const askNext = async () => {
      for (let n = 0; n < 20; n++) expect((await through.ask({ path: '/next' })).text).toBe('next');
    };
    const sending = through.begin({ method: 'POST' });
    sending.on('error', () => {});
    await writeUntilFull(sending);
    sending.destroy();
    // By then the box is told that it has gone.
    await askNext();
    refuse();
    await askNext();
  });

  it.each(['status', 'header'])(
    'the box: a %s that HTTP/2 does not have is no answer, and the next one passes',
    async (what) => {
      const through = await open((request, response) => {
        if (request.url === '/next') return response.end('next');
        return what === 'status' ? response.writeHead(999).end() : response.setHeader('http2-settings', 'x').end();
      });
      const refused = await through.ask();
      expect([refused.status, JSON.parse(refused.text).code]).toEqual([502, 'tunnel_closed']);
      expect((await through.ask({ path: '/next' })).text).toBe('next');
    },
  );

  it('the box: an answer that breaks off is no whole one', async () => {
    const through = await open((_, response) => {
      response.write('half');
      setImmediate(() => response.destroy());
    });
    await expect(through.ask()).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });

  it('the connection: what was under way breaks off, what comes is 502, and the box comes back under its name', async () => {
    let isHeld = true;
    const through = await open((_, response) => (isHeld ? response.write('half') : response.end('back')));
    const { relay, tunnel } = through;
    const request = through.begin();
    request.end();
    const answer = await answerTo(request);
    relay.cut();
    await expect(readText(answer)).rejects.toThrow('aborted');
    isHeld = false;
    await vi.waitUntil(async () => (await through.ask()).text === 'back');
    await vi.waitUntil(() => tunnel.said.length === 2);
    expect(tunnel.said).toEqual([
      'The tunnel is cut off. It is opened again, under the same address, as soon as the control plane answers.',
      `The tunnel is open again: http://${tunnel.host}`,
    ]);
    await tunnel.close();
    const after = await through.ask();
    expect([after.status, JSON.parse(after.text).code]).toEqual([502, 'tunnel_closed']);
  });

  it('without a word: the relay knows after two to three beats', async () => {
    const relay = await startRelay({ limits: { beatMs: 50 } });
    const { token, publicUrl } = await relay.create({ installationId: 'a' });
    // Answers the upgrade and nothing after it, as a machine that has gone to sleep.
    const socket = connect(relay.port, '127.0.0.1');
    socket.write(
      `GET /api/v1/tunnel HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
    socket.on('error', () => {});
    await once(socket, 'data');
    const asked = ask(relay, new URL(publicUrl).host);
    expect([(await asked).status, JSON.parse((await asked).text).code]).toEqual([502, 'tunnel_closed']);
  });
});

describe('a tunnel', () => {
  const attach = async (relay: { port: number }, token: string, how: 'header' | 'subprotocol' = 'header') => {
    const protocols = how === 'header' ? [] : ['svc-tunnel', token];
    const headers = how === 'header' ? { authorization: `Bearer ${token}` } : {};
    const socket = new WebSocket(`ws://127.0.0.1:${relay.port}/api/v1/tunnel`, protocols, { headers });
    socket.on('error', () => {});
    const status = await new Promise<number>((resolve) => {
      socket.once('open', () => resolve(101));
      socket.once('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode));
    });
    socket.terminate();
    return status;
  };

  it('has a name of 96 bits, and a token that is shown as a header or a subprotocol', async () => {
    const relay = await startRelay();
    const { name, token, publicUrl, relayUrl } = await relay.create({ installationId: 'a' });
    expect(name).toMatch(/^[\da-f]{24}$/);
    expect(publicUrl).toBe(`http://${name}.localhost:${relay.port}`);
    expect(relayUrl).toBe(`ws://localhost:${relay.port}/api/v1/tunnel`);
    expect(await attach(relay, token)).toBe(101);
    expect(await attach(relay, token, 'subprotocol')).toBe(101);
    expect(await attach(relay, `${token.slice(0, -2)}AA`)).toBe(401);
    expect(await attach(relay, '')).toBe(401);
  });

  it('elsewhere is a name of its domain, with https where the control plane has it', async () => {
    const elsewhere = { domain: 'tunnel.example.com', publicUrl: () => 'https://studio.example.com' };
    const relay = await startRelay(elsewhere);
    const { name, publicUrl, relayUrl } = await relay.create({ installationId: 'a' });
    expect([publicUrl, relayUrl]).toEqual([
      `https://${name}.tunnel.example.com`,
      'wss://studio.example.com/api/v1/tunnel',
    ]);
    const nowhere = await startRelay({ ...elsewhere, domain: 'localhost' });
    await expect(nowhere.create({ installationId: 'a' })).rejects.toThrow(/has to set PLANE_TUNNEL_DOMAIN/);
  });

  it('is one of so many of a person, and of a relay; one that comes back adds none', async () => {
    const relay = await startRelay({ limits: { tunnels: 3, tunnelsOfPerson: 2 } });
    const hold = async (token: string) => {
      const socket = new WebSocket(`ws://127.0.0.1:${relay.port}/api/v1/tunnel`, ['svc-tunnel', token]);
      onTestFinished(() => socket.terminate());
      await once(socket, 'open');
      return socket;
    };
    const make = async (installationId: string, userId: string) =>
      (await relay.create({ installationId, userId })).token;
    const [first] = [await hold(await make('one', 'ada')), await hold(await make('two', 'ada'))];
    expect(await attach(relay, await make('three', 'ada'))).toBe(503);
    const again = await hold(await make('two', 'ada'));
    await hold(await make('three', 'bo'));
    expect(await attach(relay, await make('four', 'cy'))).toBe(503);
    first?.terminate();
    await vi.waitUntil(async () => (await attach(relay, await make('four', 'cy'))) === 101);
    expect(again.readyState).toBe(WebSocket.OPEN);
  });

  it('takes the place of the one its installation had, whose box says so and stays away', async () => {
    const relay = await startRelay();
    const port = await startBehind((_, response) => response.end('first'));
    const first = await openTunnel(relay, port, 'one');
    const second = await openTunnel(relay, port, 'one');
    await vi.waitUntil(() => first.said.length > 0);
    expect(first.said).toEqual([expect.stringContaining('another `svc dev` of this agent has opened a tunnel')]);
    expect((await ask(relay, first.host)).status).toBe(502);
    expect((await ask(relay, second.host)).status).toBe(200);
  });

  it('is over after 8 hours: no request passes, and no box comes back', async () => {
    let time = Date.now();
    const relay = await startRelay({ now: () => time });
    const tunnel = await openTunnel(relay, await startBehind((_, response) => response.end('open')), 'one');
    const { token } = await relay.create({ installationId: 'two' });
    time += 8 * 3_600_000 - 1;
    expect((await ask(relay, tunnel.host)).status).toBe(200);
    time += 1;
    expect((await ask(relay, tunnel.host)).status).toBe(502);
    await vi.waitUntil(() => tunnel.said.length > 0);
    expect(tunnel.said).toEqual([expect.stringContaining('a tunnel is valid for 8 hours')]);
    expect(await attach(relay, token)).toBe(410);
  });

  it('is known to a relay that restarts, until a newer one is opened', async () => {
    const key = randomBytes(32);
    const first = await startRelay({ key });
    const old = await first.create({ installationId: 'one' });
    const newer = await first.create({ installationId: 'one' });
    const second = await startRelay({ key });
    expect(await attach(second, old.token)).toBe(101);
    expect(await attach(second, newer.token)).toBe(101);
    expect(await attach(second, old.token)).toBe(409);
    expect(await attach(await startRelay(), newer.token)).toBe(401);
  });
});
