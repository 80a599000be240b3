import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { FatalError } from '../src/engine/errors.ts';
import { createHook, createWebhook } from '../src/engine/primitives/hook.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { RetryableError, svc } from '../src/index.ts';
import type { Why } from '../src/runs/why.ts';
import {
  call,
  finish,
  giveNewest,
  runWorkflow,
  setupBoxes,
  startWorkflow,
  toStep,
  until,
  untilStatus,
} from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const explain = async (box: TestBox, id: string): Promise<Why> => {
  const { status, body } = await call<Why>(box, `GET /api/runs/${id}/why`);
  expect(status).toBe(200);
  return body;
};
const codes = ({ reasons }: Why) => reasons.map(({ code }) => code);

/** Starts the workflow, and answers why its run stands where it is once it has the status. */
async function explainIn(box: TestBox, name: string, status: string): Promise<Why> {
  const runId = await startWorkflow(box, name);
  await untilStatus(box, runId, status);
  return explain(box, runId);
}

const plain = toStep('plain', async () => 1);

describe('why a run waits', () => {
  test('a sleep says until when, and in how long', async () => {
    const box = await boxes.open({ workflows: { nap: { run: () => sleep('3 hours') } } });
    const why = await explainIn(box, 'nap', 'waiting');
    expect(why).toMatchObject({ status: 'waiting', kind: 'workflow', name: 'nap', waitingFor: { type: 'sleep' } });
    expect(codes(why)).toEqual(['sleeping']);
    expect(why.summary).toMatch(/^The run sleeps until \d{4}-.*Z, in 2 h 59 min\.$/);
    expect(Date.parse(why.nextWakeAt ?? '') - Date.now()).toBeGreaterThan(10_000_000);
    expect(why.build).toMatchObject({ codeHash: 'hash', runningCodeHash: 'hash', matches: true });
    expect(why.build.version).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('a hook names its token, and how it is resumed', async () => {
    const box = await boxes.open({ workflows: { hook: { run: async () => createHook({ token: 'order 7' }) } } });
    const why = await explainIn(box, 'hook', 'waiting');
    expect(why.reasons).toEqual([
      {
        code: 'hook_pending',
        message: 'The run waits for the hook "order 7" to be resumed.',
        suggestion: 'Resume it: POST /api/workflows/hooks/order%207/resume with the payload.',
        token: 'order 7',
      },
    ]);
    expect(why.suggestion).toBe(why.reasons[0]?.suggestion);
    expect(why.nextWakeAt).toBeNull();
  });

  test('a webhook does not show its token, which is a credential', async () => {
    const box = await boxes.open({ workflows: { hook: { run: async () => void (await createWebhook()) } } });
    const why = await explainIn(box, 'hook', 'waiting');
    const [entry] = await box.journal.hooks.listEntries({ kind: 'webhook' }, { limit: 1 });
    expect(codes(why)).toEqual(['webhook_pending']);
    expect(JSON.stringify(why)).not.toContain(entry?.hook.token);
  });

  test('an approval says who has to do what, and when its time is over', async () => {
    const run = async () => requestApproval({ title: 'Pay 500?', timeout: '2 days' });
    const box = await boxes.open({ workflows: { pay: { run } } });
    const why = await explainIn(box, 'pay', 'waiting');
    expect(codes(why)).toEqual(['approval_pending']);
    expect(why.approval).toMatchObject({ title: 'Pay 500?', source: 'workflow', expiresAt: why.nextWakeAt });
    expect(why.summary).toMatch(
      /^The run waits until a person decides: "Pay 500\?"\. The time for it is over at .*, in 1 d 23 h\.$/,
    );
    expect(why.suggestion).toContain(`/api/approvals/${why.approval?.approvalId}/decide`);
  });

  test('a turn of an agent says which tool waits for a person', async () => {
    const pay = defineTool({ description: 'Pay.', inputSchema: z.object({}), execute: () => 1 });
    const clerk = defineDeepAgent({ name: 'clerk', instructions: '', tools: { pay }, interruptOn: { pay: true } });
    const box = await boxes.open({ agents: { clerk } });
    const body = { model: 'clerk', messages: [{ role: 'user', content: 'tool:pay {}' }] };
    await call(box, 'POST /wire-a/v1/chat/completions', body, { 'x-api-key': 'k', 'x-svc-session': 's' });
    const find = async () => (await box.journal.listRuns({ kind: 'agent', status: 'waiting' }, { limit: 1 }))[0];
    await until(async () => (await find()) !== undefined);
    const why = await explain(box, (await find())?.runId ?? '');
    expect(why).toMatchObject({ kind: 'agent', name: 'clerk', approval: { source: 'tool' } });
    expect(why.summary).toMatch(/^The turn of "clerk" waits until a person decides: "/);
  });

  test('a child leads on to what the child waits for', async () => {
    const parent = { run: async () => svc.workflows.startAndWait('child', {}) };
    const child = { run: async () => requestApproval({ title: 'Go?' }) };
    const box = await boxes.open({ workflows: { parent, child } });
    const runId = await startWorkflow(box, 'parent');
    await until(async () => codes(await explain(box, runId)).includes('approval_pending'));
    const why = await explain(box, runId);
    const [below] = await box.journal.listRuns({ parentRunId: runId }, { limit: 1 });
    expect(why.summary).toBe(`The run waits for run ${below?.runId} of "child", which is waiting.`);
    expect(why.reasons).toMatchObject([
      { code: 'child_running', runId: below?.runId },
      { code: 'approval_pending', runId: below?.runId },
    ]);
  });

  test('a child that waits for its lock is found by its trigger', async () => {
    const child = { run: async () => createHook({ token: 'held' }), serial: true };
    const parent = { run: async () => svc.workflows.startAndWait('child', {}) };
    const box = await boxes.open({ workflows: { parent, child } });
    await explainIn(box, 'child', 'waiting');
    const runId = await startWorkflow(box, 'parent');
    await untilStatus(box, runId, 'waiting');
    const [start] = await box.journal.queue.list({}, { limit: 1 });
    const why = await explain(box, runId);
    expect(why.waitingFor).toMatchObject({ type: 'child', triggerId: start?.triggerId });
    expect(why.summary).toBe('The run waits for a start of "child" that is in the queue for its lock.');
    expect(why.suggestion).toBe(`Look at what holds it up: svc why ${start?.triggerId}`);
  });
});

describe('why a start waits', () => {
  test('it names the run that has the lock, what that run waits for, and how many starts are before it', async () => {
    const run = async () => requestApproval({ title: 'Go?' });
    const serial = { key: ({ shop }: { shop: string }) => shop };
    const box = await boxes.open({ workflows: { order: { run, serial } } });
    const holder = await startWorkflow(box, 'order', { shop: 'a' });
    await untilStatus(box, holder, 'waiting');
    await startWorkflow(box, 'order', { shop: 'b' });
    const start = async () =>
      String((await call(box, 'POST /api/workflows/order/start', { shop: 'a' })).body.triggerId);
    const [first, second] = [await start(), await start()];
    const why = await explain(box, second);
    expect(why).toMatchObject({
      runId: null,
      triggerId: second,
      status: 'queued',
      lock: { name: 'order', key: 'a', heldByRunId: holder, waiting: 2 },
      queuedBehind: { runId: holder, position: 1 },
      approval: { title: 'Go?' },
    });
    expect(codes(why)).toEqual(['queued_behind', 'approval_pending', 'lock_held']);
    expect(why.summary).toBe(
      `The start waits in the queue: run ${holder} has the lock "a" of "order". One start is before it.`,
    );
    expect((await explain(box, first)).queuedBehind).toEqual({ runId: holder, position: 0 });
    expect(await explain(box, holder)).toMatchObject({ lock: { heldByRunId: holder, waiting: 2 } });
  });

  test('once it is promoted, its trigger leads to its run', async () => {
    const box = await boxes.open({
      workflows: { order: { run: async () => createHook({ token: 'go' }), serial: true } },
    });
    const holder = await startWorkflow(box, 'order');
    await untilStatus(box, holder, 'waiting');
    const { triggerId } = (await call(box, 'POST /api/workflows/order/start', {})).body;
    await call(box, `POST /api/runs/${holder}/cancel`, {});
    await finish(box, holder);
    const why = await explain(box, String(triggerId));
    expect(why).toMatchObject({ triggerId, queuedBehind: null });
    expect(why.runId).not.toBe(holder);
  });
});

describe('why a run is still running', () => {
  test('a step says how long it runs, what it may take, and who has the run', async () => {
    let go = (): void => {};
    const slow = toStep('slow', () => new Promise<void>((resolve) => (go = resolve)));
    const run = Object.assign(async () => slow(), {});
    const box = await boxes.open({ workflows: { work: { run } } });
    const runId = await startWorkflow(box, 'work');
    await until(async () => codes(await explain(box, runId)).includes('step_running'));
    const why = await explain(box, runId);
    expect(codes(why)).toEqual(['step_running']);
    expect(why.summary).toMatch(/^The step "slow" runs since \d+ (?:ms|s); it has no time limit\.$/);
    expect(why).toMatchObject({ attempt: 1, lease: { isHere: true, isExpired: false } });
    go();
    await finish(box, runId);
  });

  test('a step that is retried says what went wrong, and when it is tried again', async () => {
    const flaky = toStep('flaky', async () => {
      throw new Error('The till is closed.');
    });
    Object.assign(flaky, { backoff: { initial: '1 hour', max: '1 hour' } });
    const box = await boxes.open({ workflows: { work: { run: async () => flaky() } } });
    const why = await explainIn(box, 'work', 'waiting');
    expect(codes(why)).toEqual(['step_retrying']);
    expect(why).toMatchObject({
      attempt: 2,
      nextRetryAt: why.nextWakeAt,
      lastError: { code: 'run_failed', message: 'The till is closed.', step: 'workflows/test.workflow.ts#flaky' },
    });
    expect(why.summary).toMatch(
      /^The step "flaky" failed in attempt 1 \(The till is closed\) and is tried again at .*Z, in (?:4[4-9]|5\d) min\.$/,
    );
  });

  test('a run that has completed has no last error, whatever failed on the way', async () => {
    let attempts = 0;
    const flaky = toStep('flaky', async () => {
      attempts += 1;
      if (attempts === 1) throw new RetryableError('The till is closed.', { retryAfter: 1 });
    });
    const box = await boxes.open({ workflows: { work: { run: async () => flaky() } } });
    const why = await explainIn(box, 'work', 'completed');
    expect([attempts, why.lastError]).toEqual([2, null]);
  });

  test('a run that another process has says whose lease it is, and when that is over', async () => {
    const box = await boxes.open({ workflows: { work: { run: plain } } });
    const claim = { owner: 'replica-2', leaseMs: 60_000 };
    const runId = await createRun(box, { claim });
    const why = await explain(box, runId);
    expect(codes(why)).toEqual(['other_process']);
    expect(why.lease).toMatchObject({ owner: 'replica-2', isHere: false, isExpired: false });
    expect(why.summary).toContain('Another process (replica-2) has the run and is at work on it.');
  });

  test('a lease that is over is said to be', async () => {
    const box = await boxes.open({ provider: 'none', workflows: { work: { run: plain } } });
    const runId = await createRun(box, { claim: { owner: 'replica-2', leaseMs: 1 } });
    await until(async () => (await explain(box, runId)).lease?.isExpired === true);
    expect(codes(await explain(box, runId))).toEqual(['gate_closed', 'lease_expired']);
  });

  test('a run no one has taken is held back by a closed gate', async () => {
    const box = await boxes.open({ provider: 'none', workflows: { work: { run: plain } } });
    const why = await explain(box, await createRun(box, { claim: null }));
    expect(codes(why)).toEqual(['gate_closed', 'not_taken']);
    expect(why.suggestion).toBe('Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.');
    expect(why.build.runningCodeHash).toBeNull();
  });
});

describe('why a run does not go on', () => {
  test('changed code names the step that differs, and what can be done', async () => {
    const before = { work: { run: async () => (await plain(), createHook({ token: 'go' })) } };
    const after = { work: { run: async () => (await toStep('other', async () => 2)(), createHook({ token: 'go' })) } };
    const box = await boxes.open({ workflows: before });
    const { runId } = await explainIn(box, 'work', 'waiting');
    const edited = await box.restart({ workflows: after, hash: 'new' });
    await call(edited, 'POST /api/workflows/hooks/go/resume', {});
    await giveNewest(edited, runId ?? '');
    await untilStatus(edited, runId ?? '', 'blocked');
    const why = await explain(edited, runId ?? '');
    expect(why.reasons).toMatchObject([
      { code: 'code_changed', step: 'workflows/test.workflow.ts#plain', at: expect.stringContaining('_setup.ts:') },
    ]);
    expect(why.summary).toContain('the code now calls "workflows/test.workflow.ts#other"');
    expect(why.build).toMatchObject({ codeHash: 'new', runningCodeHash: 'new', matches: true });
    expect(why.suggestion).toContain(`svc replay ${runId}`);
  });

  test('code that does not load says why', async () => {
    const box = await boxes.open({ workflows: { work: { run: async () => createHook({ token: 'go' }) } } });
    const { runId } = await explainIn(box, 'work', 'waiting');
    const broken = await box.restart({ workflows: { work: new Error('Unexpected token.') } });
    await call(broken, 'POST /api/workflows/hooks/go/resume', {});
    await until(async () => codes(await explain(broken, runId ?? '')).includes('code_not_kept'));
    expect((await explain(broken, runId ?? '')).summary).toContain('Unexpected token.');
  });

  test('a completed run', async () => {
    const box = await boxes.open({ workflows: { work: { run: plain } } });
    const why = await explain(box, String((await runWorkflow(box, 'work')).runId));
    expect(codes(why)).toEqual(['completed']);
    expect(why).toMatchObject({ nextWakeAt: null, lease: null, suggestion: '' });
  });

  test('a failed run names the step, its error, and the run that repeats it', async () => {
    const pay = toStep('pay', async () => {
      throw new FatalError('No card.');
    });
    const box = await boxes.open({ workflows: { work: { run: async () => pay() } } });
    const runId = String((await runWorkflow(box, 'work')).runId);
    const why = await explain(box, runId);
    expect(why.summary).toMatch(/^The run failed at .*Z in "pay", after 1 attempt: No card\.$/);
    expect(why).toMatchObject({ lastError: { message: 'No card.' }, reasons: [{ code: 'failed' }] });
    expect(why.suggestion).toContain(`/api/runs/${runId}/retry`);
    const { body } = await call(box, `POST /api/runs/${runId}/retry`, {});
    expect((await explain(box, runId)).summary).toContain(`Run ${String(body.runId)} repeats it.`);
  });

  test('a cancelled run', async () => {
    const box = await boxes.open({ workflows: { work: { run: async () => createHook() } } });
    const { runId } = await explainIn(box, 'work', 'waiting');
    await call(box, `POST /api/runs/${runId}/cancel`, {});
    await finish(box, String(runId));
    const why = await explain(box, runId ?? '');
    expect(codes(why)).toEqual(['cancelled']);
    expect(why.summary).toMatch(/^The run was cancelled at [\d-]+T[\d:.]+Z by "owner"\.$/);
  });

  test('a run that was cancelled with others that match', async () => {
    const box = await boxes.open({ workflows: { work: { run: async () => createHook() } } });
    const runId = String((await explainIn(box, 'work', 'waiting')).runId);
    expect((await call(box, 'POST /api/runs/cancel', { name: 'work' })).body).toMatchObject({ done: 1 });
    // The cancels of many are recorded, and not waited for.
    await finish(box, runId);
    expect((await explain(box, runId)).summary).toMatch(/^The run was cancelled at [^ ]+ by "owner"\.$/);
    const { body } = await call<{ items: unknown[] }>(box, `GET /api/activity?operation=runs.cancel&target=${runId}`);
    expect(body.items).toMatchObject([{ target: { id: runId }, actor: { name: 'owner' } }]);
  });

  test('a run that went with the one above it', async () => {
    const box = await boxes.open({
      workflows: {
        top: { run: async () => svc.workflows.startAndWait('middle', {}) },
        middle: { run: async () => svc.workflows.startAndWait('work', {}) },
        work: { run: async () => createHook() },
        ends: {
          run: async () => {
            await svc.workflows.start('work', {}, { parentClosePolicy: 'cancel' });
            return 'done';
          },
        },
      },
    });
    const only = async (name: string) => {
      const list = async () =>
        (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body.items;
      await until(async () => (await list()).length === 1);
      return (await list())[0]?.runId ?? '';
    };
    const top = await startWorkflow(box, 'top', {});
    const work = await only('work');
    await untilStatus(box, work, 'waiting');
    const middle = await only('middle');
    await call(box, `POST /api/runs/${top}/cancel`, {});
    await untilStatus(box, work, 'cancelled');
    const why = await explain(box, work);
    expect(why.summary).toMatch(
      new RegExp(
        `^The run was cancelled at [^ ]+ with run ${middle}, which has started it and was cancelled by "owner"\\.$`,
      ),
    );
    expect(why.reasons[0]).toMatchObject({ code: 'cancelled', runId: middle });
    const ends = await startWorkflow(box, 'ends', {});
    await untilStatus(box, ends, 'completed');
    const { body } = await call<{ items: { runId: string }[] }>(box, `GET /api/runs?parent=${ends}`);
    const child = body.items[0]?.runId ?? '';
    await untilStatus(box, child, 'cancelled');
    expect((await explain(box, child)).summary).toMatch(
      new RegExp(`^The run was cancelled at [^ ]+ with run ${ends}, which has started it and has ended\\.$`),
    );
  });

  test('there is no such run', async () => {
    const box = await boxes.open();
    expect(await call(box, 'GET /api/runs/nope/why')).toMatchObject({ status: 404, body: { code: 'run_not_found' } });
  });
});

async function createRun(
  box: TestBox,
  { claim }: { claim: { owner: string; leaseMs: number } | null },
): Promise<string> {
  const { newRunId, toTraceId } = await import('../src/engine/ids.ts');
  const runId = newRunId();
  const none = { sessionId: null, parentRunId: null, retryOf: null, codeHash: 'hash' };
  const fields = { kind: 'workflow', name: 'work', trigger: 'api', input: '2{}', durability: 'synced' } as const;
  await box.journal.create({ runId, traceId: toTraceId(runId), ...fields, ...none, claim });
  return runId;
}
