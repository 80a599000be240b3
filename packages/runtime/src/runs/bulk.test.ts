import { expect, test } from 'vitest';
import { BoxError } from '../errors.ts';
import { applyToAll } from './bulk.ts';
import type { BulkRequest } from './bulk.ts';
import type { Runs } from './runs.ts';

const runIds = Array.from({ length: 40 }, (_, n) => `run-${String(n).padStart(2, '0')}`).reverse();

/** What there is in the list of runs; nothing else of them is asked. */
const runs = {
  list: async () => ({ items: runIds.map((runId) => ({ runId })), nextCursor: null }),
  count: async () => runIds.length,
} as unknown as Pick<Runs, 'list' | 'count'>;

const applyAll = (apply: BulkRequest['apply']) =>
  applyToAll(runs, { filter: {}, statuses: ['completed'], dryRun: false, limit: 100, apply });

const pause = () => new Promise((resolve) => setImmediate(resolve));

test('ten runs are worked on at a time, begun in their order, and one that takes long holds up no other', async () => {
  const begun: string[] = [];
  let [atOnce, most] = [0, 0];
  let letGo = (): void => {};
  const isOver = new Promise<void>((resolve) => (letGo = resolve));
  const result = await applyAll(async (runId) => {
    begun.push(runId);
    most = Math.max(most, (atOnce += 1));
    await (runId === runIds[0] ? isOver : pause());
    if (runId === runIds.at(-1)) letGo();
    atOnce -= 1;
  });
  expect(result).toEqual({ matched: 40, done: 40, failed: [], nextCursor: null });
  expect(begun).toEqual(runIds);
  expect(most).toBe(10);
});

test('what is refused is kept for each run, in the order of the runs; what has ended meanwhile is nothing', async () => {
  const result = await applyAll(async (runId) => {
    const n = Number(runId.slice(4));
    for (let turn = 0; turn < n % 7; turn++) await pause();
    if (n % 10 === 3) throw new BoxError('run_not_final', `${runId} is under way.`);
    if (n % 10 === 4) throw new BoxError(n % 20 === 4 ? 'run_final' : 'run_not_found', 'It is over.');
  });
  expect(result).toMatchObject({ matched: 40, done: 32 });
  expect(result.failed).toEqual(
    ['run-33', 'run-23', 'run-13', 'run-03'].map((runId) => ({
      runId,
      code: 'run_not_final',
      message: `${runId} is under way.`,
    })),
  );
});

test('a fault ends it: those under way are over when it is thrown, and no other begins', async () => {
  const [begun, over]: [string[], string[]] = [[], []];
  const all = applyAll(async (runId) => {
    begun.push(runId);
    if (begun.length === 12) throw new TypeError('A fault.');
    await pause();
    over.push(runId);
  });
  await expect(all).rejects.toThrow('A fault.');
  expect(begun).toEqual(runIds.slice(0, begun.length));
  expect(begun.length).toBeLessThan(30);
  expect(over).toHaveLength(begun.length - 1);
});

test('what matches is counted by the first request alone, and said by each', async () => {
  let counted = 0;
  const counting = { ...runs, count: async () => (counted += 1) && runIds.length };
  const ask = (cursor?: BulkRequest['cursor']) =>
    applyToAll(counting, {
      filter: {},
      statuses: ['completed'],
      dryRun: false,
      limit: 15,
      apply: pause,
      ...(cursor && { cursor }),
    });
  const first = await ask();
  expect(first).toMatchObject({ matched: 40, done: 15, nextCursor: 'run-25.40' });
  expect(await ask({ after: 'run-25', matched: 40 })).toMatchObject({ matched: 40, done: 15 });
  expect(counted).toBe(1);
});
