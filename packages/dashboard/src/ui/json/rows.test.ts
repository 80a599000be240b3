import { expect, it } from 'vitest';
import {
  baseAbove,
  baseFor,
  FIRST,
  formatPath,
  idOf,
  openFirst,
  openMore,
  openTo,
  previewOf,
  STEP,
  toRows,
} from './rows.ts';

const LARGE = { items: Array.from({ length: 1_000_000 }, (_, id) => ({ id })), note: 'all of them' };

it('two levels are open at first, where they come to a page', () => {
  const rows = toRows({ a: { b: { c: 1 } }, d: [1, 2] }, openFirst({ a: { b: { c: 1 } }, d: [1, 2] }));
  expect(rows.map(({ path }) => formatPath(path))).toEqual(['', 'a', 'a.b', 'd', 'd[0]', 'd[1]']);
});

it('of a list of a million a hundred are shown, and then a hundred more', () => {
  const opened = openTo(LARGE, ['items', 0], openFirst(LARGE));
  const rows = toRows(LARGE, opened);
  expect(rows).toHaveLength(1 + 1 + STEP + 1 + 1);
  expect(rows.at(-2)).toMatchObject({ kind: 'more', where: 'after', left: 999_900, path: ['items'] });
  const more = toRows(LARGE, openMore(opened, { path: ['items'], where: 'after' }));
  expect(more).toHaveLength(1 + 1 + 2 * STEP + 1 + 1);
});

it('opens all that leads to a path, as far as the member is shown', () => {
  const rows = toRows(LARGE, openTo(LARGE, ['items', 250, 'id'], new Map()));
  expect(rows.some(({ path }) => formatPath(path) === 'items[250].id')).toBe(true);
});

it('far down a list the hundred around a member are shown, and those before and after them when asked for', () => {
  const opened = openTo(LARGE, ['items', 777_777, 'id'], openFirst(LARGE));
  const rows = toRows(LARGE, opened);
  expect(rows.length).toBeLessThan(2 * STEP);
  expect(rows.some(({ path }) => formatPath(path) === 'items[777777].id')).toBe(true);
  expect(rows.filter(({ kind }) => kind === 'more')).toMatchObject([
    { where: 'before', left: 777_700 },
    { where: 'after', left: 222_200 },
  ]);
  const before = toRows(LARGE, openMore(opened, { path: ['items'], where: 'before' }));
  expect(before).toHaveLength(rows.length + STEP);
  expect(before.find(({ kind }) => kind === 'more')).toMatchObject({ where: 'before', left: 777_600 });
  // What is shown stays where the next one lies beside it.
  expect(toRows(LARGE, openTo(LARGE, ['items', 777_800], opened))).toHaveLength(rows.length + STEP);
});

it('a value that is nested ten thousand deep is drawn as far as it is open', () => {
  let deep: unknown = 'the end';
  for (let at = 0; at < 10_000; at += 1) deep = [deep];
  expect(toRows(deep, openFirst(deep))).toHaveLength(3);
  expect(previewOf(deep)).toBe('[[…]]');
});

it('of a path of five thousand levels those around its end are shown, and those above when asked for', () => {
  const path = Array.from({ length: 5_000 }, () => 'n');
  let deep: unknown = 'the end';
  for (const name of path) deep = { [name]: deep };
  const base = baseFor(path, []);
  const opened = openTo(deep, path, openFirst(deep), base);
  const rows = toRows(deep, opened, base);
  expect(rows).toHaveLength(52);
  expect(rows[0]).toMatchObject({ kind: 'more', where: 'above', left: 4_950 });
  expect(rows.at(-1)).toMatchObject({ value: 'the end', depth: 5_000 });
  const above = baseAbove(base);
  expect(toRows(deep, openTo(deep, base, opened, above), above)).toHaveLength(102);
  // What is near stays where it is.
  expect(baseFor(path.slice(0, 4_990), base)).toBe(base);
  expect(baseFor(['n'], base)).toEqual([]);
});

it('a preview is one line of bounded length', () => {
  expect(previewOf({ name: 'Ada', tags: ['a'], empty: {} })).toBe('{ name: "Ada", tags: […], empty: {} }');
  expect(previewOf('x'.repeat(1_000_000)).length).toBeLessThan(50);
  expect(previewOf(Array.from({ length: 100_000 }, () => 'text')).length).toBeLessThan(100);
});

it('a path is written as code would write it', () => {
  expect(formatPath(['order', 'lines', 0, 'unit price', 'a"b'])).toBe('order.lines[0]["unit price"]["a\\"b"]');
});

it('an empty list and an empty object have nothing to open', () => {
  expect(toRows([], openFirst([]))).toMatchObject([{ isOpen: false, size: 0 }]);
  expect(
    toRows(
      { a: {} },
      new Map([
        [idOf([]), FIRST],
        [idOf(['a']), FIRST],
      ]),
    ).at(-1),
  ).toMatchObject({ isOpen: false });
});
