import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createOthersLook } from './others.ts';
import type { Embedder } from './store.ts';

const MINUTE = 60_000;
const LIMITS = { lookMs: MINUTE, termMs: 60 * MINUTE };

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'], now: 0 }));
afterEach(() => void vi.useRealTimers());

test('two replicas that stay with two models take a turn from each other some dozen times in a year', async () => {
  let made: Embedder = { model: 'none', since: '' };
  let looks = 0;
  let taken = 0;
  const jobs = {
    now: async () => new Date().toISOString(),
    async requeueOthers(by: Embedder) {
      looks += 1;
      if (made.model === by.model || made.since >= by.since) return 0;
      made = by;
      taken += 1;
      return 1;
    },
  };
  const one = createOthersLook(jobs, LIMITS);
  const other = createOthersLook(jobs, LIMITS);
  for (let passed = 0; passed < 365 * 24 * 60; passed += 5) {
    await one('one');
    await other('other');
    vi.advanceTimersByTime(5 * MINUTE);
  }
  expect(looks).toBeGreaterThan(200_000);
  expect(taken).toBeGreaterThan(2);
  expect(taken).toBeLessThan(40);
});

test('it is looked for once a minute, of all turns once in a term, and at once with another model', async () => {
  const looks: [model: string, lately: boolean][] = [];
  const jobs = {
    now: async () => new Date().toISOString(),
    async requeueOthers({ model }: Embedder, { lately }: { lately: boolean }) {
      looks.push([model, lately]);
      return 0;
    },
  };
  const look = createOthersLook(jobs, LIMITS);
  const first = await look('a');
  for (let passed = 0; passed < 90; passed += 1) {
    vi.advanceTimersByTime(MINUTE / 3);
    expect((await look('a')).since).toBe(first.since);
  }
  expect(looks).toEqual([['a', false], ...Array.from({ length: 30 }, () => ['a', true])]);
  await look('b');
  expect(looks.at(-1)).toEqual(['b', false]);
  vi.advanceTimersByTime(60 * MINUTE);
  expect(await look('b')).toEqual({ model: 'b', since: '1970-01-01T01:30:00.000Z' });
  expect(looks.at(-1)).toEqual(['b', false]);
});
