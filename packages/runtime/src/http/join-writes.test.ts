import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { joinWrites } from './join-writes.ts';

const KIB = 1_024;

/** A stream of messages, which are taken when the test says so. */
function makeMessages(): { duplex: Duplex; messages: Buffer[]; take(error?: Error): void } {
  const messages: Buffer[] = [];
  let taken: (error?: Error) => void = () => {};
  const duplex = new Duplex({
    highWaterMark: 1_024 * KIB,
    read() {},
    write(chunk: Buffer, _encoding, callback) {
      messages.push(chunk);
      taken = callback;
    },
  });
  return { duplex: joinWrites(duplex), messages, take: (error) => taken(error) };
}

test('what waits while a message is on its way goes as one', () => {
  const { duplex, messages, take } = makeMessages();
  for (const text of ['first', 'head ', 'content ', 'end']) duplex.write(text);
  expect(messages.map(String)).toEqual(['first']);
  take();
  expect(messages.map(String)).toEqual(['first', 'head content end']);
});

test('no message is longer for what is joined to it, and all goes in its order', async () => {
  const { duplex, messages, take } = makeMessages();
  const sizes = [1, 60, 4, 1, 100, 1, 63, 1].map((kib) => kib * KIB);
  sizes.forEach((size, at) => duplex.write(Buffer.alloc(size, at)));
  const sent = sizes.reduce((sum, size) => sum + size, 0);
  const count = () => messages.reduce((sum, { length }) => sum + length, 0);
  while (count() < sent) {
    take();
    await new Promise(setImmediate);
  }
  expect(messages.map(({ length }) => length / KIB)).toEqual([1, 64, 1, 100, 64, 1]);
  expect(Buffer.concat(messages).equals(Buffer.concat(sizes.map((size, at) => Buffer.alloc(size, at))))).toBe(true);
});

test('a message that cannot be sent ends the stream with its error, and nothing goes after it', async () => {
  const { duplex, messages, take } = makeMessages();
  const failed = new Promise((resolve) => duplex.once('error', resolve));
  for (const size of [1, 64, 64]) duplex.write(Buffer.alloc(size * KIB));
  take();
  take(new Error('gone'));
  expect(await failed).toMatchObject({ message: 'gone' });
  expect(messages).toHaveLength(2);
});
