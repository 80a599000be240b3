import { expect, test } from 'vitest';
import { describeOnStores } from '../_stores.ts';
import { step, until, useBenches } from '../_setup.ts';
import type { Place } from '../_setup.ts';
import type { Look } from '../journal/leases.ts';
import { createHook } from '../primitives/hook.ts';
import { sleep } from '../primitives/sleep.ts';
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

/** Runs that wait leave memory at once, and no lease is renewed meanwhile. */
const QUIET = { leaseMs: 600_000, limits: { parkAfter: 50 } };

describeOnStores('a sweep', (newPlace) => {
  const bench = useBenches();

  test('asks one thing of a journal that has nothing to do', async () => {
    const { place, calls } = counting(newPlace());
    const { start, journal } = await bench(place, { wait: async () => createHook() }, { sweepMs: 5, ...QUIET });
    const runs = await Promise.all(Array.from({ length: 10 }, () => start('wait')));
    await until(async () => (await journal.getRuns(runs.map((run) => run.runId))).every((run) => run.owner === null));
    // Those that are under way, and what a signal has left.
    await until(() => calls.slice(-3).join() === 'look,look,look');
    calls.length = 0;
    await until(() => calls.length >= 30);
    expect(new Set(calls)).toStrictEqual(new Set(['look']));
  });

  test('counts what was silent while the process came up', async () => {
    const calls: string[] = [];
    const inner = newPlace();
    let looked: Promise<unknown> = Promise.resolve();
    const open = async () =>
      wrapJournal(await inner.open(), async (name, call) => {
        calls.push(name);
        // Code is loaded meanwhile, and long after the first look.
        if (name === 'attend') await looked.then(() => new Promise((resolve) => setTimeout(resolve, 700)));
        const answering = call();
        if (name === 'look') looked = answering;
        const answer = await answering;
        return name === 'look' ? { ...answer, silent: ['gone'] } : answer;
      });
    await bench({ open }, {}, { exclusive: false, sweepMs: 60_000 });
    const armed = calls.slice(calls.lastIndexOf('attend'));
    expect(armed.filter((name) => name === 'look' || name === 'expire')).toStrictEqual(['look', 'expire']);
  });

  test('looks once the next timer is due, and no sooner for one that is left to others', async () => {
    const { place, calls } = counting(newPlace());
    const journal = await place.open();
    const now = await journal.now();
    const arm = (id: string, nextAt: number) =>
      journal.schedules.make({ id, name: 'w', cron: null, timeZone: null, input: '2null', nextAt, digest: '' });
    await arm('w@left', now - 1);
    await arm('w@next', now + 3_000);
    calls.length = 0;
    const looks: number[] = [];
    const onSweep = async () => void looks.push(await journal.now());
    await bench(place, {}, { sweepMs: 60_000, onSweep });
    await until(() => looks.length >= 2);
    expect(looks[1]).toBeGreaterThanOrEqual(now + 2_990);
    // Within the time that a look takes, however busy the machine is: the next one would come in a minute.
    expect(calls.filter((name) => name === 'look').length).toBeLessThan(5);
  });

  test('that comes early for a timer does not look through the runs in memory again', async () => {
    const { place, calls } = counting(newPlace());
    let end = (): void => {};
    const work = step('work', () => new Promise<void>((resolve) => (end = resolve)));
    const journal = await place.open();
    const { start, engine } = await bench(place, { work: () => work() }, { sweepMs: 60_000 });
    const { runId } = await start('work');
    const now = await journal.now();
    const timer = { name: 'w', cron: null, timeZone: null, input: '2null', digest: '' };
    // So far apart that a busy machine fires one at a time.
    for (let n = 0; n < 60; n++) await journal.schedules.make({ id: `w@${n}`, ...timer, nextAt: now + 700 + n * 250 });
    await engine.tick();
    calls.length = 0;
    const count = (wanted: string) => calls.filter((name) => name === wanted).length;
    await until(() => count('look') >= 5, 30_000);
    expect(count('listHeld')).toBe(0);
    await engine.tick();
    expect(count('listHeld')).toBe(1);
    end();
    expect(await engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
  });

  test('takes up what is due all the same', async () => {
    const place = newPlace();
    const code = { go: async () => 'done' };
    const { engine } = await bench(place, code, { exclusive: false, sweepMs: 20 });
    const other = await bench(place, code, { exclusive: false, sweepMs: 60_000, maxLive: 0 });
    const { runId } = await other.start('go');
    expect(await engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
  });

  test('wakes what waits in memory once the clock of the store was set ahead', async () => {
    const inner = newPlace();
    let aheadMs = 0;
    const open = async () =>
      wrapJournal(await inner.open(), async <T>(name: string, call: () => Promise<T>) => {
        const answer = await call();
        if (name === 'now') return (Number(answer) + aheadMs) as T;
        return name === 'look' ? { ...answer, now: (answer as Look).now + aheadMs } : answer;
      });
    const never = step('never', () => new Promise(() => {}));
    const { start, engine } = await bench({ open }, { go: async () => Promise.race([never(), sleep('10m')]) });
    const { runId } = await start('go');
    await until(async () => (await engine.nextDue()) !== undefined);
    aheadMs = 11 * 60_000;
    expect(await engine.wait(runId, 20_000)).toMatchObject({ status: 'completed' });
  });
});
