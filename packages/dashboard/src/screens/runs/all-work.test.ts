import { describe, expect, test } from 'vitest';
import { createWork } from './all-work.ts';
import type { BulkAnswer, WorkState } from './all-work.ts';

type Asked = { dryRun?: true; cursor?: string };

/** A box that answers as it is told, and all that was asked, shown and said. */
function begin(answers: (Partial<BulkAnswer> | Error | (() => Partial<BulkAnswer>))[]) {
  const asked: Asked[] = [];
  const shown: WorkState[] = [];
  const said: WorkState[] = [];
  const work = createWork({
    async ask(how) {
      asked.push(how);
      const next = answers.shift();
      if (next instanceof Error) throw next;
      return { matched: 0, done: 0, failed: [], nextCursor: null, ...(typeof next === 'function' ? next() : next) };
    },
    show: (state) => shown.push(state),
    say: (state) => said.push(state),
  });
  return { work, asked, shown, said, leave: work.enter() };
}

describe('what is done to all runs of a filter', () => {
  test('takes as many requests as it needs, and goes on behind the one that failed', async () => {
    const { work, asked, shown, said } = begin([
      { matched: 5 },
      { done: 2, nextCursor: 'r-3' },
      new Error('away'),
      { done: 2, failed: [{ runId: 'r-1', code: 'run_not_retryable', message: 'No.' }] },
    ]);
    await work.go(5);
    expect(shown.at(-1)).toMatchObject({ done: 2, isAll: false, isBusy: false, error: new Error('away') });
    await work.go(5);
    expect(shown.at(-1)).toMatchObject({ done: 4, refused: 1, isAll: true, isBusy: false, error: undefined });
    expect(asked).toEqual([{ dryRun: true }, {}, { cursor: 'r-3' }, { cursor: 'r-3' }]);
    expect(said).toEqual([]);
  });

  test('is nothing where they have become more since they were counted, until that was said once', async () => {
    const { work, asked, shown } = begin([{ matched: 8 }, { done: 8 }]);
    await work.go(3);
    expect(shown.at(-1)).toMatchObject({ grown: { from: 3, to: 8 }, done: 0, isAll: false, isBusy: false });
    await work.go(8);
    expect(shown.at(-1)).toMatchObject({ done: 8, isAll: true });
    expect(asked).toEqual([{ dryRun: true }, {}]);
  });

  test('says how far it came where the person went away', async () => {
    const { work, asked, said, leave } = begin([
      { matched: 300 },
      () => {
        leave();
        return { done: 200, nextCursor: 'r-100' };
      },
    ]);
    await work.go(300);
    expect(asked).toHaveLength(2);
    expect(said).toEqual([expect.objectContaining({ done: 200, isAll: false, isBusy: false })]);
  });

  test('has done nothing, and says nothing, where the person went away while they were counted again', async () => {
    const { work, asked, said, leave } = begin([
      () => {
        leave();
        return { matched: 3 };
      },
    ]);
    await work.go(3);
    expect([asked.length, said]).toEqual([1, []]);
  });

  test('is sent once by two presses, and holds the first refusals alone', async () => {
    const failed = Array.from({ length: 200 }, (_, n) => ({ runId: `r-${n}`, code: 'x', message: 'No.' }));
    const { work, asked, shown } = begin([{ matched: 400 }, { failed, nextCursor: 'a' }, { failed }]);
    await Promise.all([work.go(400), work.go(400)]);
    expect(asked).toHaveLength(3);
    expect(shown.at(-1)).toMatchObject({ refused: 400, failed: failed.slice(0, 20) });
  });
});
