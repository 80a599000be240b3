import { expect, test } from 'vitest';
import { readIds, writeIds } from './in-address.ts';

test('ids are in the address in the order in which they came, and nothing is where there is none', () => {
  const one = writeIds(readIds(undefined), 'a', true);
  const two = writeIds(readIds(one), 'b', true);
  expect([one, two, writeIds(readIds(two), 'a', true)]).toEqual(['a', 'a,b', 'b,a']);
  expect(writeIds(readIds(two), 'a', false)).toBe('b');
  expect(writeIds(readIds(one), 'a', false)).toBeUndefined();
});

test('an address that would be too long forgets those that came first', () => {
  let text: string | undefined;
  const ids = Array.from({ length: 500 }, () => crypto.randomUUID());
  for (const id of ids) text = writeIds(readIds(text), id, true);
  const held = [...readIds(text)];
  expect(text?.length).toBeLessThanOrEqual(1_200);
  expect(held.length).toBeGreaterThan(20);
  expect(held).toEqual(ids.slice(-held.length));
});
