import { describe, expect, test } from 'vitest';
import { createHook } from '../src/engine/primitives/hook.ts';
import { call, finish, getRun, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { Answer, TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Input {
  id: string;
  customer?: string | number;
}

/** Holds its lock until its hook, named by the input, is resumed. */
const hold = async ({ id }: Input) => {
  await createHook({ token: id });
  return id;
};
const byCustomer = ({ customer }: Input) => customer;

const WORKFLOWS = {
  queue: { run: hold, serial: true },
  keyed: { run: hold, serial: { key: byCustomer } },
  reject: { run: hold, serial: { onConflict: 'reject' } },
  replace: { run: hold, serial: { onConflict: 'replace' } },
  join: { run: hold, serial: { onConflict: 'join' } },
  rejectKeyed: { run: hold, serial: { key: byCustomer, onConflict: 'reject' } },
  free: { run: hold },
  echo: { run: async (input: unknown) => input },
};

const open = () => boxes.open({ workflows: WORKFLOWS });
const start = (box: TestBox, name: string, input: unknown, headers?: Record<string, string>) =>
  call(box, `POST /api/workflows/${name}/start`, input, headers);
const release = (box: TestBox, id: string) => call(box, `POST /api/workflows/hooks/${id}/resume`, null);
const queueOf = async (box: TestBox, name = 'queue') =>
  (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/workflows/${name}/queue`)).body.items;
const statusOf = async (box: TestBox, { body }: Answer) => (await getRun(box, String(body.runId))).status;

/** Starts and waits until the run waits for its hook, that is, holds its lock. */
async function startHolder(box: TestBox, name: string, input: Input): Promise<string> {
  const runId = await startWorkflow(box, name, input);
  await untilStatus(box, runId, 'waiting');
  return runId;
}

/** The run a queued start became. */
async function promoted(box: TestBox, triggerId: unknown): Promise<Record<string, unknown>> {
  const find = async () =>
    (await call<{ items: Record<string, unknown>[] }>(box, 'GET /api/runs?limit=200')).body.items.find(
      (run) => run.triggerId === triggerId,
    );
  await until(async () => (await find()) !== undefined);
  return (await find()) as Record<string, unknown>;
}

describe('a start of a serial workflow', () => {
  test('is answered with a started receipt while the lock is free', async () => {
    const box = await open();
    expect(await start(box, 'queue', { id: 'a' })).toEqual({
      status: 202,
      body: {
        workflowName: 'queue',
        status: 'started',
        runId: expect.stringMatching(/^[\da-f-]{36}$/),
        worldRunId: expect.stringMatching(/^[\da-f]{32}$/),
        trigger: 'POST /api/workflows/queue/start',
      },
    });
  });

  test('is answered with a queued receipt, without any run id, while a run holds the lock', async () => {
    const box = await open();
    await startHolder(box, 'queue', { id: 'a' });
    const { status, body } = await start(box, 'queue', { id: 'b' });
    expect({ status, body }).toEqual({
      status: 202,
      body: {
        workflowName: 'queue',
        status: 'queued',
        triggerId: expect.stringMatching(/^[\da-f-]{36}$/),
        trigger: 'POST /api/workflows/queue/start',
      },
    });
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toHaveLength(1);
  });

  test('begins by itself when the lock is free, and its run names the queued start', async () => {
    const box = await open();
    const first = await startHolder(box, 'queue', { id: 'a' });
    const { body } = await start(box, 'queue', { id: 'b' });
    await release(box, 'a');
    expect(await finish(box, first)).toMatchObject({ output: 'a', triggerId: null });
    const run = await promoted(box, body.triggerId);
    expect(run).toMatchObject({ name: 'queue', trigger: 'api', input: { id: 'b' } });
    await untilStatus(box, String(run.runId), 'waiting');
    expect(await queueOf(box)).toEqual([]);
    await release(box, 'b');
    expect(await finish(box, String(run.runId))).toMatchObject({ status: 'completed', output: 'b' });
  });

  test.each(['cancel', 'fail'])('begins also when the run before it ends by a %s', async (how) => {
    const fail = {
      ...WORKFLOWS.queue,
      run: async (input: Input) => hold(input).then(() => Promise.reject(new Error('x'))),
    };
    const box = await boxes.open({ workflows: { queue: how === 'fail' ? fail : WORKFLOWS.queue } });
    const first = await startHolder(box, 'queue', { id: 'a' });
    const { body } = await start(box, 'queue', { id: 'b' });
    if (how === 'cancel') await call(box, `POST /api/runs/${first}/cancel`);
    else await release(box, 'a');
    const run = await promoted(box, body.triggerId);
    await untilStatus(box, String(run.runId), 'waiting');
  });

  test('100 at once run one at a time, in the order of their receipts, over a restart', async () => {
    const seen: number[] = [];
    let running = 0;
    let most = 0;
    const note = toStep('note', async (n: number) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      seen.push(n);
    });
    const gate = {
      run: async ({ n }: { n: number }) => (n === 0 ? createHook({ token: 'gate' }) : note(n)),
      serial: true,
    };
    const first = await boxes.open({ workflows: { gate } });
    const holder = await startWorkflow(first, 'gate', { n: 0 });
    await untilStatus(first, holder, 'waiting');
    const queued: number[] = [];
    await Promise.all(
      Array.from({ length: 99 }, async (_, n) => {
        const { body } = await start(first, 'gate', { n: n + 1 });
        expect(body.status).toBe('queued');
      }),
    );
    const items = await queueOf(first, 'gate');
    queued.push(...items.map(({ input }) => (input as { n: number }).n));
    expect(items.map(({ position }) => position)).toEqual(Array.from({ length: 99 }, (_, n) => n));
    const box = await first.restart();
    await release(box, 'gate');
    await until(() => seen.length === 99, 20_000);
    expect(seen).toEqual(queued);
    expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 99 }, (_, n) => n + 1));
    expect(most).toBe(1);
  });
});

describe('a key', () => {
  test('gives each value a lock of its own', async () => {
    const box = await open();
    await startHolder(box, 'keyed', { id: 'a1', customer: 'a' });
    await startHolder(box, 'keyed', { id: 'b1', customer: 'b' });
    await startHolder(box, 'keyed', { id: 'n1', customer: 1 });
    const again = await start(box, 'keyed', { id: 'a2', customer: 'a' });
    expect(again.body.status).toBe('queued');
    await release(box, 'a1');
    const run = await promoted(box, again.body.triggerId);
    await untilStatus(box, String(run.runId), 'waiting');
    expect((await start(box, 'keyed', { id: 'b2', customer: 'b' })).body.status).toBe('queued');
  });

  test.each([
    ['nothing', {}],
    ['an object', { customer: {} }],
    ['null', { customer: null }],
    ['an error', null],
  ])('function that answers %s refuses the start, and no run is created', async (_what, input) => {
    const box = await open();
    expect(await start(box, 'keyed', input)).toMatchObject({
      status: 400,
      body: { code: 'workflow_input_invalid', message: expect.stringContaining('"serial.key"') },
    });
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toEqual([]);
  });
});

describe('a start while the lock is held', () => {
  test('is refused with 409 under `reject`, naming the run', async () => {
    const box = await open();
    const runId = await startHolder(box, 'reject', { id: 'a' });
    expect(await start(box, 'reject', { id: 'b' })).toMatchObject({
      status: 409,
      body: { code: 'workflow_busy', message: expect.stringContaining(runId), details: { runId } },
    });
    await release(box, 'a');
    await finish(box, runId);
    expect((await start(box, 'reject', { id: 'b' })).body.status).toBe('started');
  });

  test('under `reject` with a key is refused for that key only', async () => {
    const box = await open();
    await startHolder(box, 'rejectKeyed', { id: 'a', customer: 'a' });
    expect((await start(box, 'rejectKeyed', { id: 'a2', customer: 'a' })).status).toBe(409);
    expect((await start(box, 'rejectKeyed', { id: 'b', customer: 'b' })).status).toBe(202);
  });

  test('replaces the run under `replace`', async () => {
    const box = await open();
    const old = await startHolder(box, 'replace', { id: 'a' });
    const next = await start(box, 'replace', { id: 'b' });
    expect(next).toMatchObject({ status: 202, body: { status: 'started' } });
    expect(await finish(box, old)).toMatchObject({ status: 'cancelled', error: { code: 'run_replaced' } });
    await untilStatus(box, String(next.body.runId), 'waiting');
    await release(box, 'b');
    expect((await finish(box, String(next.body.runId))).output).toBe('b');
  });

  test('of 10 at once under `replace` leaves one run', async () => {
    const box = await open();
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => start(box, 'replace', { id: `r${n}` })));
    expect(answers.map(({ body }) => body.status)).toEqual(Array.from({ length: 10 }, () => 'started'));
    const statuses = await Promise.all(answers.map((answer) => statusOf(box, answer)));
    expect(statuses.filter((status) => status !== 'cancelled')).toHaveLength(1);
  });

  test('joins the run under `join`: same receipt, nothing new', async () => {
    const box = await open();
    const first = await start(box, 'join', { id: 'a' });
    expect(await start(box, 'join', { id: 'b' })).toEqual(first);
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toHaveLength(1);
  });
});

describe('the queue', () => {
  test('lists what waits, in order, and drops what is deleted', async () => {
    const box = await open();
    await startHolder(box, 'queue', { id: 'a' });
    const ids: unknown[] = [];
    for (const id of ['b', 'c', 'd']) ids.push((await start(box, 'queue', { id })).body.triggerId);
    expect(await queueOf(box)).toEqual(
      ['b', 'c', 'd'].map((id, position) => ({
        triggerId: ids[position],
        position,
        input: { id },
        trigger: 'api',
        priority: 0,
        waitsFor: 'lock',
        readyAt: null,
        createdAt: expect.stringMatching(/Z$/),
      })),
    );
    const path = `/api/workflows/queue/queue/${String(ids[1])}`;
    expect(await call(box, `DELETE ${path}`)).toEqual({ status: 200, body: { triggerId: ids[1], deleted: true } });
    expect((await queueOf(box)).map(({ triggerId }) => triggerId)).toEqual([ids[0], ids[2]]);
    expect(await call(box, `DELETE ${path}`)).toMatchObject({ status: 404, body: { code: 'trigger_not_found' } });
    await release(box, 'a');
    await untilStatus(box, String((await promoted(box, ids[0])).runId), 'waiting');
    expect((await call(box, `DELETE /api/workflows/queue/queue/${String(ids[0])}`)).status).toBe(404);
    await release(box, 'b');
    await untilStatus(box, String((await promoted(box, ids[2])).runId), 'waiting');
  });

  test('of another workflow does not have it', async () => {
    const box = await open();
    await startHolder(box, 'queue', { id: 'a' });
    const { body } = await start(box, 'queue', { id: 'b' });
    expect(await call(box, `DELETE /api/workflows/keyed/queue/${String(body.triggerId)}`)).toMatchObject({
      status: 404,
      body: { code: 'trigger_not_found' },
    });
    expect(await queueOf(box)).toHaveLength(1);
    expect(await queueOf(box, 'keyed')).toEqual([]);
    expect(await queueOf(box, 'free')).toEqual([]);
    expect((await call(box, 'GET /api/workflows/nope/queue')).body.code).toBe('workflow_not_found');
    expect((await call(box, 'DELETE /api/workflows/nope/queue/x')).body.code).toBe('workflow_not_found');
  });

  test('is shown in the catalog as serial', async () => {
    const box = await open();
    expect((await call(box, 'GET /api/workflows/queue')).body).toMatchObject({
      serial: true,
      mode: 'task',
      schedules: 0,
    });
    expect((await call(box, 'GET /api/workflows/free')).body).toMatchObject({ serial: false });
  });
});

describe('a retry of a serial run', () => {
  test('waits for the lock like any other start', async () => {
    const box = await open();
    const old = await startHolder(box, 'queue', { id: 'a' });
    await call(box, `POST /api/runs/${old}/cancel`);
    await startHolder(box, 'queue', { id: 'b' });
    const retry = await call(box, `POST /api/runs/${old}/retry`);
    expect(retry).toMatchObject({ status: 202, body: { status: 'queued', workflowName: 'queue' } });
    await release(box, 'b');
    const run = await promoted(box, retry.body.triggerId);
    expect(run).toMatchObject({ retryOf: old, trigger: 'retry', input: { id: 'a' } });
    await untilStatus(box, String(run.runId), 'waiting');
    await release(box, 'a');
    expect((await finish(box, String(run.runId))).output).toBe('a');
  });

  test('is refused under `reject`', async () => {
    const box = await open();
    const old = await startHolder(box, 'reject', { id: 'a' });
    await call(box, `POST /api/runs/${old}/cancel`);
    await startHolder(box, 'reject', { id: 'b' });
    expect((await call(box, `POST /api/runs/${old}/retry`)).body.code).toBe('workflow_busy');
  });
});

describe('an Idempotency-Key', () => {
  const key = (value: string) => ({ 'idempotency-key': value });

  test('answers the same receipt for the same start, also after a restart', async () => {
    const first = await open();
    const receipt = await start(first, 'echo', { a: 1, b: { c: 2, d: 3 } }, key('k'));
    expect(await start(first, 'echo', { a: 1, b: { c: 2, d: 3 } }, key('k'))).toEqual(receipt);
    const box = await first.restart();
    // A client may write members in another order as it repeats the call.
    expect(await start(box, 'echo', { b: { d: 3, c: 2 }, a: 1 }, key('k'))).toEqual(receipt);
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toHaveLength(1);
  });

  test('is refused with another body', async () => {
    const box = await open();
    await start(box, 'echo', { a: 1 }, key('k'));
    expect(await start(box, 'echo', { a: 2 }, key('k'))).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict', message: expect.stringContaining('"k"') },
    });
  });

  test('belongs to one workflow, and another key is another start', async () => {
    const box = await open();
    const receipts = [
      await start(box, 'echo', { id: 'x' }, key('k')),
      await start(box, 'free', { id: 'x' }, key('k')),
      await start(box, 'echo', { id: 'x' }, key('l')),
      await start(box, 'echo', { id: 'x' }),
    ];
    expect(new Set(receipts.map(({ body }) => body.runId)).size).toBe(4);
  });

  test('from 50 clients at once starts one run', async () => {
    const box = await open();
    const answers = await Promise.all(Array.from({ length: 50 }, () => start(box, 'echo', { a: 1 }, key('k'))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.status).toBe(202);
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toHaveLength(1);
  });

  test('of a queued start answers the queued receipt, queues once, and then names its run', async () => {
    const box = await open();
    await startHolder(box, 'queue', { id: 'a' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => start(box, 'queue', { id: 'b' }, key('k'))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.body.status).toBe('queued');
    expect(await queueOf(box)).toHaveLength(1);
    await release(box, 'a');
    const run = await promoted(box, answers[0]?.body.triggerId);
    expect((await start(box, 'queue', { id: 'b' }, key('k'))).body).toMatchObject({
      status: 'started',
      runId: run.runId,
    });
  });

  test('whose queued start was dropped is free again', async () => {
    const box = await open();
    await startHolder(box, 'queue', { id: 'a' });
    const first = await start(box, 'queue', { id: 'b' }, key('k'));
    await call(box, `DELETE /api/workflows/queue/queue/${String(first.body.triggerId)}`);
    const second = await start(box, 'queue', { id: 'b' }, key('k'));
    expect(second.body.status).toBe('queued');
    expect(second.body.triggerId).not.toBe(first.body.triggerId);
  });

  test('of a refused start is not used up', async () => {
    const box = await open();
    const runId = await startHolder(box, 'reject', { id: 'a' });
    expect((await start(box, 'reject', { id: 'b' }, key('k'))).status).toBe(409);
    await release(box, 'a');
    await finish(box, runId);
    expect((await start(box, 'reject', { id: 'b' }, key('k'))).status).toBe(202);
  });

  test('names the run again under `replace` instead of replacing it', async () => {
    const box = await open();
    const first = await start(box, 'replace', { id: 'a' }, key('k'));
    expect(await start(box, 'replace', { id: 'a' }, key('k'))).toEqual(first);
  });

  test.each([
    ['empty', ''],
    ['longer than 256 characters', 'k'.repeat(257)],
  ])('that is %s is refused', async (_what, value) => {
    expect(await start(await open(), 'echo', {}, key(value))).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});

test.each([
  ['yes', 'must be true, or {'],
  [{ onConflict: 'wait' }, 'must be true, or {'],
  [{ key: 'email' }, 'must be true, or {'],
  [null, 'must be true, or {'],
  [false, 'must be true, or {'],
])('`serial` of %j is a problem that says what it may be', async (serial, message) => {
  const box = await boxes.open({ workflows: { bad: { run: hold, serial } } });
  expect(box.problems()).toMatchObject([
    { file: 'workflows/bad.workflow.ts', message: expect.stringContaining(message) },
  ]);
  expect((await start(box, 'bad', {})).body.code).toBe('workflow_compile_failed');
});
