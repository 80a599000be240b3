import { expect, test } from 'vitest';
import { describeOnStores } from '../_stores.ts';
import { until, useBenches } from '../_setup.ts';
import type { Place } from '../_setup.ts';
import { createHook } from '../primitives/hook.ts';
import { wrapJournal } from '../stores/wrap.ts';

/** A place whose journals count what is asked of them. */
export function counting(place: Place): { place: Place; calls: string[] } {
  const calls: string[] = [];
  const open = async () =>
    wrapJournal(await place.open(), (name, call) => {
      calls.push(name);
      return call();
    });
  return { place: { open }, calls };
}

describeOnStores('a sweep', (newPlace) => {
  const bench = useBenches();

  test('asks one thing of a journal that has nothing to do', async () => {
    const { place, calls } = counting(newPlace());
    const { start, journal } = await bench(place, { wait: async () => createHook() }, { sweepMs: 5 });
    const runs = await Promise.all(Array.from({ length: 10 }, () => start('wait')));
    await until(async () => (await journal.getRuns(runs.map((run) => run.runId))).every((run) => run.owner === null));
    // Those that are under way, and what a signal has left.
    await until(() => calls.slice(-3).join() === 'look,look,look');
    calls.length = 0;
    await until(() => calls.length >= 30);
    expect(new Set(calls)).toStrictEqual(new Set(['look']));
  });

  test('takes up what is due all the same', async () => {
    const place = newPlace();
    const code = { go: async () => 'done' };
    const { engine } = await bench(place, code, { exclusive: false, sweepMs: 20 });
    const other = await bench(place, code, { exclusive: false, sweepMs: 60_000, maxLive: 0 });
    const { runId } = await other.start('go');
    expect(await engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
  });
});
