import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createGuardedFetch } from './guarded-fetch.ts';

const SILENCE_MS = 300;
const ask = createGuardedFetch({ allowLoopback: true, allowed: [] }, SILENCE_MS);

async function serve(answer: RequestListener): Promise<URL> {
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}
const GET = { method: 'GET', headers: new Headers(), body: undefined, signal: undefined };

test('a service that takes a call and never answers fails it', async () => {
  const url = await serve(() => {});
  await expect(ask(url, GET)).rejects.toMatchObject({
    code: 'connection_failed',
    message: `${url.origin} could not be reached: no word within 0.3 s.`,
  });
});

test('an answer that stops in the middle breaks off', async () => {
  const url = await serve((_, response) => void response.writeHead(200, { 'content-length': '10' }).write('half'));
  const answer = await ask(url, GET);
  expect(answer.status).toBe(200);
  await expect(answer.text()).rejects.toThrow(/aborted|no word/);
});

test('one that goes on, however slowly, is read to its end', async () => {
  const url = await serve((_, response) => {
    let left = 6;
    const timer = setInterval(() => {
      left--;
      if (left > 0) response.write('x');
      else {
        clearInterval(timer);
        response.end('x');
      }
    }, SILENCE_MS / 3);
  });
  expect(await (await ask(url, GET)).text()).toBe('xxxxxx');
});
