import { expect, test } from 'vitest';
import { errorOf, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench, Code } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { FatalError, RunCancelledError } from './errors.ts';
import type { ChildStartHow } from './handle.ts';
import type { RunRow } from './journal/run.ts';
import { startWorkflow, startWorkflowAndWait, toWaitCall } from './primitives/child-workflow.ts';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { bodyOf, createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';

const bench = useBenches();

const hold = async (token: string): Promise<string> => String(await createHook({ token }));
const begin = (how: ChildStartHow, token = 'child') => startWorkflow('child', token, how);

async function childOf({ journal }: Bench, runId: string): Promise<RunRow> {
  const [child] = await journal.listRuns({ parentRunId: runId }, { limit: 1 });
  if (!child) throw new Error('There is no child.');
  return child;
}

/** How a parent and its child stand once the parent is over. */
async function endOf(opened: Bench, go: RunRow): Promise<unknown[]> {
  const parent = await opened.engine.wait(go.runId, 10_000);
  const isAtRest = async () => !['queued', 'running'].includes((await childOf(opened, go.runId)).status);
  await until(isAtRest);
  return [parent?.status, (await childOf(opened, go.runId)).status];
}

describeOnStores('a child and the end of its parent', (newPlace) => {
  test('abandon: it goes on when the parent completes, fails or is cancelled', async () => {
    const code: Code = {
      child: hold,
      async go(how: string) {
        await begin({ parentClosePolicy: 'abandon' }, how);
        if (how === 'fails') throw new Error('no');
        if (how === 'stays') await sleep('1h');
      },
    };
    const opened = await bench(newPlace(), code);
    expect(await endOf(opened, await opened.start('go', 'ends'))).toEqual(['completed', 'waiting']);
    expect(await endOf(opened, await opened.start('go', 'fails'))).toEqual(['failed', 'waiting']);
    const stays = await opened.start('go', 'stays');
    await until(async () => (await opened.journal.getRun(stays.runId))?.status === 'waiting');
    await opened.engine.cancel(stays.runId, new RunCancelledError());
    expect(await endOf(opened, stays)).toEqual(['cancelled', 'waiting']);
    await opened.engine.resumeHook('stays', 'went on');
    const { runId } = await childOf(opened, stays.runId);
    expect(outputOf(await opened.engine.wait(runId, 10_000))).toBe('went on');
  });

  test('without a policy it goes with a cancel, and outlives another end', async () => {
    const code: Code = {
      child: hold,
      async go(stays: boolean) {
        await begin({}, String(stays));
        if (stays) await sleep('1h');
      },
    };
    const opened = await bench(newPlace(), code);
    expect(await endOf(opened, await opened.start('go', false))).toEqual(['completed', 'waiting']);
    const stays = await opened.start('go', true);
    await until(async () => (await opened.journal.getRun(stays.runId))?.status === 'waiting');
    await opened.engine.cancel(stays.runId, new RunCancelledError());
    expect(await endOf(opened, stays)).toEqual(['cancelled', 'cancelled']);
  });

  test('cancel: it is cancelled when the parent completes or fails, and cleans up', async () => {
    let cleaned = 0;
    const clean = step('clean', () => (cleaned += 1));
    const isBegun = step('isBegun', (token: string) =>
      until(async () => Boolean(await opened.journal.hooks.find(token))),
    );
    const code: Code = {
      async child(token: string) {
        try {
          await createHook({ token });
        } finally {
          await clean();
        }
      },
      async go(fails: boolean) {
        await begin({ parentClosePolicy: 'cancel' }, String(fails));
        await isBegun(String(fails));
        if (fails) throw new Error('no');
      },
    };
    const opened = await bench(newPlace(), code, { cleanupOf: () => 60_000 });
    for (const fails of [true, false]) {
      const go = await opened.start('go', fails);
      expect((await opened.engine.wait(go.runId, 10_000))?.status).toBe(fails ? 'failed' : 'completed');
      const child = await opened.engine.wait((await childOf(opened, go.runId)).runId, 10_000);
      expect([child?.status, child?.closePolicy]).toEqual(['cancelled', 'cancel']);
    }
    expect(cleaned).toBe(2);
  });

  test('cancel: so is one that was started by a step, and one that waits in a queue', async () => {
    const policy = { parentClosePolicy: 'cancel' as const };
    const spawn = step('spawn', () => begin(policy));
    const opened = await bench(newPlace(), { child: hold, go: async () => void (await spawn()) });
    const go = await opened.start('go');
    await opened.engine.wait(go.runId, 10_000);
    expect((await opened.engine.wait((await childOf(opened, go.runId)).runId, 10_000))?.status).toBe('cancelled');

    const serial = { key: 'one', whenTaken: 'queue' as const };
    const parentRunId = runOf(await opened.create('child', 'holder', { serial })).runId;
    const queued = await opened.create('child', 'queued', { serial, parentRunId, closePolicy: 'cancel' });
    if (queued.outcome !== 'queued') throw new Error(queued.outcome);
    await until(async () => (await opened.journal.hooks.find('holder')) !== undefined);
    await opened.engine.resumeHook('holder', 1);
    expect((await opened.engine.wait(parentRunId, 10_000))?.status).toBe('completed');
    expect(await opened.journal.queue.find(queued.triggerId)).toBeUndefined();
  });

  test('cancel: a crash between the last step and the end does not lose it', async () => {
    const place = newPlace();
    let isLast = false;
    const last = step('last', () => {
      if (isLast) return;
      isLast = true;
      return new Promise<void>(() => {});
    });
    const code: Code = {
      child: hold,
      async go() {
        await begin({ parentClosePolicy: 'cancel' });
        await last();
      },
    };
    const first = await bench(place, code);
    const go = await first.start('go');
    await until(() => isLast);
    await until(async () => (await first.journal.getRun(go.runId))?.closesChildren === '1');
    await first.kill();
    const second = await bench(place, code);
    expect((await second.engine.wait(go.runId, 10_000))?.status).toBe('completed');
    const child = await second.engine.wait((await childOf(second, go.runId)).runId, 10_000);
    expect([child?.status, errorOf(child)]).toMatchObject(['cancelled', { code: 'parent_ended' }]);
  });

  test('wait: the parent ends after it, over a crash, with what its body has returned', async () => {
    const place = newPlace();
    let ran = 0;
    const work = step('work', () => (ran += 1));
    const code: Code = {
      child: hold,
      async go() {
        for (const token of ['a', 'b']) await begin({ parentClosePolicy: 'wait' }, token);
        return work();
      },
    };
    const first = await bench(place, code, { limits: { parkAfter: 20 } });
    const go = await first.start('go');
    await until(async () => (await first.journal.getRun(go.runId))?.owner === null);
    const row = await first.journal.getRun(go.runId);
    expect([row?.status, row?.waitingFor]).toEqual(['waiting', '{"type":"children"}']);
    await first.engine.resumeHook('a', 1);
    await until(async () => (await first.journal.listClosing(go.runId, 10)).length === 1);
    expect((await first.journal.getRun(go.runId))?.endedAt).toBeNull();
    await first.kill();
    const second = await bench(place, code);
    expect((await second.journal.getRun(go.runId))?.endedAt).toBeNull();
    await second.engine.resumeHook('b', 1);
    const end = await second.engine.wait(go.runId, 10_000);
    expect([end?.status, outputOf(end), ran]).toEqual(['completed', 1, 1]);
    const children = await second.journal.listRuns({ parentRunId: go.runId }, { limit: 10 });
    for (const child of children) expect(Number(child.endedAt)).toBeLessThanOrEqual(Number(end?.endedAt));
  });

  test('wait: a cancel of the parent that waits cancels it', async () => {
    const opened = await bench(newPlace(), { child: hold, go: () => begin({ parentClosePolicy: 'wait' }) });
    const go = await opened.start('go');
    await until(async () => (await opened.journal.getRun(go.runId))?.waitingFor?.includes('children') === true);
    await opened.engine.cancel(go.runId, new RunCancelledError());
    expect(await endOf(opened, go)).toEqual(['cancelled', 'cancelled']);
  });

  test('a parent that continues hands its children on, with their policy', async () => {
    const code: Code = {
      child: hold,
      async go(n: number) {
        if (n === 0) await begin({ parentClosePolicy: 'cancel' });
        else await createHook({ token: 'next' });
        if (n === 0) await continueAsNew(1);
      },
    };
    const opened = await bench(newPlace(), code);
    const go = await opened.start('go', 0);
    await until(async () => (await opened.journal.hooks.find('next')) !== undefined);
    const next = await opened.journal.getLastRun(go.runId);
    const child = await childOf(opened, String(next?.runId));
    expect(child.endedAt).toBeNull();
    await opened.engine.resumeHook('next', 1);
    await opened.engine.wait(go.runId, 10_000);
    expect((await opened.engine.wait(child.runId, 10_000))?.status).toBe('cancelled');
  });

  test('a start that comes after the end of its parent is taken back, also one that is repeated', async () => {
    const opened = await bench(newPlace(), { child: hold, go: () => sleep('1h') });
    const { runId: parentRunId } = await opened.start('go');
    await opened.engine.cancel(parentRunId, new RunCancelledError());
    const key = { parentRunId, idempotencyKey: 'k' };
    const child = runOf(await opened.create('child', 'late', key));
    expect((await opened.engine.wait(child.runId, 10_000))?.status).toBe('cancelled');
    const left = runOf(await opened.create('child', 'left', { parentRunId, closePolicy: 'abandon' }));
    await opened.journal.deleteRun(parentRunId);
    const orphan = runOf(await opened.create('child', 'orphan', { parentRunId }));
    expect((await opened.engine.wait(orphan.runId, 10_000))?.status).toBe('cancelled');
    expect((await opened.journal.getRun(left.runId))?.endedAt).toBeNull();
  });

  test('a retry restarts a child that was cancelled with its parent, and keeps what its body has caught', async () => {
    let isBroken = true;
    const check = step('check', () => {
      if (isBroken) throw new FatalError('not yet');
      return 'checked';
    });
    const opened = await bench(newPlace(), {
      child: hold,
      async go() {
        const { runId } = (await begin({ parentClosePolicy: 'cancel' })) as { runId: string };
        const caught = await startWorkflowAndWait('child', 'caught', { parentClosePolicy: 'cancel' }).catch(
          ({ name }: Error) => name,
        );
        const checked = await check();
        return [caught, checked, await bodyOf('go').invoke(toWaitCall('child', { runId }))];
      },
    });
    const { runId } = await opened.start('go');
    await until(async () => (await opened.journal.hooks.find('caught')) !== undefined);
    const caught = await opened.journal.hooks.find('caught');
    await opened.engine.cancel(String(caught?.runId), new RunCancelledError());
    const failed = await opened.engine.wait(runId, 10_000);
    expect(errorOf(failed)).toMatchObject({ message: 'not yet' });
    const [, cancelled] = await opened.journal.listRuns({ parentRunId: runId }, { limit: 10 });
    expect((await opened.engine.wait(String(cancelled?.runId), 10_000))?.status).toBe('cancelled');
    isBroken = false;
    const again = runOf(await opened.engine.retry(failed as RunRow, 'failed-step'));
    await until(async () => (await opened.journal.listRuns({ parentRunId: again.runId }, { limit: 1 })).length > 0);
    const child = await childOf(opened, again.runId);
    await until(async () => (await opened.journal.getRun(child.runId))?.status === 'waiting');
    await opened.engine.resumeHook('child', 'anew');
    const end = await opened.engine.wait(again.runId, 10_000);
    expect(outputOf(end)).toEqual([expect.any(String), 'checked', 'anew']);
    expect(await opened.journal.listRuns({ parentRunId: again.runId }, { limit: 10 })).toHaveLength(1);
  });
});
