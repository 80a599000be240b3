import { expect, onTestFinished, test } from 'vitest';
import { OWNER } from '../src/auth/caller.ts';
import type { Caller } from '../src/auth/caller.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import { createHook, createWebhook } from '../src/engine/primitives/hook.ts';
import { getWritable } from '../src/engine/primitives/writable.ts';
import { FatalError, getRun, sleep, svc } from '../src/index.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const write = toStep('write', async (values: unknown[], namespace: string, isLast = false) => {
  const writer = getWritable({ namespace }).getWriter();
  for (const value of values) await writer.write(value);
  if (isLast) await writer.close();
  else writer.releaseLock();
});
const countdown = toStep(
  'countdown',
  async () =>
    new ReadableStream({
      start(controller) {
        for (const n of [3, 2, 1]) controller.enqueue(n);
        controller.close();
      },
    }),
);
const print = toStep('print', async (out: WritableStream<string>, text: string) => {
  const writer = out.getWriter();
  await writer.write(text);
  writer.releaseLock();
});
const dictate = toStep('dictate', async (out: WritableStream<string>) => {
  await svc.workflows.startAndWait('clerk', { out, name: 'two' });
});
let mended = false;
const mend = toStep('mend', async () => {
  if (!mended) throw new FatalError('not yet');
});
const readAll = toStep('readAll', async (runId: string) => {
  const values: unknown[] = [];
  for await (const value of getRun(runId).readable as unknown as AsyncIterable<unknown>) values.push(value);
  return values;
});

const PROGRAM = {
  workflows: {
    talk: {
      async run() {
        await write(['a', { b: 1 }, 'c'], 'default');
        await write([1], 'progress', true);
        await createHook({ token: 'go' });
        await write(['d'], 'default');
      },
    },
    count: { run: async () => countdown() },
    desk: {
      async run({ fails }: { fails?: boolean }) {
        await write(['desk'], 'default');
        await svc.workflows.startAndWait('clerk', { out: getWritable(), name: 'one' });
        await dictate(getWritable());
        if (fails) await mend();
        await svc.workflows.startAndWait('clerk', { out: getWritable({ namespace: 'aside' }), name: 'three' });
      },
    },
    clerk: {
      async run({ out, name }: { out: WritableStream<string>; name: string }) {
        await write(['own'], 'default');
        await print(out, `${name}, first`);
        // Another replay of this body has the stream from the journal.
        await sleep('20ms');
        await svc.workflows.startAndWait('intern', { out, name: `${name}, then` });
      },
    },
    intern: {
      run: async ({ out, name }: { out: WritableStream<string>; name: string }) => print(out, name),
    },
    orphan: {
      async run() {
        const { runId } = (await svc.workflows.start('late', { out: getWritable() })) as { runId: string };
        return runId;
      },
    },
    late: {
      async run({ out }: { out: WritableStream<string> }) {
        await createHook({ token: 'later' });
        await print(out, 'too late');
      },
    },
    relay: {
      async run({ n }: { n: number }) {
        if (n === 1) await svc.workflows.start('late', { out: getWritable() });
        if (n < 3) svc.continueAsNew({ n: n + 1 });
        await createHook({ token: 'relay' });
      },
    },
    chain: {
      async run({ n }: { n: number }) {
        await write([n], 'default');
        if (n < 3) svc.continueAsNew({ n: n + 1 });
      },
    },
    read: { run: async ({ runId }: { runId: string }) => readAll(runId) },
    called: {
      async run() {
        const fixed = createWebhook();
        const manual = createWebhook({ respondWith: 'manual' });
        await fixed;
        await manual;
      },
    },
  },
};

interface Frame {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

/** The events of a stream, as they come. */
async function open(box: TestBox, path: string, headers: Record<string, string> = {}) {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const answer = await box.request(path, { headers, signal: gone.signal });
  const frames: Frame[] = [];
  let text = '';
  let isOver = false;
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) {
      text += decoder.decode(part as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (event !== '') frames.push({ id, event, data: JSON.parse(data) as Frame['data'] });
      }
    }
  })()
    .catch(() => {})
    .finally(() => (isOver = true));
  const values = () => frames.flatMap(({ event, data }) => (event === 'frame' ? [data.value] : []));
  return { status: answer.status, frames, values, over: () => until(() => isOver) };
}

async function readWhole(box: TestBox, path: string, headers: Record<string, string> = {}) {
  const stream = await open(box, path, headers);
  await stream.over();
  return { ...stream, values: stream.values(), end: stream.frames.at(-1)?.data };
}

test('the streams of a run are listed, and read from anywhere', async () => {
  const box = await boxes.open(PROGRAM);
  const runId = await startWorkflow(box, 'talk');
  await untilStatus(box, runId, 'waiting');
  const { body } = await call(box, `GET /api/runs/${runId}/streams`);
  expect(body.items).toEqual([
    { name: 'default', frames: 3, lastEventId: `${runId}:3`, isClosed: false },
    { name: 'progress', frames: 1, lastEventId: `${runId}:5`, isClosed: true },
  ]);
  const path = `/api/runs/${runId}/streams/default`;
  const whole = await readWhole(box, path);
  expect([whole.values, whole.end]).toEqual([['a', { b: 1 }, 'c'], { runId, status: 'waiting', reason: 'caught_up' }]);
  expect((await readWhole(box, `${path}?startIndex=1`)).values).toEqual([{ b: 1 }, 'c']);
  expect((await readWhole(box, `${path}?startIndex=-1`)).values).toEqual(['c']);
  expect((await readWhole(box, `${path}?startIndex=-9`)).values).toHaveLength(3);
  expect((await readWhole(box, path, { 'last-event-id': whole.frames[1]?.id ?? '' })).values).toEqual(['c']);
  expect((await readWhole(box, `/api/runs/${runId}/streams/progress?follow=true`)).end).toMatchObject({
    reason: 'closed',
  });
  expect((await call(box, `GET ${path}?lastEventId=nonsense`)).status).toBe(400);
  expect((await call(box, `GET /api/runs/0199aaaa-0000-7000-8000-000000000000/streams/default`)).status).toBe(404);
});

test('a stream that is followed goes on until its run is over, also from a frame that is still to come', async () => {
  const box = await boxes.open(PROGRAM);
  const runId = await startWorkflow(box, 'talk');
  await untilStatus(box, runId, 'waiting');
  const path = `/api/runs/${runId}/streams/default?follow=true`;
  const [all, later] = [await open(box, path), await open(box, `${path}&startIndex=3`)];
  await until(() => all.values().length === 3);
  await call(box, 'POST /api/workflows/hooks/go/resume', null);
  await Promise.all([all.over(), later.over()]);
  expect([all.values(), later.values()]).toEqual([['a', { b: 1 }, 'c', 'd'], ['d']]);
  expect(all.frames.at(-1)?.data).toEqual({ runId, status: 'completed', reason: 'run_over' });
});

test('a stream that a step has returned is read by the name in the output', async () => {
  const box = await boxes.open(PROGRAM);
  const { runId, output } = await runWorkflow(box, 'count');
  const { stream } = output as { stream: string };
  const { values, end } = await readWhole(box, `/api/runs/${String(runId)}/streams/${encodeURIComponent(stream)}`);
  expect([values, end?.reason]).toEqual([[3, 2, 1], 'closed']);
});

test('what continues as new is read to the end of its chain, over HTTP and by run.readable', async () => {
  const box = await boxes.open(PROGRAM);
  const runId = await startWorkflow(box, 'chain', { n: 1 });
  await finish(box, runId);
  const { values, frames } = await readWhole(box, `/api/runs/${runId}/streams/default?follow=true`);
  expect(values).toEqual([1, 2, 3]);
  const again = await readWhole(box, `/api/runs/${runId}/streams/default`, { 'last-event-id': frames[1]?.id ?? '' });
  expect(again.values).toEqual([3]);
  expect(await runWorkflow(box, 'read', { runId })).toMatchObject({ output: [1, 2, 3] });
  const other = await runWorkflow(box, 'count');
  const foreign = `GET /api/runs/${runId}/streams/default?lastEventId=${String(other.runId)}:0`;
  expect((await call(box, foreign)).status).toBe(400);
});

test('the webhooks of a run are listed with their addresses, for those who may decide', async () => {
  let role: Caller['role'] = 'owner';
  const strategy: Strategy = { name: 'test', checksKeys: true, authenticate: async () => ({ ...OWNER, role }) };
  const box = await boxes.open({ ...PROGRAM, options: { strategy } });
  const runId = await startWorkflow(box, 'called');
  await untilStatus(box, runId, 'waiting');
  const list = () => call<{ items: { url: string; answers: string }[] }>(box, `GET /api/runs/${runId}/webhooks`);
  const { items } = (await list()).body;
  expect(items.map(({ answers }) => answers).toSorted()).toEqual(['fixed', 'manual']);
  expect(items[0]).toMatchObject({ isOpen: true, firstCalledAt: null });
  const { pathname } = new URL(items.find(({ answers }) => answers === 'fixed')?.url ?? '');
  expect((await box.request(pathname, { method: 'POST', body: 'hello' })).status).toBe(202);
  expect((await list()).body.items.find(({ answers }) => answers === 'fixed')).toMatchObject({
    firstCalledAt: expect.any(String) as string,
  });
  role = 'member';
  expect((await list()).status).toBe(403);
});

const WRITTEN = ['one, first', 'one, then', 'two, first', 'two, then'];

test('a stream that is handed to workflows below is written to by their steps, and theirs stay theirs', async () => {
  const box = await boxes.open(PROGRAM);
  const { runId } = await runWorkflow(box, 'desk', {});
  const streams = `/api/runs/${String(runId)}/streams`;
  expect((await readWhole(box, `${streams}/default`)).values).toEqual(['desk', ...WRITTEN]);
  expect((await readWhole(box, `${streams}/aside`)).values).toEqual(['three, first', 'three, then']);
  const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=clerk`)).body;
  for (const child of items)
    expect((await readWhole(box, `/api/runs/${child.runId}/streams/default`)).values).toEqual(['own']);
});

test('a retry starts no child again that was handed the stream, and hands on its own', async () => {
  const box = await boxes.open(PROGRAM);
  mended = false;
  const failed = await runWorkflow(box, 'desk', { fails: true });
  expect(failed).toMatchObject({ status: 'failed', error: { message: 'not yet' } });
  mended = true;
  const { body } = await call<{ runId: string }>(box, `POST /api/runs/${String(failed.runId)}/retry`);
  expect(await finish(box, body.runId)).toMatchObject({ status: 'completed', error: null });
  const streams = `/api/runs/${body.runId}/streams`;
  expect((await readWhole(box, `${streams}/aside`)).values).toEqual(['three, first', 'three, then']);
  expect((await readWhole(box, `${streams}/default`)).values).toEqual([]);
  const { items } = (await call<{ items: unknown[] }>(box, 'GET /api/runs?name=clerk')).body;
  expect(items).toHaveLength(3);
});

test('a stream takes nothing from below once its run has ended, and goes on where the run continues', async () => {
  const box = await boxes.open(PROGRAM);
  const { output } = await runWorkflow(box, 'orphan', {});
  await untilStatus(box, String(output), 'waiting');
  await call(box, 'POST /api/workflows/hooks/later/resume', null);
  expect(await finish(box, String(output))).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('takes no more: the run has ended') },
  });
  const first = await startWorkflow(box, 'relay', { n: 1 });
  const waiting = async (name: string) =>
    (
      await call<{ items: { runId: string; continuedFrom: string | null }[] }>(
        box,
        `GET /api/runs?name=${name}&status=waiting`,
      )
    ).body.items[0];
  await until(async () => !!(await waiting('relay')) && !!(await waiting('late')));
  const { runId = '' } = (await waiting('late')) ?? {};
  await call(box, 'POST /api/workflows/hooks/later/resume', null);
  expect(await finish(box, runId)).toMatchObject({ status: 'completed' });
  const last = (await waiting('relay'))?.runId ?? '';
  expect(last).not.toBe(first);
  expect((await readWhole(box, `/api/runs/${last}/streams/default`)).values).toEqual(['too late']);
});
