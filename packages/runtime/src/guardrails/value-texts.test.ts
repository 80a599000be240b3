import { expect, test } from 'vitest';
import { ALL_PERSONAL, regex, ruleOf, sideOf, words } from './_rules.ts';
import { judgeValue } from './judge.ts';

const VALUE = 'ada@example.com';
const masks = sideOf(ruleOf(ALL_PERSONAL));

test.each([
  ['a Map', new Map([['to', VALUE]]), new Map([['to', '[email]']])],
  ['the names of a Map', { m: new Map([[VALUE, 1]]) }, { m: new Map([['[email]', 1]]) }],
  ['a Set', { s: new Set(['x', VALUE]) }, { s: new Set(['x', '[email]']) }],
  ['a list in a Map in a Set', new Set([new Map([['to', [VALUE]]])]), new Set([new Map([['to', ['[email]']]])])],
])('is masked in %s, which is left as it was', async (_, value, masked) => {
  const before = structuredClone(value);
  const judged = await judgeValue(masks, value);
  expect(judged.value).toEqual(masked);
  expect(judged.found).toMatchObject([{ count: 1 }]);
  expect(value).toEqual(before);
});

test('is masked in a Map that has itself and stands there twice, as one Map', async () => {
  const map = new Map<string, unknown>([['to', VALUE]]);
  map.set('self', map);
  const { value } = await judgeValue(masks, { one: map, other: map });
  expect(value.one).toBe(value.other);
  expect([value.one.get('to'), value.one.get('self')]).toEqual(['[email]', value.one]);
});

test('a Map that has changed is judged as it is', async () => {
  const map = new Map([['to', 'x']]);
  await judgeValue(masks, map);
  map.set('to', VALUE);
  expect((await judgeValue(masks, map)).value).toEqual(new Map([['to', '[email]']]));
});

test('what judges the whole reads what a Map has, and a value that is no JSON', async () => {
  const long = sideOf(ruleOf({ kind: 'length', max: 10 }, 'block'));
  expect((await judgeValue(long, new Map([['note', 'more than ten']]))).blocked).toBeDefined();
  expect((await judgeValue(long, { n: 1n, note: 'more than ten' })).blocked).toBeDefined();
  expect((await judgeValue(long, { n: 1n })).blocked).toBeUndefined();
});

test('is blocked in a Map', async () => {
  const blocks = sideOf(ruleOf(words(['forbidden']), 'block'), ruleOf(regex('x'), 'mask'));
  expect((await judgeValue(blocks, { m: new Map([['a', 'forbidden']]) })).blocked).toBeDefined();
});
