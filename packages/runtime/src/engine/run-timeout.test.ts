import { expect, test } from 'vitest';
import { errorOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench, Code } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { RunCancelledError } from './errors.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { sleep } from './primitives/sleep.ts';

const bench = useBenches();

const GRACE = { cleanupOf: () => 60_000 };
const sleeper: Code = { go: () => sleep('1h') };

async function start({ create }: Bench, timeoutMs: number, input?: unknown): Promise<string> {
  return runOf(await create('go', input, { timeoutMs })).runId;
}

describeOnStores('a run with a timeout', (newPlace) => {
  test('ends as failed with run_timeout, and cleans up first', async () => {
    const seen: unknown[] = [];
    const undo = step('undo', () => void seen.push('undone'));
    const go = async (): Promise<string> => {
      try {
        await sleep('1h');
      } catch (error) {
        seen.push((error as { code?: string }).code);
        await undo();
      }
      return 'went on';
    };
    const opened = await bench(newPlace(), { go }, GRACE);
    const row = await opened.engine.wait(await start(opened, 700), 10_000);
    expect([row?.status, row?.output, seen]).toEqual(['failed', null, ['run_timeout', 'undone']]);
    expect(errorOf(row)).toMatchObject({ message: 'The run took longer than 700 ms.', code: 'run_timeout' });
    expect(Number(row?.endedAt) - Number(row?.createdAt)).toBeGreaterThanOrEqual(700);
  });

  test('ends at once where it has no time to clean up, with the runs below it, and notifies its parent', async () => {
    const code = { child: () => sleep('1h'), go: () => startWorkflowAndWait('child', null) };
    const opened = await bench(newPlace(), code);
    const runId = await start(opened, 1_500);
    const row = await opened.engine.wait(runId, 10_000);
    const [child] = await opened.journal.listRuns({ parentRunId: runId }, { limit: 10 });
    expect([row?.status, child?.status]).toEqual(['failed', 'cancelled']);
  });

  test('that ends in time is as any other', async () => {
    const opened = await bench(newPlace(), { go: async () => 'done' });
    const runId = await start(opened, 60_000);
    const row = await opened.engine.wait(runId, 10_000);
    expect([row?.status, row?.error]).toEqual(['completed', null]);
    expect(await opened.journal.listOverdue(10)).toEqual([]);
  });

  test('is held to it after its process has died, asleep or paused', async () => {
    const place = newPlace();
    const first = await bench(place, sleeper, { limits: { parkAfter: 0 } });
    const [asleep, paused] = [await start(first, 300), await start(first, 300)];
    await until(() => first.engine.liveRuns === 0);
    await first.engine.pause(paused);
    await first.kill();
    const second = await bench(place, sleeper);
    const rows = [await second.engine.wait(asleep, 10_000), await second.engine.wait(paused, 10_000)];
    expect(rows.map((row) => [row?.status, (errorOf(row) as { code?: string }).code])).toEqual([
      ['failed', 'run_timeout'],
      ['failed', 'run_timeout'],
    ]);
  });

  test('has it with all that it continues as', async () => {
    const go = async (n: number): Promise<void> => {
      await sleep(20);
      await continueAsNew(n + 1);
    };
    const opened = await bench(newPlace(), { go });
    const runId = await start(opened, 1_500, 0);
    const row = await opened.engine.wait(runId, 10_000);
    expect(row?.runId).not.toBe(runId);
    expect([row?.status, (errorOf(row) as { code?: string }).code]).toEqual(['failed', 'run_timeout']);
    const first = await opened.journal.getRun(runId);
    expect([row?.deadline, row?.timeoutMs]).toEqual([first?.deadline, 1_500]);
  });

  test('has all of it again when it is retried', async () => {
    const opened = await bench(newPlace(), sleeper);
    const row = await opened.engine.wait(await start(opened, 100), 10_000);
    if (!row) throw new Error('The run is gone.');
    const again = runOf(await opened.engine.retry(row, 'start'));
    const end = await opened.engine.wait(again.runId, 10_000);
    expect([again.timeoutMs, end?.status, Number(end?.endedAt) - Number(end?.createdAt) >= 100]).toEqual([
      100,
      'failed',
      true,
    ]);
  });

  test('that was cancelled before is given no less time to clean up, and ends as cancelled', async () => {
    const undo = step('undo', () => new Promise((resolve) => setTimeout(resolve, 2_500)));
    const go = async (): Promise<void> => {
      try {
        await sleep('1h');
      } finally {
        await undo();
      }
    };
    const opened = await bench(newPlace(), { go }, GRACE);
    const runId = await start(opened, 2_000);
    await until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');
    await opened.engine.cancel(runId, new RunCancelledError('no'), { cleansUp: true });
    expect((await opened.engine.wait(runId, 10_000))?.status).toBe('cancelled');
  });

  test('that comes to it twice at once is not cut short in its clean-up', async () => {
    const opened = await bench(newPlace(), { go: () => new Promise(() => {}) }, { sweepMs: 60_000 });
    const runId = await start(opened, 1);
    const ends = { graceOf: () => 60_000, isFirst: true, status: 'failed' as const };
    const text = '1[["Error",1],{"name":2,"message":2},"x"]';
    const both = [1, 2].map(() => opened.journal.cancel(runId, text, () => 'n', ends));
    expect((await Promise.all(both)).flatMap((one) => (one?.outcome === 'cancelled' ? one.cleaning : ['?']))).toEqual([
      runId,
    ]);
    expect((await opened.journal.getRun(runId))?.status).toBe('running');
  });

  test('that waits for its place has all of it from when it is a run', async () => {
    const opened = await bench(newPlace(), { go: (ms: number) => sleep(ms) });
    const serial = { key: 'one', whenTaken: 'queue' as const };
    const first = runOf(await opened.create('go', 400, { serial }));
    const queued = await opened.create('go', 10, { serial, timeoutMs: 300 });
    if (queued.outcome !== 'queued') throw new Error(queued.outcome);
    await opened.engine.wait(first.runId, 10_000);
    await until(async () => 'run' in ((await opened.journal.queue.find(queued.triggerId)) ?? {}));
    const found = await opened.journal.queue.find(queued.triggerId);
    const { run } = found as { run: { runId: string } };
    const row = await opened.engine.wait(run.runId, 10_000);
    expect(Number(row?.deadline) - Number(row?.createdAt)).toBe(300);
  });
});
