import { describe, expect, test } from 'vitest';
import { OWNER } from '../src/auth/caller.ts';
import type { Strategy } from '../src/auth/strategy.ts';
import { continueAsNew } from '../src/engine/primitives/continue-as-new.ts';
import { createHook, createWebhook } from '../src/engine/primitives/hook.ts';
import { getWritable } from '../src/engine/primitives/writable.ts';
import { call, finish, json, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Event {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

const say = toStep('say', async (...words: unknown[]) => {
  const writer = getWritable().getWriter();
  for (const word of words) await writer.write(word);
  writer.releaseLock();
});
const whisper = toStep('whisper', async (word: string) => {
  const writer = getWritable({ namespace: 'aside' }).getWriter();
  await writer.write(word);
});

const talk = async ({ words = ['one', 'two', 'three'] }: { words?: unknown[] }) => {
  for (const word of words) await say(word);
  return words.length;
};

const WORKFLOWS = {
  talk: { run: talk, mode: 'chat' },
  silent: { run: async () => 'nothing said', mode: 'chat' },
  aside: { run: async () => (await whisper('psst'), await say('aloud')), mode: 'chat' },
  rich: { run: async () => say({ at: new Date(0), big: 1n }, null, 'line\nline', []), mode: 'chat' },
  fails: {
    run: async () => {
      await say('before');
      throw Object.assign(new Error('It broke.'), { code: 'broken' });
    },
    mode: 'chat',
  },
  calls: {
    run: async () => {
      const hook = createWebhook();
      await say(`Call ${hook.url}`, { token: hook.token });
      return { url: hook.url };
    },
    mode: 'chat',
  },
  asks: {
    run: async () => {
      await say('Who are you?');
      const name = await createHook({ token: 'name' });
      await say(`Hello ${String(name)}.`);
    },
    mode: 'chat',
  },
  one: { run: async () => createHook({ token: 'one' }), mode: 'chat', serial: true },
  task: { run: talk },
};

const open = () => boxes.open({ workflows: { ...WORKFLOWS, broken: new Error('It throws.') } });
const chat = (box: TestBox, name: string, input: unknown = {}, headers: Record<string, string> = {}) =>
  box.request(`/api/workflows/${name}/chat`, json(JSON.stringify(input), { headers }));
const resume = (box: TestBox, name: string, id: string) => chat(box, name, {}, { 'last-event-id': id });
const eventsOf = async (answer: Response) => toEvents(await answer.text());

function toEvents(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('id:'))
    .map((block) => {
      const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
      return { id, event, data: JSON.parse(data) as Event['data'] };
    });
}

/** Reads events as they come, until there are so many. */
async function readEvents(answer: Response, count: number): Promise<{ events: Event[]; cut(): Promise<void> }> {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (toEvents(text).length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  return { events: toEvents(text), cut: () => reader.cancel() };
}

describe('a chat', () => {
  test('streams the run, the frames its steps write, in order, and its end', async () => {
    const box = await open();
    const answer = await chat(box, 'talk');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const events = await eventsOf(answer);
    const { runId } = events[0]?.data ?? {};
    expect(events).toEqual([
      { id: `${runId}:0`, event: 'run', data: { runId } },
      { id: `${runId}:1`, event: 'frame', data: 'one' },
      { id: `${runId}:2`, event: 'frame', data: 'two' },
      { id: `${runId}:3`, event: 'frame', data: 'three' },
      { id: `${runId}:3`, event: 'end', data: { status: 'completed', output: 3, error: null } },
    ]);
    expect(await finish(box, String(runId))).toMatchObject({ name: 'talk', trigger: 'chat', input: {} });
  });

  test('of 500 frames has each once, in order', async () => {
    const words = Array.from({ length: 500 }, (_, n) => n);
    const box = await boxes.open({ workflows: { talk: { run: async () => say(...words), mode: 'chat' } } });
    const events = await eventsOf(await chat(box, 'talk'));
    expect(events.filter(({ event }) => event === 'frame').map(({ data }) => data)).toEqual(words);
  });

  test('goes on with the frames of the run that continues it, to the end of the last', async () => {
    const rounds = async ({ n }: { n: number }) => {
      await say(`round ${n}`);
      return n < 3 ? continueAsNew({ n: n + 1 }) : 'over';
    };
    const box = await boxes.open({ workflows: { rounds: { run: rounds, mode: 'chat' } } });
    const events = await eventsOf(await chat(box, 'rounds', { n: 1 }));
    expect(events.map(({ event, data }) => (event === 'run' ? event : (data.output ?? data)))).toEqual([
      'run',
      'round 1',
      'run',
      'round 2',
      'run',
      'round 3',
      'over',
    ]);
    const [first, , second] = events;
    const run = await call(box, `GET /api/runs/${first?.data.runId}`);
    expect(run.body).toMatchObject({ status: 'completed', output: null, continuedTo: second?.data.runId });
    const waited = await call(box, `GET /api/runs/${first?.data.runId}?wait=5s`);
    expect(waited.body).toMatchObject({ output: 'over', continuedTo: null, warning: null, records: 1 });
    const why = await call(box, `GET /api/runs/${first?.data.runId}/why`);
    expect(why.body).toMatchObject({ summary: expect.stringContaining(`went on as run ${second?.data.runId}`) });
  });

  test('without frames has its end', async () => {
    const events = await eventsOf(await chat(await open(), 'silent'));
    expect(events.map(({ event }) => event)).toEqual(['run', 'end']);
    expect(events[1]?.data).toMatchObject({ output: 'nothing said' });
  });

  test('has the frames of the default stream only', async () => {
    const events = await eventsOf(await chat(await open(), 'aside'));
    expect(events.map(({ event, data }) => (event === 'frame' ? data : event))).toEqual(['run', 'aloud', 'end']);
  });

  test('shows values that JSON has no word for', async () => {
    const events = await eventsOf(await chat(await open(), 'rich'));
    expect(events.slice(1, -1).map(({ data }) => data)).toEqual([
      { at: '1970-01-01T00:00:00.000Z', big: '1' },
      null,
      'line\nline',
      [],
    ]);
  });

  test('that fails ends with its error, after what was written', async () => {
    const events = await eventsOf(await chat(await open(), 'fails'));
    expect(events.slice(1)).toMatchObject([
      { event: 'frame', data: 'before' },
      { event: 'end', data: { status: 'failed', output: null, error: { code: 'broken', message: 'It broke.' } } },
    ]);
    expect(events.at(-1)?.data.error).not.toHaveProperty('stack');
  });

  test('that is cancelled ends', async () => {
    const box = await open();
    const { events, cut } = await readEvents(await chat(box, 'asks'), 2);
    const runId = String(events[0]?.data.runId);
    const rest = resume(box, 'asks', `${runId}:1`).then(eventsOf);
    await untilStatus(box, runId, 'waiting');
    await call(box, `POST /api/runs/${runId}/cancel`);
    expect(await rest).toMatchObject([
      { event: 'end', data: { status: 'cancelled', error: { code: 'run_cancelled' } } },
    ]);
    await cut();
  });

  test('sends a frame when it is written, not at the end', async () => {
    const box = await open();
    const answer = await chat(box, 'asks');
    const { events, cut } = await readEvents(answer, 2);
    expect(events[1]?.data).toBe('Who are you?');
    await cut();
    const runId = String(events[0]?.data.runId);
    await untilStatus(box, runId, 'waiting');
    await call(box, 'POST /api/workflows/hooks/name/resume', 'Ada');
    expect((await finish(box, runId)).status).toBe('completed');
    expect((await eventsOf(await resume(box, 'asks', `${runId}:1`))).map(({ event, data }) => [event, data])).toEqual([
      ['frame', 'Hello Ada.'],
      ['end', { status: 'completed', output: null, error: null }],
    ]);
  });

  test('goes on when its client has gone', async () => {
    const box = await open();
    const { events, cut } = await readEvents(await chat(box, 'talk'), 1);
    await cut();
    expect(await finish(box, String(events[0]?.data.runId))).toMatchObject({ status: 'completed', output: 3 });
  });
});

describe('a stream that was cut', () => {
  test('goes on after every position, with nothing lost and nothing twice', async () => {
    const box = await open();
    const all = await eventsOf(await chat(box, 'talk'));
    const frames = all.slice(1);
    for (let n = 0; n < all.length - 1; n++)
      expect(await eventsOf(await resume(box, 'talk', all[n]?.id ?? ''))).toEqual(frames.slice(n));
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toHaveLength(1);
  });

  test('goes on while the run does, over a restart', async () => {
    const first = await open();
    const { events, cut } = await readEvents(await chat(first, 'asks'), 2);
    await cut();
    const runId = String(events[0]?.data.runId);
    await untilStatus(first, runId, 'waiting');
    const box = await first.restart();
    const rest = resume(box, 'asks', `${runId}:0`).then(eventsOf);
    await call(box, 'POST /api/workflows/hooks/name/resume', 'Grace');
    expect((await rest).map(({ data }) => data)).toEqual([
      'Who are you?',
      'Hello Grace.',
      expect.objectContaining({ status: 'completed' }),
    ]);
  });

  test('over a socket is resumed as a client does it', async () => {
    const box = await open();
    const url = `${await box.listen()}/api/workflows/talk/chat`;
    const answer = await fetch(url, json({ words: ['a', 'b'] }));
    const { events, cut } = await readEvents(answer, 2);
    await cut();
    const rest = await fetch(url, json({}, { headers: { 'last-event-id': events[1]?.id ?? '' } }));
    expect((await eventsOf(rest)).map(({ event }) => event)).toEqual(['frame', 'end']);
  });

  test.each(['nope', '1', 'a:b', '0190a000-0000-7000-8000-000000000000', '0190a000-0000-7000-8000-000000000000:x'])(
    'does not go on after "%s"',
    async (id) => {
      const box = await open();
      const answer = await resume(box, 'talk', id);
      expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_request' }]);
      expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toEqual([]);
    },
  );

  test('does not go on for a run of another workflow', async () => {
    const box = await open();
    const other = await startWorkflow(box, 'silent');
    const answer = await resume(box, 'talk', `${other}:0`);
    expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'run_not_found' }]);
  });

  test('whose run is gone has to drop its state', async () => {
    const box = await open();
    const all = await eventsOf(await chat(box, 'talk'));
    const runId = String(all[0]?.data.runId);
    await call(box, `DELETE /api/runs/${runId}`);
    expect(await eventsOf(await resume(box, 'talk', `${runId}:2`))).toEqual([
      { id: `${runId}:0`, event: 'reset', data: { runId } },
      { id: `${runId}:0`, event: 'end', data: { status: 'deleted', output: null, error: null } },
    ]);
  });

  test('of which the journal does not know the last event starts over', async () => {
    const box = await open();
    const all = await eventsOf(await chat(box, 'talk'));
    const runId = String(all[0]?.data.runId);
    const again = await eventsOf(await resume(box, 'talk', `${runId}:99`));
    expect(again).toEqual([{ id: `${runId}:0`, event: 'reset', data: { runId } }, ...all.slice(1)]);
  });

  test('goes on by the query too, for clients that cannot send the header', async () => {
    const box = await open();
    const all = await eventsOf(await chat(box, 'talk'));
    const path = `/api/workflows/talk/chat?lastEventId=${String(all[1]?.id)}`;
    expect(await eventsOf(await box.request(path, json({})))).toEqual(all.slice(2));
  });

  test('says when to come back, before anything else', async () => {
    const text = await (await chat(await open(), 'silent')).text();
    expect(text.startsWith('retry: 2000\n\nid: ')).toBe(true);
  });
});

describe('a chat that is refused', () => {
  test.each([
    ['task', 409, 'workflow_not_chat'],
    ['nope', 404, 'workflow_not_found'],
    ['broken', 503, 'workflow_compile_failed'],
  ])('%s is %i %s', async (name, status, code) => {
    const answer = await chat(await open(), name);
    expect([answer.status, await answer.json()]).toMatchObject([status, { code }]);
  });

  test('because the gate is closed is 503', async () => {
    const box = await boxes.open({ provider: 'none', workflows: WORKFLOWS });
    const answer = await chat(box, 'talk');
    expect([answer.status, await answer.json()]).toMatchObject([503, { code: 'workflow_runtime_not_armed' }]);
  });

  test('because a serial workflow is busy leaves nothing in its queue', async () => {
    const box = await open();
    const { events, cut } = await readEvents(await chat(box, 'one'), 1);
    const answer = await chat(box, 'one');
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { code: 'workflow_busy', details: { runId: events[0]?.data.runId } },
    ]);
    expect((await call<{ items: unknown[] }>(box, 'GET /api/workflows/one/queue')).body.items).toEqual([]);
    await cut();
  });

  test('because of a key of more than 256 characters begins nothing', async () => {
    const box = await open();
    const answer = await chat(box, 'talk', {}, { 'idempotency-key': 'k'.repeat(257) });
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_request' }]);
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toEqual([]);
  });

  test('with an Idempotency-Key is the same run as the start before it', async () => {
    const box = await open();
    const key = { 'idempotency-key': 'k' };
    const first = await eventsOf(await chat(box, 'talk', {}, key));
    expect(await eventsOf(await chat(box, 'talk', {}, key))).toEqual(first);
    const conflict = await chat(box, 'talk', { words: [] }, key);
    expect([conflict.status, await conflict.json()]).toMatchObject([409, { code: 'idempotency_conflict' }]);
  });
});

test('the catalog tells a chat workflow from a task', async () => {
  const box = await open();
  expect((await call(box, 'GET /api/workflows/talk')).body.mode).toBe('chat');
  expect((await call(box, 'GET /api/workflows/task')).body.mode).toBe('task');
});

test.each([
  ['owner', true],
  ['admin', true],
  ['member', false],
  [null, false],
] as const)('to %s shows the address of a webhook: %s', async (role, isShown) => {
  const strategy: Strategy = {
    name: 'test',
    checksKeys: false,
    authenticate: async () => (role ? { ...OWNER, role } : { ...OWNER, kind: 'key', by: 'key', role, client: 'shop' }),
  };
  const box = await boxes.open({ workflows: WORKFLOWS, options: { host: 'image', strategy } });
  const answer = await chat(box, 'calls');
  const text = await answer.text();
  expect(text.includes('[hidden]')).toBe(!isShown);
  expect(/whk_[\w-]{43}|webhooks\/[\w-]{16}/.test(text)).toBe(isShown);
  expect(toEvents(text).map(({ event }) => event)).toEqual(['run', 'frame', 'frame', 'end']);
});

test('a user has 20 chat streams open, and one more once one has ended', async () => {
  const strategy: Strategy = {
    name: 'test',
    checksKeys: false,
    authenticate: async (id = '') => ({ ...OWNER, kind: 'user', by: 'user token', id }),
  };
  const box = await boxes.open({ workflows: WORKFLOWS, options: { host: 'image', strategy } });
  const as = (who: string) => ({ authorization: `Bearer ${who}` });
  const streams = await Promise.all(Array.from({ length: 20 }, () => chat(box, 'asks', {}, as('a'))));
  expect(streams.map(({ status }) => status)).toEqual(Array(20).fill(200));
  const refused = await chat(box, 'asks', {}, as('a'));
  expect([refused.status, await refused.json()]).toEqual([
    429,
    expect.objectContaining({ code: 'too_many_streams', message: expect.stringContaining('20 chat streams open') }),
  ]);
  expect((await chat(box, 'talk', {}, as('b'))).status).toBe(200);
  await streams[0]?.body?.cancel();
  await until(async () => (await chat(box, 'talk', {}, as('a'))).status === 200);
});
