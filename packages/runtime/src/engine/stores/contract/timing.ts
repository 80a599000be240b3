import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { Journal } from '../../journal.ts';
import type { NewRun, StartTiming } from '../../journal/starts.ts';
import { claim, start, until } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRun } from './records.ts';

const HOUR_MS = 3_600_000;

export function describeTiming(world: World): void {
  /** As if so much time had gone by: for what waits, and for what is counted. */
  const pass = async (ms: number): Promise<void> => {
    await world.change(
      (prefix) =>
        `update ${prefix}serial_queue set ready_at = ready_at - ${ms}, debounce_until = debounce_until - ${ms}`,
    );
    await world.change((prefix) => `update ${prefix}start_rates set at = at - ${ms}, until = until - ${ms}`);
  };
  /** The triggers of the runs that begin now. */
  const begin = async (): Promise<(string | null)[]> => (await claim(world.journal)).map((run) => run.triggerId);

  describe('a delayed start', () => {
    test('waits in the queue until its time, and is a run then', async () => {
      const result = await world.journal.create(timed('a', { delayMs: HOUR_MS }));
      expect(result).toStrictEqual({ outcome: 'queued', triggerId: 'a' });
      const [queued] = await world.journal.queue.list({}, { limit: 9 });
      expect(queued).toMatchObject({ triggerId: 'a', serialKey: null, limit: null, waitsFor: 'delay' });
      expect((queued?.readyAt ?? 0) - (queued?.createdAt ?? 0)).toBe(HOUR_MS);
      expect(await begin()).toStrictEqual([]);
      expect(await world.journal.nextWake()).toBeGreaterThan(HOUR_MS - 60_000);
      await pass(HOUR_MS);
      expect(await world.journal.nextWake()).toBe(0);
      expect(await begin()).toStrictEqual(['a']);
      expect(await world.journal.queue.find('a')).toMatchObject({ run: { serialKey: null, input: '[1]' } });
      expect(await world.journal.nextWake()).toBeUndefined();
    });

    test('at a time that is over it begins at once', async () => {
      expect(await world.journal.create(timed('a', { at: 1_000 }))).toMatchObject({ outcome: 'created' });
    });

    test('takes a place of its lock when it is due, and holds up none before', async () => {
      const lock = (id: string): Partial<NewRun> => ({ serial: { key: 's', triggerId: id, whenTaken: 'queue' } });
      await world.journal.create(timed('late', { delayMs: HOUR_MS }, lock('late')));
      const holder = await start(world.journal, newRun({ claim: null, ...lock('now') }));
      await pass(HOUR_MS);
      expect(await begin()).toStrictEqual([null]);
      expect(await world.journal.queue.list({}, { limit: 9 })).toMatchObject([{ triggerId: 'late', waitsFor: 'lock' }]);
      const nextRunId = newRunId();
      await world.journal.append(newAppend({ ...holder, epoch: 1 }, { patch: { status: 'completed' }, nextRunId }));
      expect(await world.journal.getRun(nextRunId)).toMatchObject({ triggerId: 'late', serialKey: 's' });
    });

    test('dropped before its time it never begins', async () => {
      await world.journal.create(timed('a', { delayMs: HOUR_MS }));
      expect(await world.journal.queue.remove('a')).toBe(true);
      await pass(HOUR_MS);
      expect(await begin()).toStrictEqual([]);
    });

    test('100 that are due while two journals claim begin once each', async () => {
      const journals = [world.journal, await world.open()];
      for (let n = 0; n < 100; n++) await world.journal.create(timed(`t${n}`, { delayMs: HOUR_MS }));
      await pass(HOUR_MS);
      const begun: (string | null)[] = [];
      await until(async () => {
        const taken = await Promise.all(journals.map((journal, n) => claim(journal, { owner: `o${n}` })));
        begun.push(...taken.flat().map((run) => run.triggerId));
        return begun.length >= 100;
      });
      expect(new Set(begun).size).toBe(100);
      expect(await world.journal.listRuns({}, { limit: 200 })).toHaveLength(100);
    });
  });

  describe('a throttle', () => {
    const throttle = { key: 'k', limit: 2, periodMs: HOUR_MS };

    test('lets a limit of starts begin within a period, and the others wait for theirs', async () => {
      const outcomes = [];
      for (const id of ['a', 'b', 'c', 'd', 'e']) outcomes.push(await world.journal.create(timed(id, { throttle })));
      expect(outcomes.map(({ outcome }) => outcome)).toStrictEqual([
        'created',
        'created',
        'queued',
        'queued',
        'queued',
      ]);
      const waiting = await world.journal.queue.list({}, { limit: 9 });
      expect(waiting.map((queued) => [queued.triggerId, queued.waitsFor])).toStrictEqual([
        ['c', 'throttle'],
        ['d', 'throttle'],
        ['e', 'throttle'],
      ]);
      await claim(world.journal);
      await pass(HOUR_MS);
      expect(await begin()).toStrictEqual(['c', 'd']);
      await pass(HOUR_MS);
      expect(await begin()).toStrictEqual(['e']);
    });

    test('another key has a limit of its own', async () => {
      for (const id of ['a', 'b']) await world.journal.create(timed(id, { throttle }));
      expect(await world.journal.create(timed('c', { throttle: { ...throttle, key: 'K' } }))).toMatchObject({
        outcome: 'created',
      });
    });

    test('after an outage of several periods not all that waited begin at once', async () => {
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await world.journal.create(timed(id, { throttle }));
      await claim(world.journal);
      await pass(10 * HOUR_MS);
      expect(await begin()).toStrictEqual(['c', 'd']);
      await pass(HOUR_MS);
      expect(await begin()).toStrictEqual(['e', 'f']);
    });

    test('counts a delayed start when it is due', async () => {
      await world.journal.create(timed('late', { throttle, delayMs: 24 * HOUR_MS }));
      const results = [];
      for (const id of ['a', 'b', 'c']) results.push((await world.journal.create(timed(id, { throttle }))).outcome);
      expect(results).toStrictEqual(['created', 'created', 'queued']);
    });

    test('counts over two journals', async () => {
      const journals = [world.journal, await world.open()] as const;
      const given = { throttle: { ...throttle, limit: 7 } };
      const sent = Array.from({ length: 40 }, (_, n) => journals[n % 2 ? 1 : 0].create(timed(`t${n}`, given)));
      const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(7);
      const times = (await world.journal.queue.list({}, { limit: 50 })).map(({ readyAt }) => Number(readyAt));
      // Any eight in a row are a period apart.
      for (let n = 7; n < times.length; n++)
        expect((times[n] ?? 0) - (times[n - 7] ?? 0)).toBeGreaterThanOrEqual(HOUR_MS);
    });
  });

  describe('a rate limit', () => {
    const rateLimit = { key: 'k', limit: 2, periodMs: HOUR_MS };

    test('refuses a start above it, and says when there is room', async () => {
      for (const id of ['a', 'b']) await start(world.journal, timed(id, { rateLimit }));
      const refused = await world.journal.create(timed('c', { rateLimit }));
      expect(refused).toStrictEqual({ outcome: 'limited', retryAt: expect.any(Number) as number });
      expect((refused as { retryAt: number }).retryAt - (await world.journal.now())).toBeGreaterThan(HOUR_MS - 60_000);
      expect(await world.journal.listRuns({}, { limit: 9 })).toHaveLength(2);
      await pass(HOUR_MS);
      expect(await world.journal.create(timed('d', { rateLimit }))).toMatchObject({ outcome: 'created' });
    });

    test('does not count a repeat of the same start', async () => {
      const keyed = { idempotency: { key: 'i', digest: 'd' } };
      for (const id of ['a', 'b', 'c']) await world.journal.create(timed(id, { rateLimit }, keyed));
      expect(await world.journal.create(timed('d', { rateLimit }))).toMatchObject({ outcome: 'created' });
      expect(await world.journal.create(timed('e', { rateLimit }, keyed))).toMatchObject({ outcome: 'repeated' });
    });

    test('holds for 40 starts from two journals at once', async () => {
      const journals = [world.journal, await world.open()] as const;
      const given = { rateLimit: { ...rateLimit, limit: 7 } };
      const sent = Array.from({ length: 40 }, (_, n) => journals[n % 2 ? 1 : 0].create(timed(`t${n}`, given)));
      const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(7);
      expect(outcomes.filter((outcome) => outcome === 'limited')).toHaveLength(33);
    });

    test('what no limit counts any more is forgotten', async () => {
      await start(world.journal, timed('a', { rateLimit }));
      await pass(HOUR_MS);
      await claim(world.journal);
      await until(async () => (await world.count('start_rates')) === 0);
    });
  });

  describe('a debounce', () => {
    const debounce = { key: 'k', periodMs: HOUR_MS };

    test('makes one run of all starts within a period, with the last input', async () => {
      expect(await world.journal.create(timed('a', { debounce }))).toStrictEqual({ outcome: 'queued', triggerId: 'a' });
      await pass(HOUR_MS / 2);
      const asked = { startedBy: '{"kind":"key"}', attributes: '{"svc.charged_to":"key:b"}' };
      // A deployment came in between: the last input was judged by the newer code.
      const later = { input: '[2]', ...asked, codeHash: 'newer', timeoutMs: 60_000 };
      const again = await world.journal.create(timed('b', { debounce }, later));
      expect(again).toStrictEqual({ outcome: 'queued', triggerId: 'a' });
      await pass(HOUR_MS / 2);
      expect(await begin()).toStrictEqual([]);
      expect(await world.journal.queue.list({}, { limit: 9 })).toMatchObject([
        { triggerId: 'a', waitsFor: 'debounce' },
      ]);
      await pass(HOUR_MS / 2);
      expect(await claim(world.journal)).toMatchObject([{ triggerId: 'a', ...later }]);
      expect(await world.journal.create(timed('c', { debounce }))).toStrictEqual({ outcome: 'queued', triggerId: 'c' });
    });

    test('begins at the latest after its timeout', async () => {
      const given = { debounce: { ...debounce, timeoutMs: 1.5 * HOUR_MS } };
      await world.journal.create(timed('a', given));
      await pass(0.9 * HOUR_MS);
      await world.journal.create(timed('b', given, { input: '[2]' }));
      await pass(0.5 * HOUR_MS);
      await world.journal.create(timed('c', given, { input: '[3]' }));
      expect(await begin()).toStrictEqual([]);
      await pass(0.1 * HOUR_MS);
      expect(await claim(world.journal)).toMatchObject([{ triggerId: 'a', input: '[3]' }]);
    });

    test('of 30 starts from two journals at once there is one', async () => {
      const journals = [world.journal, await world.open()] as const;
      const sent = Array.from({ length: 30 }, (_, n) => journals[n % 2 ? 1 : 0].create(timed(`t${n}`, { debounce })));
      const results = (await Promise.all(sent)) as { triggerId: string }[];
      expect(new Set(results.map(({ triggerId }) => triggerId)).size).toBe(1);
      expect(await triggers(world.journal)).toHaveLength(1);
    });
  });
}

// --- internal ---

function timed(triggerId: string, timing: Omit<StartTiming, 'triggerId'>, fields: Partial<NewRun> = {}): NewRun {
  return newRun({ claim: null, timing: { triggerId, ...timing }, ...fields });
}

async function triggers(journal: Journal): Promise<string[]> {
  return (await journal.queue.list({}, { limit: 300 })).map(({ triggerId }) => triggerId);
}
