import { describe, expect, test } from 'vitest';
import { svc } from '../src/svc.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { call, finish, getRun, json, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

type Row = Record<string, unknown>;

const hold = async ({ id }: { id: string }) => `${id}: ${String(await createHook({ token: id }))}`;
const fail = async () => {
  throw Object.assign(new Error('No stock.'), { code: 'no_stock' });
};
let attempts = 0;
const startTwice = toStep('startTwice', async () => {
  const ids = [await svc.workflows.start('hold', { id: 'x' }), await svc.workflows.start('echo', 1)];
  if (++attempts === 1) throw Object.assign(new Error('Again.'), { name: 'RetryableError', retryAfter: 1 });
  return ids.map((started) => (started as { runId: string }).runId);
});

const WORKFLOWS = {
  hold: { run: hold },
  one: { run: hold, serial: true },
  fail: { run: fail },
  echo: { run: async (input: unknown) => input },
  start: { run: async (input: { name: string; input: unknown }) => svc.workflows.start(input.name, input.input) },
  wait: { run: async (input: { name: string; input: unknown }) => svc.workflows.startAndWait(input.name, input.input) },
  three: {
    run: async () => Promise.all(['a', 'b', 'c'].map((id) => svc.workflows.startAndWait('hold', { id }))),
  },
  catches: {
    run: async (input: { name: string }) =>
      svc.workflows.startAndWait(input.name, {}).catch((error: Error & { code?: string }) => ({
        message: error.message,
        code: error.code,
        cause: (error.cause as Error | undefined)?.message,
      })),
  },
  inStep: { run: toStep('inStep', async () => svc.workflows.startAndWait('echo', { from: 'step' })) },
  startTwice: { run: async () => startTwice() },
};

const open = () => boxes.open({ workflows: WORKFLOWS });
const release = (box: TestBox, id: string, value: unknown = 'go') =>
  box.request(`/api/workflows/hooks/${id}/resume`, json(JSON.stringify(value)));
const runsOf = async (box: TestBox, name: string) =>
  (await call<{ items: Row[] }>(box, `GET /api/runs?name=${name}`)).body.items;

/** The first child run of that name, once it waits. */
async function waitingChild(box: TestBox, name: string): Promise<Row> {
  await until(async () => (await runsOf(box, name))[0]?.status === 'waiting');
  return (await runsOf(box, name))[0] as Row;
}

describe('startAndWait', () => {
  test('answers the output of the child, whose record names its parent', async () => {
    const box = await open();
    const parent = await startWorkflow(box, 'wait', { name: 'hold', input: { id: 'a' } });
    const child = await waitingChild(box, 'hold');
    expect(child).toMatchObject({ parentRunId: parent, trigger: 'workflow', input: { id: 'a' } });
    await untilStatus(box, parent, 'waiting');
    expect(await getRun(box, parent, '10ms')).toMatchObject({
      waitingFor: { type: 'child', runId: child.runId },
    });
    await release(box, 'a');
    expect(await finish(box, parent)).toMatchObject({ status: 'completed', output: 'a: go' });
  });

  test('goes on over a restart between the two', async () => {
    const first = await open();
    const parent = await startWorkflow(first, 'wait', { name: 'hold', input: { id: 'a' } });
    await waitingChild(first, 'hold');
    const box = await first.restart();
    await release(box, 'a');
    expect(await finish(box, parent)).toMatchObject({ output: 'a: go' });
    expect(await runsOf(box, 'hold')).toHaveLength(1);
  });

  test('of three at once answers each its own', async () => {
    const box = await open();
    const parent = await startWorkflow(box, 'three');
    await until(async () => (await runsOf(box, 'hold')).filter(({ status }) => status === 'waiting').length === 3);
    for (const id of ['c', 'a', 'b']) await release(box, id, id.toUpperCase());
    expect((await finish(box, parent)).output).toEqual(['a: A', 'b: B', 'c: C']);
  });

  test('throws when the child fails, with its error as the cause', async () => {
    const box = await open();
    expect((await finish(box, await startWorkflow(box, 'catches', { name: 'fail' }))).output).toEqual({
      message: expect.stringMatching(/^Run [\da-f-]{36} of "fail" ended as failed\.$/),
      code: 'child_failed',
      cause: 'No stock.',
    });
    const failed = await finish(box, await startWorkflow(box, 'wait', { name: 'fail', input: {} }));
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'child_failed' } });
  });

  test('throws when the child is cancelled', async () => {
    const box = await open();
    const parent = await startWorkflow(box, 'wait', { name: 'hold', input: { id: 'a' } });
    const child = await waitingChild(box, 'hold');
    await call(box, `POST /api/runs/${String(child.runId)}/cancel`);
    expect(await finish(box, parent)).toMatchObject({ status: 'failed', error: { code: 'child_cancelled' } });
  });

  test('of a name that is none fails, and says which there are', async () => {
    const box = await open();
    expect(await finish(box, await startWorkflow(box, 'wait', { name: 'nope', input: {} }))).toMatchObject({
      status: 'failed',
      error: { code: 'workflow_not_found', message: expect.stringContaining('"nope"') },
    });
  });

  test('waits through the queue of a serial child', async () => {
    const box = await open();
    const holder = await startWorkflow(box, 'one', { id: 'holder' });
    await untilStatus(box, holder, 'waiting');
    const parent = await startWorkflow(box, 'wait', { name: 'one', input: { id: 'a' } });
    await untilStatus(box, parent, 'waiting');
    expect((await getRun(box, parent)).waitingFor).toMatchObject({ type: 'child' });
    await release(box, 'holder');
    await until(async () => (await runsOf(box, 'one')).length === 2);
    const [child] = await runsOf(box, 'one');
    expect(child).toMatchObject({ parentRunId: parent, triggerId: expect.any(String) });
    await untilStatus(box, String(child?.runId), 'waiting');
    await release(box, 'a');
    expect((await finish(box, parent)).output).toBe('a: go');
  });

  test('whose queued start is dropped throws', async () => {
    const box = await open();
    await untilStatus(box, await startWorkflow(box, 'one', { id: 'holder' }), 'waiting');
    const parent = await startWorkflow(box, 'wait', { name: 'one', input: { id: 'a' } });
    await untilStatus(box, parent, 'waiting');
    const { items } = (await call<{ items: Row[] }>(box, 'GET /api/workflows/one/queue')).body;
    expect((await call(box, `DELETE /api/workflows/one/queue/${String(items[0]?.triggerId)}`)).status).toBe(200);
    expect(await finish(box, parent)).toMatchObject({ status: 'failed', error: { code: 'child_gone' } });
  });

  test('in a step answers as well', async () => {
    const box = await open();
    expect((await finish(box, await startWorkflow(box, 'inStep'))).output).toEqual({ from: 'step' });
  });
});

describe('start', () => {
  test('answers the receipt and goes on; the child outlives its parent', async () => {
    const box = await open();
    const parent = await finish(box, await startWorkflow(box, 'start', { name: 'hold', input: { id: 'a' } }));
    const child = await waitingChild(box, 'hold');
    expect(parent.output).toEqual({
      workflowName: 'hold',
      status: 'started',
      runId: child.runId,
      worldRunId: child.traceId,
      trigger: 'POST /api/workflows/hold/start',
    });
    await release(box, 'a');
    expect((await finish(box, String(child.runId))).status).toBe('completed');
  });

  test('in a step that is repeated starts nothing twice', async () => {
    attempts = 0;
    const box = await open();
    const parent = await finish(box, await startWorkflow(box, 'startTwice'));
    expect(attempts).toBe(2);
    const children = [...(await runsOf(box, 'hold')), ...(await runsOf(box, 'echo'))];
    expect(children.map(({ runId }) => runId)).toEqual(parent.output);
  });
});

describe('a cancel of the parent', () => {
  test('ends every run below it, and the starts that wait in a queue', async () => {
    const box = await open();
    await untilStatus(box, await startWorkflow(box, 'one', { id: 'holder' }), 'waiting');
    const grandparent = await startWorkflow(box, 'wait', { name: 'wait', input: { name: 'hold', input: { id: 'a' } } });
    const child = await waitingChild(box, 'hold');
    const queued = await startWorkflow(box, 'wait', { name: 'one', input: { id: 'b' } });
    await untilStatus(box, queued, 'waiting');
    for (const runId of [grandparent, queued])
      expect((await call(box, `POST /api/runs/${runId}/cancel`)).status).toBe(200);
    expect(await finish(box, String(child.runId))).toMatchObject({
      status: 'cancelled',
      error: { code: 'run_cancelled' },
    });
    const listWaiting = async () =>
      (await call<{ items: Row[] }>(box, 'GET /api/runs?status=waiting')).body.items.map(({ name }) => name);
    await expect.poll(listWaiting).toEqual(['one']);
    expect((await call<{ items: Row[] }>(box, 'GET /api/workflows/one/queue')).body.items).toEqual([]);
  });
});

describe('the timeline', () => {
  test('has the run, its calls and its child runs', async () => {
    const box = await open();
    const parent = await startWorkflow(box, 'three');
    await until(async () => (await runsOf(box, 'hold')).length === 3);
    for (const id of ['a', 'b', 'c']) {
      await until(async () => (await release(box, id)).status === 200);
    }
    await finish(box, parent);
    const { items } = (await call<{ items: Row[] }>(box, `GET /api/runs/${parent}/timeline`)).body;
    expect(items[0]).toMatchObject({ spanId: parent, parentId: null, kind: 'run', name: 'three', status: 'completed' });
    const children = items.filter(({ kind, parentId }) => kind === 'run' && parentId !== null);
    const starts = items.filter(({ name }) => name === 'start hold').map(({ spanId }) => spanId);
    // Each below the call that started it.
    expect(new Set(children.map(({ parentId }) => parentId))).toEqual(new Set(starts));
    expect(new Set(children.map(({ runId }) => runId))).toEqual(
      new Set((await runsOf(box, 'hold')).map(({ runId }) => runId)),
    );
    expect(
      items
        .filter(({ kind }) => kind === 'child')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['start hold', 'start hold', 'start hold', 'wait hold', 'wait hold', 'wait hold']);
    for (const span of items.filter(({ kind }) => kind === 'child')) expect(span.parentId).toBe(parent);
    const waits = items.filter(({ name }) => name === 'wait hold');
    for (const { startedAt, endedAt } of waits) expect(String(startedAt) <= String(endedAt)).toBe(true);
  });
});
