import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { setAttributes } from '../src/engine/attributes.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { svc } from '../src/index.ts';
import { call, finish, getRun, json, runWorkflow, setupBoxes, startWorkflow, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Page {
  items: Record<string, unknown>[];
  nextCursor: string | null;
}

const open = () =>
  boxes.open({
    workflows: {
      echo: { run: async (input: unknown) => input },
      fails: { run: async () => Promise.reject(new Error('No.')) },
      parent: { run: async () => svc.workflows.startAndWait('echo', {}) },
      marked: { run: async (marks: Record<string, string>) => setAttributes(marks) },
      waits: { run: async () => createHook({ token: 'w' }) },
    },
  });
const list = async (box: TestBox, query: string) => (await call<Page>(box, `GET /api/runs?${query}`)).body;
const idsOf = async (box: TestBox, query: string) => (await list(box, query)).items.map(({ runId }) => runId);

describe('the list of runs', () => {
  test('is narrowed by parent, by what is repeated, by mark and by time', async () => {
    const box = await open();
    const parent = await runWorkflow(box, 'parent');
    const failed = await runWorkflow(box, 'fails');
    const retry = await call(box, `POST /api/runs/${String(failed.runId)}/retry`);
    await finish(box, String(retry.body.runId));
    const marked = await runWorkflow(box, 'marked', { orderId: 'A-1' });
    const [child] = (await list(box, `parent=${String(parent.runId)}`)).items;
    expect(child).toMatchObject({ name: 'echo', trigger: 'workflow', parentRunId: parent.runId });
    expect(await idsOf(box, `retryOf=${String(failed.runId)}`)).toEqual([retry.body.runId]);
    expect(await idsOf(box, 'trigger=retry')).toEqual([retry.body.runId]);
    expect((await list(box, 'status=failed')).items).toHaveLength(2);
    expect(await idsOf(box, 'attribute=orderId:A-1')).toEqual([marked.runId]);
    expect(await idsOf(box, 'attribute=orderId:A')).toEqual([]);
    expect(await idsOf(box, `from=${String(marked.createdAt)}`)).toEqual([marked.runId]);
    expect(await idsOf(box, `to=${String(marked.createdAt)}&name=marked`)).toEqual([]);
    expect(await idsOf(box, `to=2020-01-01T00:00:00%2B02:00`)).toEqual([]);
  });

  test('is read page by page, and runs that come meanwhile move none', async () => {
    const box = await open();
    const all: unknown[] = [];
    for (let n = 0; n < 7; n++) all.unshift((await runWorkflow(box, 'echo')).runId);
    const seen: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Page = await list(box, `limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.items.map(({ runId }) => runId));
      cursor = page.nextCursor;
      await runWorkflow(box, 'echo');
    }
    expect(seen).toEqual(all);
  });

  test('has of a large value the beginning, and the run has all of it', async () => {
    const box = await open();
    const customers = Array.from({ length: 2_000 }, (_, id) => ({ id, name: `customer ${id}` }));
    const large = await runWorkflow(box, 'echo', { batch: 'monday', customers });
    const small = await runWorkflow(box, 'echo', { batch: 'tuesday' });
    const [second, first] = (await list(box, 'name=echo')).items;
    expect(second).toMatchObject({ runId: small.runId, input: { batch: 'tuesday' }, cut: [] });
    expect(first).toMatchObject({ runId: large.runId, cut: ['input', 'output'] });
    expect(first?.input).toMatch(/^\{"batch":"monday","customers":\[\{"id":0,"name":"customer 0"\},.{400,500}…$/);
    expect(first?.output).toBe(first?.input);
    expect(JSON.stringify(first).length).toBeLessThan(4_000);
    expect((await getRun(box, String(large.runId))).output).toEqual({ batch: 'monday', customers });
  });

  test.each(['from=yesterday', 'to=1', 'attribute=orderId', 'attribute=:x', 'state=failed', 'limit=0'])(
    'refuses %s',
    async (query) => {
      expect(await call(await open(), `GET /api/runs?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      });
    },
  );
});

describe('marks of a run', () => {
  test.each([
    [
      'more than 50 names',
      Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`n${n}`, 1])),
      /51 attributes; it may have 50/,
    ],
    ['a long name', { ['n'.repeat(101)]: 1 }, /longer than 100/],
    ['a long text', { a: 'x'.repeat(1_001) }, /longer than 1000/],
  ])('are refused: %s', async (_what, marks, message) => {
    expect(await runWorkflow(await open(), 'marked', marks)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(message) },
    });
  });
});

describe('the statistics of runs', () => {
  test('count by time, status and tokens, narrowed as the list is', async () => {
    const box = await open();
    await runWorkflow(box, 'echo');
    await runWorkflow(box, 'echo');
    await runWorkflow(box, 'fails');
    const stats = async (query = '') => (await call<Page>(box, `GET /api/runs/stats${query}`)).body.items;
    const sum = (items: Record<string, unknown>[]) => items.reduce((total, { runs }) => total + Number(runs), 0);
    expect(sum(await stats())).toBe(3);
    const [day] = await stats('?bucket=day&name=echo');
    expect(day).toMatchObject({
      start: expect.stringMatching(/T00:00:00\.000Z$/),
      runs: 2,
      statuses: { completed: 2 },
      totalTokens: 0,
      averageMs: expect.any(Number),
      maxMs: expect.any(Number),
    });
    expect(await stats('?to=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await call(box, 'GET /api/runs/stats?bucket=minute&from=2020-01-01T00:00:00Z')).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });
});

describe('a run by the route of its workflow', () => {
  test('is the same as the run, and can be waited for', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'waits');
    const waited = call(box, `GET /api/workflows/runs/${runId}?wait=20s`);
    await untilStatus(box, runId, 'waiting');
    await call(box, 'POST /api/workflows/hooks/w/resume', 1);
    expect(await waited).toMatchObject({ status: 200, body: { status: 'completed', output: 1 } });
    expect(await call(box, `GET /api/workflows/runs/${runId}`)).toEqual({
      status: 200,
      body: await getRun(box, runId),
    });
  });

  test('is 404 for no run, and for a turn of an agent', async () => {
    const box = await open();
    for (const id of [randomUUID(), 'nope'])
      expect(await call(box, `GET /api/workflows/runs/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'run_not_found' },
      });
  });
});

test.each(['/api/runs/', '/api/workflows/runs/'])('a wait at %s ends when its caller goes away', async (path) => {
  let looks = 0;
  const box = await open();
  const runId = await startWorkflow(box, 'waits');
  await untilStatus(box, runId, 'waiting');
  const look = box.journal.listStandings;
  box.journal.listStandings = (ids) => {
    looks++;
    return look(ids);
  };
  const url = await box.listen();
  const gone = new AbortController();
  const answer = fetch(`${url}${path}${runId}?wait=60s`, { signal: gone.signal });
  await until(() => looks > 0);
  gone.abort();
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  // One look may be under way; a wait that went on would look twice a second.
  const after = looks;
  await new Promise((resolve) => setTimeout(resolve, 1_700));
  expect(looks - after).toBeLessThanOrEqual(1);
});

test('a wait whose signal has aborted is answered with the run as it is', async () => {
  const box = await open();
  const runId = await startWorkflow(box, 'waits');
  const gone = new AbortController();
  const answer = box.request(`/api/runs/${runId}?wait=60s`, {
    ...json({}),
    method: 'GET',
    body: null,
    signal: gone.signal,
  });
  await untilStatus(box, runId, 'waiting');
  gone.abort();
  expect(await (await answer).json()).toMatchObject({ runId, status: 'waiting' });
});
