import { expect, test } from 'vitest';
import { capAnswer } from './capped-answer.ts';

const tooLong = () => new Error('Too long.');

function answerOf(parts: string[], headers: Record<string, string> = {}): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  return new Response(body, { status: 201, headers: { 'x-own': 'yes', ...headers } });
}

test('an answer that is short enough is what it was', async () => {
  const answer = capAnswer(answerOf(['abc', 'def']), { mostBytes: 6, tooLong });
  expect([answer.status, answer.headers.get('x-own'), await answer.text()]).toEqual([201, 'yes', 'abcdef']);
});

test('one that is longer breaks off where it is read, or before where it says so', async () => {
  await expect(capAnswer(answerOf(['abc', 'defg']), { mostBytes: 6, tooLong }).text()).rejects.toThrow('Too long.');
  const said = answerOf(['abc'], { 'content-length': '7' });
  expect(() => capAnswer(said, { mostBytes: 6, tooLong })).toThrow('Too long.');
});

test('of a stream of events each one may have so many bytes', async () => {
  const events = ['data: 1234\n\n', 'data: 12', '34\r\n\r\ndata: 1', '234\n\n'];
  const all = capAnswer(answerOf(events), { mostBytes: 24, tooLong, byEvent: true });
  expect(await all.text()).toBe(events.join(''));
  const one = answerOf(['data: 1\n\n', 'data: 123456', '7890123456', '7890']);
  await expect(capAnswer(one, { mostBytes: 24, tooLong, byEvent: true }).text()).rejects.toThrow('Too long.');
});
