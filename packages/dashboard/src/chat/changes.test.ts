import { expect, test } from 'vitest';
import { listChanges, toBrief } from './changes.ts';

const of = (before: unknown, after: unknown) =>
  listChanges(before, after).map((change) => [
    change.path.join('.'),
    ...('before' in change ? [change.before?.value] : ['-']),
    ...('after' in change ? [change.after?.value] : ['-']),
  ]);

test('what is another is named by its place, and nothing where nothing is', () => {
  expect(of({ amount: 500, to: { name: 'Ada' } }, { amount: 4, to: { name: 'Ada' } })).toEqual([['amount', 500, 4]]);
  expect(of({ a: 1 }, { a: 1 })).toEqual([]);
  expect(of([1, { b: 2 }], [1, { b: 3 }, null])).toEqual([
    ['1.b', 2, 3],
    ['2', '-', null],
  ]);
  expect(of({ gone: undefined, a: [] }, { a: {} })).toEqual([
    ['gone', undefined, '-'],
    ['a', [], {}],
  ]);
  expect(of(null, { a: 1 })).toEqual([['', null, { a: 1 }]]);
});

test('large values are compared within bounds, and shown in one short line', () => {
  const many = Array.from({ length: 100_000 }, (_, n) => n);
  expect(
    listChanges(
      many,
      many.map((n) => n + 1),
    ),
  ).toHaveLength(50);
  expect(toBrief('x'.repeat(9_999))).toHaveLength(121);
  expect(toBrief(undefined)).toBe('nothing');
});
