import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { json, runWorkflow, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Page {
  items: Record<string, unknown>[];
  nextCursor: string | null;
}

const open = () =>
  boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper' }) },
    workflows: {
      echo: { run: async (input: unknown) => input },
      fail: {
        run: async () => {
          throw Object.assign(new Error('It broke.'), { code: 'broken' });
        },
      },
      throwText: {
        run: async () => {
          // oxlint-disable-next-line no-throw-literal
          throw 'just text';
        },
      },
      nap: { run: async (input: { ms: number }) => sleep(input.ms) },
      rich: {
        run: async () => ({ at: new Date(0), big: 1n, set: new Set([1]), map: new Map([['a', 1]]), none: undefined }),
      },
    },
  });

const list = async (box: TestBox, query = '') => (await (await box.request(`/api/runs${query}`)).json()) as Page;
const start = async (box: TestBox, name: string, input: unknown = {}) =>
  ((await (await box.request(`/api/workflows/${name}/start`, json(input))).json()) as { runId: string }).runId;

async function openWithRuns(): Promise<TestBox> {
  const box = await open();
  for (const n of [1, 2, 3]) await runWorkflow(box, 'echo', { n });
  await runWorkflow(box, 'fail');
  const messages = [{ role: 'user', content: 'say:hi' }];
  await box.request(
    '/wire-a/v1/chat/completions',
    json({ model: 'helper', messages }, { headers: { 'x-api-key': 'k' } }),
  );
  await until(async () => (await list(box, '?kind=agent&status=completed')).items.length === 1);
  return box;
}

describe('a run', () => {
  test('has every member of the record', async () => {
    const box = await open();
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await runWorkflow(box, 'echo', { a: 1 })).toEqual({
      runId: expect.any(String),
      traceId: expect.stringMatching(/^[\da-f]{32}$/),
      kind: 'workflow',
      name: 'echo',
      trigger: 'api',
      status: 'completed',
      sessionId: null,
      parentRunId: null,
      retryOf: null,
      forkedFrom: null,
      triggerId: null,
      startedBy: { kind: 'person', id: 'owner', client: null, key: null, user: null, role: 'owner', name: 'owner' },
      attributes: {},
      input: { a: 1 },
      output: { a: 1 },
      error: null,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      totalTokens: 0,
      waitingFor: null,
      continuedFrom: null,
      continuedTo: null,
      pausedAt: null,
      cancelling: null,
      timeoutAt: null,
      parentClosePolicy: null,
      records: 0,
      warning: null,
      createdAt: time,
      startedAt: time,
      endedAt: time,
    });
  });

  test.each([
    ['fail', { code: 'broken', message: 'It broke.', stack: expect.stringContaining('runs.test.ts') }],
    ['throwText', { code: 'run_failed', message: 'Not an Error was thrown: just text', stack: expect.any(String) }],
  ])('that failed says why: %s', async (name, error) => {
    expect(await runWorkflow(await open(), name)).toMatchObject({ status: 'failed', output: null, error });
  });

  test('shows values that JSON has no word for', async () => {
    const { output } = await runWorkflow(await open(), 'rich');
    expect(output).toEqual({ at: '1970-01-01T00:00:00.000Z', big: '1', set: [1], map: [['a', 1]] });
  });

  test('of an agent carries its tokens and its trigger', async () => {
    const box = await openWithRuns();
    const [run] = (await list(box, '?kind=agent')).items;
    expect(run).toMatchObject({ kind: 'agent', name: 'helper', trigger: 'chat', status: 'completed' });
    expect(run?.totalTokens).toBe(Number(run?.inputTokens) + Number(run?.outputTokens));
    expect(run?.totalTokens).toBeGreaterThan(0);
  });

  test.each(['0190a000-0000-7000-8000-000000000000', 'nope', '%20', "'; drop table runs; --"])(
    'that does not exist is 404: %s',
    async (id) => {
      const answer = await (await open()).request(`/api/runs/${encodeURIComponent(id)}`);
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'run_not_found' }]);
    },
  );
});

describe('waiting for a run', () => {
  const get = async (box: TestBox, runId: string, wait: string) => box.request(`/api/runs/${runId}?wait=${wait}`);

  test('answers when it is final', async () => {
    const box = await open();
    const runId = await start(box, 'nap', { ms: 60 });
    expect(await (await get(box, runId, '10s')).json()).toMatchObject({ status: 'completed' });
  });

  test('answers what it is when the time is up', async () => {
    const box = await open();
    const runId = await start(box, 'nap', { ms: 60_000 });
    const answer = await get(box, runId, '50ms');
    const run = (await answer.json()) as Record<string, unknown>;
    expect(answer.status).toBe(200);
    expect(['running', 'waiting']).toContain(run.status);
    expect(run.endedAt).toBeNull();
    await until(async () => (await list(box)).items[0]?.status === 'waiting');
    expect(await (await get(box, runId, '0s')).json()).toMatchObject({
      status: 'waiting',
      waitingFor: { type: 'sleep', until: expect.any(String) },
    });
  });

  test('answers at once when it was final before, or never was', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'echo');
    expect((await get(box, String(runId), '60s')).status).toBe(200);
    expect((await get(box, 'nope', '60s')).status).toBe(404);
  });

  test.each(['99999999999999999999', '61s', '2h'])('"%s" is too long', async (wait) => {
    const answer = await get(await open(), 'nope', wait);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { code: 'invalid_request', message: `"wait" is "${wait}". It is at most 60s.` },
    ]);
  });

  test.each(['', 'soon', '-1s', '1 fortnight', 'NaN', '1s2s'])('"%s" is no time', async (wait) => {
    const answer = await get(await open(), 'nope', encodeURIComponent(wait));
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_request' }]);
  });
});

describe('the list of runs', () => {
  test('is newest first, and filtered by what is asked', async () => {
    const box = await openWithRuns();
    const namesOf = async (query: string) => (await list(box, query)).items.map(({ name }) => name);
    expect(await namesOf('')).toEqual(['helper', 'fail', 'echo', 'echo', 'echo']);
    expect((await list(box, '?name=echo')).items.map(({ input }) => input)).toEqual([{ n: 3 }, { n: 2 }, { n: 1 }]);
    expect(await namesOf('?kind=workflow&status=failed')).toEqual(['fail']);
    expect(await namesOf('?trigger=chat')).toEqual(['helper']);
    expect(await namesOf('?trigger=schedule')).toEqual([]);
    expect(await namesOf('?session=none')).toEqual([]);
    expect(await namesOf('?name=ech')).toEqual([]);
    expect(await namesOf('?name=')).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 200])('in pages of %i is the whole list', async (limit) => {
    const box = await openWithRuns();
    const seen: unknown[] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const page: Page = await list(box, `?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(page.items.length).toBeLessThanOrEqual(limit);
      seen.push(...page.items.map(({ runId }) => runId));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual((await list(box)).items.map(({ runId }) => runId));
    expect(pages).toBe(Math.ceil(5 / limit));
  });

  test('in pages keeps its filter, and what comes later does not move it', async () => {
    const box = await openWithRuns();
    const first = await list(box, '?name=echo&limit=2');
    await runWorkflow(box, 'echo', { n: 4 });
    const second = await list(box, `?name=echo&limit=2&cursor=${first.nextCursor}`);
    expect(second).toMatchObject({ items: [{ input: { n: 1 } }], nextCursor: null });
  });

  test('of a box without runs is empty', async () => {
    expect(await list(await open())).toEqual({ items: [], nextCursor: null });
  });

  test.each([
    ['limit=0', 'invalid_request'],
    ['limit=201', 'invalid_request'],
    ['limit=-1', 'invalid_request'],
    ['limit=1.5', 'invalid_request'],
    ['limit=many', 'invalid_request'],
    ['limit=', 'invalid_request'],
    ['cursor=nope', 'invalid_cursor'],
    ['cursor=', 'invalid_cursor'],
    ['cursor=0190a000-0000-7000-8000-00000000000Z', 'invalid_cursor'],
    ['status=done', 'invalid_request'],
    ['kind=robot', 'invalid_request'],
    ['trigger=me', 'invalid_request'],
    ['offset=1', 'invalid_request'],
  ])('refuses %s with %s', async (query, code) => {
    const answer = await (await open()).request(`/api/runs?${query}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { code, message: expect.any(String) }]);
  });
});
