import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { createGate } from './_gate.ts';
import { call, json, until } from './_setup.ts';
import {
  createAgent,
  idsOf,
  KEY,
  post,
  RESUMED,
  say,
  serveAgui,
  setupAgui,
  textOf,
  toldModel,
  typesOf,
} from './_agui.ts';
import type { Calls, Received } from './_agui.ts';

const boxes = setupAgui();

const REFUND = 'tool:refund {"order":"A-1","amount":5}; say:Done.';
const approve = { decision: 'approve' };
const answerAll = ({ interrupts }: Received, payload: unknown) =>
  interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload }));

/** A client whose last run waits for a person. */
async function pause(thread: string, script = REFUND) {
  const open = await boxes.openAgui();
  const agent = open.client(thread);
  const received = await say(agent, script);
  return { ...open, agent, received };
}

describe('a tool that needs a person', () => {
  test('ends the run with an interrupt that says how it is answered', async () => {
    const { received, calls } = await pause('asks');
    const start = received.events.find(({ type }) => type === 'TOOL_CALL_START');
    expect(received.interrupts).toEqual([
      {
        id: expect.any(String),
        reason: 'tool_call',
        message: 'Run "refund"?',
        toolCallId: start?.toolCallId,
        responseSchema: expect.objectContaining({ required: ['decision'] }),
        metadata: {
          svc: { tool: 'refund', arguments: { order: 'A-1', amount: 5 }, allow: ['approve', 'edit', 'reject'] },
        },
      },
    ]);
    expect(received.interrupts[0]?.responseSchema).toMatchObject({
      properties: { decision: { enum: ['approve', 'edit', 'reject'] } },
    });
    expect(typesOf(received).slice(-2)).toEqual(['STEP_FINISHED', 'RUN_FINISHED']);
    expect(calls).toEqual([]);
  });

  test('is run once when it is approved; the call is not sent again, and the usage is of this run', async () => {
    const { agent, received, calls, box } = await pause('approved');
    const resumed = await say(agent, undefined, { resume: answerAll(received, approve) });
    expect(typesOf(resumed)).toEqual(RESUMED);
    expect(resumed.end.outcome).toEqual({ type: 'success' });
    expect(calls).toMatchObject([{ tool: 'refund', input: { order: 'A-1', amount: 5 } }]);
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    const used = (key: 'inputTokens' | 'outputTokens') =>
      (received.end.usage?.[0]?.[key] ?? 0) + (resumed.end.usage?.[0]?.[key] ?? 0);
    expect([used('inputTokens'), used('outputTokens')]).toEqual([run?.inputTokens, run?.outputTokens]);
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    const sent = agent.messages[1] as { toolCalls?: { function: { arguments: string } }[] };
    expect(sent.toolCalls?.[0]?.function.arguments).toBe('{"order":"A-1","amount":5}');
    await say(agent, 'say:after');
    expect(toldModel(box).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
  });

  test('is run with the arguments a person has edited, once the tool takes them', async () => {
    const { agent, received, calls } = await pause('edited');
    const edit = (input: unknown) =>
      say(agent, undefined, { resume: answerAll(received, { decision: 'edit', input }) });
    const refused = (await edit({ order: 'A-1', amount: 500 }).catch((error: unknown) => error)) as {
      status: number;
      payload: { details: { issues: unknown } };
    };
    expect([refused.status, refused.payload.details.issues]).toMatchObject([400, [{ path: ['amount'] }]]);
    await edit({ order: 'A-1', amount: 3 });
    expect(calls).toMatchObject([{ input: { order: 'A-1', amount: 3 } }]);
  });

  test.each([
    ['rejected', [{ status: 'resolved' as const, payload: { decision: 'reject', note: 'Too much.' } }], 'Too much.'],
    ['cancelled', [{ status: 'cancelled' as const }], 'cancelled'],
  ])('is not run when it is %s, and the model is sent why', async (name, [answer], why) => {
    const { agent, received, calls, box } = await pause(name);
    const resume = received.interrupts.map(({ id }) => ({ interruptId: id, ...answer })) as never;
    expect(textOf(await say(agent, undefined, { resume }))).toBe('Done.');
    expect(calls).toEqual([]);
    expect(toldModel(box).at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining(why) });
  });

  test.each([
    ['no decision', 'refund', undefined],
    ['a decision of another kind', 'refund', { approved: true }],
    ['an edit without arguments', 'refund', { decision: 'edit' }],
    ['an edit that is not allowed', 'charge', { decision: 'edit', input: { order: 'A-1', amount: 1 } }],
    ['a rejection that is not allowed', 'gift', { decision: 'reject' }],
  ])('refuses %s, and still waits', async (name, tool, payload) => {
    const { agent, received, calls } = await pause(name, `tool:${tool} {"order":"A-1","amount":5}; say:Done.`);
    const error = await say(agent, undefined, { resume: answerAll(received, payload) }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ status: 400, payload: { code: 'invalid_request' } });
    await say(agent, undefined, { resume: answerAll(received, approve) });
    expect(calls).toHaveLength(1);
  });

  test('refuses a run that does not answer it before there is a stream', async () => {
    const { agent, received, box } = await pause('uncovered');
    const input = { threadId: 'uncovered', runId: 'r2', messages: agent.messages };
    const unknown = [{ interruptId: 'nobody', status: 'cancelled' }];
    for (const resume of [undefined, unknown]) {
      const { status, text, type } = await post(box, { ...input, resume });
      expect([status, JSON.parse(text).code, type]).toEqual([
        409,
        'approval_pending',
        'application/json; charset=utf-8',
      ]);
    }
    const twice = [...answerAll(received, approve), ...answerAll(received, { decision: 'reject' })];
    expect((await post(box, { ...input, resume: twice })).status).toBe(400);
  });

  test('ignores an entry that names nothing, with a warning', async () => {
    const { agent, received, calls, box } = await pause('extra');
    const resume = [...answerAll(received, approve), { interruptId: 'nobody', status: 'cancelled' as const }];
    expect((await say(agent, undefined, { resume })).end.outcome).toEqual({ type: 'success' });
    expect(calls).toHaveLength(1);
    expect(box.logs).toMatchObject([{ level: 'warn', interruptId: 'nobody' }]);
  });

  test('cannot decide what a workflow asks, nor what another thread waits for', async () => {
    const { agent, received, box, client, calls } = await pause('mine');
    const other = client('other');
    await say(other, REFUND);
    const [theirs] = other.pendingInterrupts;
    await say(agent, undefined, {
      resume: [
        ...answerAll(received, approve),
        { interruptId: theirs?.id ?? '', status: 'resolved', payload: approve },
      ],
    });
    expect(calls).toHaveLength(1);
    const { body } = await call(box, `GET /api/approvals/${theirs?.id}`);
    expect(body.status).toBe('pending');
  });
});

describe('several calls of one reply', () => {
  const TWO =
    'tools:refund {"order":"A-1","amount":1} | refund {"order":"A-2","amount":2} | add {"a":1,"b":1}; say:Done.';

  test('wait together, after what needs no one has run, and are answered each in its way', async () => {
    const { agent, received, calls } = await pause('several', TWO);
    expect(received.interrupts).toHaveLength(2);
    expect(received.events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject([{ content: '2' }]);
    const [one, two] = received.interrupts;
    const resumed = await say(agent, undefined, {
      resume: [
        { interruptId: one?.id ?? '', status: 'resolved', payload: approve },
        { interruptId: two?.id ?? '', status: 'cancelled' },
      ],
    });
    expect(calls).toMatchObject([{ input: { order: 'A-1' } }]);
    expect(resumed.events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toHaveLength(2);
    expect(new Set(idsOf(agent.messages)).size).toBe(agent.messages.length);
    expect(typesOf(resumed)).not.toContain('MESSAGES_SNAPSHOT');
  });

  test('are refused while one is left out', async () => {
    const { agent, received, box, calls } = await pause('partly', TWO);
    const resume = answerAll(received, approve).slice(0, 1);
    const { status, text } = await post(box, { threadId: 'partly', runId: 'r', messages: agent.messages, resume });
    expect([status, JSON.parse(text).details.interruptIds]).toEqual([409, [received.interrupts[1]?.id]]);
    expect(calls).toEqual([]);
  });

  test('of one turn may wait one after the other', async () => {
    const { agent, received, calls } = await pause(
      'chain',
      'tool:refund {"order":"A","amount":1}; tool:refund {"order":"B","amount":2}; say:Done.',
    );
    const second = await say(agent, undefined, { resume: answerAll(received, approve) });
    expect(second.interrupts).toHaveLength(1);
    const third = await say(agent, undefined, { resume: answerAll(second, approve) });
    expect([textOf(third), calls.map(({ input }) => (input as { order: string }).order)]).toEqual([
      'Done.',
      ['A', 'B'],
    ]);
    expect(typesOf(third)).not.toContain('MESSAGES_SNAPSHOT');
  });
});

describe('what a resume says beside its decisions', () => {
  const weather = { name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: {} } };

  test.each([
    ['approved', approve, ['{"paid":5}', 'Done.', 'more']],
    ['cancelled', undefined, [expect.stringContaining('cancelled'), 'Done.', 'more']],
  ])('is answered once the call is %s, in the same run', async (name, payload, received) => {
    const paused = await pause(`beside ${name}`);
    const { agent, box, calls } = paused;
    const resume = payload
      ? answerAll(paused.received, payload)
      : paused.received.interrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
    const resumed = await say(agent, 'say:more', { resume });
    expect(resumed.added.map(({ content }) => content)).toEqual(received);
    expect(resumed.end).toMatchObject({ outcome: { type: 'success' }, usage: [{}, {}] });
    expect(calls).toHaveLength(payload ? 1 : 0);
    const runs = await box.journal.listRuns({ kind: 'agent' }, { limit: 9 });
    const used = [...(paused.received.end.usage ?? []), ...(resumed.end.usage ?? [])];
    const sum = (all: (number | undefined)[]) => all.reduce<number>((total, one) => total + (one ?? 0), 0);
    expect(sum(used.map(({ inputTokens }) => inputTokens))).toBe(sum(runs.map(({ inputTokens }) => inputTokens)));
    expect(textOf(await say(agent, 'say:after'))).toBe('after');
    expect(toldModel(box).filter(({ content }) => content === 'say:more')).toHaveLength(1);
  });

  test('waits while the turn asks again, and is answered after the last decision', async () => {
    const { agent, received, calls } = await pause(
      'beside chain',
      'tool:refund {"order":"A","amount":1}; tool:refund {"order":"B","amount":2}; say:Done.',
    );
    const second = await say(agent, 'say:more', { resume: answerAll(received, approve) });
    expect(second.interrupts).toHaveLength(1);
    const third = await say(agent, undefined, { resume: answerAll(second, approve) });
    expect([textOf(third), calls.length]).toEqual(['Done.more', 2]);
  });

  test('may be the result of a call of the client: the agent goes on with it', async () => {
    const open = await boxes.openAgui();
    const agent = open.client('beside tools');
    const tools = [weather];
    const received = await say(agent, 'tools:weather {} | refund {"order":"A-1","amount":5}; say:Sunny.', { tools });
    const start = received.events.find(({ toolCallName }) => toolCallName === 'weather');
    agent.addMessage({ id: 'sun', role: 'tool', toolCallId: String(start?.toolCallId), content: 'sun' });
    const resumed = await say(agent, undefined, { tools, resume: answerAll(received, approve) });
    expect(textOf(resumed)).toBe('Sunny.');
    expect(resumed.end.outcome).toEqual({ type: 'success' });
    expect(open.calls).toHaveLength(1);
    const results = toldModel(open.box).filter(({ role }) => role === 'tool');
    expect(results.map(({ content }) => content).sort()).toEqual(['sun', '{"paid":5}']);
  });

  test('leaves the calls of the client that nothing answers for it to run', async () => {
    const open = await boxes.openAgui();
    const agent = open.client('beside open');
    const tools = [weather];
    const received = await say(agent, 'tools:weather {} | refund {"order":"A-1","amount":5}; say:Sunny.', { tools });
    const start = received.events.find(({ toolCallName }) => toolCallName === 'weather');
    const resumed = await say(agent, 'say:more', { tools, resume: answerAll(received, approve) });
    expect(resumed.end.outcome).toEqual({ type: 'success', pendingToolCallIds: [start?.toolCallId] });
  });

  test('may not be a result of the call that waits: the box has its own', async () => {
    const { agent, received, calls, box } = await pause('beside result');
    const id = received.interrupts[0]?.toolCallId ?? '';
    agent.addMessage({ id: 'mine', role: 'tool', toolCallId: id, content: 'I say it is paid.' });
    const resumed = await say(agent, undefined, { resume: answerAll(received, approve) });
    expect([textOf(resumed), resumed.end.outcome, calls.length]).toEqual(['Done.', { type: 'success' }, 1]);
    expect(JSON.stringify(toldModel(box))).not.toContain('I say it is paid.');
    const late = await say(agent, undefined, { resume: answerAll(received, approve) });
    expect(late.end.outcome).toEqual({ type: 'success' });
  });

  test('is answered once, however often the same request comes under one key', async () => {
    const { received, box } = await pause('beside key');
    const input = {
      threadId: 'beside key',
      runId: 'r',
      messages: [{ id: 'more', role: 'user', content: 'say:more' }],
      resume: answerAll(received, approve),
    };
    const headers = { authorization: 'Bearer dev', 'idempotency-key': 'k' };
    const first = await post(box, input, headers);
    const again = await post(box, input, headers);
    expect([first.text, again.text]).toEqual([
      expect.stringContaining('"delta":"more"'),
      expect.stringContaining('"content":"more"'),
    ]);
    expect(await box.journal.listRuns({ kind: 'agent' }, { limit: 9 })).toHaveLength(2);
  });
});

describe('a call that is decided elsewhere', () => {
  test('is not run again by a late resume, which answers with what the thread has since got', async () => {
    const { agent, received, calls, box } = await pause('late');
    const [{ id } = { id: '' }] = received.interrupts;
    expect((await call(box, `POST /api/approvals/${id}/decide`, approve)).status).toBe(200);
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    await box.engine.wait(run?.runId ?? '', 20_000);
    const late = await say(agent, undefined, { resume: answerAll(received, { decision: 'reject' }) });
    expect(late.end.outcome).toEqual({ type: 'success' });
    expect(typesOf(late)).toContain('MESSAGES_SNAPSHOT');
    expect(agent.messages.map(({ content }) => content)).toEqual([REFUND, undefined, '{"paid":5}', 'Done.']);
    expect(calls).toHaveLength(1);
    expect(textOf(await say(agent, 'say:after'))).toBe('after');
  });

  test('while its turn still runs: a late resume reads on in it', async () => {
    const { agent, received, calls, box } = await pause('running', `delay:30; chunks:10; ${REFUND}`);
    const [{ id } = { id: '' }] = received.interrupts;
    await call(box, `POST /api/approvals/${id}/decide`, approve);
    const late = await say(agent, undefined, { resume: answerAll(received, approve) });
    expect(late.end.outcome).toEqual({ type: 'success' });
    expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(calls).toHaveLength(1);
  });

  test('is answered by its fallback when the time is up', async () => {
    const { agent, received, calls, box } = await pause('hurry', 'tool:hurry {"order":"A-1","amount":5}; say:Done.');
    expect(Date.parse(received.interrupts[0]?.expiresAt ?? '')).toBeGreaterThan(0);
    await until(() => calls.length === 1);
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    await box.engine.wait(run?.runId ?? '', 20_000);
    const resume = received.interrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }));
    const late = await say(agent, 'say:more', { resume });
    expect(textOf(late)).toBe('more');
    expect(calls).toHaveLength(1);
    expect(agent.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ]);
  });
});

describe('after a restart', () => {
  test('a call that waits is decided by a client of the new process', async () => {
    const { agent, received, calls, box } = await pause(
      'restarted',
      'tools:refund {"order":"A-1","amount":5} | add {"a":1,"b":1}; say:Done.',
    );
    const again = await box.restart({ agents: { helper: createAgent(calls) } });
    const { client } = await serveAgui(again, calls);
    const back = client('restarted', { messages: agent.messages });
    const resumed = await say(back, undefined, { resume: answerAll(received, approve) });
    expect([textOf(resumed), calls.length]).toEqual(['Done.', 1]);
    expect(typesOf(resumed).filter((type) => type === 'TOOL_CALL_RESULT')).toHaveLength(1);
    expect(typesOf(resumed)).not.toContain('TOOL_CALL_START');
    expect(resumed.end.usage).toHaveLength(1);
    expect(back.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
    expect(textOf(await say(back, 'say:after'))).toBe('after');
  });
});

describe('after a restart with an agent that does something else', () => {
  test('a client that resumes, and the next caller, is notified that the turn is blocked', async () => {
    const { agent, received, calls, box } = await pause('blocked');
    const { interruptOn: _asksNobody, ...unasked } = createAgent(calls);
    const again = await box.restart({ agents: { helper: defineDeepAgent(unasked as never) } });
    const { client } = await serveAgui(again, calls);
    const back = client('blocked', { messages: agent.messages });
    const [run] = await again.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    const sentence = expect.stringContaining(`svc why ${run?.runId}`);
    const resumed = await say(back, undefined, { resume: answerAll(received, approve) });
    expect(resumed.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'turn_blocked', message: sentence });
    const messages = [{ id: 'next', role: 'user', content: 'say:next' }];
    const { status, text } = await post(again, { threadId: 'blocked', runId: 'r', messages });
    expect([status, JSON.parse(text)]).toMatchObject([409, { code: 'turn_blocked', message: sentence }]);
    expect(calls).toEqual([]);
  });
});

/** Two boxes on one journal; the second one begins nothing that the first can do. */
async function openPair() {
  const calls: Calls[] = [];
  const agents = { helper: createAgent(calls) };
  const box = await boxes.open({ agents, options: { exclusive: false } });
  const journal = await openSqliteJournal({ path: box.journalPath });
  onTestFinished(() => journal.close());
  const other = await boxes.open({ agents, journal, options: { exclusive: false, engine: { pollMs: 50 } } });
  return { calls, here: await serveAgui(box, calls), there: await serveAgui(other, calls) };
}

describe('a turn that goes on in another process', () => {
  test('is reported as the journal has it: its next pause, then its end', async () => {
    const { calls, here, there } = await openPair();
    const agent = here.client('away');
    const first = await say(
      agent,
      'tool:refund {"order":"A","amount":1}; tool:refund {"order":"B","amount":2}; say:Done.',
    );
    const away = there.client('away', { messages: agent.messages });
    const second = await say(away, undefined, { resume: answerAll(first, approve) });
    expect(second.interrupts).toMatchObject([{ metadata: { svc: { arguments: { order: 'B' } } } }]);
    expect(typesOf(second)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    const third = await say(away, undefined, { resume: answerAll(second, approve) });
    expect(third.end.outcome).toEqual({ type: 'success' });
    expect(away.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(2);
    expect(textOf(await say(away, 'say:after'))).toBe('after');
  });
});

/** A thread whose call has been approved, by a request that says something else, too; its tool runs until the gate opens. */
async function resumeHeld(thread: string, { afterRestart = false } = {}) {
  const gate = createGate();
  const hold = defineTool({ description: 'Wait.', inputSchema: z.object({}), execute: () => gate.pass() });
  const helper = defineDeepAgent({ name: 'helper', tools: { hold }, interruptOn: { hold: true } });
  const first = await boxes.openAgui({ agents: { helper } });
  const agent = first.client(thread);
  const received = await say(agent, 'tool:hold {}; say:Held.');
  const open = afterRestart ? await serveAgui(await first.box.restart()) : first;
  const messages = [...agent.messages, { id: 'more', role: 'user' as const, content: 'say:unread' }];
  const input = { threadId: thread, runId: 'r', messages, resume: answerAll(received, approve) };
  const client = new AbortController();
  const request = json(input, { headers: KEY });
  const answer = fetch(open.url, { ...request, signal: client.signal });
  await until(() => gate.came === 1);
  return { ...open, gate, answer, leave: () => client.abort() };
}

describe('a resumed turn between two model calls', () => {
  test('whose client goes away answers what came with the resume, once, on the thread', async () => {
    const { box, gate, leave, answer } = await resumeHeld('gone');
    const cut = answer.then((response) => response.text()).catch((error: unknown) => error);
    leave();
    expect(await cut).toMatchObject({ name: 'AbortError' });
    gate.open();
    const saidMore = () =>
      box.model.requests.filter(({ messages }) => messages.at(-1)?.content === 'say:unread').length === 1;
    await until(saidMore);
    const runs = () => box.journal.listRuns({ kind: 'agent' }, { limit: 9 });
    await until(async () => (await runs()).every(({ status }) => status === 'completed'));
    expect(await runs()).toHaveLength(2);
    const session = await call<{ items: { messages: { content: unknown }[] }[] }>(
      box,
      'GET /api/sessions/gone/messages?agent=helper',
    );
    expect(session.body.items.map(({ messages }) => messages.at(-1)?.content)).toEqual(['Held.', 'unread']);
  });

  test.each([false, true])(
    'notifies who reads on that the box shuts down, begun before a restart: %s',
    async (isBefore) => {
      const { box, answer } = await resumeHeld('shut', { afterRestart: isBefore });
      const text = answer.then((response) => response.text());
      await box.close();
      expect(JSON.parse((await text).trim().split('\n\n').at(-1)?.slice('data: '.length) ?? '')).toMatchObject({
        type: 'RUN_ERROR',
        code: 'shutting_down',
      });
    },
  );
});
