import { expect, test } from 'vitest';
import { runOf, step, until, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import type { Journal } from './journal.ts';

// A cancel that comes between two writes.

const bench = useBenches();

describeOnStores('a run that was cancelled', (newPlace) => {
  test('while it was loaded begins no step', async () => {
    let begun = 0;
    const place = newPlace();
    const slow = step('slow', () => {
      begun += 1;
      return new Promise(() => {});
    });
    const code = { go: async () => slow() };
    const first = await bench(place, code);
    const { runId } = await first.start('go');
    await until(() => begun === 1);
    await first.kill();
    // Its history is read after it was claimed, and before its step begins: there it is cancelled.
    const open = async (): Promise<Journal> => {
      const journal = await place.open();
      const { claim } = journal;
      return Object.assign(journal, {
        claim: async (...how: Parameters<typeof claim>) => {
          const runs = await claim(...how);
          for (const run of runs)
            await journal.cancel(run.runId, '1[["Error",1],{"name":2,"message":2},"x"]', () => 'n');
          return runs;
        },
      });
    };
    const second = await bench({ open }, code);
    await until(async () => (await second.journal.getRun(runId))?.status === 'cancelled');
    await until(() => second.engine.liveRuns === 0);
    expect(begun).toBe(1);
  });

  test('takes the child along whose start it did not see', async () => {
    let begun = 0;
    const place = newPlace();
    const act = step('act', () => (begun += 1));
    const first = await bench(place, { child: async () => act(), parent: async () => new Promise(() => {}) });
    const parent = await first.start('parent');
    await first.engine.cancel(parent.runId, new Error('no'));
    await first.kill();
    // What the process that died had written last.
    const journal = await place.open();
    const created = await journal.create({
      runId: '0197f6e4-0000-7000-8000-000000000001',
      traceId: '0197f6e4000070008000000000000001',
      kind: 'workflow',
      name: 'child',
      trigger: 'workflow',
      codeHash: 'hash',
      sessionId: null,
      parentRunId: parent.runId,
      retryOf: null,
      input: '2null',
      claim: null,
      durability: 'process',
    });
    const second = await bench(place, { child: async () => act() });
    const row = await second.engine.wait(runOf(created).runId, 10_000);
    expect([row?.status, begun]).toEqual(['cancelled', 0]);
  });
});
