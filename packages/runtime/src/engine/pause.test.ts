import { expect, test } from 'vitest';
import { createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';
import { outputOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { describeOnStores } from './_stores.ts';

const isAtRest = async ({ journal }: Bench, runId: string) => (await journal.getRun(runId))?.owner === null;

describeOnStores('a paused run', (newPlace) => {
  const openBench = useBenches();

  test('lets the step under way end, begins no other, and goes on where it stood', async () => {
    const did: string[] = [];
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const first = step('first', async () => (did.push('first'), await gate, 1));
    const second = step('second', () => (did.push('second'), 2));
    const bench = await openBench(newPlace(), { two: async () => (await first()) + (await second()) });
    const { runId } = await bench.start('two');
    await until(() => did.length === 1);
    expect(await bench.engine.pause(runId)).toBe(true);
    open();
    await until(() => isAtRest(bench, runId));
    expect((await bench.journal.getRecords(runId)).map(({ stepId }) => stepId)).toStrictEqual([
      'test.workflow.ts#first',
    ]);
    await bench.engine.tick();
    expect(did).toStrictEqual(['first']);
    expect(await bench.engine.unpause(runId)).toBe(true);
    expect(outputOf(await bench.engine.wait(runId, 10_000))).toBe(3);
    expect(did).toStrictEqual(['first', 'second']);
    expect(await bench.engine.unpause(runId)).toBe(false);
    expect(await bench.engine.pause(runId)).toBe(false);
  });

  test('keeps what it is resumed with and its timers over a restart', async () => {
    const place = newPlace();
    const did: unknown[] = [];
    const note = step('note', (value: unknown) => void did.push(value));
    const code = {
      both: async () => {
        const waits = [createHook({ token: 'door' }).then(note), sleep(1_000).then(() => note('slept'))];
        await Promise.all(waits);
      },
    };
    const name = { codeHash: 'same' };
    const bench = await openBench(place, code, name);
    const { runId } = await bench.start('both');
    await bench.engine.pause(runId);
    await until(() => isAtRest(bench, runId));
    did.length = 0;
    await bench.engine.resumeHook('door', 'came in');
    await bench.kill();
    const again = await openBench(place, code, name);
    await until(
      async () => (await again.journal.now()) > ((await again.journal.getRun(runId))?.createdAt ?? 0) + 1_200,
    );
    await again.engine.tick();
    expect(did).toStrictEqual([]);
    expect(await again.engine.nextDue()).toBeUndefined();
    await again.engine.unpause(runId);
    expect((await again.engine.wait(runId, 10_000))?.status).toBe('completed');
    expect(did.toSorted()).toStrictEqual(['came in', 'slept']);
  });

  test('rests where another process has it, and can be cancelled', async () => {
    const place = newPlace();
    let rounds = 0;
    const tick = step('tick', async () => {
      rounds += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    });
    const code = {
      ticks: async () => {
        for (;;) await tick();
      },
    };
    const here = await openBench(place, code, { exclusive: false });
    const there = await openBench(place, code, { exclusive: false });
    const { runId } = await here.start('ticks');
    await until(() => rounds > 3);
    await there.engine.pause(runId);
    await until(() => isAtRest(here, runId));
    const rested = rounds;
    await there.engine.tick();
    await here.engine.tick();
    expect(rounds).toBe(rested);
    expect(await there.journal.listRuns({ status: 'running' }, { limit: 10 })).toMatchObject([{ runId }]);
    await there.engine.unpause(runId);
    await until(() => rounds > rested);
    await here.engine.pause(runId);
    expect(await there.engine.cancel(runId, new Error('enough'))).toMatchObject({ outcome: 'cancelled' });
    expect((await here.journal.getRun(runId))?.status).toBe('cancelled');
  });
});
