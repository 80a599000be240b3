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
  nextFireAt: string | null;
  lastRunId: string | null;
  lastOutcome: string | null;
  waitingFor: unknown;
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

test('a timer that is taken by a replica without its workflow is fired by the one that has it, at its next look', async () => {
  const { open } = openClocked();
  // It looks around when it is asked to, so that the other one is first.
  const next = await open({ workflows: { every, nightly }, hash: 'new' }, 120_000);
  const old = await open({ workflows: { every }, hash: 'old' }, 50);
  await makeDue(next, 'nightly:0');
  await until(async () => (await jobsOf(next))[0]?.waitingFor != null);
  const message = expect.stringContaining('no replica that has tried can start workflow "nightly"') as string;
  const waits = { waitingFor: { code: 'workflow_not_found', message }, lastOutcome: null, lastError: null };
  for (const box of [old, next]) expect(await jobsOf(box)).toMatchObject([waits]);
  expect((await call(old, 'GET /api/recurring-jobs/nightly:0')).body).toMatchObject({ ...waits, firings: [{}] });
  expect(old.logs.filter(({ level }) => level === 'error')).toEqual([]);
  await next.engine.tick();
  expect(await jobsOf(next)).toMatchObject([{ lastRunId: expect.any(String) as string, waitingFor: null }]);
});

test('a timer that is due when a build with other times comes up fires once, and then by those', async () => {
  const { open } = openClocked();
  const old = await open({ workflows: { nightly }, hash: 'old' }, 120_000);
  await makeDue(old, 'nightly:0');
  await old.shut();
  const next = await open({ workflows: { nightly: nightlyAt(4) }, hash: 'new' }, 50);
  await until(async () => (await jobsOf(next))[0]?.lastRunId != null);
  const [job] = await jobsOf(next);
  expect([job?.cron, new Date(String(job?.nextFireAt)).getUTCHours()]).toEqual(['0 4 * * *', 4]);
  const { firings } = (await call<{ firings: { runId: string | null }[] }>(next, 'GET /api/recurring-jobs/nightly:0'))
    .body;
  expect(firings.filter(({ runId }) => runId !== null)).toHaveLength(1);
});

test('replicas of one build with other variables leave the timers to who came up last', async () => {
  const { open, move } = openClocked();
  const one = await open({ workflows: { nightly: nightlyAt(1) }, hash: 'same' }, 120_000);
  const two = await open({ workflows: { nightly: nightlyAt(2) }, hash: 'same' }, 120_000);
  for (let round = 0; round < 3; round++)
    for (const box of [one, two]) {
      move(3 * 60_000);
      await box.engine.tick();
      expect(await cronsOf(box)).toEqual(['0 2 * * *']);
    }
  // Another build that came and went between two looks has changed them.
  const other = await open({ workflows: { nightly: nightlyAt(5) }, hash: 'other' }, 120_000);
  await other.shut();
  move(3 * 60_000);
  await two.engine.tick();
  await until(async () => (await cronsOf(two))[0] === '0 2 * * *');
});

test('a box is seen by the others before it says which timers there are', async () => {
  const journal = await openSqliteJournal({ path: newJournalPath() });
  onTestFinished(() => journal.close());
  const announce = vi.spyOn(journal.replicas, 'announce');
  const reconcile = vi.spyOn(journal.schedules, 'reconcile');
  const program = { workflows: { nightly }, hash: 'new' };
  await boxes.open({ ...program, journal, options: { exclusive: false, engine: ENGINE } });
  expect(reconcile).toHaveBeenCalledTimes(1);
  const [announced] = announce.mock.invocationCallOrder;
  expect(announced).toBeLessThan(reconcile.mock.invocationCallOrder[0] as number);
});

// --- internal ---

/** Replicas of one journal, whose clock is moved by hand. */
function openClocked() {
  const path = newJournalPath();
  let ahead = 0;
  const { now } = Date;
  return {
    move(ms: number): void {
      ahead += ms;
      vi.spyOn(Date, 'now').mockImplementation(() => now() + ahead);
      onTestFinished(() => void vi.restoreAllMocks());
    },
    async open(program: TestProgram, sweepMs: number) {
      const journal = await openSqliteJournal({ path });
      onTestFinished(() => journal.close());
      return boxes.open({ ...program, journal, options: { exclusive: false, engine: { ...ENGINE, sweepMs } } });
    },
  };
}

async function makeDue({ journal: { schedules } }: TestBox, id: string): Promise<void> {
  const { nextAt } = (await schedules.find(id)) ?? {};
  await schedules.advance(id, Number(nextAt), Date.now() - 1_000, { at: 1, runId: null });
}
