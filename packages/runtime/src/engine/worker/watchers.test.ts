import { setMaxListeners } from 'node:events';
import { expect, test } from 'vitest';
import { startWorkflowAndWait } from '../primitives/child-workflow.ts';
import { createHook } from '../primitives/hook.ts';
import { describeOnStores } from '../_stores.ts';
import { outputOf, step, until, useBenches } from '../_setup.ts';
import type { Code, Place } from '../_setup.ts';
import type { Journal } from '../journal.ts';
import { wrapJournal } from '../stores/wrap.ts';
import { createWatchers } from './watchers.ts';

const WAITERS = 200;

describeOnStores('those who wait for runs', (newPlace) => {
  const open = useBenches();

  /** The place, and how often each call of the journal was made there. */
  const counted = (place: Place): { place: Place; calls: Map<string, number> } => {
    const calls = new Map<string, number>();
    const count = (journal: Journal): Journal =>
      wrapJournal(journal, (name, call) => (calls.set(name, (calls.get(name) ?? 0) + 1), call()));
    return { calls, place: { open: async () => count(await place.open()) } };
  };
  const code: Code = { room: async (token: string) => createHook({ token }) };

  test('cost the store the same, however many they are, and are all notified of what another process did', async () => {
    const place = newPlace();
    const { place: watched, calls } = counted(place);
    const there = await open(place, code, { exclusive: false });
    const journal = await watched.open();
    const watchers = createWatchers({ journal, clock: there.engine.clock, pollMs: 50, most: 20 });
    const runs = await Promise.all(Array.from({ length: WAITERS }, (_, n) => there.start('room', `t${n}`)));
    const ended = runs.map(({ runId }) => watchers.wait(runId, 60_000));
    await until(() => (calls.get('listStandings') ?? 0) >= 4);
    // Each looks once when it begins to wait, a hundred of them in one statement; from then on two a look.
    const { getRuns = 0, listStandings = 0, listEndedSince = 0, ...others } = Object.fromEntries(calls);
    expect(others).toStrictEqual({});
    expect(getRuns).toBeLessThan(5);
    expect(listEndedSince).toBeLessThanOrEqual(listStandings + 1);
    // A busy machine may not have come to all of their hooks.
    await until(
      async () => (await there.journal.listRuns({ status: 'waiting' }, { limit: WAITERS })).length === WAITERS,
    );
    const resumed = await Promise.all(runs.map((_, n) => there.engine.resumeHook(`t${n}`, n)));
    expect(resumed.map((result) => result?.outcome)).toStrictEqual(runs.map(() => 'resumed'));
    const rows = await Promise.all(ended);
    expect(rows.map(outputOf)).toStrictEqual(runs.map((_, n) => n));
    await journal.close();
  });

  test('without news do not look again; those written to are notified', async () => {
    const place = newPlace();
    const { place: watched, calls } = counted(place);
    const there = await open(place, code, { exclusive: false, limits: { parkAfter: 50 } });
    const here = await open(watched, code, { exclusive: false, pollMs: 40, sweepMs: 60_000 });
    const runs = await Promise.all(Array.from({ length: 50 }, (_, n) => there.start('room', `t${n}`)));
    await until(async () =>
      (await Promise.all(runs.map(({ runId }) => there.journal.getRun(runId)))).every(
        (run) => run?.status === 'waiting' && run.owner === null,
      ),
    );
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const looks = new Map<string, number>();
    const follow = async (runId: string): Promise<void> => {
      while (!stop.signal.aborted) {
        const change = here.engine.nextChange(runId, stop.signal);
        looks.set(runId, (looks.get(runId) ?? 0) + 1);
        await change;
      }
    };
    const all = runs.map(({ runId }) => follow(runId));
    const polls = (): number => calls.get('listStandings') ?? 0;
    await until(() => polls() >= 10);
    // Once to begin with, and once because it is not known since when the run stands as it does.
    expect(Math.max(...looks.values())).toBe(2);
    await there.engine.resumeHook('t7', 'now');
    const received = runs[7]?.runId ?? '';
    await until(() => (looks.get(received) ?? 0) > 2);
    stop.abort();
    await Promise.all(all);
  });

  test('a body that waits for many children asks for all of them together', async () => {
    const { place, calls } = counted(newPlace());
    const bench = await open(place, {
      child: step('work', async (n: number) => n) as Code[string],
      parent: async () => {
        const children = Array.from({ length: 60 }, (_, n) => startWorkflowAndWait('child', n));
        return (await Promise.all(children)).length;
      },
    });
    expect(outputOf(await bench.run('parent'))).toBe(60);
    // One for each child that is started. To ask for them one by one took 60 more for each signal of a child that ended.
    expect(calls.get('getRun') ?? 0).toBeLessThan(120);
  });
});
