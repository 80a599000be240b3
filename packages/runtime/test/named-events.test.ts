import { expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../src/client.ts';
import { isMatch } from '../src/engine/events.ts';
import type { Why } from '../src/runs/why.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { FatalError } from '../src/engine/errors.ts';
import { svc } from '../src/svc.ts';
import { describeOnBoth } from './_both.ts';
import { call, finish, getRun, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

type Row = Record<string, unknown>;
interface Sent {
  id: string;
  runId: string | null;
  triggerId: string | null;
}

const sendInStep = toStep('sendInStep', async (n: number) => svc.events.send('order.paid', { n }));

const PROGRAM = {
  workflows: {
    waiter: {
      run: async ({ match, timeout }: { match?: Row; timeout?: string }) => {
        const event = await svc.events.wait<Row>('order.paid', { match, timeout });
        return event ? { id: event.id, payload: event.payload } : 'timed out';
      },
    },
    all: {
      async run({ count }: { count: number }) {
        const got: unknown[] = [];
        while (got.length < count) {
          svc.publish({ got: got.length });
          got.push((await svc.events.wait<{ n: number }>('tick'))?.payload.n);
        }
        return got;
      },
    },
    ship: {
      run: async ({ n }: { n: number }) => n,
      inputSchema: z.object({ n: z.number() }),
      on: { event: 'order.paid' },
    },
    sender: {
      run: async ({ n, inStep }: { n: number; inStep: boolean }) =>
        inStep ? sendInStep(n) : svc.events.send('order.paid', { n }),
    },
  },
};

const send = (box: TestBox, name: string, payload: unknown, headers?: Record<string, string>) =>
  call<Sent & { code: string }>(box, `POST /api/events/${name}`, payload, headers);
const runsOf = async (box: TestBox, name: string) =>
  (await call<{ items: Row[] }>(box, `GET /api/runs?name=${name}&limit=200`)).body.items;
const waiting = async (box: TestBox, input: Row = {}, name = 'waiter') => {
  const runId = await startWorkflow(box, name, input);
  await untilStatus(box, runId, 'waiting');
  return runId;
};
const createGate = () => {
  const gate = { open: () => {}, opened: Promise.resolve() };
  gate.opened = new Promise((resolve) => (gate.open = resolve));
  return gate;
};
const makeKey = async (dev: TestBox, name: string, workflows: string[]): Promise<Record<string, string>> => {
  const given = { name, grants: { agents: [], workflows } };
  return { authorization: `Bearer ${(await call<{ value: string }>(dev, 'POST /api/keys', given)).body.value}` };
};
const untilOwn = (box: TestBox, runId: string, who: Record<string, string>, status: string): Promise<void> =>
  until(
    async () => (await call<{ status: string }>(box, `GET /api/runs/${runId}`, undefined, who)).body.status === status,
  );
/** What the run that delivered an event came to. */
async function delivered(box: TestBox, { runId, triggerId }: Sent): Promise<Row> {
  let id = runId;
  await until(async () => {
    if (id === null) id = (await call<Why>(box, `GET /api/runs/${String(triggerId)}/why`)).body.runId ?? null;
    return id !== null;
  });
  return (await finish(box, String(id))).output as Row;
}

describeOnBoth(boxes, 'an event', (open) => {
  test('resumes every run that waits for it, and starts each workflow that starts by it, once', async () => {
    const box = await open(PROGRAM);
    const ids = [await waiting(box), await waiting(box)];
    const { status, body } = await send(box, 'order.paid', { n: 5 });
    expect([status, body]).toMatchObject([202, { name: 'order.paid' }]);
    for (const id of ids) expect((await finish(box, id)).output).toEqual({ id: body.id, payload: { n: 5 } });
    expect(await delivered(box, body)).toMatchObject({
      resumed: 2,
      started: [{ workflow: 'ship', status: 'started' }],
    });
    const [ship, ...more] = await runsOf(box, 'ship');
    expect([await finish(box, String(ship?.runId)), more]).toMatchObject([{ output: 5 }, []]);
  });

  test('is not kept for those who wait later', async () => {
    const box = await open(PROGRAM);
    await delivered(box, (await send(box, 'order.paid', { n: 1 })).body);
    const runId = await waiting(box);
    await delivered(box, (await send(box, 'order.paid', { n: 2 })).body);
    expect((await finish(box, runId)).output).toMatchObject({ payload: { n: 2 } });
  });

  test('reaches those whose match it has, and a wait ends by itself', async () => {
    const box = await open(PROGRAM);
    const mine = await waiting(box, { match: { order: { id: 7 } } });
    const other = await startWorkflow(box, 'waiter', { match: { order: { id: 8 } }, timeout: '1s' });
    await send(box, 'order.paid', { n: 1, order: { id: 7, total: 3 } });
    expect((await finish(box, mine)).output).toMatchObject({ payload: { order: { id: 7 } } });
    expect((await finish(box, other)).output).toBe('timed out');
  });

  test('of the same id is one event, also after a restart; with another payload it is refused', async () => {
    const before = await open(PROGRAM);
    const key = { 'idempotency-key': 'evt-1' };
    const first = (await send(before, 'order.paid', { n: 1 }, key)).body;
    expect(first.id).toBe('evt-1');
    await delivered(before, first);
    const box = await before.restart();
    await delivered(box, (await send(box, 'order.paid', { n: 1 }, key)).body);
    expect(await runsOf(box, 'ship')).toHaveLength(1);
    expect(await send(box, 'order.paid', { n: 2 }, key)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
  });

  test('of one name come in the order in which they were accepted', async () => {
    const box = await open(PROGRAM);
    const runId = await waiting(box, { count: 4 }, 'all');
    for (const n of [1, 2, 3, 4]) {
      const sent = (await send(box, 'tick', { n })).body;
      await delivered(box, sent);
      if (n === 4) break;
      // It is still called waiting until it has taken what it was sent.
      await until(
        async () =>
          (await call<{ state: { got: number } | null }>(box, `GET /api/runs/${runId}/state`)).body.state?.got === n,
      );
      await untilStatus(box, runId, 'waiting');
    }
    expect((await finish(box, runId)).output).toEqual([1, 2, 3, 4]);
  });

  test('is sent by code once, from a body and from a step', async () => {
    const box = await open(PROGRAM);
    for (const [n, inStep] of [
      [1, false],
      [2, true],
    ] as const) {
      const { output } = await finish(box, await startWorkflow(box, 'sender', { n, inStep }));
      await delivered(box, output as unknown as Sent);
      expect(await runsOf(box, 'ship')).toHaveLength(n);
    }
  });

  test('is what svc why says a run waits for, and a cancel ends the wait', async () => {
    const box = await open(PROGRAM);
    const runId = await waiting(box);
    const { body } = await call<Why>(box, `GET /api/runs/${runId}/why`);
    expect(body.summary).toBe('The run waits for the event order.paid.');
    expect((await getRun(box, runId)) as unknown).toMatchObject({ waitingFor: { type: 'event', title: 'order.paid' } });
    await call(box, `POST /api/runs/${runId}/cancel`, {});
    expect(await delivered(box, (await send(box, 'order.paid', { n: 1 })).body)).toMatchObject({ resumed: 0 });
  });

  test('that a workflow does not take is refused for that one alone, and says so', async () => {
    const box = await open(PROGRAM);
    const runId = await waiting(box);
    const sent = (await send(box, 'order.paid', { n: 'x' })).body;
    expect(await delivered(box, sent)).toMatchObject({
      resumed: 1,
      started: [{ workflow: 'ship', status: 'refused', error: { code: 'workflow_input_invalid' } }],
    });
    expect((await finish(box, runId)).status).toBe('completed');
  });

  test('that the schema of a workflow throws at still reaches those who wait, and the others that start by it', async () => {
    const throws = z.unknown().refine(() => {
      throw new Error('No such order.');
    });
    const angry = { run: async () => 1, inputSchema: throws, on: { event: 'order.paid' } };
    const odd = { run: async () => 1, inputSchema: z.unknown().transform(() => () => 1), on: { event: 'order.paid' } };
    const box = await open({ workflows: { angry, odd, ...PROGRAM.workflows } });
    const runId = await waiting(box);
    expect(await delivered(box, (await send(box, 'order.paid', { n: 3 })).body)).toMatchObject({
      resumed: 1,
      started: [
        { workflow: 'angry', status: 'refused', error: { code: 'internal', message: 'No such order.' } },
        { workflow: 'odd', status: 'refused', error: { code: 'not_serializable' } },
        { workflow: 'ship', status: 'started' },
      ],
    });
    expect((await finish(box, runId)).output).toMatchObject({ payload: { n: 3 } });
  });

  test('reaches more runs than are read at once', async () => {
    const box = await open(PROGRAM);
    const items = Array.from({ length: 300 }, () => ({ input: {} }));
    const { body } = await call<{ items: { runId: string }[] }>(box, 'POST /api/workflows/waiter/start-many', {
      items,
    });
    await until(
      async () =>
        (await call<{ items: Row[] }>(box, 'GET /api/runs?name=waiter&status=waiting&limit=200')).body.items.length ===
        200,
    );
    for (const { runId } of body.items) await untilStatus(box, runId, 'waiting');
    expect(await delivered(box, (await send(box, 'order.paid', { n: 1 })).body)).toMatchObject({ resumed: 300 });
    for (const { runId } of body.items) expect((await finish(box, runId)).status).toBe('completed');
  }, 60_000);
});

test('a name that is none, a payload that is too large, and a box that is held back refuse it', async () => {
  const box = await boxes.open(PROGRAM);
  expect(await send(box, '7', {})).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  const large = await send(box, 'order.paid', 'x'.repeat(300_000));
  expect(large).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
  const closed = await boxes.open({ ...PROGRAM, provider: 'none' });
  expect(await send(closed, 'order.paid', {})).toMatchObject({
    status: 503,
    body: { code: 'workflow_runtime_not_armed' },
  });
});

test('a match with a Map or a Set is refused, as it would be compared with nothing', async () => {
  const odd = async () => svc.events.wait('tick', { match: { order: { ids: new Set([7]) } } });
  const box = await boxes.open({ workflows: { odd: { run: odd } } });
  expect(await finish(box, await startWorkflow(box, 'odd', {}))).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('no Map and no Set') as string },
  });
  expect(isMatch({ ids: new Map([[7, 1]]) }, { ids: {} })).toBe(false);
});

test.each([
  [{ on: { event: '7' } }, 'must be { event:'],
  [{ on: { event: 'a', from: 'b' } }, 'must be { event:'],
  [{ on: { event: 'a' }, mode: 'chat' }, 'holds a conversation'],
])('a workflow does not load with %o', async (more, message) => {
  const box = await boxes.open({ workflows: { wrong: { run: async () => 1, ...more } } });
  const { body } = await call(box, 'GET /api/workflows/wrong');
  expect(body).toMatchObject({ state: 'failed', problem: { message: expect.stringContaining(message) as string } });
});

test('a run that waits is resumed by nothing but the event, and a workflow shows what starts it', async () => {
  const box = await boxes.open(PROGRAM);
  const runId = await waiting(box);
  const [wait] = await box.journal.hooks.listOpen(
    { scope: 'event:order.paid:', until: Date.now() },
    { limit: 10, after: '' },
  );
  const path = `/api/workflows/hooks/${encodeURIComponent(wait?.token ?? '')}`;
  expect(await call(box, `POST ${path}/resume`, {})).toMatchObject({ status: 404, body: { code: 'hook_not_found' } });
  expect(await call(box, `POST ${path}/signal`, {})).toMatchObject({ status: 404, body: { code: 'hook_not_found' } });
  expect((await getRun(box, runId)) as unknown).toMatchObject({ status: 'waiting' });
  expect((await call(box, 'GET /api/workflows/ship')).body).toMatchObject({ event: 'order.paid' });
});

test('a key reaches runs of its own alone, and starts what it is granted', async () => {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  const image = await boxes.open({ ...PROGRAM, options: { host: 'image', kv } });
  const [one, two, none] = [
    await makeKey(dev, 'one', ['waiter', 'ship']),
    await makeKey(dev, 'two', ['waiter']),
    await makeKey(dev, 'none', []),
  ];
  const begin = async (who: Record<string, string>) =>
    (await call<{ runId: string }>(image, 'POST /api/workflows/waiter/start', {}, who)).body.runId;
  const statusOf = async (runId: string, who: Record<string, string>) =>
    (await call<{ status: string }>(image, `GET /api/runs/${runId}`, undefined, who)).body.status;
  const [mine, theirs] = [await begin(one), await begin(two)];
  await until(async () => (await statusOf(mine, one)) === 'waiting' && (await statusOf(theirs, two)) === 'waiting');
  expect(await send(image, 'order.paid', { n: 1 }, none)).toMatchObject({ status: 403 });
  await send(image, 'order.paid', { n: 1 }, two);
  await until(async () => (await statusOf(theirs, two)) === 'completed');
  expect(await statusOf(mine, one)).toBe('waiting');
  expect(await image.journal.listRuns({ name: 'ship' }, { limit: 10 })).toHaveLength(0);
  await send(image, 'order.paid', { n: 2 }, one);
  await until(async () => (await statusOf(mine, one)) === 'completed');
  expect(await image.journal.listRuns({ name: 'ship' }, { limit: 10 })).toHaveLength(1);
});

test('of one caller waits for none of another, and those of one caller have their order', async () => {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  const gate = createGate();
  const slow = {
    run: async () => 1,
    inputSchema: z.unknown().refine(() => gate.opened.then(() => true)),
    on: { event: 'order.paid' },
  };
  const image = await boxes.open({ workflows: { ...PROGRAM.workflows, slow }, options: { host: 'image', kv } });
  const [one, two] = [await makeKey(dev, 'one', ['waiter', 'slow']), await makeKey(dev, 'two', ['waiter'])];
  const begin = async () =>
    (await call<{ runId: string }>(image, 'POST /api/workflows/waiter/start', {}, two)).body.runId;
  const runId = await begin();
  await untilOwn(image, runId, two, 'waiting');
  await send(image, 'order.paid', { n: 1 }, one);
  const second = await send(image, 'order.paid', { n: 2 }, one);
  expect(second.body).toMatchObject({ runId: null });
  const sent = await send(image, 'order.paid', { n: 3 }, two);
  expect(sent.body.runId).not.toBeNull();
  await untilOwn(image, runId, two, 'completed');
  gate.open();
  await until(async () => (await image.journal.listRuns({ name: 'slow' }, { limit: 10 })).length === 2);
});

test('of a caller reads no wait of another', async () => {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  const image = await boxes.open({ ...PROGRAM, options: { host: 'image', kv } });
  const [one, two] = [await makeKey(dev, 'one', ['waiter']), await makeKey(dev, 'two', ['waiter'])];
  const items = Array.from({ length: 210 }, () => ({ input: {} }));
  const { body } = await call<{ items: { runId: string }[] }>(
    image,
    'POST /api/workflows/waiter/start-many',
    { items },
    one,
  );
  for (const { runId } of body.items) await untilOwn(image, runId, one, 'waiting');
  const { runId } = (await send(image, 'order.paid', { n: 1 }, two)).body;
  await image.engine.wait(String(runId), 10_000);
  // A step for each page of waits that is read.
  expect(
    (await image.journal.getRecords(String(runId))).filter(({ kind, event }) => kind === 'step' && event === 'done'),
  ).toHaveLength(1);
});

describeOnBoth(boxes, 'the run that delivers an event', (open) => {
  test('is retried where it failed, and gives each receiver the event once', async () => {
    const box = await open(PROGRAM);
    const runId = await waiting(box);
    const { hooks } = box.journal;
    const { listOpen } = hooks;
    hooks.listOpen = () => Promise.reject(new FatalError('The store has lost its table.'));
    const sent = (await send(box, 'order.paid', { n: 4 })).body;
    expect(await finish(box, String(sent.runId))).toMatchObject({ status: 'failed' });
    hooks.listOpen = listOpen;
    const retry = (from: string) => call<Sent & { code: string }>(box, `POST /api/runs/${sent.runId}/retry`, { from });
    expect(await retry('start')).toMatchObject({ status: 409, body: { code: 'run_not_retryable' } });
    const { status, body } = await retry('failed-step');
    expect(status).toBe(202);
    expect(await delivered(box, body)).toMatchObject({ resumed: 1, started: [{ status: 'started' }] });
    expect((await finish(box, runId)).output).toEqual({ id: sent.id, payload: { n: 4 } });
    expect(await runsOf(box, 'ship')).toHaveLength(1);
    const again = await call<Sent>(box, `POST /api/runs/${String(body.runId)}/retry`, {});
    await delivered(box, again.body);
    expect(await runsOf(box, 'ship')).toHaveLength(1);
  });

  test('is retried after a cancel, and goes on behind what it had started', async () => {
    const gate = createGate();
    const zlow = {
      run: async () => 1,
      inputSchema: z.unknown().refine(() => gate.opened.then(() => true)),
      on: { event: 'order.paid' },
    };
    const box = await open({ workflows: { ...PROGRAM.workflows, zlow } });
    const runId = await waiting(box);
    const sent = (await send(box, 'order.paid', { n: 4 })).body;
    await until(async () => (await runsOf(box, 'ship')).length === 1);
    await call(box, `POST /api/runs/${sent.runId}/cancel`, {});
    gate.open();
    await untilStatus(box, String(sent.runId), 'cancelled');
    const retried = (await call<Sent>(box, `POST /api/runs/${sent.runId}/retry`, {})).body;
    expect(await delivered(box, retried)).toMatchObject({ resumed: 1 });
    expect((await finish(box, runId)).output).toEqual({ id: sent.id, payload: { n: 4 } });
    expect([await runsOf(box, 'ship'), await runsOf(box, 'zlow')].map(({ length }) => length)).toEqual([1, 1]);
  });
});

test('code of one client sends another event than that of another, whatever both are called', async () => {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  const named = { run: async ({ id }: { id: string }) => svc.events.send('tick', {}, { id }) };
  const image = await boxes.open({ workflows: { named }, options: { host: 'image', kv } });
  const sendAs = async (client: string, id: string): Promise<unknown> => {
    const given = { name: client, client, grants: { agents: [], workflows: ['named'] } };
    const { value } = (await call<{ value: string }>(dev, 'POST /api/keys', given)).body;
    const who = { authorization: `Bearer ${value}` };
    const { runId } = (await call<{ runId: string }>(image, 'POST /api/workflows/named/start', { id }, who)).body;
    await image.engine.wait(runId, 10_000);
    return (await call<Row>(image, `GET /api/runs/${runId}`, undefined, who)).body.output;
  };
  const [one, two] = [await sendAs('a', 'b  tick z'), await sendAs('a  tick b', 'z')] as Sent[];
  expect([one?.id, two?.id]).toEqual(['b  tick z', 'z']);
  expect(one?.runId ?? one?.triggerId).not.toBe(two?.runId ?? two?.triggerId);
});

test('the typed client sends it', async () => {
  const box = await boxes.open(PROGRAM);
  const client = createClient({ baseUrl: await box.listen() });
  expect(await client.events.send('order.paid', { n: 1 }, { id: 'e1' })).toMatchObject({
    id: 'e1',
    name: 'order.paid',
  });
});

test('is kept without what a rule masks of the input of those that start by it, or of every workflow', async () => {
  const box = await boxes.open({
    workflows: {
      noted: { run: async ({ note }: { note: string }) => note, on: { event: 'masked' } },
      hears: { run: async () => (await svc.events.wait<Row>('masked'))?.payload },
    },
  });
  const rule = (kind: string, name: string, word: string) => ({
    name: `events-${word}`,
    check: { kind: 'words', words: [word] },
    sides: ['workflow-input'],
    action: 'mask',
    attachment: { kind, name },
  });
  const rules = [rule('workflow', 'noted', 'seven'), rule('workflow', '', 'eight'), rule('workflow', 'hears', 'nine')];
  const ids: string[] = [];
  for (const one of rules) ids.push((await call<{ id: string }>(box, 'POST /api/guardrails', one)).body.id);
  const runId = await waiting(box, {}, 'hears');
  const { body } = await send(box, 'masked', { note: 'seven eight nine' });
  const { started } = (await delivered(box, body)) as { started: { runId: string }[] };
  const noted = await finish(box, String(started[0]?.runId));
  const heard = await finish(box, runId);
  const carrier = await getRun(box, String(body.runId));
  for (const id of ids) await box.request(`/api/guardrails/${id}`, { method: 'DELETE' });
  expect([noted.output, heard.output]).toEqual(['[word] [word] nine', { note: '[word] [word] nine' }]);
  expect(JSON.stringify(carrier)).toContain('[word] [word] nine');
  expect(JSON.stringify(carrier)).not.toMatch(/seven|eight/);
});
