import { expect, test } from 'vitest';
import { currentContext } from './context.ts';
import { errorOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench, Code } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { RunCancelledError } from './errors.ts';
import type { RunRow } from './journal/run.ts';
import { createHook } from './primitives/hook.ts';
import { encodeError } from './run/outcome.ts';
import { replay } from './run/replay.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { sleep } from './primitives/sleep.ts';

const bench = useBenches();

const GRACE = { cleanupOf: () => 60_000 };

async function cancel({ engine }: Bench, runId: string): Promise<void> {
  await engine.cancel(runId, new RunCancelledError('The run was cancelled.'), { cleansUp: true });
}

describeOnStores('a run that is cancelled', (newPlace) => {
  test('runs its catch and finally, with steps, and ends as cancelled whatever it returns', async () => {
    const done: string[] = [];
    const undo = step('undo', (what: string) => void done.push(what));
    let caught: unknown;
    const go = async (): Promise<string> => {
      try {
        await sleep('1h');
      } catch (error) {
        caught = error;
        await undo('a');
      } finally {
        await undo('b');
        await sleep(5);
      }
      return 'went on';
    };
    const opened = await bench(newPlace(), { go }, GRACE);
    const { runId } = await opened.start('go');
    await until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');
    await cancel(opened, runId);
    const row = await opened.engine.wait(runId, 10_000);
    expect([row?.status, row?.output, done]).toEqual(['cancelled', null, ['a', 'b']]);
    expect(RunCancelledError.is(caught) && caught.code).toBe('run_cancelled');
    expect(errorOf(row)).toMatchObject({ name: 'RunCancelledError', code: 'run_cancelled' });
  });

  test('without either ends at once, parked or not', async () => {
    const opened = await bench(newPlace(), { go: () => sleep('1h') }, { ...GRACE, limits: { parkAfter: 0 } });
    const { runId } = await opened.start('go');
    await until(() => opened.engine.liveRuns === 0);
    await cancel(opened, runId);
    expect((await opened.engine.wait(runId, 10_000))?.status).toBe('cancelled');
  });

  test('aborts the steps under way, answers all it awaits, and forgets what they come to', async () => {
    let signal: AbortSignal | undefined;
    let later: boolean | undefined;
    const seen: string[] = [];
    const slow = step('slow', () => {
      signal = (currentContext() as { signal?: AbortSignal }).signal;
      return new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    });
    const undo = step('undo', () => void (later = (currentContext() as { signal?: AbortSignal }).signal?.aborted));
    const go = async (): Promise<void> => {
      const all = await Promise.allSettled([slow(), sleep('1h'), createHook({ token: 'never' })]);
      for (const one of all) seen.push(one.status === 'rejected' ? (one.reason as Error).name : 'answered');
      await undo();
    };
    const opened = await bench(newPlace(), { go }, GRACE);
    const { runId } = await opened.start('go');
    await until(() => signal !== undefined);
    await cancel(opened, runId);
    const row = await opened.engine.wait(runId, 10_000);
    expect([row?.status, signal?.aborted, later]).toEqual(['cancelled', true, false]);
    expect(seen).toEqual(Array(3).fill('RunCancelledError'));
    const answers = (await opened.journal.getRecords(runId)).filter(({ event }) => event !== 'set');
    expect(answers.map(({ call, event }) => `${call} ${event}`)).toEqual([
      '0 failed',
      '1 failed',
      '3 failed',
      '4 done',
    ]);
  });

  test('goes on cleaning up after its process has died', async () => {
    const place = newPlace();
    const done: string[] = [];
    const undo = step('undo', (what: string) => {
      done.push(what);
      return what === 'b' && done.length === 2 ? new Promise<void>(() => {}) : undefined;
    });
    const code: Code = {
      async go() {
        try {
          await sleep('1h');
        } finally {
          await undo('a');
          await undo('b');
        }
      },
    };
    const first = await bench(place, code, GRACE);
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await cancel(first, runId);
    await until(() => done.length === 2);
    await first.kill();
    const second = await bench(place, code, GRACE);
    const row = await second.engine.wait(runId, 10_000);
    expect([row?.status, done]).toEqual(['cancelled', ['a', 'b', 'b']]);
  });

  test('that no process has when it is cancelled cleans up in the next', async () => {
    const place = newPlace();
    const done: string[] = [];
    const undo = step('undo', () => void done.push('undone'));
    const code: Code = {
      async go() {
        try {
          await sleep('1h');
        } finally {
          await undo();
        }
      },
    };
    const first = await bench(place, code, GRACE);
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await first.kill();
    const journal = await place.open();
    const result = await journal.cancel(runId, encodeError(new RunCancelledError('x')), () => 'n', {
      graceOf: () => 60_000,
    });
    expect(result).toMatchObject({ outcome: 'cancelled', cancelled: [], cleaning: [runId] });
    await journal.close();
    const second = await bench(place, code, GRACE);
    expect([(await second.engine.wait(runId, 10_000))?.status, done]).toEqual(['cancelled', ['undone']]);
  });

  test('ends when its time is over, in whatever process, and when it is cancelled again', async () => {
    const place = newPlace();
    const stuck = step('stuck', () => new Promise<void>(() => {}));
    let begun = 0;
    const code: Code = {
      async go() {
        try {
          await sleep('1h');
        } finally {
          begun += 1;
          await stuck();
        }
      },
    };
    let grace = 2_000;
    const first = await bench(place, code, { cleanupOf: () => grace });
    const start = async (): Promise<string> => {
      const { runId } = await first.start('go');
      await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
      await cancel(first, runId);
      return runId;
    };
    const timed = await start();
    const row = await first.engine.wait(timed, 10_000);
    expect([row?.status, begun]).toEqual(['cancelled', 1]);
    expect(row?.endedAt ?? 0).toBeGreaterThanOrEqual(row?.deadline ?? Infinity);
    grace = 3_600_000;
    const again = await start();
    await until(() => begun === 2);
    expect((await first.journal.getRun(again))?.status).toBe('running');
    await cancel(first, again);
    expect((await first.journal.getRun(again))?.status).toBe('cancelled');
  });

  test('takes the runs below it along, which clean up too, and may start others', async () => {
    const done: string[] = [];
    const note = step('note', (what: string) => void done.push(what));
    const code: Code = {
      async child() {
        try {
          await sleep('1h');
        } finally {
          await note('child');
        }
      },
      other: async () => note('other'),
      async go() {
        try {
          await startWorkflowAndWait('child', null);
        } finally {
          await startWorkflowAndWait('other', null);
        }
      },
    };
    const opened = await bench(newPlace(), code, GRACE);
    const { runId } = await opened.start('go');
    const child = async () => (await opened.journal.listRuns({ parentRunId: runId, name: 'child' }, { limit: 1 }))[0];
    await until(async () => (await child())?.status === 'waiting');
    await cancel(opened, runId);
    expect((await opened.engine.wait(runId, 10_000))?.status).toBe('cancelled');
    expect((await opened.engine.wait((await child())?.runId ?? '', 10_000))?.status).toBe('cancelled');
    expect(done.toSorted()).toEqual(['child', 'other']);
  });

  test('is replayed as it ended, also when it was over before it saw the cancel', async () => {
    const go = async (): Promise<string> => {
      await sleep(1);
      return 'done';
    };
    const opened = await bench(newPlace(), { go }, GRACE);
    const { runId } = await opened.start('go');
    const row = (await opened.engine.wait(runId, 10_000)) as RunRow;
    const records = await opened.journal.getRecords(row.runId);
    const cancelled = { at: Date.now(), error: encodeError(new RunCancelledError()), status: 'cancelled' };
    const end = await replay({
      run: { ...row, cancel: JSON.stringify(cancelled) },
      records,
      body: { run: go as never, codeHash: row.codeHash ?? '', durability: 'process' },
      ambient: { webhookUrl: (token) => token, startUrl: (name) => name },
    });
    expect(end).toMatchObject({ how: 'ended', status: 'completed', output: row.output });
  });

  test('is retried from where it was cancelled', async () => {
    const done: string[] = [];
    const note = step('note', (what: string) => void done.push(what));
    let isOpen = false;
    const wait = step('wait', () => (isOpen ? undefined : new Promise<void>(() => {})));
    const go = async (): Promise<string> => {
      await note('before');
      try {
        await wait();
      } catch (error) {
        await note('undo');
        throw error;
      }
      await note('after');
      return 'through';
    };
    const opened = await bench(newPlace(), { go }, GRACE);
    const { runId } = await opened.start('go');
    await until(() => opened.engine.runningSteps(runId)?.some(({ name }) => name === 'wait') === true);
    await cancel(opened, runId);
    const row = await opened.engine.wait(runId, 10_000);
    if (!row) throw new Error('The run is gone.');
    isOpen = true;
    const again = runOf(await opened.engine.retry(row, 'failed-step'));
    expect((await opened.engine.wait(again.runId, 10_000))?.status).toBe('completed');
    expect(done).toEqual(['before', 'undo', 'after']);
  });
});
