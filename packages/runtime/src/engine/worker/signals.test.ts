import { expect, test } from 'vitest';
import { describeOnStores } from '../_stores.ts';
import { until, useBenches } from '../_setup.ts';
import { createHook } from '../primitives/hook.ts';
import type { Doorbell, RingListener } from '../doorbell.ts';
import { wrapJournal } from '../stores/wrap.ts';

/** One bell for several replicas, as a shared store gives it: each hears the others. */
function createBells(): () => Doorbell {
  const listeners = new Map<object, RingListener>();
  return () => {
    const own = {};
    return {
      ring(kind, runId, to) {
        for (const [each, listener] of listeners) if (each !== own) listener(kind, runId, to);
      },
      listen(listener) {
        listeners.set(own, listener);
        return () => void listeners.delete(own);
      },
    };
  };
}

describeOnStores('a signal for a run that another replica has', (newPlace) => {
  const bench = useBenches();

  test('is looked at by that one, and the others ask the journal nothing', async () => {
    const place = newPlace();
    const newBell = createBells();
    const calls: string[] = [];
    const open = (name: string) =>
      bench(
        {
          open: async () =>
            wrapJournal(await place.open(), (call, run) => {
              if (call.startsWith('claimRun')) calls.push(name);
              return run();
            }),
        },
        { go: async () => (await createHook<number>({ token: 't' })) * 2 },
        // What is not heard is not found by looking, either, in the time of the test.
        { exclusive: false, sweepMs: 60_000, limits: { parkAfter: 60_000 }, doorbell: newBell() },
      );
    const [home, asked] = [await open('home'), await open('asked')];
    for (const name of ['c', 'd', 'e']) await open(name);
    const { runId } = await home.start('go');
    // It stays in memory while it waits.
    await until(async () => (await asked.journal.hooks.find('t')) !== undefined);
    calls.length = 0;
    await asked.engine.resumeHook('t', 21);
    expect(await home.engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
    expect(calls.filter((name) => !['asked', 'home'].includes(name))).toStrictEqual([]);
  });
});
