import { expect, test } from 'vitest';
import { createGroupCommit } from './group-commit.ts';

test('what one turn of the event loop adds shares one commit', async () => {
  const { batches, commit } = recorder();
  const group = createGroupCommit(commit);
  const sent = [group.add(1), group.add(2)];
  await Promise.resolve();
  sent.push(group.add(3));
  expect(batches).toStrictEqual([]);
  expect(await Promise.all(sent)).toStrictEqual([10, 20, 30]);
  expect(batches).toStrictEqual([[1, 2, 3]]);
});

test('what callers add when they are answered shares the next commit, a turn later', async () => {
  const { batches, commit } = recorder();
  const group = createGroupCommit(commit);
  const twice = async (entry: number): Promise<number> => group.add(await group.add(entry));
  await Promise.all([twice(1), twice(2)]);
  expect(batches).toStrictEqual([
    [1, 2],
    [10, 20],
  ]);
});

test('one commit is under way, and what arrives meanwhile goes with the next', async () => {
  const batches: number[][] = [];
  const releases: (() => void)[] = [];
  const group = createGroupCommit<number, number>((entries) => {
    batches.push(entries);
    return new Promise((resolve) => releases.push(() => resolve(entries)));
  });
  const first = group.add(1);
  await turn();
  const later = [group.add(2)];
  await turn();
  later.push(group.add(3));
  await turn();
  expect(batches).toStrictEqual([[1]]);
  releases[0]?.();
  await first;
  await turn();
  expect(batches).toStrictEqual([[1], [2, 3]]);
  releases[1]?.();
  expect(await Promise.all(later)).toStrictEqual([2, 3]);
});

test.each([
  [
    'thrown',
    (error: Error): number[] => {
      throw error;
    },
  ],
  ['rejected', (error: Error): Promise<number[]> => Promise.reject(error)],
])('an error %s by a commit rejects the callers of that batch, and no other', async (_, fail) => {
  const failure = new Error('The disk is full.');
  const group = createGroupCommit<number, number>((entries) => (entries.includes(3) ? fail(failure) : entries), {
    maxEntries: 2,
  });
  const results = await Promise.allSettled([1, 2, 3, 4, 5].map((entry) => group.add(entry)));
  expect(results.map((result) => result.status)).toStrictEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
  ]);
  expect(results[2]).toMatchObject({ reason: failure });
  expect(await group.add(6)).toBe(6);
});

test('a result that is an error rejects its own caller', async () => {
  const group = createGroupCommit<number, number>((entries) =>
    entries.map((entry) => (entry === 2 ? new Error('no') : entry)),
  );
  const results = await Promise.allSettled([1, 2, 3].map((entry) => group.add(entry)));
  expect(results.map((result) => result.status)).toStrictEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a commit that answers too few results rejects its callers', async () => {
  const group = createGroupCommit<number, number>(() => []);
  await expect(group.add(1)).rejects.toThrow('A commit of 1 entries answered 0 results.');
});

test('a batch is bounded by number and by size, and keeps the order', async () => {
  const { batches, commit } = recorder();
  const group = createGroupCommit(commit, { maxEntries: 3, maxBytes: 10, sizeOf: (entry) => entry });
  await Promise.all([1, 1, 1, 1, 6, 4, 99, 5].map((entry) => group.add(entry)));
  expect(batches).toStrictEqual([[1, 1, 1], [1, 6], [4], [99], [5]]);
});

test('entries of one key go in separate commits, in order', async () => {
  const { batches, commit } = recorder();
  const group = createGroupCommit(commit, { keyOf: (entry) => String(entry % 2) });
  await Promise.all([1, 3, 2, 5, 4].map((entry) => group.add(entry)));
  expect(batches).toStrictEqual([[1, 2], [3, 4], [5]]);
});

test('idle resolves once everything sent is committed', async () => {
  const { batches, commit } = recorder();
  const group = createGroupCommit(commit, { maxEntries: 1 });
  await group.idle();
  const sent = Promise.all([group.add(1), group.add(2)]);
  await group.idle();
  expect(batches).toStrictEqual([[1], [2]]);
  await sent;
});

// --- internal ---

function recorder(): { batches: number[][]; commit: (entries: number[]) => number[] } {
  const batches: number[][] = [];
  return {
    batches,
    commit(entries) {
      batches.push(entries);
      return entries.map((entry) => entry * 10);
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
