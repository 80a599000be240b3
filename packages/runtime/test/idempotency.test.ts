import { describe, expect, test } from 'vitest';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { Answer, TestBox, TestProgram } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();

const WORKFLOWS = {
  ask: { run: async () => requestApproval({ title: 'Ship it?' }) },
  hook: { run: async () => createHook({ token: 'order-1' }) },
  many: {
    run: async () => {
      const seen: unknown[] = [];
      for await (const value of createHook({ token: 'many' })) {
        seen.push(value);
        if (value === 'end') return seen;
      }
    },
  },
  echo: { run: async (input: unknown) => input },
  fails: {
    run: toStep('fails', () => {
      throw Object.assign(new Error('No.'), { fatal: true });
    }),
  },
} satisfies TestProgram['workflows'];

const KEY = { 'idempotency-key': 'k' };
const resume = (box: TestBox, body: unknown, headers = {}, token = 'order-1') =>
  call(box, `POST /api/workflows/hooks/${token}/resume`, body, headers);
const countOf = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length;

async function ask(box: TestBox): Promise<{ runId: string; approvalId: string }> {
  const runId = await startWorkflow(box, 'ask');
  const find = async () =>
    (await call<{ items: { approvalId: string }[] }>(box, `GET /api/approvals?run=${runId}`)).body.items[0];
  await until(async () => (await find()) !== undefined);
  return { runId, approvalId: (await find())?.approvalId ?? '' };
}

describe('an Idempotency-Key on a decision', () => {
  test('answers the first answer again, on both routes, over a restart and after the run has ended', async () => {
    const first = await boxes.open({ workflows: WORKFLOWS });
    const { runId, approvalId } = await ask(first);
    const path = `POST /api/approvals/${approvalId}/decide`;
    const body = { decision: 'approve', note: 'Go.' };
    const answer = await call(first, path, body, KEY);
    expect(answer.status).toBe(200);
    expect(await call(first, path, body, KEY)).toEqual(answer);
    await finish(first, runId);
    const box = await first.restart();
    expect(await call(box, path, body, KEY)).toEqual(answer);
    expect(await resume(box, body, KEY, approvalId)).toEqual({ status: 200, body: { runId, status: 'resumed' } });
  });

  test('with another body is 409 idempotency_conflict, and decides nothing', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const { runId, approvalId } = await ask(box);
    const path = `POST /api/approvals/${approvalId}/decide`;
    await call(box, path, { decision: 'approve' }, KEY);
    for (const body of [{ decision: 'reject' }, { decision: 'approve', note: 'x' }, { decision: 'approve', input: 1 }])
      expect(await call(box, path, body, KEY)).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
    expect(await call(box, path, { decision: 'reject' }, { 'idempotency-key': 'other' })).toMatchObject({
      status: 409,
      body: { code: 'already_decided' },
    });
    expect((await finish(box, runId)).output).toMatchObject({ approved: true, note: null });
  });
});

describe('an Idempotency-Key on a resume', () => {
  test('answers the first answer again; with another payload it is 409', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const runId = await startWorkflow(box, 'hook');
    await untilStatus(box, runId, 'waiting');
    const answer = { status: 200, body: { runId, status: 'resumed' } };
    expect(await resume(box, { n: 1, by: 'ada' }, KEY)).toEqual(answer);
    expect(await resume(box, { by: 'ada', n: 1 }, KEY)).toEqual(answer);
    expect(await resume(box, { n: 2 }, KEY)).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
    expect((await finish(box, runId)).output).toEqual({ n: 1, by: 'ada' });
  });

  test('of a hook that takes many gives the body each key once', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const runId = await startWorkflow(box, 'many');
    await untilStatus(box, runId, 'waiting');
    for (const key of ['a', 'b', 'a', 'c', 'b'])
      expect((await resume(box, key, { 'idempotency-key': key }, 'many')).status).toBe(200);
    await resume(box, 'end', {}, 'many');
    expect((await finish(box, runId)).output).toEqual(['a', 'b', 'c', 'end']);
  });
});

describe('an Idempotency-Key on a retry', () => {
  test('starts one run; from somewhere else it is 409', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const failed = await runWorkflow(box, 'fails');
    const path = `POST /api/runs/${String(failed.runId)}/retry`;
    const answer = await call(box, path, {}, KEY);
    expect(answer.status).toBe(202);
    expect(await call(box, path, {}, KEY)).toEqual(answer);
    expect(await call(box, path, { from: 'failed-step' }, KEY)).toEqual(answer);
    expect(await call(box, path, { from: 'start' }, KEY)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    const retries = await call<{ items: unknown[] }>(box, `GET /api/runs?retryOf=${String(failed.runId)}`);
    expect(retries.body.items).toHaveLength(1);
  });
});

test.each([
  ['a start', () => 'echo/start', ''],
  ['a resume', () => 'hooks/order-1/resume', 'x'.repeat(257)],
])('a key that is empty or too long is 400: %s', async (_what, path, key) => {
  const box = await boxes.open({ workflows: WORKFLOWS });
  expect(await call(box, `POST /api/workflows/${path()}`, {}, { 'idempotency-key': key })).toMatchObject({
    status: 400,
    body: { code: 'invalid_request' },
  });
});

describe('50 clients at once, on SQLite', () =>
  fifty(async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    return [box, box];
  }));

describeWhen(bothServers, '50 clients at once, on two replicas over Postgres', (servers) =>
  fifty(async () => {
    const open = createCluster(boxes, servers);
    return [await open({ workflows: WORKFLOWS }), await open({ workflows: WORKFLOWS })];
  }),
);

// --- internal ---

function fifty(open: () => Promise<[TestBox, TestBox]>): void {
  const send = (pair: [TestBox, TestBox], request: (box: TestBox, n: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: 50 }, (_, n) => request(pair[n % 2] as TestBox, n)));

  test('resume one hook: one wins, 49 get the first payload', async () => {
    const pair = await open();
    const runId = await startWorkflow(pair[0], 'hook');
    await untilStatus(pair[0], runId, 'waiting');
    const answers = await send(pair, (box, n) => resume(box, { n }));
    expect([countOf(answers, 200), countOf(answers, 409)]).toEqual([1, 49]);
    const won = answers.findIndex(({ status }) => status === 200);
    for (const { body } of answers.filter(({ status }) => status === 409))
      expect(body).toMatchObject({ code: 'already_decided', details: { payload: { n: won } } });
    expect((await finish(pair[1], runId)).output).toEqual({ n: won });
  });

  test('decide one approval: one wins, 49 get the first decision', async () => {
    const pair = await open();
    const { runId, approvalId } = await ask(pair[0]);
    const answers = await send(pair, (box, n) =>
      call(box, `POST /api/approvals/${approvalId}/decide`, { decision: n % 3 ? 'approve' : 'reject', note: `${n}` }),
    );
    expect([countOf(answers, 200), countOf(answers, 409)]).toEqual([1, 49]);
    const { decision, note } = answers.find(({ status }) => status === 200)?.body ?? {};
    for (const { body } of answers.filter(({ status }) => status === 409))
      expect(body).toMatchObject({ code: 'already_decided', details: { decision, note } });
    expect((await finish(pair[1], runId)).output).toMatchObject({ decision, note });
  });

  test('send one key with a start, a resume and a decision: each has one effect and one answer', async () => {
    const pair = await open();
    const started = await send(pair, (box) => call(box, 'POST /api/workflows/echo/start', { a: 1 }, KEY));
    expect(new Set(started.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(started[0]?.status).toBe(202);
    const runs = await call<{ items: unknown[] }>(pair[0], 'GET /api/runs?name=echo');
    expect(runs.body.items).toHaveLength(1);
    const hooked = await startWorkflow(pair[0], 'hook');
    await untilStatus(pair[0], hooked, 'waiting');
    const resumed = await send(pair, (box) => resume(box, { a: 1 }, KEY));
    expect(new Set(resumed.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([JSON.stringify({ status: 200, body: { runId: hooked, status: 'resumed' } })]),
    );
    const { approvalId } = await ask(pair[0]);
    const path = `POST /api/approvals/${approvalId}/decide`;
    const decided = await send(pair, (box) => call(box, path, { decision: 'approve' }, KEY));
    expect(new Set(decided.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(decided[0]?.status).toBe(200);
  });
}
