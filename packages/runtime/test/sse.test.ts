import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { H3 } from 'h3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { answerJson } from '../src/http/answer.ts';
import { listen } from '../src/http/listen.ts';
import { answerSse } from '../src/http/sse.ts';
import { until } from './_setup.ts';

async function serve(frames: () => AsyncGenerator<string>, onGone: () => void, stallMs = 200) {
  const app = new H3();
  app.get('/', () => answerSse(frames(), { onGone, keepAliveMs: 20, stallMs }));
  const listener = await listen(app, { port: 0, host: '127.0.0.1' });
  onTestFinished(() => listener.close(0));
  return listener;
}

test('a client that takes nothing is cut, and its frames are let go', async () => {
  const onGone = vi.fn<() => void>();
  const ended = vi.fn<() => void>();
  const { port } = await serve(async function* () {
    try {
      for (;;) yield `data: ${'x'.repeat(65_536)}\n\n`;
    } finally {
      ended();
    }
  }, onGone);
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(socket, 'readable');
  await until(() => ended.mock.calls.length === 1);
  expect(onGone).toHaveBeenCalledOnce();
  // Once it reads again it finds the connection broken, not an answer that ends.
  const closed = once(socket, 'close');
  let last = '';
  socket.on('data', (data) => (last = `${last}${String(data)}`.slice(-5)));
  await closed;
  expect(last).not.toBe('0\r\n\r\n');
});

const LARGE = 24_000_000;

const PATIENT_MS = 1_600;

/** Reads an answer of that size in four times as long as one may take nothing. */
async function readSlowly(url: string): Promise<number> {
  const answer = await new Promise<IncomingMessage>((resolve) => get(url, { agent: false }, resolve));
  const begun = performance.now();
  let size = 0;
  for await (const part of answer) {
    size += (part as Buffer).byteLength;
    const early = (size / LARGE) * 4 * PATIENT_MS - (performance.now() - begun);
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
  }
  return size;
}

test('a client that reads slowly is kept for as long as it reads, however long a frame is', async () => {
  const onGone = vi.fn<() => void>();
  const { url } = await serve(
    async function* () {
      yield 'x'.repeat(LARGE - 1);
      yield 'x';
    },
    onGone,
    PATIENT_MS,
  );
  expect(await readSlowly(url)).toBe(LARGE);
  expect(onGone).not.toHaveBeenCalled();
});

describe('an answer that is no stream', () => {
  const serveLarge = async (stallMs = 200) => {
    const app = new H3();
    app.get('/', () => answerJson(200, 'x'.repeat(LARGE - 2)));
    const listener = await listen(app, { port: 0, host: '127.0.0.1', stallMs });
    onTestFinished(() => listener.close(0));
    return listener;
  };

  test('is let go when no one takes it', async () => {
    const { port } = await serveLarge();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const broken = vi.fn<() => void>();
    socket.on('error', broken);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(socket, 'readable');
    // What it writes is refused once it is cut; and it is something to the server, so rarely.
    const beat = setInterval(() => socket.write('\r\n'), 500);
    onTestFinished(() => clearInterval(beat));
    await until(() => broken.mock.calls.length > 0);
  });

  test('is kept for one that takes it slowly', async () => {
    const { url } = await serveLarge(PATIENT_MS);
    expect(await readSlowly(url)).toBe(LARGE);
  });
});

test('a client that waits is kept, by comments', async () => {
  const onGone = vi.fn<() => void>();
  const { url } = await serve(async function* () {
    yield 'data: first\n\n';
    await new Promise((resolve) => setTimeout(resolve, 600));
    yield 'data: last\n\n';
  }, onGone);
  const text = await (await fetch(url)).text();
  expect(text).toMatch(/^data: first\n\n(?:: keep-alive\n\n){3,}data: last\n\n$/);
  expect(onGone).not.toHaveBeenCalled();
});
