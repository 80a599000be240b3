import { expect, test } from 'vitest';
import { errorOf, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench, Code } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { FatalError, RunCancelledError } from './errors.ts';
import type { RunRow } from './journal/run.ts';
import { startWorkflow, startWorkflowAndWait, toWaitCall } from './primitives/child-workflow.ts';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { bodyOf, createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';

// A retry starts the children again that ended with the run before, or whose failure ended it.

const bench = useBenches();

const hold = async (token: string): Promise<string> => String(await createHook({ token }));

/** Starts a child, goes on, and waits for it later. */
async function startThenWait(between: () => Promise<unknown>): Promise<unknown> {
  const started = await startWorkflow('child', 'held', {});
  await between();
  const { runId, triggerId } = started as { runId?: string; triggerId?: string };
  return bodyOf('go').invoke(toWaitCall('child', runId ? { runId } : { triggerId: String(triggerId) }));
}

const childrenOf = ({ journal }: Bench, parentRunId: string) => journal.listRuns({ parentRunId }, { limit: 10 });

async function isHeld({ journal }: Bench, token: string): Promise<boolean> {
  return (await journal.hooks.find(token))?.isOpen === true;
}

/** The end of the retry, once the hook its new child holds is resumed. */
async function retryAndResume(opened: Bench, run: RunRow): Promise<RunRow | undefined> {
  const again = runOf(await opened.engine.retry(run, 'failed-step'));
  await until(async () => (await childrenOf(opened, again.runId)).some(({ status }) => status === 'waiting'));
  await opened.engine.resumeHook('held', 'anew');
  return opened.engine.wait(again.runId, 10_000);
}

describeOnStores('a retry of a run that was ended with its children', (newPlace) => {
  const code: Code = { child: hold, go: () => startThenWait(() => sleep(1)) };

  test('restarts one that its timeout took along', async () => {
    const opened = await bench(newPlace(), code);
    const { runId } = runOf(await opened.create('go', null, { timeoutMs: 1_500 }));
    const timedOut = await opened.engine.wait(runId, 10_000);
    expect(errorOf(timedOut)).toMatchObject({ code: 'run_timeout' });
    // The retry has the time of the run before.
    expect((await childrenOf(opened, runId)).map(({ status }) => status)).toEqual(['cancelled']);
    const again = await retryAndResume(opened, { ...(timedOut as RunRow), timeoutMs: null });
    expect([again?.status, outputOf(again)]).toEqual(['completed', 'anew']);
  });

  test('restarts one that a cancel took along, while the old one still cleans up', async () => {
    let isCleaning = false;
    let endCleaning = (): void => {};
    const cleaned = new Promise<void>((resolve) => (endCleaning = resolve));
    let first = true;
    const clean = step('clean', () => {
      isCleaning = true;
      return cleaned;
    });
    const child = async (token: string): Promise<unknown> => {
      if (!first) return 'anew';
      try {
        return await createHook({ token });
      } finally {
        await clean();
      }
    };
    const opened = await bench(
      newPlace(),
      { ...code, child },
      { cleanupOf: ({ name }) => (name === 'child' ? 60_000 : 0) },
    );
    const go = await opened.start('go');
    await until(() => isHeld(opened, 'held'));
    await opened.engine.cancel(go.runId, new RunCancelledError(), { cleansUp: true });
    await until(() => isCleaning);
    const cancelled = await opened.engine.wait(go.runId, 10_000);
    const [old] = await childrenOf(opened, go.runId);
    expect([cancelled?.status, old?.endedAt]).toEqual(['cancelled', null]);
    first = false;
    const again = runOf(await opened.engine.retry(cancelled as RunRow, 'failed-step'));
    expect(outputOf(await opened.engine.wait(again.runId, 10_000))).toBe('anew');
    endCleaning();
    expect((await opened.engine.wait(String(old?.runId), 10_000))?.status).toBe('cancelled');
  });

  test('restarts one that waited in a queue', async () => {
    const opened = await bench(newPlace(), code, { oneAtATime: ['child'] });
    const holder = await opened.create('child', 'other', { serial: { key: 'child', whenTaken: 'queue' } });
    const go = await opened.start('go');
    await until(async () => (await opened.journal.queue.list({ name: 'child' }, { limit: 1 })).length === 1);
    await opened.engine.cancel(go.runId, new RunCancelledError());
    expect(await opened.journal.queue.list({ name: 'child' }, { limit: 1 })).toEqual([]);
    await until(() => isHeld(opened, 'other'));
    await opened.engine.resumeHook('other', 1);
    await opened.engine.wait(runOf(holder).runId, 10_000);
    const again = await retryAndResume(opened, (await opened.journal.getRun(go.runId)) as RunRow);
    expect(outputOf(again)).toBe('anew');
  });

  test('restarts one that had continued as a new run', async () => {
    let isFirst = true;
    const child = async (token: string): Promise<unknown> => {
      if (isFirst) {
        isFirst = false;
        await continueAsNew(token);
      }
      return createHook({ token });
    };
    const opened = await bench(newPlace(), { ...code, child });
    const go = await opened.start('go');
    await until(() => isHeld(opened, 'held'));
    await opened.engine.cancel(go.runId, new RunCancelledError());
    const again = await retryAndResume(opened, (await opened.journal.getRun(go.runId)) as RunRow);
    expect(outputOf(again)).toBe('anew');
  });

  test('keeps one that was cancelled by itself before', async () => {
    const opened = await bench(newPlace(), { child: hold, go: () => startThenWait(() => hold('go')) });
    const go = await opened.start('go');
    await until(async () => (await isHeld(opened, 'held')) && (await isHeld(opened, 'go')));
    const [child] = await childrenOf(opened, go.runId);
    await opened.engine.cancel(String(child?.runId), new RunCancelledError());
    await until(async () => (await opened.journal.getRun(go.runId))?.status === 'waiting');
    const { endedAt } = (await opened.journal.getRun(String(child?.runId))) as RunRow;
    await until(() => Date.now() > Number(endedAt));
    await opened.engine.cancel(go.runId, new RunCancelledError());
    const again = runOf(await opened.engine.retry((await opened.journal.getRun(go.runId)) as RunRow, 'failed-step'));
    await until(() => isHeld(opened, 'go'));
    await opened.engine.resumeHook('go', 1);
    expect(errorOf(await opened.engine.wait(again.runId, 10_000))).toMatchObject({ code: 'child_cancelled' });
    expect(await childrenOf(opened, again.runId)).toEqual([]);
  });
});

describeOnStores('a retry of a run that ended with the failure of a child', (newPlace) => {
  test.each(['was queued', 'had continued'])('restarts that one, also where it %s', async (how) => {
    let isBroken = true;
    const child = async (input: string): Promise<string> => {
      if (how === 'had continued' && input === 'new') await continueAsNew('next');
      if (isBroken) throw new FatalError('no');
      return 'done';
    };
    const opened = await bench(
      newPlace(),
      { child, holder: hold, go: () => startWorkflowAndWait('child', 'new') },
      { oneAtATime: how === 'was queued' ? ['child'] : [] },
    );
    const serial = { serial: { key: 'child', whenTaken: 'queue' as const } };
    const holder = how === 'was queued' ? await opened.create('holder', 'lock', serial) : undefined;
    const { runId } = await opened.start('go');
    if (holder) {
      await until(() => isHeld(opened, 'lock'));
      await until(async () => (await opened.journal.queue.list({ name: 'child' }, { limit: 1 })).length === 1);
      await opened.engine.resumeHook('lock', 1);
    }
    const failed = await opened.engine.wait(runId, 10_000);
    expect(errorOf(failed)).toMatchObject({ code: 'child_failed' });
    isBroken = false;
    const again = runOf(await opened.engine.retry(failed as RunRow, 'failed-step'));
    expect(outputOf(await opened.engine.wait(again.runId, 10_000))).toBe('done');
  });
});
