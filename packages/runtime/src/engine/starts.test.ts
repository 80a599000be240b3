import { describe, expect, test } from 'vitest';
import { newJournalPath, runOf, step, until, useBenches } from './_setup.ts';
import { createHook } from './primitives/hook.ts';

const bench = useBenches();

describe('a serial workflow', () => {
  const serial = { serial: { key: 'one', whenTaken: 'queue' as const } };

  test('runs one at a time, in the order of the starts', async () => {
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const work = step('work', async (n: number) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 3));
      order.push(n);
      running--;
    });
    const opened = await bench(newJournalPath(), { go: async (n: number) => work(n) });
    const results = [];
    for (let n = 0; n < 12; n++) results.push(await opened.create('go', n, serial));
    expect(results[0]?.outcome).toBe('created');
    expect(results.slice(1).every(({ outcome }) => outcome === 'queued')).toBe(true);
    await until(() => order.length === 12);
    expect(order).toEqual([...Array(12).keys()]);
    expect(most).toBe(1);
  });

  test('refuses a second start where that is asked', async () => {
    const opened = await bench(newJournalPath(), { go: async () => createHook({ token: 'x' }) });
    const first = runOf(await opened.create('go', null, serial));
    const second = await opened.create('go', null, { serial: { key: 'one', whenTaken: 'refuse' } });
    expect(second).toMatchObject({ outcome: 'refused', holder: { runId: first.runId } });
  });

  test('gives its lock on when the run is cancelled', async () => {
    const opened = await bench(newJournalPath(), {
      go: async (n: number) => (n === 0 ? createHook({ token: 'x' }) : n),
    });
    const first = runOf(await opened.create('go', 0, serial));
    const queued = await opened.create('go', 7, serial);
    await opened.engine.cancel(first.runId, new Error('next'));
    const triggerId = 'triggerId' in queued ? queued.triggerId : '';
    await until(async () => {
      const found = await opened.journal.queue.find(triggerId);
      return found !== undefined && 'run' in found && found.run.status === 'completed';
    });
  });
});

test('one idempotency key from fifty clients starts one run, and another input is refused', async () => {
  const opened = await bench(newJournalPath(), { go: async (n: number) => n });
  const results = await Promise.all(Array.from({ length: 50 }, () => opened.create('go', 1, { idempotencyKey: 'k' })));
  expect(new Set(results.map((result) => runOf(result).runId)).size).toBe(1);
  expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
  expect((await opened.create('go', 2, { idempotencyKey: 'k' })).outcome).toBe('idempotency_conflict');
});
