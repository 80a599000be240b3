import { expect, test } from 'vitest';
import { encode } from './engine/serialize.ts';
import { previewOf } from './preview.ts';

const CUT = 2_000;
const preview = (value: unknown) => previewOf(encode(value, '').slice(0, CUT));
const many = Array.from({ length: 400 }, (_, n) => ({ id: n, name: `customer ${n}` }));

test('is the beginning of the JSON', () => {
  expect(preview({ text: 'x'.repeat(9_000) })).toBe(`{"text":"${'x'.repeat(491)}…`);
  const shown = preview({ batch: 'monday', customers: many });
  expect(shown).toMatch(/^\{"batch":"monday","customers":\[\{"id":0,"name":"customer 0"\},\{"id":1,/);
  expect(shown).toHaveLength(501);
});

test.each([
  ['a date', { at: new Date(0), many }, '{"at":"1970-01-01T00:00:00.000Z","many":[{"id":0'],
  ['a set', { tags: new Set(['a', 'b']), many }, '{"tags":["a","b"],"many":[{"id":0'],
  [
    'what has no JSON',
    { nothing: undefined, n: 1n, map: new Map(), many },
    '{"nothing":null,"n":"1","map":"…","many":[',
  ],
  ['text with brackets and quotes', { text: '"]},[{\\"', many }, '{"text":"\\"]},[{\\\\\\"","many":['],
  ['a text that is all of it', new Set(['x'.repeat(9_000)]), '["…"]'],
  ['a value that is cut off at once', [`x${'y'.repeat(9_000)}`, new Date(0)], '["…","…"]'],
])('has of %s what is whole', (_, value, beginning) => {
  expect(preview(value).slice(0, beginning.length)).toBe(beginning);
});

test('of an object that occurs again and again is no larger, and takes no longer', () => {
  let value: unknown = new Date(0);
  for (let n = 0; n < 60; n++) value = [value, value, value];
  expect(preview(value).length).toBeLessThan(5_000);
  const loop: unknown[] = [new Date(0)];
  loop.push(loop);
  expect(preview(loop)).toBe('["…","…"]');
});
