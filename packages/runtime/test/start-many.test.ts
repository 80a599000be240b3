import { expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../src/client.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { svc } from '../src/svc.ts';
import { describeOnBoth } from './_both.ts';
import { call, finish, getRun, json, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

type Item = Record<string, unknown>;
interface Answer {
  started: number;
  queued: number;
  refused: number;
  items: (Item & { index: number; status: string; error?: { code: string; message: string } })[];
}

const echo = {
  run: async (input: { n: number }) => input.n,
  inputSchema: z.object({ n: z.number() }),
};
const hold = async ({ id }: { id: string }) => {
  await createHook({ token: id });
  return id;
};
const startAll = async (items: Item[]) => svc.workflows.startMany('echo', items as never);
const inStep = toStep('inStep', startAll);

const PROGRAM = {
  workflows: {
    echo,
    one: { run: hold, serial: true },
    held: { run: hold },
    some: { run: async (input: unknown) => input, rateLimit: { limit: 2, period: '1h' } },
    body: { run: startAll },
    step: { run: inStep },
    flaky: {
      run: async (input: unknown) => input,
      inputSchema: z.unknown().refine((given) => {
        if ((given as { isBad?: boolean }).isBad) throw new Error('A bug of the schema.');
        return true;
      }),
    },
    above: {
      run: async () => {
        await svc.workflows.startMany('held', [
          { input: { id: 'goes' }, parentClosePolicy: 'cancel' },
          { input: { id: 'stays' }, parentClosePolicy: 'abandon' },
        ]);
        return 'done';
      },
    },
  },
};

const startMany = (box: TestBox, name: string, items: unknown[], headers?: Record<string, string>) =>
  call<Answer>(box, `POST /api/workflows/${name}/start-many`, { items }, headers);
const count = async (box: TestBox, name: string) => (await box.journal.listRuns({ name }, { limit: 1_000 })).length;

describeOnBoth(boxes, 'many starts in one request', (open) => {
  test('are answered in their order, and one that is refused refuses no other', async () => {
    const box = await open(PROGRAM);
    const { status, body } = await startMany(box, 'echo', [
      { input: { n: 1 } },
      { input: { n: 'two' } },
      { input: { n: 3 }, delay: '1h' },
      { input: { n: 4 }, delay: 'soon' },
      { imput: { n: 5 } },
      7,
      { input: { n: 6 }, id: 'a\u0000b' },
      { input: { n: 7 }, id: 'seven', delay: '1h' },
      { input: { n: 8 }, id: 'seven' },
    ]);
    expect([status, body.started, body.queued, body.refused]).toEqual([202, 1, 2, 6]);
    expect(body.items.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(body.items.map(({ status: one, error }) => error?.code ?? one)).toEqual([
      'started',
      'workflow_input_invalid',
      'queued',
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'queued',
      'workflow_id_taken',
    ]);
    expect(body.items[4]?.error?.message).toContain('imput');
    expect(body.items[6]?.error?.message).toContain('"id"');
    expect(await finish(box, String(body.items[0]?.runId))).toMatchObject({ status: 'completed', output: 1 });
  });

  test('of the same key start nothing twice, also after a restart', async () => {
    const first = await open(PROGRAM);
    const items = [{ input: { n: 1 } }, { input: { n: 'x' } }, { input: { n: 3 }, idempotencyKey: 'own' }];
    const key = { 'idempotency-key': 'all' };
    const before = await startMany(first, 'echo', items, key);
    const box = await first.restart();
    expect((await startMany(box, 'echo', items, key)).body).toEqual(before.body);
    // What was refused is tried again, and what stands for another start is refused.
    const other = [{ input: { n: 9 } }, { input: { n: 2 } }, { input: { n: 3 }, idempotencyKey: 'own' }];
    const { items: again } = (await startMany(box, 'echo', other, key)).body;
    expect(again.map(({ status, error }) => error?.code ?? status)).toEqual([
      'idempotency_conflict',
      'started',
      'started',
    ]);
    expect(again[2]?.runId).toBe(before.body.items[2]?.runId);
    expect(await count(box, 'echo')).toBe(3);
  });

  test('that queue for one place begin in their order', async () => {
    const box = await open(PROGRAM);
    const ids = Array.from({ length: 6 }, (_, n) => `s${n}`);
    const { body } = await startMany(
      box,
      'one',
      ids.map((id) => ({ input: { id } })),
    );
    expect([body.started, body.queued]).toEqual([1, 5]);
    const { items } = (await call<{ items: { input: { id: string } }[] }>(box, 'GET /api/workflows/one/queue')).body;
    expect(items.map(({ input }) => input.id)).toEqual(ids.slice(1));
  });

  test('count against a rate limit one by one', async () => {
    const box = await open(PROGRAM);
    const { body } = await startMany(box, 'some', [{}, {}, {}]);
    expect(body.items.map(({ status, error }) => error?.code ?? status).toSorted()).toEqual([
      'started',
      'started',
      'workflow_rate_limited',
    ]);
  });

  test('by code are runs below its own: in a body recorded, in a step once', async () => {
    const box = await open(PROGRAM);
    const items = [{ input: { n: 1 } }, { input: { n: 'x' } }, { input: { n: 3 }, delay: '1h' }];
    for (const name of ['body', 'step']) {
      const runId = await startWorkflow(box, name, items);
      const { output } = (await finish(box, runId)) as { output: Item[] };
      expect(output).toMatchObject([
        { status: 'started' },
        { status: 'refused', error: { code: 'workflow_input_invalid' } },
        { status: 'queued' },
      ]);
      expect(await getRun(box, String(output[0]?.runId))).toMatchObject({ parentRunId: runId, trigger: 'workflow' });
    }
  });

  test('by code end with the run above as each of them says', async () => {
    const box = await open(PROGRAM);
    await finish(box, await startWorkflow(box, 'above', {}));
    const runs = async () => (await call<{ items: Item[] }>(box, 'GET /api/runs?name=held')).body.items;
    await until(async () => (await runs()).some(({ status }) => status === 'cancelled'));
    const all = await runs();
    expect(all.map(({ status, input }) => [(input as Item).id, status]).sort()).toEqual([
      ['goes', 'cancelled'],
      ['stays', 'waiting'],
    ]);
  });
});

test('more than 500, none, and a workflow that is not there refuse the request', async () => {
  const box = await boxes.open(PROGRAM);
  const many = Array.from({ length: 501 }, () => ({}));
  expect(await startMany(box, 'echo', many)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  expect(await startMany(box, 'echo', [])).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  expect(await startMany(box, 'ecko', [{}])).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } });
  const large = json({ items: [{ input: 'x'.repeat(1_100_000) }] });
  expect((await box.request('/api/workflows/echo/start-many', large)).status).toBe(413);
  expect(await count(box, 'echo')).toBe(0);
});

test('a bug of a schema is that of its start alone', async () => {
  const box = await boxes.open(PROGRAM);
  const { body } = await startMany(box, 'flaky', [{ input: {} }, { input: { isBad: true } }, { input: {} }]);
  expect(body.items.map(({ status, error }) => error?.code ?? status)).toEqual(['started', 'internal', 'started']);
});

test('a rule judges each of them, and an input it holds waits for a decision', async () => {
  const box = await boxes.open(PROGRAM);
  const attachment = { kind: 'workflow', name: 'body' };
  const rule = (name: string, action: string, word: string) =>
    call(box, 'POST /api/guardrails', {
      name,
      action,
      sides: ['workflow-input'],
      check: { kind: 'words', words: [word] },
      attachment,
    });
  expect(await rule('no', 'block', 'forbidden')).toMatchObject({ status: 201 });
  expect(await rule('ask', 'hold', 'unsure')).toMatchObject({ status: 201 });
  const { body } = await startMany(box, 'body', [
    { input: [{ note: 'forbidden' }] },
    { input: [{ note: 'unsure' }] },
    { input: [] },
  ]);
  expect(body.items.map(({ status, error }) => error?.code ?? status)).toEqual([
    'workflow_guardrail_blocked',
    'started',
    'started',
  ]);
  await untilStatus(box, String(body.items[1]?.runId), 'waiting');
});

test('a key starts what it is granted, and the keys of two callers never meet', async () => {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  const image = await boxes.open({ ...PROGRAM, options: { host: 'image', kv } });
  const makeKey = async (name: string) =>
    (await call<{ value: string }>(dev, 'POST /api/keys', { name, grants: { agents: [], workflows: ['held'] } })).body
      .value;
  const as = async (name: string) => ({ authorization: `Bearer ${await makeKey(name)}`, 'idempotency-key': 'k' });
  const [one, two] = [await as('one'), await as('two')];
  expect(await startMany(image, 'echo', [{ input: { n: 1 } }], one)).toMatchObject({ status: 403 });
  const mine = (await startMany(image, 'held', [{ input: { id: 'x' }, id: 'x' }], one)).body;
  const theirs = (await startMany(image, 'held', [{ input: { id: 'y' } }, { input: { id: 'x' }, id: 'x' }], two)).body;
  expect([mine.started, theirs.started]).toEqual([1, 1]);
  // Whose run has the id is not theirs to know.
  expect(theirs.items[1]?.error).toMatchObject({ code: 'workflow_id_taken' });
  expect(JSON.stringify(theirs)).not.toContain(String(mine.items[0]?.runId));
});

test('each start is a request of the limits of a key, and the list that is above them is refused as a whole', async () => {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  const image = await boxes.open({ ...PROGRAM, options: { host: 'image', kv } });
  const given = { name: 'shop', grants: { agents: [], workflows: ['echo'] }, limits: { requestsPerMinute: 10 } };
  const key = (await call<{ id: string; value: string }>(dev, 'POST /api/keys', given)).body;
  const as = { authorization: `Bearer ${key.value}` };
  const list = (length: number) => Array.from({ length }, (_, n) => ({ input: { n } }));
  const used = async () => (await call<{ requests: number }>(dev, `GET /api/usage/key/${key.id}`)).body.requests;
  const asked = await call<{ code: string; details: object }>(
    image,
    'POST /api/workflows/echo/start-many',
    { items: list(11) },
    as,
  );
  expect(asked).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', details: { limit: 'requestsPerMinute', value: 10 } },
  });
  expect((await startMany(image, 'echo', list(7), as)).body).toMatchObject({ started: 7 });
  // The first list is one, too.
  expect(await used()).toBe(8);
  const refused = await image.request('/api/workflows/echo/start-many', json({ items: list(3) }, { headers: as }));
  expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'rate_limited' }]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await image.journal.listRuns({ name: 'echo' }, { limit: 20 })).toHaveLength(7);
  expect(await used()).toBe(9);
  expect((await startMany(image, 'echo', list(1), as)).body).toMatchObject({ started: 1 });
  expect(await startMany(image, 'echo', list(1), as)).toMatchObject({ status: 429 });
});

test('the typed client answers a run of each, and what refused the others', async () => {
  const box = await boxes.open(PROGRAM);
  const client = createClient({ baseUrl: await box.listen() });
  const made = await client.workflow('echo').startMany([{ input: { n: 1 } }, { input: { n: 'x' } }] as never, {
    idempotencyKey: 'once',
  });
  const [first, second] = made;
  if (first?.status !== 'started') throw new Error('It is not started.');
  expect(await first.run.result()).toBe(1);
  expect(second).toMatchObject({ status: 'refused', error: { code: 'workflow_input_invalid' } });
});
