import { expect, test } from 'vitest';
import type { RunRow } from '../journal/run.ts';
import { createSuspects } from './suspects.ts';

const suspect = (runId: string, crashCount = 0) => ({ runId, crashCount }) as RunRow;

/** A line of suspects, and which of them have begun. */
function setup(graceMs?: number) {
  const begun: string[] = [];
  const suspects = createSuspects(graceMs);
  const add = (...runs: RunRow[]) => {
    for (const run of runs) suspects.add(run, async () => void begun.push(run.runId));
  };
  return { suspects, begun, add };
}

test('suspects go on one at a time, in the order they came', () => {
  const { suspects, begun, add } = setup(60_000);
  add(suspect('a'), suspect('b'), suspect('c'));
  expect([begun, suspects.waiting, suspects.has('a'), suspects.has('b')]).toEqual([['a'], 2, false, true]);
  suspects.pass('c');
  expect(begun).toEqual(['a']);
  suspects.pass('a');
  expect(begun).toEqual(['a', 'b']);
  suspects.pass('b');
  suspects.pass('c');
  expect([begun, suspects.isIdle]).toEqual([['a', 'b', 'c'], true]);
});

test('one that was never marked in a crash keeps the turn for a moment only', async () => {
  const { begun, add } = setup(1);
  add(suspect('a'), suspect('b'));
  await expect.poll(() => begun).toEqual(['a', 'b']);
});

test('one that was marked keeps it until it has gone on, and holds up no other line', async () => {
  const { suspects, begun, add } = setup(1);
  add(suspect('bad', 1), suspect('worse', 4), suspect('a'), suspect('b'));
  await expect.poll(() => begun).toEqual(['bad', 'a', 'b']);
  expect(suspects.has('worse')).toBe(true);
  suspects.pass('bad');
  expect(begun.at(-1)).toBe('worse');
});

test('closing answers those that wait, and none of them begins', async () => {
  const { suspects, begun, add } = setup(60_000);
  add(suspect('a'), suspect('b'), suspect('c', 2), suspect('d', 2));
  expect((await suspects.close()).map(({ runId }) => runId)).toEqual(['b', 'd']);
  suspects.pass('a');
  suspects.pass('c');
  expect(begun).toEqual(['a', 'c']);
});
