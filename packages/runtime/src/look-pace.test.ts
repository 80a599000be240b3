import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLookPace } from './look-pace.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Seconds after the first look, of each of the next ones within so many seconds. */
function looksWithin(seconds: number, pace: ReturnType<typeof createLookPace>): number[] {
  const began = performance.now();
  const at: number[] = [];
  for (let n = 0; n < seconds * 10; n++) {
    vi.advanceTimersByTime(100);
    if (pace.isTime()) at.push(Math.round((performance.now() - began) / 1_000));
  }
  return at;
}

it('looks are ever further apart while nothing is found, and as near as before once something was', () => {
  const pace = createLookPace(5_000);
  expect(pace.isTime()).toBe(true);
  expect(looksWithin(100, pace)).toEqual([5, 15, 35, 65, 95]);
  pace.found();
  expect(looksWithin(30, pace)).toEqual([5, 10, 20]);
});

it('a look comes when work is due, and not later than it would have come', () => {
  const pace = createLookPace(5_000);
  expect(pace.isTime()).toBe(true);
  pace.dueIn(2_000);
  pace.dueIn(60_000);
  expect(looksWithin(3, pace)).toEqual([2]);
});
