import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { watchPeer } from './heartbeat.ts';
import type { BeatingSocket } from './heartbeat.ts';

const BEAT_MS = 100;

async function connectPair(): Promise<{ own: WebSocket; peer: WebSocket }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const own = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    own.terminate();
    server.close();
  });
  const [[peer]] = (await Promise.all([once(server, 'connection'), once(own, 'open')])) as [[WebSocket], unknown];
  return { own, peer };
}

/** A connection without a network: `onPing` says what a ping brings. */
function createSocket(onPing: (socket: EventEmitter) => void) {
  const events = new EventEmitter();
  const seen = { pings: 0, isOver: false };
  const socket = Object.assign(events, {
    isPaused: false,
    ping() {
      seen.pings += 1;
      onPing(events);
    },
    terminate() {
      seen.isOver = true;
      events.emit('close');
    },
  }) satisfies BeatingSocket;
  onTestFinished(() => void events.emit('close'));
  return { socket, seen };
}

function holdEventLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const closedWithin = (ms: number, socket: WebSocket): Promise<boolean> =>
  Promise.race([once(socket, 'close').then(() => true), setTimeout(ms, false)]);

test('a peer that answers stays, however long this process stood still', async () => {
  const { own } = await connectPair();
  watchPeer(own, BEAT_MS);
  for (let round = 0; round < 3; round++) {
    holdEventLoop(4 * BEAT_MS);
    expect(await closedWithin(2 * BEAT_MS, own)).toBe(false);
  }
});

test('an answer that came while this process stood still is no late one', async () => {
  const { socket, seen } = createSocket(async () => {
    if (seen.pings > 2) socket.emit('pong');
    if (seen.pings !== 2) return;
    await setImmediate();
    holdEventLoop(2 * BEAT_MS);
    // Timers come first.
    await setImmediate();
    socket.emit('pong');
  });
  watchPeer(socket, BEAT_MS);
  await expect.poll(() => seen.isOver || seen.pings > 3).toBe(true);
  expect(seen.isOver).toBe(false);
});

test('a peer that falls silent is ended', async () => {
  const { own, peer } = await connectPair();
  watchPeer(own, BEAT_MS);
  await once(peer, 'ping');
  const begun = performance.now();
  peer.pause();
  await once(own, 'close');
  expect(performance.now() - begun).toBeGreaterThan(1.5 * BEAT_MS);
});

test('so is one that falls silent while this process stands still again and again', async () => {
  const { socket, seen } = createSocket(() => {});
  watchPeer(socket, BEAT_MS);
  for (let round = 0; round < 200 && !seen.isOver; round++) {
    await setTimeout(1);
    holdEventLoop(BEAT_MS);
  }
  expect(seen.isOver).toBe(true);
});

test('a connection that is not read is not ended, and then has its time again', async () => {
  const { socket, seen } = createSocket(() => {});
  socket.isPaused = true;
  watchPeer(socket, BEAT_MS);
  await expect.poll(() => seen.pings).toBeGreaterThan(4);
  expect(seen.isOver).toBe(false);
  socket.isPaused = false;
  const asked = seen.pings;
  await expect.poll(() => seen.isOver).toBe(true);
  expect(seen.pings - asked).toBe(2);
});
