import { describe, expect, test } from 'vitest';
import { createHook } from '../src/engine/primitives/hook.ts';
import { findRun, start as startFrom, svc } from '../src/index.ts';
import type { Why } from '../src/runs/why.ts';
import { markWorkflow } from '../src/workflows/mark.ts';
import { call, finish, getRun, json, runWorkflow, setupBoxes, startWorkflow, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Input {
  id: string;
  shop?: string;
}

const hold = async ({ id }: Input) => {
  await createHook({ token: id });
  return id;
};
const byShop = ({ shop }: Input) => shop;
const echo = async (input: unknown) => input;

const start = (box: TestBox, name: string, input: unknown, headers?: Record<string, string>) =>
  call(box, `POST /api/workflows/${name}/start`, input, headers);
const release = (box: TestBox, id: string) => call(box, `POST /api/workflows/hooks/${id}/resume`, null);
const queueOf = async (box: TestBox, name: string) =>
  (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/workflows/${name}/queue`)).body.items;
const why = async (box: TestBox, id: unknown) => (await call<Why>(box, `GET /api/runs/${String(id)}/why`)).body;

const QUEUE = '/api/workflows/pack/queue';

/** The run a queued start has become. */
async function promoted(box: TestBox, triggerId: unknown): Promise<Record<string, unknown>> {
  await until(async () => (await why(box, triggerId)).runId !== null);
  return (await getRun(box, String((await why(box, triggerId)).runId))) as unknown as Record<string, unknown>;
}

describe('concurrency', () => {
  test('lets so many runs of a key go on at once; more queue, and svc why says behind which run', async () => {
    const box = await boxes.open({ workflows: { pack: { run: hold, concurrency: { limit: 2, key: byShop } } } });
    const first = await startWorkflow(box, 'pack', { id: 'a', shop: 'x' });
    await startWorkflow(box, 'pack', { id: 'b', shop: 'x' });
    await startWorkflow(box, 'pack', { id: 'c', shop: 'y' });
    const { status, body } = await start(box, 'pack', { id: 'd', shop: 'x' });
    expect([status, body.status]).toEqual([202, 'queued']);
    expect(await queueOf(box, 'pack')).toMatchObject([
      { triggerId: body.triggerId, position: 0, priority: 0, waitsFor: 'lock', readyAt: null },
    ]);
    const reason = await why(box, body.triggerId);
    expect(reason.summary).toBe(
      `The start waits in the queue: "pack" for "x" has 2 runs at once, the oldest of them ${first}.`,
    );
    expect(reason.queuedBehind).toEqual({ runId: first, position: 0 });
    await until(async () => (await release(box, 'b')).status === 200);
    expect(await promoted(box, body.triggerId)).toMatchObject({ name: 'pack', triggerId: body.triggerId });
  });

  test('the starts that wait are read page by page, also while some of them begin', async () => {
    const box = await boxes.open({ workflows: { pack: { run: hold, concurrency: 1 } } });
    await untilStatus(box, await startWorkflow(box, 'pack', { id: 'first' }), 'waiting');
    const queued: unknown[] = [];
    for (const id of ['a', 'b', 'c', 'd', 'e']) queued.push((await start(box, 'pack', { id })).body.triggerId);
    const read = async (query: string) =>
      (await call<{ items: Record<string, unknown>[]; nextCursor: string | null }>(box, `GET ${QUEUE}${query}`)).body;
    const one = await read('?limit=2');
    expect(one.items.map(({ triggerId, position }) => [triggerId, position])).toEqual([
      [queued[0], 0],
      [queued[1], 1],
    ]);
    expect((await call(box, `DELETE ${QUEUE}/${String(queued[1])}`)).status).toBe(200);
    const two = await read(`?limit=2&cursor=${one.nextCursor}`);
    expect(two.items.map(({ triggerId, position }) => [triggerId, position])).toEqual([
      [queued[2], 2],
      [queued[3], 3],
    ]);
    const last = await read(`?limit=2&cursor=${two.nextCursor}`);
    expect([last.items.map(({ triggerId }) => triggerId), last.nextCursor]).toEqual([[queued[4]], null]);
    expect(await call(box, `GET ${QUEUE}?cursor=x`)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
  });

  test('a run that waits holds its place, and a number is a limit', async () => {
    const box = await boxes.open({ workflows: { pack: { run: hold, concurrency: 1 } } });
    await untilStatus(box, await startWorkflow(box, 'pack', { id: 'a' }), 'waiting');
    expect((await start(box, 'pack', { id: 'b' })).body.status).toBe('queued');
  });

  test('refuses a start above it where the author says so', async () => {
    const box = await boxes.open({
      workflows: { pack: { run: hold, concurrency: { limit: 1, onConflict: 'reject' } } },
    });
    const runId = await startWorkflow(box, 'pack', { id: 'a' });
    const { status, body } = await start(box, 'pack', { id: 'b' });
    expect([status, body.code, body.details]).toEqual([409, 'workflow_busy', { runId }]);
  });

  test('of the starts that wait the one of the highest priority begins first', async () => {
    const box = await boxes.open({ workflows: { pack: { run: hold, concurrency: 1 } } });
    await untilStatus(box, await startWorkflow(box, 'pack', { id: 'a' }), 'waiting');
    const low = await start(box, 'pack', { id: 'low' });
    const high = await start(box, 'pack', { id: 'high' }, { 'x-svc-priority': '5' });
    expect((await queueOf(box, 'pack')).map(({ triggerId }) => triggerId)).toEqual([
      high.body.triggerId,
      low.body.triggerId,
    ]);
    await release(box, 'a');
    expect(await promoted(box, high.body.triggerId)).toMatchObject({ name: 'pack' });
    expect(await queueOf(box, 'pack')).toMatchObject([{ triggerId: low.body.triggerId }]);
  });
});

describe('a start with a time', () => {
  test('waits in the queue until then, says so, and can be dropped', async () => {
    const box = await boxes.open({ workflows: { echo: { run: echo } } });
    const { body } = await start(box, 'echo', { n: 1 }, { 'x-svc-delay': '1h' });
    expect(body).toMatchObject({ status: 'queued', workflowName: 'echo' });
    const [waiting] = await queueOf(box, 'echo');
    expect(waiting).toMatchObject({ triggerId: body.triggerId, waitsFor: 'delay', input: { n: 1 } });
    expect(await why(box, body.triggerId)).toMatchObject({
      summary: `The start is delayed: it begins at ${String(waiting?.readyAt)}.`,
      nextWakeAt: waiting?.readyAt,
      reasons: [{ code: 'start_delayed' }],
    });
    expect((await call(box, `DELETE /api/workflows/echo/queue/${String(body.triggerId)}`)).status).toBe(200);
    expect(await queueOf(box, 'echo')).toEqual([]);
  });

  test('begins when it has come', async () => {
    const box = await boxes.open({ workflows: { echo: { run: echo } } });
    const { body } = await start(box, 'echo', { n: 1 }, { 'x-svc-at': new Date(Date.now() + 3_000).toISOString() });
    expect(body.status).toBe('queued');
    const run = await promoted(box, body.triggerId);
    expect(await finish(box, String(run.runId))).toMatchObject({ status: 'completed', output: { n: 1 } });
  });

  test.each([
    [{ 'x-svc-delay': 'soon' }, '"soon" is no delay.'],
    [{ 'x-svc-at': 'tomorrow' }, '"tomorrow" is no time.'],
    [{ 'x-svc-timeout': '0' }, '"0" is no timeout.'],
    [
      { 'x-svc-delay': '1h', 'x-svc-at': '2030-01-01T00:00:00Z' },
      'A start takes "delay" or "at", and this one has both.',
    ],
    [{ 'x-svc-priority': '5000' }, '"5000" is no priority.'],
    [{ 'x-svc-reuse': 'never' }, '"onConflict" and "reuse" are about an id.'],
  ])('that it cannot have is refused: %o', async (headers, message) => {
    const box = await boxes.open({ workflows: { echo: { run: echo } } });
    const { status, body } = await start(box, 'echo', {}, headers as Record<string, string>);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.message).toContain(message);
  });
});

describe('a timeout', () => {
  test('of the workflow, or of one start, is shown and ends the run as failed', async () => {
    const box = await boxes.open({ workflows: { wait: { run: hold, timeout: '1h' } } });
    const { body } = await start(box, 'wait', { id: 'a' });
    const run = await getRun(box, String(body.runId));
    expect(Date.parse(String(run.timeoutAt)) - Date.parse(String(run.createdAt))).toBe(3_600_000);
    expect(await why(box, body.runId)).toMatchObject({ timeoutAt: run.timeoutAt });
    const short = await start(box, 'wait', { id: 'b' }, { 'x-svc-timeout': '200ms' });
    const over = await finish(box, String(short.body.runId));
    expect(over).toMatchObject({ status: 'failed', error: { code: 'run_timeout' } });
    expect((await why(box, short.body.runId)).summary).toContain('The run took longer than 200 ms.');
    expect((await getRun(box, String(body.runId))).status).toBe('waiting');
  });

  test('that is no duration keeps the workflow from loading', async () => {
    const box = await boxes.open({ workflows: { wait: { run: hold, timeout: 'soon' } } });
    const { body } = await call(box, 'GET /api/workflows/wait');
    expect(JSON.stringify(body)).toContain("must be a duration such as '1h'");
  });
});

describe('an id of its own', () => {
  const named = (id: string, more: Record<string, string> = {}) => ({ 'x-svc-id': id, ...more });

  test('belongs to one run that has not ended, and finds it', async () => {
    const box = await boxes.open({ workflows: { order: { run: hold } } });
    const { body } = await start(box, 'order', { id: 'a' }, named('order-7'));
    expect((await getRun(box, String(body.runId))).attributes).toEqual({ 'svc.id': 'order-7' });
    const again = await start(box, 'order', { id: 'b' }, named('order-7'));
    expect([again.status, again.body.code]).toEqual([409, 'workflow_id_taken']);
    expect(again.body.details).toMatchObject({ runId: body.runId });
    expect((await start(box, 'order', { id: 'b' }, named('order-7', { 'x-svc-on-conflict': 'join' }))).body).toEqual(
      body,
    );
    expect((await call(box, 'GET /api/workflows/order/ids/order-7')).body).toMatchObject({
      id: 'order-7',
      runId: body.runId,
    });
    expect((await call(box, 'GET /api/workflows/order/ids/order-8')).body).toMatchObject({ code: 'run_not_found' });
  });

  test('is taken over by a start that replaces its run', async () => {
    const box = await boxes.open({ workflows: { order: { run: hold } } });
    const { body } = await start(box, 'order', { id: 'a' }, named('order-7'));
    const next = await start(box, 'order', { id: 'b' }, named('order-7', { 'x-svc-on-conflict': 'replace' }));
    expect(next.status).toBe(202);
    expect(next.body.runId).not.toBe(body.runId);
    expect(await getRun(box, String(body.runId))).toMatchObject({
      status: 'cancelled',
      error: { code: 'run_replaced' },
    });
  });

  test('stays with a run that has completed where it is not to be used again, and with its retry', async () => {
    const fail = async ({ ok }: { ok?: boolean }) => {
      if (!ok) throw new Error('no');
    };
    const box = await boxes.open({ workflows: { order: { run: fail } } });
    const failed = await start(box, 'order', {}, named('order-7', { 'x-svc-reuse': 'after-failure' }));
    await finish(box, String(failed.body.runId));
    const next = await start(box, 'order', { ok: true }, named('order-7', { 'x-svc-reuse': 'after-failure' }));
    expect(next.status).toBe(202);
    await finish(box, String(next.body.runId));
    const third = await start(box, 'order', {}, named('order-7', { 'x-svc-reuse': 'after-failure' }));
    expect([third.status, third.body.code]).toEqual([409, 'workflow_id_taken']);
    const retried = (await call(box, `POST /api/runs/${String(next.body.runId)}/retry`, { from: 'start' })).body;
    expect((await call(box, 'GET /api/workflows/order/ids/order-7')).body.runId).toBe(retried.runId);
  });

  test('code starts with one, later, and finds what it has started', async () => {
    const child = async (input: unknown) => input;
    markWorkflow(child, 'child');
    const parent = async () => {
      const run = await startFrom(child, [{ n: 1 }], { id: 'c', delay: 2_000 });
      const found = await findRun(child, 'c');
      const other = await svc.workflows.start('child', { n: 2 }, { id: 'c', onConflict: 'join' });
      return [await run.returnValue, found?.runId === run.runId, other.status];
    };
    const box = await boxes.open({ workflows: { parent: { run: parent }, child: { run: child } } });
    const run = await runWorkflow(box, 'parent');
    expect(run).toMatchObject({ status: 'completed', output: [{ n: 1 }, true, 'queued'] });
  });
});

describe('rates', () => {
  test('a rate limit refuses what is above it, with the time to come again', async () => {
    const box = await boxes.open({
      workflows: { mail: { run: echo, rateLimit: { limit: 1, period: '1h', key: byShop } } },
    });
    await startWorkflow(box, 'mail', { shop: 'x' });
    await startWorkflow(box, 'mail', { shop: 'y' });
    const answer = await box.request('/api/workflows/mail/start', json('{"shop":"x"}'));
    expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([429, expect.closeTo(3_600, -2)]);
    expect(await answer.json()).toMatchObject({
      code: 'workflow_rate_limited',
      details: { retryAt: expect.any(String) as string },
    });
  });

  test('a throttle lets them begin one after the other', async () => {
    const box = await boxes.open({ workflows: { mail: { run: echo, throttle: { limit: 1, period: '3s' } } } });
    await startWorkflow(box, 'mail', {});
    const { body } = await start(box, 'mail', {});
    expect((await why(box, body.triggerId)).summary).toMatch(
      /^The start begins at .*: the throttle of "mail" has no room before\.$/,
    );
    expect(await promoted(box, body.triggerId)).toMatchObject({ name: 'mail' });
  });

  test('a debounce makes one run of many starts, with the last input', async () => {
    const box = await boxes.open({ workflows: { index: { run: echo, debounce: { period: '3s' } } } });
    const answers = [];
    for (const n of [1, 2, 3]) answers.push((await start(box, 'index', { n })).body);
    expect(new Set(answers.map(({ triggerId }) => triggerId)).size).toBe(1);
    const run = await promoted(box, answers[0]?.triggerId);
    expect(await finish(box, String(run.runId))).toMatchObject({ output: { n: 3 } });
  });
});

describe('a workflow', () => {
  test('shows what it declares', async () => {
    const limits = {
      concurrency: 3,
      throttle: { limit: 2, period: '1m', key: byShop },
      debounce: { period: 500, timeout: '5s' },
    };
    const box = await boxes.open({ workflows: { mail: { run: echo, ...limits } } });
    expect((await call(box, 'GET /api/workflows/mail')).body).toMatchObject({
      serial: false,
      concurrency: { limit: 3, isKeyed: false, onConflict: 'queue' },
      throttle: { limit: 2, periodMs: 60_000, isKeyed: true },
      rateLimit: null,
      debounce: { periodMs: 500, timeoutMs: 5_000, isKeyed: false },
    });
  });

  test.each([
    [{ serial: true, concurrency: 2 }, 'exports "serial" and "concurrency". Leave one of them'],
    [{ concurrency: 0 }, '"concurrency" of "workflows/mail.workflow.ts" must be a whole number from 1 to 1000'],
    [{ concurrency: { limit: 2, keys: byShop } }, '"concurrency" of'],
    [{ throttle: { limit: 2 } }, '"throttle" of "workflows/mail.workflow.ts" must be { limit, period'],
    [{ rateLimit: { limit: 2, period: 'daily' } }, '"rateLimit" of "workflows/mail.workflow.ts" must be'],
    [{ debounce: { period: '1m', timeout: '1s' } }, 'the timeout no shorter than the period'],
    [{ mode: 'chat', debounce: { period: '1m' } }, 'holds a conversation'],
  ])('does not load with %o', async (exports, message) => {
    const box = await boxes.open({ workflows: { mail: { run: echo, ...exports } } });
    const { body } = await call(box, 'GET /api/workflows/mail');
    expect(body).toMatchObject({ state: 'failed', problem: { message: expect.stringContaining(message) as string } });
  });

  test('asks its key function with the arguments code gives it', async () => {
    const child = async ({ shop }: { shop: string }) => shop;
    markWorkflow(child, 'child');
    const parent = async () => (await startFrom(child, [{ shop: 'x' }])).returnValue;
    const workflows = { parent: { run: parent }, child: { run: child, concurrency: { limit: 1, key: byShop } } };
    expect(await runWorkflow(await boxes.open({ workflows }), 'parent')).toMatchObject({ output: 'x' });
  });

  test('a start whose input names no key is refused', async () => {
    const box = await boxes.open({ workflows: { pack: { run: echo, concurrency: { limit: 2, key: byShop } } } });
    const { status, body } = await start(box, 'pack', {});
    expect([status, body.code, body.message]).toEqual([
      400,
      'workflow_input_invalid',
      '"concurrency.key" of workflow "pack" answered undefined for this input; it must answer text.',
    ]);
  });
});
