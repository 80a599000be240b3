import { expect, test } from 'vitest';
import { errorOf, runOf, step, until, useBenches } from '../_setup.ts';
import type { Bench, Code, Place } from '../_setup.ts';
import { describeOnStores } from '../_stores.ts';
import { RunCancelledError } from '../errors.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import { startWorkflow } from '../primitives/child-workflow.ts';
import { createHook } from '../primitives/hook.ts';
import { wrapJournal } from '../stores/wrap.ts';
import { POISON_LIMIT } from './suspects.ts';

const bench = useBenches();

const AWAY = ['listClosing', 'cancel'];

/** A place whose runs of "go" have killed their process too often, by what this process is given of them. */
function afterDeaths(place: Place, isAway: () => boolean = () => false): Place {
  const suspect = (row: RunRow): RunRow =>
    row.name === 'go' ? { ...row, crashSeq: row.seq, crashCount: POISON_LIMIT } : row;
  return {
    async open() {
      const journal = wrapJournal(await place.open(), (name, call) => {
        if (isAway() && AWAY.includes(name)) throw new Error('The store is away.');
        return call();
      });
      const claim: Journal['claim'] = async (given) => (await journal.claim(given)).map(suspect);
      const claimRun: Journal['claimRun'] = async (...given) => {
        const run = await journal.claimRun(...given);
        return run && suspect(run);
      };
      return { ...journal, claim, claimRun };
    },
  };
}

const childOf = async ({ journal }: Bench, parentRunId: string): Promise<RunRow | undefined> =>
  (await journal.listRuns({ parentRunId }, { limit: 1 }))[0];

describeOnStores('a run that has killed its process too often', (newPlace) => {
  test('does not end before the runs below it are seen to, while the store is away', async () => {
    const place = newPlace();
    const stuck = step('stuck', () => new Promise<void>(() => {}));
    const code: Code = {
      child: async () => createHook({ token: 'child' }),
      async go() {
        await startWorkflow('child', null, { parentClosePolicy: 'cancel' });
        await stuck();
      },
    };
    const first = await bench(place, code);
    const go = await first.start('go');
    await until(async () => (await first.journal.hooks.find('child')) !== undefined);
    await first.kill();
    let isAway = true;
    let refused = 0;
    const away = () => isAway && (refused += 1) > 0;
    const second = await bench(afterDeaths(place, away), code, { leaseMs: 300 });
    await until(() => refused > 3);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect((await second.journal.getRun(go.runId))?.endedAt).toBeNull();
    isAway = false;
    const end = await second.engine.wait(go.runId, 10_000);
    expect([end?.status, errorOf(end)]).toMatchObject(['failed', { code: 'run_poisoned' }]);
    const child = await childOf(second, go.runId);
    expect((await second.engine.wait(String(child?.runId), 10_000))?.status).toBe('cancelled');
  });

  test('ends as cancelled where it was cleaning up', async () => {
    const place = newPlace();
    let isCleaning = false;
    const clean = step('clean', () => {
      isCleaning = true;
      return new Promise<void>(() => {});
    });
    const code: Code = {
      async go() {
        try {
          await createHook({ token: 'go' });
        } finally {
          await clean();
        }
      },
    };
    const cleanupOf = (): number => 60_000;
    const first = await bench(place, code, { cleanupOf });
    const go = runOf(await first.create('go'));
    await until(async () => (await first.journal.hooks.find('go')) !== undefined);
    await first.engine.cancel(go.runId, new RunCancelledError(), { cleansUp: true });
    await until(() => isCleaning);
    await first.kill();
    const second = await bench(afterDeaths(place), code, { cleanupOf });
    const end = await second.engine.wait(go.runId, 10_000);
    expect([end?.status, errorOf(end)?.name]).toEqual(['cancelled', 'RunCancelledError']);
  });
});
