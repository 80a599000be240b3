import { expect, test } from 'vitest';
import { createStoreClock } from './clock.ts';

const HELD_MS = 1_000;
/** What a busy machine may add; half of the time held would be more. */
const CLOSE_MS = 300;

let setBack = 0;
const readStore = (): number => Math.floor(performance.now() + 1_000_000 - setBack);
const journal = { now: async () => readStore() };
const hold = () => new Promise((resolve) => setTimeout(resolve, HELD_MS));

const readThenHold = async (): Promise<number> => {
  const now = readStore();
  await hold();
  return now;
};
const holdThenRead = async (): Promise<number> => {
  await hold();
  return readStore();
};

test.each([
  ['before the store has read its clock', holdThenRead],
  ['after', readThenHold],
])('a round trip that is held up %s does not move the clock', async (_, read) => {
  const clock = await createStoreClock(journal);
  await clock.sync(read);
  expect(Math.abs(clock.now() - readStore())).toBeLessThan(CLOSE_MS);
});

test('a first one that was held up is corrected by the next', async () => {
  const clock = await createStoreClock({ now: readThenHold });
  await clock.sync(journal.now);
  expect(Math.abs(clock.now() - readStore())).toBeLessThan(CLOSE_MS);
});

test('goes back with the clock of the store', async () => {
  const clock = await createStoreClock(journal);
  setBack = 60_000;
  await clock.sync();
  expect(Math.abs(clock.now() - readStore())).toBeLessThan(CLOSE_MS);
});
