import { expect, onTestFinished, test } from 'vitest';
import { followLines } from './follow-lines.ts';
import type { Lines, LinesSource, LogLine } from './follow-lines.ts';

const toLine = (id: number): LogLine => ({ id, message: `the ${id}th` }) as LogLine;
const times = { again: 1, gather: 1, most: 1_000 };

/** A box whose log has so many records, and forgets those before `oldest`. */
function openBox(count: number) {
  const box = { count, oldest: 1, asked: [] as (string | undefined)[] };
  const source: LinesSource = {
    async page(cursor) {
      const before = cursor === undefined ? box.count + 1 : Number(cursor);
      const first = Math.max(1, before - 200);
      const items = Array.from({ length: before - first }, (_, i) => toLine(before - 1 - i));
      return { items, nextCursor: first > 1 ? String(first) : null };
    },
    async *open(lastEventId, signal) {
      box.asked.push(lastEventId);
      let at = lastEventId === undefined ? box.count : Number(lastEventId);
      if (at < box.oldest - 1) {
        at = box.count;
        yield { event: 'reset', id: String(at), data: {} } as never;
      }
      while (!signal.aborted) {
        while (at < box.count) yield { event: 'log', id: String(++at), data: toLine(at) } as never;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
  };
  let shown: Lines | undefined;
  const followed = followLines(source, (lines) => (shown = lines), times);
  return { box, followed, ids: () => shown?.lines.map(({ id }) => id) ?? [], shown: () => shown };
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test('a log that is paused goes on behind the last record that was seen, however many came', async () => {
  const { box, followed, ids } = openBox(150);
  const pause = followed.follow();
  await expect.poll(ids).toEqual(upTo(150));
  pause();
  box.count = 450;
  onTestFinished(followed.follow());
  await expect.poll(ids).toEqual(upTo(450));
  expect(box.asked).toEqual(['150', '150']);
});

test('a log that is paused from the start shows what there is, and follows nothing until it goes on', async () => {
  const { box, followed, ids } = openBox(10);
  const stop = followed.look();
  await expect.poll(ids).toEqual(upTo(10));
  box.count = 20;
  expect(box.asked).toEqual([]);
  stop();
  onTestFinished(followed.follow());
  await expect.poll(ids).toEqual(upTo(20));
});

test('a log that was empty when it was paused has what came meanwhile', async () => {
  const { box, followed, ids, shown } = openBox(0);
  const pause = followed.follow();
  await expect.poll(() => shown()?.isLoading).toBe(false);
  pause();
  box.count = 3;
  onTestFinished(followed.follow());
  await expect.poll(ids).toEqual([1, 2, 3]);
});

test('where the box cannot go on, it is said that some are missing', async () => {
  const { box, followed, ids, shown } = openBox(10);
  const pause = followed.follow();
  await expect.poll(ids).toEqual(upTo(10));
  pause();
  Object.assign(box, { count: 400, oldest: 300 });
  onTestFinished(followed.follow());
  await expect.poll(() => shown()?.hasGap).toBe(true);
  box.count = 401;
  await expect.poll(() => ids().at(-1)).toBe(401);
  expect(ids().slice(0, 10)).toEqual(upTo(10));
});

test('older ones are read page by page, to the first', async () => {
  const { followed, ids, shown } = openBox(500);
  onTestFinished(followed.follow());
  await expect.poll(ids).toEqual(upTo(500, 301));
  expect(shown()?.hasOlder).toBe(true);
  await followed.more();
  expect(ids()).toEqual(upTo(500, 101));
  await Promise.all([followed.more(), followed.more()]);
  expect(ids()).toEqual(upTo(500));
  expect(shown()?.hasOlder).toBe(false);
});
