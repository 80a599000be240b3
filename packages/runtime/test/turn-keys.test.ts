import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import type { RunningTurn } from '../src/agents/reading/running-turn.ts';
import type { TurnRequest } from '../src/agents/turn/request.ts';
import type { ChatMessage } from '../src/agents/model/messages.ts';
import type { TurnEvent } from '../src/agents/events/turn-events.ts';
import { flatten } from '../src/agents/events/turn-events.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { call, setupBoxes, startProvider, toModelStream, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();

const executed = vi.fn<(tool: string) => void>();
const tool = (name: string, answer: (input: { n?: number }) => unknown) =>
  defineTool({
    description: `Does ${name}.`,
    inputSchema: z.object({ n: z.number().optional() }),
    execute(input) {
      executed(name);
      return answer(input);
    },
  });
const failing = (): never => {
  throw new Error('The disk is full.');
};
const TOOLS = {
  count: tool('count', ({ n = 0 }) => n + 1),
  failing: tool('failing', failing),
  pay: tool('pay', () => 'paid'),
};
const agents = {
  helper: defineDeepAgent({ name: 'helper', planning: true, tools: TOOLS, interruptOn: { pay: true }, maxSteps: 3 }),
  reader: defineDeepAgent({ name: 'reader', output: z.object({ name: z.string() }) }),
};
const CLIENT_TOOL = { name: 'client_tool', description: 'Of the client.', parameters: { type: 'object' } };

const toKey = (key: string, digest = 'd', scope = ['wire-a', 'owner']) => ({ key, scope, digest: { digest } });
const user = (content: string): ChatMessage[] => [{ role: 'user', content }];

interface Sent extends Partial<TurnRequest> {
  say: string;
}
const start = (box: TestBox, { say, ...more }: Sent): Promise<RunningTurn> =>
  box.agents.startTurn({ agent: 'helper', messages: user(say), parameters: {}, key: toKey('k'), ...more });

/** What a turn told: deltas of one part as one, times left out. */
async function read({ events }: Pick<RunningTurn, 'events'>): Promise<TurnEvent[]> {
  const received: TurnEvent[] = [];
  for await (const event of flatten(events)) {
    const last = received.at(-1);
    if (event.type === 'text.delta' && last?.type === 'text.delta') last.text += event.text;
    else if (event.type === 'reasoning.delta' && last?.type === 'reasoning.delta') last.text += event.text;
    else if (event.type === 'tool.args' && last?.type === 'tool.args') last.delta += event.delta;
    else received.push(event.type === 'tool.result' ? { ...event, durationMs: 0 } : { ...event });
  }
  return received;
}

const tell = async (box: TestBox, sent: Sent) => read(await start(box, sent));
const listRuns = (box: TestBox) => box.journal.listRuns({ kind: 'agent' }, { limit: 50 });
const textOf = (events: TurnEvent[]) => events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');

/** A model that answers once it is let go. */
async function openHeld(options: TestBoxOptions = {}) {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const provider = await startProvider(async (response) => {
    await held;
    response.end(toModelStream([{ content: 'Held.' }]));
  });
  const box = await boxes.open({ agents, provider: { baseUrl: provider.url }, ...options });
  return { box, provider, letGo };
}

describe('a turn that is asked for again under its key', () => {
  test.each([
    ['says a text', { say: 'reason:I think.; say:one two three' }],
    [
      'calls tools in several steps',
      { say: 'reason:x; tool:count {"n":1}\ntools:count {"n":2} | failing {}; say:done' },
    ],
    ['calls a tool the agent has not', { say: 'say:ok', messages: user('tool:count {"n":"no"}; say:ok') }],
    ['calls a tool of the client', { say: 'tool:client_tool {"a":1}', tools: [CLIENT_TOOL] }],
    ['calls tools of both', { say: 'tools:count {"n":1} | client_tool {}', tools: [CLIENT_TOOL] }],
    ['uses up its steps', { say: 'tool:count {}\ntool:count {}\ntool:count {}\ntool:count {}; say:never' }],
    ['waits for a person', { say: 'tools:count {"n":4} | pay {}; say:done' }],
    ['waits for a person after another step', { say: 'tool:count {}\ntool:pay {"n":1}; say:done' }],
    ['fails at once', { say: 'error:400' }],
    ['is cut off by the provider', { say: 'cut; finish:length; say:half' }],
    ['ends with another reason', { say: 'finish:length; say:half' }],
    ['answers by a schema', { agent: 'reader', say: 'say:{"name":"Ada"}' }],
    ['answers by a schema, asked twice', { agent: 'reader', say: 'say:nobody' }],
  ] satisfies [string, Sent][])('and %s emits the same, and asks and runs nothing', async (_title, sent) => {
    const box = await boxes.open({ agents });
    executed.mockClear();
    const before = box.model.requests.length;
    for (const kept of [{}, { session: { name: _title, kind: 'session' as const }, key: toKey('in a session') }]) {
      const first = await tell(box, { ...sent, ...kept });
      const counts = [box.model.requests.length, executed.mock.calls.length];
      expect(counts[0]).toBeGreaterThan(before);
      const again = await tell(box, { ...sent, ...kept });
      expect(withoutLost(again)).toEqual(withoutLost(first));
      expect([box.model.requests.length, executed.mock.calls.length]).toEqual(counts);
    }
    expect(await listRuns(box)).toHaveLength(2);
  });

  test('gets the same in the next process, also when its agent is gone', async () => {
    const box = await boxes.open({ agents });
    const sent = { say: 'tool:count {"n":1}; say:done' };
    const first = await tell(box, sent);
    const again = await box.restart({ agents: {} });
    expect(await tell(again, sent)).toEqual(first);
  });

  test('adds nothing to its session, also after another turn', async () => {
    const box = await boxes.open({ agents });
    const session = { name: 'once', kind: 'session' as const };
    const first = await tell(box, { say: 'say:one', session });
    await tell(box, { say: 'say:two', session, key: toKey('other') });
    expect(await tell(box, { say: 'say:one', session })).toEqual(first);
    const { body } = await call<{ items: { messages: object[] }[] }>(
      box,
      `GET /api/sessions/once/messages?agent=helper`,
    );
    expect(body.items.map(({ messages }) => messages.length)).toEqual([2, 2]);
  });

  test('repeats what it said when it first waited, once it has been decided about', async () => {
    const box = await boxes.open({ agents });
    const sent = {
      say: 'tool:pay {}\ntool:pay {"n":2}; say:done',
      session: { name: 'paid', kind: 'session' as const },
    };
    const first = await tell(box, sent);
    const decide = async (events: TurnEvent[]) => {
      const asked = events.find((event) => event.type === 'interrupt');
      await call(box, `POST /api/approvals/${asked?.id}/decide`, { decision: 'approve' });
    };
    const runId = (await listRuns(box))[0]?.runId ?? '';
    const next = read(await box.agents.follow((await box.journal.getRun(runId)) as never, first.flatMap(idOf)));
    await decide(first);
    await decide(await next);
    await until(async () => (await box.journal.getRun(runId))?.status === 'completed');
    expect(await tell(box, sent)).toEqual(first);
  });

  test('is waited for while it runs, by as many as ask', async () => {
    const { box, provider, letGo } = await openHeld();
    const turns = await Promise.all(Array.from({ length: 10 }, () => start(box, { say: 'hi' })));
    const received = turns.map(read);
    await until(() => provider.served() === 1);
    letGo();
    const [first, ...others] = await Promise.all(received);
    expect(textOf(first ?? [])).toBe('Held.');
    for (const other of others) expect(other).toEqual(first);
    expect([provider.served(), (await listRuns(box)).length]).toEqual([1, 1]);
  });

  test('has run on without its client', async () => {
    const { box, provider, letGo } = await openHeld();
    const turn = await start(box, { say: 'hi' });
    await until(() => provider.open() === 1);
    turn.leave();
    letGo();
    expect(textOf(await tell(box, { say: 'hi' }))).toBe('Held.');
    expect(provider.served()).toBe(1);
    expect(await listRuns(box)).toMatchObject([{ status: 'completed' }]);
  });

  test('goes on in the next process when the first has ended under it', async () => {
    const { box, provider, letGo } = await openHeld();
    const turn = await start(box, { say: 'hi' });
    await until(() => provider.open() === 1);
    const again = await box.restart();
    letGo();
    expect((await read(turn)).at(-1)).toMatchObject({ type: 'error', code: 'shutting_down' });
    expect(textOf(await tell(again, { say: 'hi' }))).toBe('Held.');
    expect(await listRuns(again)).toMatchObject([{ status: 'completed' }]);
  });

  test('lets go of who waits for it when the process ends', async () => {
    const { box, letGo } = await openHeld();
    await start(box, { say: 'hi' });
    const waiting = tell(box, { say: 'hi' });
    await box.shut();
    letGo();
    expect((await waiting).at(-1)).toMatchObject({ type: 'error', code: 'shutting_down', retryable: true });
  });
});

describe('a key', () => {
  test('is refused for something else, as long as it lives', async () => {
    const box = await boxes.open({ agents });
    await tell(box, { say: 'say:one' });
    const refused = start(box, { say: 'say:two', key: toKey('k', 'e') });
    await expect(refused).rejects.toMatchObject({
      code: 'idempotency_conflict',
      message: expect.stringContaining('"k"'),
    });
  });

  test('is another one for another caller, wire or agent', async () => {
    const box = await boxes.open({ agents });
    for (const scope of [
      ['wire-a', 'owner'],
      ['wire-a', 'other'],
      ['wire-b', 'owner'],
    ])
      expect(textOf(await tell(box, { say: 'say:one', key: toKey('k', scope.join(), scope) }))).toBe('one');
    await tell(box, { agent: 'reader', say: 'say:{"name":"Ada"}', key: toKey('k', 'x') });
    expect(await listRuns(box)).toHaveLength(4);
  });

  test('is not used up by a turn that was refused', async () => {
    const { box, provider, letGo } = await openHeld();
    const session = { name: 'busy', kind: 'session' as const };
    const turn = await start(box, { say: 'hi', session });
    const second = { say: 'and', session, key: toKey('second') };
    await expect(start(box, second)).rejects.toMatchObject({ code: 'turn_in_progress' });
    letGo();
    await read(turn);
    expect(textOf(await tell(box, second))).toBe('Held.');
    expect(provider.served()).toBe(2);
  });
});

describeWhen(bothServers, 'on two replicas over Postgres', (servers) => {
  test('a key sent to both at once begins one turn, and both get it', async () => {
    const open = createCluster(boxes, servers);
    const both = [await open({ agents }), await open({ agents })];
    const sent = { say: 'tool:count {"n":1}; say:done' };
    executed.mockClear();
    const received = await Promise.all(Array.from({ length: 20 }, (_, n) => tell(both[n % 2] as TestBox, sent)));
    for (const other of received) expect(other).toEqual(received[0]);
    expect(executed).toHaveBeenCalledTimes(1);
  });
});

// --- internal ---

function idOf(event: TurnEvent): string[] {
  return event.type === 'interrupt' ? [event.id] : [];
}

/** Without what a failed model call had told, of which nothing is recorded. */
function withoutLost(events: TurnEvent[]): TurnEvent[] {
  if (events.at(-1)?.type !== 'error') return events;
  return events.filter(({ type }) => type === 'turn.start' || type === 'error' || type === 'usage');
}
