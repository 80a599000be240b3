import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createWebhook } from '../src/engine/primitives/hook.ts';
import { listHooks } from '../src/engine/stores/contract/world.ts';
import { setupBoxes, startWorkflow, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const wait = async () => {
  const hook = createWebhook();
  return (await hook).text();
};
const workflows = { wait: { run: wait }, echo: { run: async (input: unknown) => input } };
const BODIES = { bytes: 1_048_576, bytesOfAddress: 262_144 };

async function open(): Promise<{ box: TestBox; url: string; webhook: () => Promise<string> }> {
  const box = await boxes.open({ workflows });
  const url = await box.listen({ bodies: BODIES });
  const webhook = async (): Promise<string> => {
    const runId = await startWorkflow(box, 'wait');
    await untilStatus(box, runId, 'waiting');
    const [hook] = await listHooks(box.journal, runId);
    return `/api/webhooks/${hook?.token}`;
  };
  return { box, url, webhook };
}

interface Half {
  socket: Socket;
  /** What was answered so far. */
  answer(): string;
}

/** A request whose body does not end: so many bytes of it are sent. */
async function sendHalf(url: string, path: string, bytes: number, step = 50_000): Promise<Half> {
  const { host, port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let answer = '';
  socket.on('data', (part) => (answer += String(part)));
  socket.on('error', () => {});
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'content-type: application/json', 'content-length: 1000000'];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  for (let sent = 0; sent < bytes; sent += step)
    await new Promise<void>((resolve) => socket.write(' '.repeat(Math.min(step, bytes - sent)), () => resolve()));
  return { socket, answer: () => answer };
}

const refusals = (halves: Half[]): Half[] => halves.filter(({ answer }) => answer().startsWith('HTTP/1.1 503 '));
const post = (url: string, path: string, body: unknown) =>
  fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

test('bodies without a credential hold so much of one address, and give it back', async () => {
  const { url, webhook } = await open();
  const path = await webhook();
  const halves: Half[] = [];
  for (let n = 0; n < 6; n++) halves.push(await sendHalf(url, path, 100_000));
  await until(async () => refusals(halves).length >= 4);
  expect(refusals(halves)[0]?.answer()).toMatch(/retry-after: 1\r\n.*"code":"overloaded"/is);
  // Whoever has a credential is not held up by that.
  expect((await post(url, '/api/workflows/echo/start', { text: 'x'.repeat(100_000) })).status).toBe(202);
  for (const { socket } of halves) socket.destroy();
  await until(async () => (await post(url, path, { text: 'x'.repeat(200_000) })).status === 202);
});

test('all bodies together hold so much, and give it back', async () => {
  const { url } = await open();
  const halves: Half[] = [];
  for (let n = 0; n < 8; n++) halves.push(await sendHalf(url, '/api/workflows/echo/start', 250_000));
  await until(async () => refusals(halves).length >= 3);
  for (const { socket } of halves) socket.destroy();
  const large = { text: 'x'.repeat(500_000) };
  await until(async () => (await post(url, '/api/workflows/echo/start', large)).status === 202);
});

test('a body that comes in many pieces is read whole', async () => {
  const { box, url } = await open();
  const { port } = new URL(url);
  const text = JSON.stringify({ text: Array.from({ length: 20_000 }, (_, n) => n).join() });
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.setNoDelay(true);
  const head = 'POST /api/workflows/echo/start HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-type: application/json\r\n';
  socket.write(`${head}content-length: ${text.length}\r\nconnection: close\r\n\r\n`);
  for (let at = 0; at < text.length; at += 997)
    await new Promise<void>((resolve) => socket.write(text.slice(at, at + 997), () => resolve()));
  let answer = '';
  for await (const part of socket) answer += String(part);
  const { runId } = JSON.parse(answer.slice(answer.indexOf('{'))) as { runId: string };
  expect(JSON.stringify(await untilStatus(box, runId, 'completed').then(() => box.journal.getRun(runId)))).toContain(
    '19998,19999',
  );
});
