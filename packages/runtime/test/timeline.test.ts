import { describe, expect, test } from 'vitest';
import { createHook } from '../src/engine/primitives/hook.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { svc } from '../src/svc.ts';
import { say, setupAgui } from './_agui.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const agui = setupAgui();

interface Span {
  spanId: string;
  parentId: string | null;
  kind: string;
  name: string;
  status: string;
  runId: string;
  attempts?: { startedAt: string; endedAt: string }[];
  retryAt?: string;
  startedAt: string;
  endedAt: string | null;
}

interface Timeline {
  items: Span[];
  seq: number;
  isWhole: boolean;
}

const timeline = async (box: TestBox, runId: unknown) =>
  (await call<{ items: Span[] }>(box, `GET /api/runs/${String(runId)}/timeline`)).body.items;

let tries = 0;
const flaky = toStep('flaky', () => {
  if (++tries < 3) throw new Error('Not yet.');
  return tries;
});
Object.assign(flaky, { backoff: { initial: 30, factor: 2, max: 60 } });
const stuck = toStep('stuck', () => {
  throw new Error('Never.');
});
Object.assign(stuck, { backoff: { initial: '1h', factor: 1, max: '1h' } });
const plain = toStep('plain', () => 1);

const last = toStep('last', () => 1);
let isOpen = false;
const again = toStep('again', () => {
  if (!isOpen) throw Object.assign(new Error('Not yet.'), { name: 'RetryableError', retryAfter: 2_000 });
  return 1;
});

const WORKFLOWS = {
  steps: {
    async run() {
      isOpen = false;
      await plain();
      const more = createHook({ token: 'more' });
      const retried = again();
      await more;
      isOpen = true;
      await retried;
      await last();
    },
  },
  flaky: { run: async () => [await plain(), await flaky()] },
  stuck: { run: async () => stuck() },
  nap: { run: async () => sleep(1) },
  locked: { run: async () => sleep(1), serial: true },
  parent: {
    run: async () => [await svc.workflows.startAndWait('nap', {}), await svc.workflows.startAndWait('nap', {})],
  },
  queues: { run: async () => Promise.all([1, 2].map(async () => svc.workflows.startAndWait('locked', {}))) },
};

describe('the timeline of a run', () => {
  test('has the attempts of a call that was tried more than once, and what it stood back between them', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    tries = 0;
    const { runId } = await runWorkflow(box, 'flaky');
    const [run, one, span] = await timeline(box, runId);
    expect(run?.attempts).toBeUndefined();
    expect(one).toMatchObject({ name: 'plain', parentId: runId });
    expect(one?.attempts).toBeUndefined();
    expect(span).toMatchObject({ name: 'flaky', status: 'completed', attempts: [{}, {}, {}] });
    const times = span?.attempts?.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt]) ?? [];
    expect(times).toEqual(times.toSorted());
    expect([times[0], times.at(-1)]).toEqual([span?.startedAt, span?.endedAt]);
    const [first, second] = span?.attempts ?? [];
    expect(Date.parse(second?.startedAt ?? '') - Date.parse(first?.endedAt ?? '')).toBeGreaterThan(15);
    // The step says it too.
    const { body } = await call(box, `GET /api/runs/${String(runId)}/steps/1`);
    expect(body.attempts).toMatchObject([
      { attempt: 1, error: 'Not yet.', startedAt: first?.startedAt, at: first?.endedAt },
      { attempt: 2 },
    ]);
  });

  test('says when a call is tried again whose last attempt has failed', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const runId = await startWorkflow(box, 'stuck');
    await until(async () => (await timeline(box, runId)).length > 1);
    const [, span] = await timeline(box, runId);
    expect(span).toMatchObject({ status: 'retrying', endedAt: null, attempts: [{}] });
    const wait = Date.parse(span?.retryAt ?? '') - Date.parse(span?.attempts?.[0]?.endedAt ?? '');
    expect(wait).toBeGreaterThan(2_000_000);
    expect(wait).toBeLessThanOrEqual(3_600_000);
    await call(box, `POST /api/runs/${runId}/cancel`);
  });

  test.each(['parent', 'queues'])('has child runs below the call that started each: %s', async (name) => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const runId = await startWorkflow(box, name);
    await finish(box, runId);
    const spans = await timeline(box, runId);
    const children = spans.filter(({ kind, parentId }) => kind === 'run' && parentId !== null);
    const starts = spans.filter((span) => span.name.startsWith('start '));
    expect(starts).toHaveLength(2);
    expect(children.map(({ parentId }) => parentId).toSorted()).toEqual(starts.map(({ spanId }) => spanId).toSorted());
    for (const { parentId } of starts) expect(parentId).toBe(runId);
  });

  test('is read on behind an answer, with all of the calls that have changed since', async () => {
    const box = await boxes.open({ workflows: WORKFLOWS });
    const runId = await startWorkflow(box, 'steps', {});
    const read = async (after?: number) =>
      (await call<Timeline>(box, `GET /api/runs/${runId}/timeline${after === undefined ? '' : `?after=${after}`}`))
        .body;
    const namesOf = ({ items }: Timeline) => items.map(({ name, status }) => `${name} ${status}`);
    await until(async () => (await read()).items.some(({ name }) => name === 'again'));
    const first = await read();
    expect(first).toMatchObject({ isWhole: true });
    expect(await read(first.seq)).toMatchObject({ isWhole: false, seq: first.seq, items: [{ kind: 'run' }] });
    await call(box, 'POST /api/workflows/hooks/more/resume', {});
    await finish(box, runId);
    const next = await read(first.seq);
    expect(next.isWhole).toBe(false);
    expect(namesOf(next)).not.toContain('plain completed');
    expect(namesOf(next)).toContain('last completed');
    // Of a call that had records before, all of them.
    const [whole, tried] = [await read(), next.items.find(({ name }) => name === 'again')];
    expect(tried).toStrictEqual(whole.items.find(({ name }) => name === 'again'));
    expect(tried?.attempts?.length).toBeGreaterThanOrEqual(2);
    const merged = new Map([...first.items, ...next.items].map((span) => [span.spanId, span]));
    expect([...merged.values()].toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1))).toEqual(
      whole.items.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1)),
    );
    expect((await call(box, `GET /api/runs/${runId}/timeline?after=-1`)).status).toBe(400);
    expect(await read(999_999)).toMatchObject({ isWhole: false, seq: 999_999, items: [{ kind: 'run' }] });
  });

  test('has what an agent does for a reply below its call of the model', async () => {
    const { box, client } = await agui.openAgui();
    const received = await say(client('tree'), 'tool:refund {"order":"A-1","amount":5}; say:Done.');
    await call(box, `POST /api/approvals/${received.interrupts[0]?.id}/decide`, { decision: 'approve' });
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    await finish(box, run?.runId ?? '');
    const spans = await timeline(box, run?.runId);
    const [first, second] = spans.filter(({ kind }) => kind === 'model');
    const parentOf = (wanted: string) => spans.find(({ kind }) => kind === wanted)?.parentId;
    expect([parentOf('tool'), parentOf('approval')]).toEqual([first?.spanId, first?.spanId]);
    expect([first?.parentId, second?.parentId]).toEqual([run?.runId, run?.runId]);
  });
});
