import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { writeTogether } from './write-together.ts';

test('the head of an answer waits for what comes with it, and not for what comes after', async () => {
  const waiting: (number | undefined)[] = [];
  const server = createServer(async (_request, response) => {
    const look = () => waiting.push(response.socket?.writableLength);
    writeTogether(response);
    response.writeHead(200).flushHeaders();
    look();
    response.write('first');
    look();
    await setImmediate();
    await setImmediate();
    look();
    response.end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await answer.text()).toBe('first');
  const [head = 0, withText = 0] = waiting;
  expect(head).toBeGreaterThan(0);
  expect(withText).toBeGreaterThan(head);
  expect(waiting[2]).toBe(0);
});
