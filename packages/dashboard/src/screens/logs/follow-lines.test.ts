import { expect, onTestFinished, test } from 'vitest';
import { followLines } from './follow-lines.ts';
import type { Lines, LinesSource, LogLine } from './follow-lines.ts';

const toLine = (id: number): LogLine => ({ id, message: `the ${id}th` }) as LogLine;
const times = { again: 1, longest: 4, gather: 1, most: 1_000 };

/** A box whose log has so many records, and forgets those before `oldest`. */
function openBox(count: number) {
  const box = { count, oldest: 1, asked: [] as (string | undefined)[], refusals: [] as object[] };
  const source: LinesSource = {
    async page(cursor) {
      const before = cursor === undefined ? box.count + 1 : Number(cursor);
      const first = Math.max(1, before - 200);
      const items = Array.from({ length: before - first }, (_, i) => toLine(before - 1 - i));
      return { items, nextCursor: first > 1 ? String(first) : null };
    },
    async *open(lastEventId, signal) {
      box.asked.push(lastEventId);
      const refusal = box.refusals.shift();
      if (refusal) throw Object.assign(new Error('Not now.'), refusal);
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
  const failed: Lines[] = [];
  const show = (lines: Lines): void => {
    shown = lines;
    if (lines.error !== undefined) failed.push(lines);
  };
  const followed = followLines(source, show, times);
  return { box, followed, ids: () => shown?.lines.map(({ id }) => id) ?? [], shown: () => shown, failed };
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

test.each([
  { code: 'rate_limited', status: 429 },
  { code: 'store_unavailable', status: 503 },
  { code: 'unknown', status: 502 },
  {},
])('what passes by is said, and tried again until it is answered: %o', async (refusal) => {
  const { box, followed, ids, shown, failed } = openBox(3);
  box.refusals = Array.from({ length: 4 }, () => refusal);
  onTestFinished(followed.follow());
  box.count = 5;
  await expect.poll(ids).toEqual(upTo(5));
  expect(failed).toHaveLength(4);
  for (const one of failed) expect(one).toMatchObject({ isRetrying: true, error: { message: 'Not now.', ...refusal } });
  expect(shown()).toMatchObject({ isRetrying: false, error: undefined });
  expect(box.asked).toHaveLength(5);
});

test('a box that says how long to wait is not asked before', async () => {
  const { box, followed, shown } = openBox(3);
  box.refusals = [{ code: 'rate_limited', status: 429, details: { retryAfter: 0.2 } }];
  const began = performance.now();
  onTestFinished(followed.follow());
  await expect.poll(() => box.asked.length).toBe(2);
  expect(performance.now() - began).toBeGreaterThan(190);
  await expect.poll(() => shown()?.error).toBeUndefined();
});

test('what is refused for good is not asked again, until the person does', async () => {
  const { box, followed, ids, shown } = openBox(3);
  box.refusals = [{ code: 'forbidden', status: 403 }];
  followed.follow();
  await expect.poll(() => shown()?.error).toMatchObject({ code: 'forbidden' });
  expect(shown()?.isRetrying).toBe(false);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(box.asked).toEqual(['3']);
  onTestFinished(followed.follow());
  box.count = 4;
  await expect.poll(ids).toEqual(upTo(4));
  expect(shown()?.error).toBeUndefined();
});
