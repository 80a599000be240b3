import { expect, onTestFinished, test, vi } from 'vitest';
import { newJournalPath } from '../src/engine/_setup.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox, TestProgram } from './_setup.ts';
import { describePlaces } from './_versions.ts';

// Timers, while two replicas with different builds share a journal.

const boxes = setupBoxes();
/** Others are looked for each third of a lease. */
const ENGINE = { sweepMs: 50, pollMs: 50, drainMs: 0, leaseMs: 6_000 };

const every = { run: async () => 'done' };
const nightlyAt = (hour: number) => ({ run: async () => 'done', schedules: [{ cron: `0 ${hour} * * *`, input: {} }] });
const nightly = nightlyAt(3);

interface Job {
  id: string;
  cron: string;
  lastRunId: string | null;
}
const jobsOf = async (box: TestBox) => (await call<{ items: Job[] }>(box, 'GET /api/recurring-jobs')).body.items;
const isRollingOut = ({ engine }: TestBox) => engine.replicas.elsewhere.length > 0;
const cronsOf = async (box: TestBox) => (await jobsOf(box)).map(({ cron }) => cron);

describePlaces(boxes, 'the timers of two builds', (openPlace) => {
  const openReplicas = () => {
    const open = openPlace();
    return (program: TestProgram) => open({ ...program, options: { exclusive: false, engine: ENGINE } });
  };

  test('are all there while both are up, and those of the build that is left behind them', async () => {
    const open = openReplicas();
    const next = await open({ workflows: { every, nightly }, hash: 'new' });
    // It has come back, and knows nothing of the timer.
    const back = await open({ workflows: { every }, hash: 'old' });
    expect([await cronsOf(next), await cronsOf(back)]).toEqual([['0 3 * * *'], ['0 3 * * *']]);
    await until(() => isRollingOut(next));
    await back.shut();
    await until(() => !isRollingOut(next));
    expect(await cronsOf(next)).toEqual(['0 3 * * *']);
  });

  test('that the newer one has no more are gone once the older one is', async () => {
    const open = openReplicas();
    const old = await open({ workflows: { every, nightly }, hash: 'old' });
    const next = await open({ workflows: { every }, hash: 'new' });
    expect(await cronsOf(next)).toEqual(['0 3 * * *']);
    await old.shut();
    await until(async () => (await jobsOf(next)).length === 0);
  });

  test('fire when the one says that booted last, and then when the one says that is left', async () => {
    const open = openReplicas();
    await open({ workflows: { nightly }, hash: 'old' }).then((old) => old.shut());
    const next = await open({ workflows: { nightly: nightlyAt(4) }, hash: 'new' });
    expect(await cronsOf(next)).toEqual(['0 4 * * *']);
    const back = await open({ workflows: { nightly }, hash: 'old' });
    expect(await cronsOf(next)).toEqual(['0 3 * * *']);
    await until(() => isRollingOut(next));
    await back.shut();
    await until(async () => (await cronsOf(next))[0] === '0 4 * * *');
  });
});

test('a timer that is taken by a replica without its workflow is fired by the one that has it', async () => {
  const path = newJournalPath();
  let ahead = 0;
  const open = async (program: TestProgram, sweepMs: number) => {
    const journal = await openSqliteJournal({ path, clock: () => Date.now() + ahead });
    onTestFinished(() => journal.close());
    return boxes.open({ ...program, journal, options: { exclusive: false, engine: { ...ENGINE, sweepMs } } });
  };
  // It looks around when it is asked to, so that the other one is first.
  const next = await open({ workflows: { every, nightly }, hash: 'new' }, 120_000);
  const old = await open({ workflows: { every }, hash: 'old' }, 50);
  const takeDue = vi.spyOn(old.journal.schedules, 'takeDue');
  const { nextAt } = (await next.journal.schedules.list())[0] ?? {};
  await next.journal.schedules.advance('nightly:0', Number(nextAt), Date.now() - 1_000, { at: 1, runId: null });
  await until(() => takeDue.mock.settledResults.some(({ value }) => (value as unknown[]).length > 0));
  await old.shut();
  expect(old.logs.filter(({ level }) => level === 'error')).toEqual([]);
  expect(await jobsOf(next)).toMatchObject([{ lastRunId: null }]);
  // For so long it is held by who took it.
  ahead = 16_000;
  await next.engine.tick();
  expect(await jobsOf(next)).toMatchObject([{ lastRunId: expect.any(String) as string }]);
});
