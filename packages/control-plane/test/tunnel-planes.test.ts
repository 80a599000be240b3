import { once } from 'node:events';
import { request as send } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { WebSocket } from 'ws';
import { keepAttached } from '../../cli/src/dev/tunnel/keep.ts';
import { startBehind } from '../../cli/test/_tunnel.ts';
import { readSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { createSharedRegistry } from '../src/tunnel/shared-registry.ts';
import { ask, signUpFirst } from './_people.ts';
import { findPort, makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

// Several control planes on one database, and a proxy in front that sends a request to any of them.

const DOMAIN = 'localhost';

/** Two on one database. `isTold`: each knows where the others reach it. */
async function startTwo(isTold = true) {
  const store = await makeStore('postgres');
  const start = async () => {
    const port = String(await findPort());
    const own: Record<string, string> = isTold ? { PLANE_INTERNAL_URL: `http://127.0.0.1:${port}` } : {};
    return startPlane({ env: { ...store, ...own, PORT: port, PLANE_TUNNEL_DOMAIN: DOMAIN } });
  };
  const [one, two] = [await start(), await start()];
  const ada = await signUpFirst(one);
  const { id } = (await ask(one, 'POST /api/v1/installations', { ...ada, body: { name: 'desk' } })).body;
  const open = async (at: RunningPlane) => {
    const origin = { url: at.url };
    return (await ask(origin, `POST /api/v1/installations/${id}/tunnel`, ada)).body as Opened;
  };
  return { store, one, two, ada, id: id as string, open };
}

interface Opened {
  name: string;
  token: string;
  relayUrl: string;
  publicUrl: string;
}

/** The box's end, at the control plane that a balancer happens to choose. */
async function attachAt(at: RunningPlane, { token, publicUrl }: Opened, port: number) {
  const said: string[] = [];
  const relayUrl = `${at.url.replace('http', 'ws')}/api/v1/tunnel`;
  const close = await keepAttached({
    relayUrl,
    token,
    publicUrl,
    port,
    say: (line) => void said.push(line),
    backOff: () => 20,
  });
  onTestFinished(close);
  return { said, close };
}

interface Asked {
  path?: string;
  headers?: Record<string, string>;
  body?: string;
  onText?(text: string): void;
}

/** What the host of a tunnel answers, asked of one of the control planes. */
function askAt(at: RunningPlane, { publicUrl }: Opened, { path = '/', headers = {}, body, onText }: Asked = {}) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const asked = send(at.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { host: new URL(publicUrl).host, ...headers },
      agent: false,
    });
    asked.once('response', (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += String(chunk);
        onText?.(text);
      });
      answer.once('error', reject);
      answer.once('end', () => resolve({ status: answer.statusCode, text }));
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

/** All that is answered to these bytes, until the connection ends. */
function sendRaw(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (part) => (text += String(part)));
    socket.once('error', reject);
    socket.once('close', () => resolve(text));
  });
}

describeWhen(realServers.database, 'a tunnel of two control planes on one database', () => {
  test('answers at both, wherever its box is: bodies, streams and who asks pass as if it were there', async () => {
    const { one, two, open } = await startTwo();
    const tunnel = await open(one);
    let goOn = (): void => {};
    const port = await startBehind(async (request, response) => {
      if (request.url === '/stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n');
        goOn = () => response.end('data: second\n\n');
        return;
      }
      let size = 0;
      for await (const chunk of request) size += (chunk as Buffer).length;
      const { host, cookie, 'x-forwarded-for': from, 'x-svc-plane-passed': passed } = request.headers;
      response.writeHead(201, { 'set-cookie': 'a=b' }).end(JSON.stringify({ size, host, cookie, from, passed }));
    });
    await attachAt(two, tunnel, port);
    const { host } = new URL(tunnel.publicUrl);
    for (const at of [one, two]) {
      const headers = { cookie: 'c=d', 'x-forwarded-for': '203.0.113.9' };
      const answer = await askAt(at, tunnel, { headers, body: 'a'.repeat(3_000_000) });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([201, { size: 3_000_000, host, from: '127.0.0.1' }]);
      const streamed = await askAt(at, tunnel, {
        path: '/stream',
        onText: (text) => text.endsWith('first\n\n') && goOn(),
      });
      expect(streamed).toEqual({ status: 200, text: 'data: first\n\ndata: second\n\n' });
    }
  });

  test('takes no framing, name or address from what a caller says of its connection', async () => {
    const { one, two, open } = await startTwo();
    const tunnel = await open(one);
    const port = await startBehind(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const { host, 'x-forwarded-for': from, 'x-real-ip': real } = request.headers;
      response.end(JSON.stringify({ text, host, from, real, method: request.method }));
    });
    await attachAt(two, tunnel, port);
    const { host } = new URL(tunnel.publicUrl);
    const inner = 'POST /api/v1/orgs HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n';
    const askRaw = (framing: string, body: string) =>
      sendRaw(
        one.url,
        `DELETE / HTTP/1.1\r\nhost: ${host}\r\nconnection: transfer-encoding, content-length, host, close\r\n` +
          `x-forwarded-for: 203.0.113.9\r\nx-real-ip: 203.0.113.9\r\n${framing}\r\n\r\n${body}`,
      );
    const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
    for (const [framing, body] of [
      ['transfer-encoding: chunked', chunked],
      [`content-length: ${inner.length}`, inner],
    ] as const) {
      const answer = await askRaw(framing, body);
      expect(answer).toContain(JSON.stringify({ text: inner, host, from: '127.0.0.1', method: 'DELETE' }));
      // What is asked next has nothing of it before itself.
      expect(JSON.parse((await askAt(one, tunnel, { body: 'next' })).text)).toMatchObject({ text: 'next', host });
    }
  });

  test('is taken again by the control plane that has it, where another took it for a box that had given up', async () => {
    const { store, one, two, open } = await startTwo();
    const tunnel = await open(one);
    await attachAt(one, tunnel, await startBehind((_, response) => response.end('here')));
    expect((await askAt(two, tunnel)).text).toBe('here');
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...store });
    if (!full) throw new Error('The full mode has a store.');
    const db = await openStore(full);
    onTestFinished(() => db.close());
    await db.run(sql`update plane_tunnels set plane = null, held = null where name = ${tunnel.name}`);
    await vi.waitUntil(async () => (await askAt(two, tunnel)).text === 'here');
  });

  test('breaks off at both ends where either goes, and is not asked again and again between them', async () => {
    const { one, two, open } = await startTwo();
    const tunnel = await open(one);
    const gone = vi.fn<() => void>();
    let breakOff = (): void => {};
    const port = await startBehind((request, response) => {
      response.once('close', gone);
      response.writeHead(200).write('first');
      if (request.url === '/broken') breakOff = () => response.destroy();
    });
    const end = await attachAt(two, tunnel, port);
    await expect(askAt(one, tunnel, { path: '/broken', onText: () => breakOff() })).rejects.toThrow(/aborted|hang up/);
    const asked = send(one.url, { headers: { host: new URL(tunnel.publicUrl).host }, agent: false });
    asked.once('error', () => {});
    asked.once('response', (answer) => answer.once('data', () => asked.destroy()).once('error', () => {}));
    asked.end();
    await vi.waitUntil(() => gone.mock.calls.length === 2);
    await end.close();
    await vi.waitUntil(async () => (await askAt(two, tunnel)).status === 502);
    for (const at of [one, two])
      expect(JSON.parse((await askAt(at, tunnel)).text)).toMatchObject({ code: 'tunnel_closed' });
  });

  test('is one of an installation: a newer one at the other ends it, and its box does not come back anywhere', async () => {
    const { one, two, open } = await startTwo();
    const older = await open(one);
    const { said } = await attachAt(one, older, await startBehind((_, response) => response.end('older')));
    expect((await askAt(two, older)).text).toBe('older');
    const newer = await open(two);
    await attachAt(two, newer, await startBehind((_, response) => response.end('newer')));
    await vi.waitUntil(() => said.length > 0);
    expect(said).toEqual([expect.stringContaining('another `svc dev` of this agent has opened a tunnel')]);
    for (const at of [one, two])
      expect([(await askAt(at, older)).status, (await askAt(at, newer)).text]).toEqual([502, 'newer']);
    const again = new WebSocket(`${two.url.replace('http', 'ws')}/api/v1/tunnel`, ['svc-tunnel', older.token]);
    expect(((await once(again, 'error')) as [Error])[0].message).toBe('Unexpected server response: 409');
  });

  test('comes to the other when the one that has it stops, and is asked there', async () => {
    const { one, two, open } = await startTwo();
    const tunnel = await open(one);
    const port = await startBehind((_, response) => response.end('here'));
    const first = await attachAt(two, tunnel, port);
    expect((await askAt(one, tunnel)).text).toBe('here');
    await two.close();
    expect(JSON.parse((await askAt(one, tunnel)).text)).toMatchObject({ code: 'tunnel_closed' });
    await first.close();
    await attachAt(one, tunnel, port);
    expect((await askAt(one, tunnel)).text).toBe('here');
  });

  test('whose control plane has died is refused in words, and no more is asked of that one after a minute', async () => {
    const { store, one, id, open } = await startTwo();
    const tunnel = await open(one);
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...store });
    if (!full) throw new Error('The full mode has a store.');
    const db = await openStore(full);
    onTestFinished(() => db.close());
    // As one leaves it that was killed: nothing listens there.
    const dead = `http://127.0.0.1:${await findPort()}`;
    const hold = (seenAt: number) =>
      db.run(sql`update plane_tunnels set plane = ${'dead'}, plane_url = ${dead}, held = ${'x'}, seen_at = ${seenAt}
        where installation_id = ${id}`);
    await hold(Date.now());
    expect(JSON.parse((await askAt(one, tunnel)).text)).toMatchObject({ code: 'tunnel_elsewhere' });
    await hold(Date.now() - 61_000);
    expect(JSON.parse((await askAt(one, tunnel)).text)).toMatchObject({ code: 'tunnel_closed' });
  });

  test('learns where it cannot be asked, from one that does not know where it is', async () => {
    const { one, two, open } = await startTwo(false);
    const tunnel = await open(one);
    await attachAt(two, tunnel, await startBehind((_, response) => response.end('here')));
    expect((await askAt(two, tunnel)).text).toBe('here');
    const { status, text } = await askAt(one, tunnel);
    expect([status, JSON.parse(text)]).toEqual([
      502,
      { code: 'tunnel_elsewhere', message: expect.stringContaining('has to set PLANE_INTERNAL_URL of each') },
    ]);
  });

  test('believes no one else about who asks', async () => {
    const { one, two, open } = await startTwo();
    const tunnel = await open(one);
    const port = await startBehind((request, response) => response.end(JSON.stringify(request.headers)));
    await attachAt(two, tunnel, port);
    const payload = Buffer.from(JSON.stringify([Date.now(), '203.0.113.9'])).toString('base64url');
    for (const forged of [`${payload}.${'A'.repeat(43)}`, payload, '.', 'x'.repeat(8_000)])
      for (const at of [one, two]) {
        const { text } = await askAt(at, tunnel, { headers: { 'x-svc-plane-passed': forged } });
        expect(JSON.parse(text)).toMatchObject({ 'x-forwarded-for': '127.0.0.1' });
        expect(text).not.toContain('plane-passed');
      }
  });
});

describe.each(STORES)('what is kept of tunnels on %s', (store) => {
  const start = async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const { id } = (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'desk' } })).body;
    await plane.close();
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
    if (!full) throw new Error('The full mode has a store.');
    const db = await openStore(full);
    onTestFinished(() => db.close());
    const registry = (url: string) => createSharedRegistry({ db, now: Date.now, url });
    const tunnel = (name: string, issuedAt: number) => ({
      installationId: id as string,
      holder: { userId: ada.userId, credentialId: 'session' },
      name,
      issuedAt,
      expiresAt: Date.now() + 60_000,
    });
    return { db, one: registry('http://one'), two: registry('http://two'), tunnel };
  };

  test('the newest tunnel is used by the last caller, and an older one by none', async () => {
    const { one, two, tunnel } = await start();
    const at = await one.add(tunnel('a', 0));
    expect(await two.add(tunnel('b', 0))).toBeGreaterThan(at);
    const newest = tunnel('b', at + 1_000);
    expect(await one.take(tunnel('a', at))).toBeUndefined();
    const first = await one.take(newest);
    const second = await two.take(newest);
    if (!first || !second) throw new Error('It is the newest.');
    expect([...(await one.findLost([first]))]).toEqual([first]);
    expect([...(await two.findLost([second]))]).toEqual([]);
    expect([await one.findHolder('b'), await two.findHolder('b')]).toEqual([{ url: 'http://two' }, undefined]);
    // What is late says nothing of where it is now.
    await one.leave(first);
    expect(await one.findHolder('b')).toEqual({ url: 'http://two' });
    await two.leave(second);
    expect(await one.findHolder('b')).toBeUndefined();
  });

  test('of many that take one at once, one has it', async () => {
    const { one, two, tunnel } = await start();
    const grant = tunnel('a', await one.add(tunnel('a', 0)));
    const held = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 ? one : two).take(grant)));
    const there = held.filter((each) => each !== undefined);
    expect(there).toHaveLength(10);
    expect(await one.findLost(there)).toHaveProperty('size', 9);
    await one.close();
    await two.close();
    expect(await one.findHolder('a')).toBeUndefined();
  });
});
