import { expect, test } from 'vitest';
import { createDeaths } from './deaths.ts';

test('a process counts as dead once it was silent in every look of half a second', () => {
  let now = 1_000;
  const deaths = createDeaths(() => now);
  expect([deaths.note(['a']), deaths.soon]).toEqual([[], 500]);
  now += 300;
  expect([deaths.note(['a', 'b']), deaths.soon]).toEqual([[], 200]);
  now += 200;
  expect([deaths.note(['a', 'b']), deaths.soon]).toEqual([['a'], 300]);
  // Back in between: it starts over.
  now += 100;
  expect([deaths.note(['a']), deaths.soon]).toEqual([['a'], undefined]);
  now += 300;
  expect([deaths.note(['b']), deaths.soon]).toEqual([[], 500]);
  now += 1_000;
  expect([deaths.note([]), deaths.soon]).toEqual([[], undefined]);
});
