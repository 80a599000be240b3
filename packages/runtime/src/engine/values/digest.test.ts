import { expect, test } from 'vitest';
import { digestOf, encode } from '../serialize.ts';
import { digestOfJson, digestOfValue, isSameDigest } from './digest.ts';

const digest = (value: unknown) => digestOfValue(value, encode(value, 'input'));

test.each([
  ['members of objects', { a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }],
  ['beside values JSON has not', { at: new Date(0), n: 1n }, { n: 1n, at: new Date(0) }],
  ['names like numbers', { b: 1, 2: 2, 1: 3 }, { 1: 3, 2: 2, b: 1 }],
  [
    'many objects',
    Array.from({ length: 100 }, () => ({ a: 1, b: 2 })),
    Array.from({ length: 100 }, () => ({ b: 2, a: 1 })),
  ],
])('is the same in any order: %s', (_, one, other) => {
  expect(digest(one).digest).toBe(digest(other).digest);
});

test.each([
  ['another value', { a: 1 }, { a: 2 }],
  ['another order of items', [1, 2], [2, 1]],
  ['a hole', [1, undefined, 2], Object.assign(Array.from({ length: 0 }), { 0: 1, 2: 2, length: 3 })],
  ['a map in another order', new Map(Object.entries({ a: 1, b: 2 })), new Map(Object.entries({ b: 2, a: 1 }))],
])('differs for %s', (_, one, other) => {
  expect(digest(one).digest).not.toBe(digest(other).digest);
});

test('is that of the text where that is in order, and says what it was before where it is not', () => {
  expect(digest({ a: 1, b: 2 })).toEqual({ digest: digestOf(encode({ a: 1, b: 2 }, 'input')) });
  expect(digest({ b: 2, a: 1 }).older).toBe(digestOf(encode({ b: 2, a: 1 }, 'input')));
});

test('of JSON text is the same in any order, also of names that the journal refuses', () => {
  const one = '{"__proto__":{"a":1,"b":2},"c":3}';
  expect(digestOfJson(one).digest).toBe(digestOfJson('{"c":3,"__proto__":{"b":2,"a":1}}').digest);
  expect(digestOfJson('{"b":1,"a":2}')).toMatchObject({ older: digestOf('{"b":1,"a":2}') });
  expect(isSameDigest(digestOf('{"b":1,"a":2}'), digestOfJson('{"b":1,"a":2}'))).toBe(true);
});

test('takes an object that holds itself', () => {
  const loop = (keys: string[]) => {
    const made: Record<string, unknown> = {};
    for (const key of keys) made[key] = made;
    return made;
  };
  expect(digest(loop(['a', 'b'])).digest).toBe(digest(loop(['b', 'a'])).digest);
});
