import { describe, expect, test } from 'vitest';
import { errorOf, newJournalPath, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { startWorkflow, startWorkflowAndWait } from './primitives/child-workflow.ts';
import { bodyOf, createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';

const bench = useBenches();

const waiting = (opened: Bench, runId: string) =>
  until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');

describe('a child run', () => {
  const code = {
    double: async (n: number) => step('twice', (value: number) => value * 2)(n),
    parent: async (n: number) => [await startWorkflowAndWait('double', n), await startWorkflowAndWait('double', n + 1)],
    broken: async () => {
      throw new TypeError('no');
    },
    careful: async () =>
      startWorkflowAndWait('broken', null).catch((error: Error & { code?: string }) => ({
        code: error.code,
        cause: (error.cause as Error).message,
      })),
    napper: async () => sleep('1 hour'),
    starter: async () => {
      const { runId } = (await startWorkflow('napper', null)) as { runId: string };
      await sleep('1 hour');
      return runId;
    },
  };

  test('gives its output to the run that waits', async () => {
    const { run, journal } = await bench(newJournalPath(), code);
    const row = await run('parent', 5);
    expect(outputOf(row)).toEqual([10, 12]);
    expect(await journal.listRuns({ parentRunId: row.runId }, { limit: 10 })).toHaveLength(2);
  });

  test('that fails is thrown with its error as the cause', async () => {
    const { run } = await bench(newJournalPath(), code);
    expect(outputOf(await run('careful'))).toEqual({ code: 'child_failed', cause: 'no' });
  });

  test('is cancelled with its parent', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('starter');
    await waiting(opened, runId);
    await opened.engine.cancel(runId, new Error('enough'));
    const [child] = await opened.journal.listRuns({ parentRunId: runId }, { limit: 1 });
    expect(child?.status).toBe('cancelled');
    expect((await opened.engine.wait(runId, 1_000))?.status).toBe('cancelled');
  });

  test('that a cancelled parent had just asked for is cancelled, and one in the queue dropped', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('napper');
    await waiting(opened, runId);
    await opened.engine.cancel(runId, new Error('enough'));
    const late = runOf(await opened.create('napper', null, { parentRunId: runId }));
    expect((await opened.engine.wait(late.runId, 1_000))?.status).toBe('cancelled');
    const serial = { serial: { key: 'late', whenTaken: 'queue' as const } };
    await opened.create('napper', null, serial);
    await opened.create('napper', null, { parentRunId: runId, ...serial });
    expect(await opened.journal.queue.list({}, { limit: 5 })).toEqual([]);
  });

  test('that ended while its parent was on disk wakes the parent', async () => {
    const opened = await bench(
      newJournalPath(),
      {
        ...code,
        slow: async () => createHook({ token: 'child' }),
        waits: async () => startWorkflowAndWait('slow', null),
      },
      { limits: { parkAfter: 20 } },
    );
    const { runId } = await opened.start('waits');
    await until(
      async () =>
        (await opened.journal.getRun(runId))?.owner === null &&
        (await opened.journal.getRun(runId))?.status === 'waiting',
    );
    await opened.engine.resumeHook('child', 'done');
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toBe('done');
  });
});

// Dropping a start has to signal its parent in the same commit; the engine's own poke reaches live runs only.
test('a parent that left memory is notified when the queued start it waits for is dropped', async () => {
  const lock = { serial: { key: 'lock', whenTaken: 'queue' as const } };
  const opened = await bench(
    newJournalPath(),
    {
      hold: async () => createHook({ token: 'hold' }),
      parent: async () => {
        const triggerId = await createHook<string>({ token: 'which' });
        const action = { type: 'child' as const, child: { triggerId } };
        return bodyOf('test').invoke({ kind: 'child', stepId: 'wait hold', input: '[1]', action });
      },
    },
    { limits: { parkAfter: 30 }, sweepMs: 50 },
  );
  await opened.create('hold', {}, lock);
  const parent = await opened.start('parent');
  const queued = await opened.create('hold', {}, { ...lock, parentRunId: parent.runId });
  if (queued.outcome !== 'queued') throw new Error(queued.outcome);
  await opened.engine.resumeHook('which', queued.triggerId);
  await until(async () => {
    const run = await opened.journal.getRun(parent.runId);
    return run?.owner === null && run.waitingFor?.includes('wait hold') === true;
  });
  expect(await opened.engine.dequeue(queued.triggerId)).toBe(true);
  expect(errorOf((await opened.engine.wait(parent.runId, 10_000)) as never)).toMatchObject({ code: 'child_gone' });
});
