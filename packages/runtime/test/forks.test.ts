import { describe, expect, test } from 'vitest';
import { step } from '../src/engine/_setup.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { defineDeepAgent } from '../src/index.ts';
import { setupBoxes, startWorkflow, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
type Json = Record<string, unknown>;

/** An order with a step of each kind of argument, that waits for a resume at its end where it is asked to. */
async function openOrders() {
  const calls: string[] = [];
  const reserve = step('reserve', (item: string) => {
    calls.push(`reserve ${item}`);
    return { item, at: new Date('2026-01-01T00:00:00Z') };
  });
  const charge = step('charge', (order: { item: string; at: Date }, cents: number) => {
    calls.push(`charge ${order.item} ${order.at instanceof Date} ${cents}`);
    return cents;
  });
  const mail = step('mail', () => void calls.push('mail'));
  const orders = {
    async run({ item, waits = false }: { item: string; waits?: boolean }) {
      const order = await reserve(item);
      const paid = await charge(order, 100);
      await mail();
      if (waits) await createHook({ token: `go-on ${calls.length}` });
      return paid;
    },
  };
  const box = await boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper', instructions: '' }) },
    workflows: {
      orders,
      naps: { run: () => sleep('1h') },
      alone: { run: () => sleep('1h'), serial: { onConflict: 'replace' } },
    },
  });
  return { box, calls };
}

const begin = (box: TestBox, input: Json): Promise<string> => startWorkflow(box, 'orders', input);

async function finish(box: TestBox, runId: unknown): Promise<Json> {
  await box.engine.wait(String(runId), 10_000);
  return (await send(box, `/api/runs/${String(runId)}`)).body;
}

async function send(box: TestBox, path: string, body?: Json) {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const answer = await box.request(path, init);
  return { status: answer.status, body: (await answer.json()) as Json };
}

const preview = (box: TestBox, runId: unknown, from: string, as = 'fork') =>
  send(box, `/api/runs/${String(runId)}/fork?from=${from}&as=${as}`);

async function fork(box: TestBox, runId: string, { from, as = 'fork', ...more }: { from: string; as?: string } & Json) {
  const { body } = await preview(box, runId, from, as);
  return send(box, `/api/runs/${runId}/${as}`, { from, etag: body.etag, ...more });
}

async function park(box: TestBox): Promise<string> {
  const runId = await begin(box, { item: 'book', waits: true });
  await until(async () => (await box.journal.getRun(runId))?.status === 'waiting');
  return runId;
}

describe('a fork', () => {
  test('is shown before it is made, takes what came before the step, and is found from both runs', async () => {
    const { box, calls } = await openOrders();
    const source = await begin(box, { item: 'book' });
    await finish(box, source);
    const { body } = await preview(box, source, 'charge');
    expect(body).toMatchObject({ runId: source, as: 'fork', step: '1', name: 'charge', ends: false });
    expect(body).toMatchObject({ taken: { steps: 1, totalTokens: 0 }, againTokens: 0 });
    expect(body.again).toMatchObject([
      { name: 'charge', kind: 'step', isEffect: true, steps: ['1'], count: 1, done: 1 },
      { name: 'mail', steps: ['2'], done: 1 },
    ]);
    const answer = await send(box, `/api/runs/${source}/fork`, { from: 'charge', etag: body.etag });
    expect(answer).toMatchObject({ status: 202, body: { status: 'started', workflowName: 'orders' } });
    const forked = await finish(box, answer.body.runId);
    expect(forked).toMatchObject({
      status: 'completed',
      trigger: 'fork',
      retryOf: null,
      forkedFrom: { runId: source, step: '1' },
      startedBy: { retriedBy: { name: 'owner' } },
    });
    expect(calls).toEqual(['reserve book', 'charge book true 100', 'mail', 'charge book true 100', 'mail']);
    expect(await send(box, `/api/runs?forkedFrom=${source}`)).toMatchObject({
      body: { items: [{ runId: forked.runId }] },
    });
    expect((await send(box, `/api/runs?retryOf=${source}`)).body.items).toEqual([]);
  });

  test('gives the step the arguments that were edited, and what is left as shown keeps its type', async () => {
    const { box, calls } = await openOrders();
    const source = await begin(box, { item: 'book' });
    await finish(box, source);
    const shown = (await send(box, `/api/runs/${source}/steps/1`)).body.input as { args: [Json, number] };
    const args = [{ ...shown.args[0], item: 'pen' }, 5];
    const forked = await finish(box, (await fork(box, source, { from: '1', args })).body.runId);
    expect(forked).toMatchObject({ status: 'completed', output: 5 });
    expect(calls.slice(3)).toEqual(['charge pen true 5', 'mail']);
    const { body } = await send(box, `/api/runs/${String(forked.runId)}/steps/1`);
    expect(body).toMatchObject({ name: 'charge', status: 'completed', input: { args } });
  });

  test('from the start may have another input', async () => {
    const { box, calls } = await openOrders();
    const source = await begin(box, { item: 'book' });
    await finish(box, source);
    const { body } = await fork(box, source, { from: 'start', input: { item: 'pen' } });
    expect(await finish(box, body.runId)).toMatchObject({
      status: 'completed',
      input: { item: 'pen' },
      forkedFrom: { runId: source, step: null },
    });
    // It is a start of whoever gave it that.
    const { startedBy } = (await send(box, `/api/runs/${String(body.runId)}`)).body as { startedBy: Json };
    expect([startedBy.name, startedBy.retriedBy]).toEqual(['owner', undefined]);
    expect(calls).toHaveLength(6);
  });

  test('is refused with the etag of another state, and the same again under its key', async () => {
    const { box } = await openOrders();
    const source = await park(box);
    const { body } = await preview(box, source, '1');
    const given = { from: '1', etag: body.etag, idempotencyKey: 'k' };
    const first = await send(box, `/api/runs/${source}/fork`, given);
    await send(box, `/api/runs/${source}/cancel`, {});
    await send(box, '/api/workflows/hooks/go-on%203/resume', {});
    expect(await send(box, `/api/runs/${source}/fork`, given)).toEqual(first);
    const other = await send(box, `/api/runs/${source}/fork`, { ...given, from: '2' });
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
    const unseen = await send(box, `/api/runs/${source}/fork`, { from: '1', etag: 'nope' });
    expect(unseen).toMatchObject({ status: 409, body: { code: 'run_changed' } });
  });

  test.each([
    ['a step that is not there', 'nope', 404, 'not_found'],
    ['a number beyond the next', '9', 404, 'not_found'],
  ])('from %s is refused', async (_title, from, status, code) => {
    const { box } = await openOrders();
    const source = await begin(box, { item: 'book' });
    await finish(box, source);
    expect(await preview(box, source, from)).toMatchObject({ status, body: { code } });
  });

  test('with arguments of what is no step, or an input of what is no start, is refused', async () => {
    const { box } = await openOrders();
    const runId = await startWorkflow(box, 'naps', null);
    await until(async () => (await box.journal.getRun(runId))?.status === 'waiting');
    const slept = await fork(box, runId, { from: '0', args: [1] });
    expect(slept).toMatchObject({ status: 409, body: { code: 'run_not_forkable' } });
    const fed = await fork(box, runId, { from: '0', input: 1 });
    expect(fed).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    const argued = await fork(box, runId, { from: 'start', args: [1] });
    expect(argued).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('of a turn of an agent is refused', async () => {
    const { box } = await openOrders();
    const headers = { 'content-type': 'application/json', 'x-api-key': 'k' };
    const body = JSON.stringify({ model: 'helper', messages: [{ role: 'user', content: 'say:hi' }] });
    await (await box.request('/wire-a/v1/chat/completions', { method: 'POST', headers, body })).text();
    const [turn] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    expect(await preview(box, turn?.runId, 'start')).toMatchObject({ status: 409, body: { code: 'run_not_forkable' } });
  });

  test('of the run that holds a lock leaves it that, whatever a start would do', async () => {
    const { box } = await openOrders();
    const runId = await startWorkflow(box, 'alone', {});
    await until(async () => (await box.journal.getRun(runId))?.status === 'waiting');
    expect(await fork(box, runId, { from: 'start' })).toMatchObject({ status: 409, body: { code: 'workflow_busy' } });
    expect((await box.journal.getRun(runId))?.status).toBe('waiting');
    const { body } = await fork(box, runId, { from: 'start', as: 'rewind' });
    expect((await finish(box, runId)).status).toBe('cancelled');
    await until(async () => (await box.journal.getRun(String(body.runId)))?.status === 'waiting');
  });
});

describe('a hook with a token of its own', () => {
  const openWaits = async () => {
    const first = step('first', () => 'first');
    const last = step('last', () => 'last');
    const box = await boxes.open({
      workflows: {
        waits: {
          async run({ order }: { order: string }) {
            await first();
            await createHook({ token: `go-${order}` });
            await last();
            await createHook({ token: `end-${order}` });
          },
        },
      },
    });
    const runId = await startWorkflow(box, 'waits', { order: 'a' });
    const isWaiting = async (id: unknown) => (await box.journal.getRun(String(id)))?.status === 'waiting';
    await until(() => isWaiting(runId));
    return { box, runId, isWaiting };
  };

  test('is shown where the run still has the token, and made with another one by another input', async () => {
    const { box, runId, isWaiting } = await openWaits();
    expect((await preview(box, runId, 'first')).body.heldHooks).toEqual([{ step: '1', by: 'source' }]);
    expect((await preview(box, runId, 'first', 'rewind')).body.heldHooks).toEqual([]);
    const { body } = await fork(box, runId, { from: 'start', input: { order: 'b' } });
    await until(() => isWaiting(body.runId));
  });

  test('that another fork of it waits for keeps a second one from beginning behind it', async () => {
    const { box, runId, isWaiting } = await openWaits();
    await send(box, '/api/workflows/hooks/go-a/resume', {});
    await until(async () => (await box.journal.hooks.find('end-a')) !== undefined && isWaiting(runId));
    await send(box, `/api/runs/${runId}/cancel`, {});
    const made = await fork(box, runId, { from: '1' });
    await until(() => isWaiting(made.body.runId));
    expect(await preview(box, runId, 'last')).toMatchObject({
      status: 409,
      body: {
        code: 'run_not_forkable',
        message: expect.stringContaining('Another open run waits for the hook of its call 1'),
      },
    });
    expect((await preview(box, runId, '1')).body.heldHooks).toEqual([{ step: '1', by: 'other' }]);
    await send(box, `/api/runs/${String(made.body.runId)}/cancel`, {});
    expect((await preview(box, runId, 'last')).status).toBe(200);
  });
});

test('a rewind whose answer was lost is found by its key, with what is seen then', async () => {
  const { box } = await openOrders();
  const source = await park(box);
  const ask = async (path: string, body?: Json) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'once' };
    const answer = await box.request(path, body && { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as Json;
  };
  const rewind = async () => {
    const { etag } = await ask(`/api/runs/${source}/fork?from=charge&as=rewind`);
    return ask(`/api/runs/${source}/rewind`, { from: 'charge', etag });
  };
  const first = await rewind();
  expect(first).toMatchObject({ status: 'started' });
  expect(await rewind()).toEqual(first);
});

describe('a rewind', () => {
  test('ends the run, and goes on in its place, also with its hooks', async () => {
    const { box, calls } = await openOrders();
    const source = await park(box);
    expect(await preview(box, source, '4')).toMatchObject({ status: 409, body: { code: 'run_not_forkable' } });
    const { body } = await preview(box, source, '4', 'rewind');
    expect(body).toMatchObject({ as: 'rewind', ends: true, taken: { steps: 4 } });
    const answer = await fork(box, source, { from: '4', as: 'rewind' });
    expect(answer.status).toBe(202);
    expect(await finish(box, source)).toMatchObject({ status: 'cancelled', error: { code: 'run_rewound' } });
    const { runId } = answer.body;
    await until(async () => (await box.journal.getRun(String(runId)))?.status === 'waiting');
    await send(box, '/api/workflows/hooks/go-on%203/resume', {});
    expect(await finish(box, runId)).toMatchObject({
      status: 'completed',
      trigger: 'rewind',
      forkedFrom: { runId: source, step: '4' },
    });
    expect(calls).toHaveLength(3);
  });

  test('of a run that has ended is a fork of it', async () => {
    const { box } = await openOrders();
    const source = await begin(box, { item: 'book' });
    const before = await finish(box, source);
    const answer = await fork(box, source, { from: 'mail', as: 'rewind' });
    expect(await finish(box, answer.body.runId)).toMatchObject({ status: 'completed', trigger: 'rewind' });
    expect(await finish(box, source)).toEqual(before);
  });
});
