import { expect, test } from 'vitest';
import { errorOf, outputOf, step, until, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import type { RunRow } from './journal/run.ts';
import { sleep } from './primitives/sleep.ts';

const bench = useBenches();

describeOnStores('a sleep', (newPlace) => {
  test('takes milliseconds, a text or the Date it ends at, and is over at once where that is past', async () => {
    const { run } = await bench(newPlace(), {
      nap: async () => {
        const ended = [Date.now()];
        const waits = [30, '40ms', '0.05 seconds', () => new Date(Date.now() + 60), new Date(0), 0];
        for (const wait of waits) {
          await sleep(typeof wait === 'function' ? wait() : wait);
          ended.push(Date.now());
        }
        return ended;
      },
    });
    const ended = outputOf(await run('nap')) as number[];
    const slept = ended.slice(1).map((at, n) => at - (ended[n] ?? 0));
    for (const [n, least] of [30, 40, 50, 60].entries()) expect(slept[n]).toBeGreaterThanOrEqual(least);
    expect(Math.max(...slept)).toBeLessThan(5_000);
  });

  test('beside others ends in the order of their times', async () => {
    const { run } = await bench(newPlace(), {
      go: async () => {
        const ended: number[] = [];
        await Promise.all([150, 50, 100].map(async (ms) => (await sleep(ms), ended.push(ms))));
        return ended;
      },
    });
    expect(outputOf(await run('go'))).toEqual([50, 100, 150]);
  });

  test('goes on to its first end time after a kill, also when it is over by then', async () => {
    const place = newPlace();
    const code = {
      nap: async () => {
        const before = Date.now();
        await sleep(300);
        return Date.now() - before;
      },
    };
    const first = await bench(place, code);
    const { runId } = await first.start('nap');
    await until(async () => ['waiting', 'completed'].includes((await first.journal.getRun(runId))?.status ?? ''));
    await first.kill();
    const second = await bench(place, code);
    const slept = outputOf(await second.engine.wait(runId, 20_000)) as number;
    expect(slept).toBeGreaterThanOrEqual(300);
    expect(slept).toBeLessThan(20_000);
  });

  test('that is long is in the store alone, and its run is woken on time', async () => {
    const { start, engine, journal } = await bench(
      newPlace(),
      { nap: async () => sleep('1500ms') },
      { limits: { parkAfter: 100 } },
    );
    const { runId } = await start('nap');
    let row: RunRow | undefined;
    await until(async () => (row = await journal.getRun(runId))?.owner === null);
    expect(row?.status).toBe('waiting');
    expect((await engine.wait(runId, 20_000))?.status).toBe('completed');
  });

  test.each<[name: string, duration: never, message: string]>([
    ['a number below 0', -1 as never, '"-1" is not a duration.'],
    ['no number', Number.NaN as never, '"NaN" is not a duration.'],
    ['a text without a unit', '5' as never, '"5" is not a duration.'],
    ['a text of another unit', '2 fortnights' as never, '"2 fortnights" is not a duration.'],
    ['an invalid Date', new Date('never') as never, 'The Date to wait for is invalid.'],
    ['more than 100 years', '6000 weeks' as never, '"6000 weeks" is too long: a wait is at most 100 years.'],
  ])('of %s is refused, and nothing of it is recorded', async (_, duration, message) => {
    const { run, journal } = await bench(newPlace(), { nap: async () => sleep(duration) });
    const row = await run('nap');
    expect(errorOf(row)).toMatchObject({ name: 'RangeError', message: expect.stringContaining(message) });
    expect((await journal.getRun(row.runId))?.waitingFor ?? null).toBeNull();
  });

  test('in a step is refused, which says what to do there', async () => {
    const early = step('early', () => sleep(10), { maxRetries: 0 });
    const { run } = await bench(newPlace(), { go: async () => early() });
    expect(errorOf(await run('go'))).toMatchObject({
      message: 'sleep() works in a workflow body. In a step or a tool, await a timer of your own.',
    });
  });
});
