import { once } from 'node:events';
import { connect } from 'node:net';
import { H3 } from 'h3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../src/http/listen.ts';
import { answerSse } from '../src/http/sse.ts';
import { until } from './_setup.ts';

async function serve(frames: () => AsyncGenerator<string>, onGone: () => void) {
  const app = new H3();
  app.get('/', () => answerSse(frames(), { onGone, keepAliveMs: 20, stallMs: 200 }));
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
