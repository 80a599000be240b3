import { expect, test } from 'vitest';
import { createHook } from '../src/engine/primitives/hook.ts';
import { resumeHook } from '../src/index.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const tell = toStep('tell', async (token: string, payload: unknown) =>
  (await resumeHook(token, payload, { waitFor: '1m' })) === undefined ? 'kept' : 'resumed',
);

const PROGRAM = {
  workflows: {
    order: { run: async ({ id }: { id: string }) => createHook({ token: `paid:${id}` }) },
    all: {
      async run({ count }: { count: number }) {
        const got: unknown[] = [];
        for await (const payload of createHook({ token: 'all' })) if (got.push(payload) === count) return got;
        return got;
      },
    },
    teller: { run: async () => tell('paid:code', 'by code') },
  },
};

const signal = (box: TestBox, token: string, body: object, headers?: Record<string, string>) =>
  call(box, `POST /api/workflows/hooks/${token}/signal`, body, headers);
const kept = async (box: TestBox) => (await call<{ items: object[] }>(box, 'GET /api/workflows/hooks/kept')).body.items;

test('a payload that comes before its hook waits for it, over a restart, and is taken once', async () => {
  const before = await boxes.open(PROGRAM);
  const { status, body } = await signal(before, 'paid:7', { payload: { amount: 5 } });
  expect([status, body]).toMatchObject([200, { status: 'kept', runId: null, start: null }]);
  expect(await kept(before)).toEqual([
    { token: 'paid:7', createdAt: expect.any(String) as string, keptUntil: body.keptUntil },
  ]);
  const box = await before.restart();
  const runId = await startWorkflow(box, 'order', { id: '7' });
  expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { amount: 5 } });
  await until(async () => (await kept(box)).length === 0);
});

test('a hook that is there is resumed at once', async () => {
  const box = await boxes.open(PROGRAM);
  const runId = await startWorkflow(box, 'order', { id: '8' });
  await untilStatus(box, runId, 'waiting');
  expect((await signal(box, 'paid:8', { payload: 1 })).body).toMatchObject({ status: 'resumed', runId });
  expect((await finish(box, runId)).output).toBe(1);
  // The token is free again, so the next one waits for the next run.
  expect((await signal(box, 'paid:8', { payload: 2 })).body.status).toBe('kept');
  expect((await runWorkflow(box, 'order', { id: '8' })).output).toBe(2);
});

test('the workflow that makes the hook is started once for many signals, which come in their order', async () => {
  const box = await boxes.open(PROGRAM);
  const start = { workflow: 'all', input: { count: 3 }, id: 'one' };
  const answers = [];
  for (const payload of [1, 2, 3]) answers.push((await signal(box, 'all', { payload, start })).body);
  const runs = new Set(answers.map((body) => (body.start as { runId: string }).runId));
  expect(runs.size).toBe(1);
  expect((await finish(box, [...runs][0] ?? '')).output).toEqual([1, 2, 3]);
});

test('what cannot be started is not kept', async () => {
  const box = await boxes.open(PROGRAM);
  const { status, body } = await signal(box, 'paid:9', { payload: 1, start: { workflow: 'none' } });
  expect([status, body.code]).toEqual([404, 'workflow_not_found']);
  expect(await kept(box)).toEqual([]);
});

test('the same Idempotency-Key is one payload, before the hook and after', async () => {
  const box = await boxes.open(PROGRAM);
  const key = { 'idempotency-key': 'k' };
  for (let n = 0; n < 2; n++) expect((await signal(box, 'paid:10', { payload: 1 }, key)).body.status).toBe('kept');
  expect(await kept(box)).toHaveLength(1);
  expect(await signal(box, 'paid:10', { payload: 2 }, key)).toMatchObject({
    status: 409,
    body: { code: 'idempotency_conflict' },
  });
  const { runId } = await runWorkflow(box, 'order', { id: '10' });
  expect((await signal(box, 'paid:10', { payload: 1 }, key)).body).toMatchObject({ status: 'resumed', runId });
  await until(async () => (await kept(box)).length === 0);
});

test('code signals as well, and a time that is no time is refused', async () => {
  const box = await boxes.open(PROGRAM);
  expect((await runWorkflow(box, 'teller')).output).toBe('kept');
  expect((await runWorkflow(box, 'order', { id: 'code' })).output).toBe('by code');
  expect(await signal(box, 'paid:11', { waitFor: '8d' })).toMatchObject({ status: 400 });
});

test('at most 100 payloads wait for one token', async () => {
  const box = await boxes.open(PROGRAM);
  const answers = [];
  for (let n = 0; n < 101; n++) answers.push((await signal(box, 'paid:12', { payload: n })).status);
  expect(answers.filter((status) => status === 200)).toHaveLength(100);
  expect(answers[100]).toBe(429);
});
