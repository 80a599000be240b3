import { onTestFinished, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { OWNER } from '../src/auth/caller.ts';
import { signUserToken } from '../src/client.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { publish } from '../src/engine/primitives/publish.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { createEvents } from '../src/events/events.ts';
import { createStreamLimits } from '../src/auth/stream-limits.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { describeWhen } from './require.ts';
import {
  call,
  giveNewest,
  json,
  runWorkflow,
  setupBoxes,
  startWorkflow,
  toProgram,
  toStep,
  until,
  untilStatus,
} from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const one = toStep('one', () => 1);
const fails = toStep('fails', () => {
  throw Object.assign(new Error('No.'), { fatal: true });
});
const add = defineTool({
  description: 'Add two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});

const PROGRAM = {
  agents: { helper: defineDeepAgent({ name: 'helper', tools: { add } }) },
  workflows: {
    echo: { run: async () => one() },
    bad: { run: async () => fails() },
    ask: { run: async () => requestApproval({ title: 'Go?' }) },
    state: {
      async run() {
        publish({ at: 'work' });
        return one();
      },
    },
    hook: { run: async () => createHook({ token: 'never' }) },
    many: {
      async run() {
        for (let n = 0; n < 1_500; n++) await one();
      },
    },
  },
};

interface Received {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

interface ApiKey {
  id: string;
  value: string;
  userSecret: string;
}

interface Stream {
  text(): string;
  events(): Received[];
  /** Of one run, or all: `type status`. */
  says(runId?: string): string[];
  isOver(): boolean;
  close(): void;
}

/** Reads the stream from a socket. */
async function listen(url: string, init: RequestInit & { query?: string } = {}): Promise<Stream> {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const answer = await fetch(`${url}/api/events${init.query ?? ''}`, { ...init, signal: gone.signal });
  if (answer.status !== 200) throw new Error(await answer.text());
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  let text = '';
  let isOver = false;
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) text += decoder.decode(part as Uint8Array, { stream: true });
  })()
    .catch(() => {})
    .finally(() => (isOver = true));
  // What comes after the last empty line has not come in full.
  const events = () => text.split('\n\n').slice(0, -1).flatMap(parse);
  return {
    text: () => text,
    events,
    says: (runId) =>
      events()
        .filter(({ data }) => runId === undefined || data.runId === runId)
        .map(({ type, data }) => `${type} ${String(data.status)}`),
    isOver: () => isOver,
    close: () => gone.abort(),
  };
}

function parse(block: string): Received[] {
  const [, id = '', type = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
  return type === '' ? [] : [{ id, type, data: JSON.parse(data) as Record<string, unknown> }];
}

async function open(): Promise<{ box: TestBox; url: string }> {
  const box = await boxes.open(PROGRAM);
  return { box, url: await box.listen() };
}

describe('the stream of events', () => {
  test('tells a run from its start to its end, with ids that count up', async () => {
    const { box, url } = await open();
    const stream = await listen(url);
    const runId = await startWorkflow(box, 'echo');
    await until(() => stream.says(runId).includes('run.ended completed'));
    expect(stream.says(runId)).toEqual([
      'run.created running',
      'run.started running',
      'step.completed completed',
      'run.ended completed',
    ]);
    expect(stream.events()[2]).toEqual({
      id: expect.any(String),
      type: 'step.completed',
      data: {
        runId,
        kind: 'workflow',
        name: 'echo',
        trigger: 'api',
        sessionId: null,
        parentRunId: null,
        stepId: '0',
        step: 'one',
        stepKind: 'step',
        status: 'completed',
        attempt: 1,
        at: expect.stringMatching(/Z$/),
      },
    });
    const numbers = stream.events().map(({ id }) => Number(id.split('-')[1]));
    expect(numbers).toEqual([1, 2, 3, 4]);
    expect(stream.text()).toMatch(/^retry: 2000\n\nid: [\da-f]{8}-0\n\n/);
  });

  test('reports what fails, is cancelled, waits and goes on', async () => {
    const { box, url } = await open();
    const stream = await listen(url);
    const { runId: failed } = await runWorkflow(box, 'bad');
    await until(() => stream.says(String(failed)).includes('run.ended failed'));
    expect(stream.says(String(failed))).toContain('step.completed failed');
    const ended = stream.events().find(({ type, data }) => type === 'run.ended' && data.runId === failed);
    expect(ended?.data.code).toBe('run_failed');
    const waiting = await startWorkflow(box, 'hook');
    await until(() => stream.says(waiting).includes('run.waiting waiting'));
    await call(box, `POST /api/runs/${waiting}/cancel`);
    await until(() => stream.says(waiting).includes('run.ended cancelled'));
    const asked = await startWorkflow(box, 'ask');
    await until(() => stream.says(asked).includes('run.waiting waiting'));
    const { approvalId } = stream.events().find(({ type }) => type === 'approval.asked')?.data ?? {};
    await call(box, `POST /api/approvals/${String(approvalId)}/decide`, { decision: 'reject' });
    await until(() => stream.says(asked).includes('run.ended completed'));
    expect(stream.says(asked)).toEqual([
      'run.created running',
      'run.started running',
      'approval.asked pending',
      'run.waiting waiting',
      'approval.decided rejected',
      'run.resumed running',
      'step.completed completed',
      'run.ended completed',
    ]);
  });

  test('reports a run that other code blocks, and by what', async () => {
    const workflow = (step: () => Promise<unknown>) => ({
      patient: { run: async () => [await step(), await createHook({ token: 'go' })] },
    });
    const before = await boxes.open({ workflows: workflow(one) });
    const runId = await startWorkflow(before, 'patient');
    await untilStatus(before, runId, 'waiting');
    const box = await before.restart({ workflows: workflow(toStep('other', () => 1)), hash: 'edited' });
    const stream = await listen(await box.listen());
    await call(box, 'POST /api/workflows/hooks/go/resume', null);
    await giveNewest(box, runId);
    await untilStatus(box, runId, 'blocked');
    await until(() => stream.says(runId).includes('run.blocked blocked'));
    const blocked = stream.events().find(({ type }) => type === 'run.blocked');
    expect(blocked?.data).toMatchObject({ runId, name: 'patient', code: 'code_changed' });
  });

  test('tells that other code is in force', async () => {
    const { box, url } = await open();
    const stream = await listen(url);
    await box.reload(toProgram(PROGRAM));
    await until(() => stream.events().some(({ type }) => type === 'program.changed'));
  });

  test('tells the steps of a turn and the session it belongs to', async () => {
    const { box, url } = await open();
    const stream = await listen(url);
    const headers = { 'x-api-key': 'any', 'x-svc-session': 'events' };
    const body = { model: 'helper', messages: [{ role: 'user', content: 'tool:add {"a":1,"b":2}; say:Three.' }] };
    await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
    await until(() => stream.says().includes('run.ended completed'));
    const steps = stream.events().filter(({ type }) => type === 'step.completed');
    expect(steps.map(({ data }) => data.stepKind)).toEqual(['model', 'tool', 'model', 'step']);
    const { data } = stream.events().find(({ type }) => type === 'session.updated') ?? {};
    expect(data?.sessionId).toBe(steps[0]?.data.sessionId);
    await call(box, 'DELETE /api/sessions/events?agent=helper');
    await until(() => stream.events().some(({ type }) => type === 'session.deleted'));
  });

  test('goes on after the last event a client has, by header and by query', async () => {
    const { box, url } = await open();
    const first = await listen(url);
    await runWorkflow(box, 'echo');
    await until(() => first.says().includes('run.ended completed'));
    first.close();
    const missed = await startWorkflow(box, 'echo');
    await untilStatus(box, missed, 'completed');
    const { id = '' } = first.events()[1] ?? {};
    for (const init of [{ headers: { 'last-event-id': id } }, { query: `?lastEventId=${id}` }]) {
      const stream = await listen(url, init);
      await until(() => stream.says(missed).includes('run.ended completed'));
      expect(stream.events().map((received) => Number(received.id.split('-')[1]))).toEqual([3, 4, 5, 6, 7, 8]);
    }
  });

  test.each(['00000000-3', 'nonsense'])('begins with "reset" after the id %j', async (id) => {
    const { box, url } = await open();
    const stream = await listen(url, { headers: { 'last-event-id': id } });
    await until(() => stream.events().length === 1);
    expect(stream.events()[0]).toEqual({ id: expect.stringMatching(/-0$/), type: 'reset', data: {} });
    const runId = await startWorkflow(box, 'echo');
    await until(() => stream.says(runId).includes('run.ended completed'));
  });

  test('lets a client go that does not read, which then comes back with its last id', async () => {
    const { box } = await open();
    const url = await box.listen();
    const reading = await listen(url);
    // Without a socket nothing is buffered on the way.
    const answer = await box.request('/api/events');
    const runId = await startWorkflow(box, 'many');
    await until(() => reading.says(runId).includes('run.ended completed'), 30_000);
    const text = await answer.text();
    expect(text.length).toBeLessThan(1_000);
    expect(text).not.toContain('run.ended');
  });

  test('ends with a hint when to come back when the box goes away', async () => {
    const { box, url } = await open();
    const stream = await listen(url);
    await box.close();
    await until(() => stream.isOver());
    expect(stream.text()).toMatch(/retry: 1000\n\n$/);
  });

  test('has an answer to HEAD, and keeps no stream for it', async () => {
    const { box } = await open();
    expect((await box.request('/api/events', { method: 'HEAD' })).status).toBe(200);
  });
});

test('the last 4,096 events are kept for a client that comes back; an older id is answered with "reset"', async () => {
  const events = createEvents({ limits: createStreamLimits({ perBox: 9 }), owner: 'here' });
  onTestFinished(() => events.close());
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  /** What a client is sent first that comes back with that id. */
  const read = async (id: string | undefined, count: number): Promise<string[]> => {
    const frames = events.open(OWNER, id, gone.signal)[Symbol.asyncIterator]();
    const received: string[] = [];
    while (received.length <= count) received.push(String((await frames.next()).value));
    await frames.return?.();
    return received.slice(1);
  };
  const [start = ''] = await read(undefined, 1);
  const [, epoch] = /^id: (\w+)-0\n/.exec(start) ?? [];
  const idOf = (n: number) => `${epoch}-${n}`;
  for (let n = 1; n <= 9_000; n++) events.publish({ type: 'session.updated', sessionId: `s${n}` });
  const missed = await read(idOf(9_000 - 4_096), 4_096);
  expect([missed[0], missed.at(-1)]).toEqual([
    expect.stringContaining(`id: ${idOf(9_000 - 4_095)}\n`),
    expect.stringContaining(`id: ${idOf(9_000)}\n`),
  ]);
  for (const id of [idOf(1), idOf(9_001)])
    expect(await read(id, 1)).toEqual([`id: ${idOf(9_000)}\nevent: reset\ndata: {}\n\n`]);
  expect(await read(idOf(9_000), 1)).toEqual([`id: ${idOf(9_000)}\n\n`]);
});

describe('a box that is not dev', () => {
  const strategy: Strategy = {
    name: 'test',
    checksKeys: true,
    authenticate: async (id = 'nobody') => ({
      ...OWNER,
      by: id === 'operator' ? 'operator token' : 'identity token',
      id,
    }),
  };

  test('opens 20 streams a caller, and one more once one is closed', async () => {
    const box = await boxes.open({ options: { host: 'image', strategy } });
    const url = await box.listen();
    const as = (who: string) => ({ headers: { authorization: `Bearer ${who}` } });
    const streams = await Promise.all(Array.from({ length: 20 }, () => listen(url, as('a'))));
    const refused = await fetch(`${url}/api/events`, as('a'));
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      429,
      '5',
      expect.objectContaining({ code: 'too_many_streams' }),
    ]);
    await listen(url, as('b'));
    // Each person who looks at a self-hosted box is the operator.
    await Promise.all(Array.from({ length: 30 }, () => listen(url, as('operator'))));
    streams[0]?.close();
    await until(async () => {
      const gone = new AbortController();
      const { status } = await fetch(`${url}/api/events`, { ...as('a'), signal: gone.signal });
      gone.abort();
      return status === 200;
    });
  });
});

test('of the streams of a box some are left to those who operate it, whatever its users open', () => {
  const limits = createStreamLimits({ perBox: 4, forPeople: 2 });
  const user = (id: string) => ({ id, kind: 'user', by: 'user token' }) as const;
  const leave = [user('a'), user('b')].map((each) => limits.enter(each));
  for (const caller of [user('c'), { id: 'k', kind: 'key', by: 'key' } as const])
    expect(() => limits.enter(caller)).toThrow(/the most it may have/);
  for (const id of ['p', 'q']) limits.enter({ id, kind: 'person', by: 'identity token' });
  leave[0]?.();
  expect(() => limits.enter(user('c'))).toThrow(/the most it may have/);
  limits.enter({ id: 'r', kind: 'person', by: 'operator token' });
  expect(() => limits.enter({ id: 's', kind: 'person', by: 'identity token' })).toThrow(/the most it may have/);
});

test('of the streams of a box an application leaves some to others, however many users and keys it has', () => {
  const limits = createStreamLimits({ perBox: 8, forPeople: 2 });
  const user = (id: string, client: string) => ({ id, client, kind: 'user', by: 'user token' }) as const;
  const leave = ['a', 'b', 'c', 'd'].map((id) => limits.enter(user(id, 'shop')));
  for (const caller of [user('e', 'shop'), { id: 'k', client: 'shop', kind: 'key', by: 'key' } as const])
    expect(() => limits.enter(caller)).toThrow('The application "shop" has 4 event streams open');
  for (const id of ['f', 'g']) limits.enter(user(id, 'desk'));
  expect(() => limits.enter(user('h', 'desk'))).toThrow('This box has 6 event streams open');
  leave[0]?.();
  leave[0]?.();
  limits.enter(user('e', 'shop'));
});

describe('the stream of a key and of its users', () => {
  const openKeys = async () => {
    const box = await boxes.open({ ...PROGRAM, options: { host: 'image', strategy: operatorToken('operator') } });
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    const make = async (client: string) => {
      const body = { name: client, client, users: true, grants: { agents: [], workflows: ['state', 'ask'] } };
      const { body: key } = await call<ApiKey>(box, 'POST /api/keys', body, as('operator'));
      return key;
    };
    const [shop, other] = [await make('shop'), await make('other')];
    const ada = as(await signUserToken(shop, { sub: 'ada' }));
    const bob = as(await signUserToken(shop, { sub: 'bob' }));
    return { box, url: await box.listen(), callers: { shop: as(shop.value), other: as(other.value), ada, bob } };
  };
  const begin = async (box: TestBox, name: string, headers: Record<string, string>) =>
    (await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, {}, headers)).body.runId;

  test('tells of runs of their own, of what these publish, and of nothing else', async () => {
    const { box, url, callers } = await openKeys();
    const names = Object.keys(callers) as (keyof typeof callers)[];
    const streams = await Promise.all(names.map((name) => listen(url, { headers: callers[name] })));
    const runs = await Promise.all(names.map((name) => begin(box, 'state', callers[name])));
    await Promise.all(
      names.map((_, n) => until(() => streams[n]?.says(runs[n]).includes('run.ended completed') === true)),
    );
    const asked = await begin(box, 'ask', callers.ada);
    await until(() => streams[names.indexOf('ada')]?.says(asked).includes('run.waiting waiting') === true);
    for (const [n, stream] of streams.entries()) {
      expect(new Set(stream.events().map(({ data }) => data.runId)).has(runs[n])).toBe(true);
      const foreign = stream.events().filter(({ data }) => data.runId !== runs[n] && data.runId !== asked);
      expect(foreign).toEqual([]);
      expect(stream.says(asked).length > 0).toBe(names[n] === 'ada');
      expect(stream.says(runs[n])).toContain('state.published running');
      // Her name's letters are hexadecimal digits, of which ids are made: among others of those they are not her name.
      expect(stream.text()).not.toMatch(/startedBy|approval\.|(?<![0-9a-f])ada(?![0-9a-f])|"client"/);
    }
  });

  test('has nothing of a run that another key of the client may start, and it may not read', async () => {
    const { box, url } = await openKeys();
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    const make = async (workflow: string) => {
      const body = { name: workflow, client: 'two', users: true, grants: { agents: [], workflows: [workflow] } };
      return (await call<ApiKey>(box, 'POST /api/keys', body, as('operator'))).body;
    };
    const [narrow, wide] = [await make('echo'), await make('state')];
    const ada = as(await signUserToken(narrow, { sub: 'ada' }));
    const streams = await Promise.all([as(narrow.value), ada].map((headers) => listen(url, { headers })));
    const adaOfWide = as(await signUserToken(wide, { sub: 'ada' }));
    const foreign = [await begin(box, 'state', as(wide.value)), await begin(box, 'state', adaOfWide)];
    const statusOf = async (runId: string) =>
      (await call<{ status: string }>(box, `GET /api/runs/${runId}`, undefined, as('operator'))).body.status;
    for (const runId of foreign) await until(async () => (await statusOf(runId)) === 'completed');
    expect((await call(box, `GET /api/runs/${foreign[0]}`, undefined, as(narrow.value))).status).toBe(404);
    for (const [n, headers] of [as(narrow.value), ada].entries()) {
      const runId = await begin(box, 'echo', headers);
      await until(() => streams[n]?.says(runId).includes('run.ended completed') === true);
      expect(new Set(streams[n]?.events().map(({ data }) => data.runId))).toEqual(new Set([runId]));
    }
  });

  test.each(['one replica', 'two replicas'])(
    'ends when its key is revoked or has lost a grant, and has nothing of that from then on, with %s',
    async (how) => {
      const kv = createMemoryKv();
      const options = { host: 'image', strategy: operatorToken('operator'), kv } as const;
      const box = await boxes.open({ ...PROGRAM, options });
      const other = how === 'one replica' ? box : await boxes.open({ ...PROGRAM, options });
      const as = (token: string) => ({ authorization: `Bearer ${token}` });
      const given = { name: 'shop', users: true, grants: { agents: [], workflows: ['state', 'ask'] } };
      const make = async () => (await call<ApiKey>(box, 'POST /api/keys', given, as('operator'))).body;
      const [key, gone] = [await make(), await make()];
      const ada = as(await signUserToken(key, { sub: 'ada' }));
      const url = await box.listen();
      const openAs = (headers: Record<string, string>, query = '') => listen(url, { headers, query });
      const [ofKey, ofAda, ofGone] = [await openAs(as(key.value)), await openAs(ada), await openAs(as(gone.value))];
      const asked = await begin(box, 'ask', as(key.value));
      await until(() => ofKey.says(asked).includes('run.waiting waiting'));
      const since = ofKey.events().at(-1)?.id ?? '';
      await call(
        other,
        `PATCH /api/keys/${key.id}`,
        { grants: { workflows: ['state', 'ask', 'echo'] } },
        as('operator'),
      );
      await call(other, `POST /api/keys/${gone.id}/revoke`, {}, as('operator'));
      await until(() => ofGone.isOver());
      expect(ofGone.text()).toContain('event: auth_expired');
      // More of them end nothing.
      expect([ofKey.isOver(), ofAda.isOver()]).toEqual([false, false]);
      await call(other, `PATCH /api/keys/${key.id}`, { grants: { workflows: ['state'] } }, as('operator'));
      await until(() => ofKey.isOver() && ofAda.isOver());
      expect(ofKey.text()).not.toContain('auth_expired');
      const again = await openAs(as(key.value), `?lastEventId=${since}`);
      await call(box, `POST /api/runs/${asked}/cancel`, {}, as('operator'));
      const runId = await begin(box, 'state', as(key.value));
      await until(() => again.says(runId).includes('run.ended completed'));
      expect(again.says(asked)).toEqual([]);
      expect(ofKey.says(asked)).not.toContain('run.ended cancelled');
      expect(ofKey.text()).toMatch(/retry: 1000\n\n$/);
    },
  );

  test('is one of 20 of the caller, and counts as no stream of a run', async () => {
    const { url, callers } = await openKeys();
    const streams = await Promise.all(Array.from({ length: 20 }, () => listen(url, { headers: callers.ada })));
    expect((await fetch(`${url}/api/events`, { headers: callers.ada })).status).toBe(429);
    const run = await fetch(`${url}/api/runs/none/state/stream`, { headers: callers.ada });
    expect(run.status).toBe(404);
    await listen(url, { headers: callers.bob });
    streams.forEach((stream) => stream.close());
  });
});

describeWhen(bothServers, 'replicas over Redis', (servers) => {
  test('tell each other what happens', async () => {
    const openReplica = createCluster(boxes, servers);
    const here = await openReplica({ ...PROGRAM, engine: WITHOUT_LOOKS });
    const there = await openReplica({ ...PROGRAM, engine: WITHOUT_LOOKS });
    const stream = await listen(await here.listen());
    // Until the other one has heard that someone listens.
    await until(async () => {
      await runWorkflow(there, 'echo');
      return stream.events().length > 0;
    });
    const runId = await startWorkflow(there, 'echo');
    await until(() => stream.says(runId).length === 4);
    expect(stream.says(runId)[3]).toBe('run.ended completed');
    const { id = '' } = stream.events().at(-1) ?? {};
    const moved = await listen(await there.listen(), { headers: { 'last-event-id': id } });
    await until(() => moved.events().length === 1);
    expect(moved.events()).toMatchObject([{ type: 'reset' }]);
  });
});
