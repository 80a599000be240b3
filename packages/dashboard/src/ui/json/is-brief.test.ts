import { expect, test } from 'vitest';
import { isBrief } from './is-brief.ts';

test('what is small is brief, and what is long, wide or deep is not', () => {
  expect([null, 1, 'word', [], {}, { a: [1, { b: 'c' }] }].map((value) => isBrief(value, 100))).toEqual(
    Array.from({ length: 6 }, () => true),
  );
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i += 1) deep = { deep };
  // Few characters but for the spaces before them.
  let inward: unknown = 1;
  for (let i = 0; i < 12; i += 1) inward = [inward];
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`name ${i}`, i]));
  const large = ['a'.repeat(200), [['a'.repeat(200)]], Array.from({ length: 1_000_000 }, () => 1), wide, deep, inward];
  expect(large.map((value) => isBrief(value, 100))).toEqual(large.map(() => false));
});
