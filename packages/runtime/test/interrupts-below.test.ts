import Anthropic from '@anthropic-ai/sdk';
import { HttpAgent } from '@ag-ui/client';
import type { Message } from '@ag-ui/core';
import OpenAI from 'openai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { KEY, RESUMED, say, textOf, typesOf } from './_agui.ts';
import type { Received } from './_agui.ts';
import { call, finish, json, setupBoxes, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const use = (name: string, args: object) => `tool:${name} ${JSON.stringify(args)}`;
const uses = (...calls: [string, object][]) =>
  `tools:${calls.map(([name, args]) => `${name} ${JSON.stringify(args)}`).join(' | ')}`;
const task = (to: string, ...lines: string[]): [string, object] => [
  'task',
  { subagent_type: to, description: lines.join('\n') },
];
const PAY = use('pay', { n: 1 });
const ONE = [use(...task('payer', PAY, 'say:Paid.')), 'say:Done.'].join('\n');
const approve = { decision: 'approve' };

/** Agents whose `pay` a person decides about, and what was paid. */
function createAgents() {
  const paid: number[] = [];
  const pay = defineTool({
    description: 'Pay.',
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => `paid ${paid.push(n) && n}`,
  });
  const plain = defineTool({ description: 'Look.', inputSchema: z.object({}), execute: () => 'seen' });
  const asking = { tools: { pay, plain }, interruptOn: { pay: true } };
  const middle = defineDeepAgent({
    name: 'middle',
    ...asking,
    subagents: [{ name: 'deep', description: 'Pays.', ...asking }],
  });
  const helper = defineDeepAgent({
    name: 'helper',
    ...asking,
    subagents: [
      'middle',
      { name: 'payer', description: 'Pays.', ...asking },
      {
        name: 'hasty',
        description: 'Pays in time.',
        tools: { pay },
        interruptOn: { pay: { timeout: 300, fallback: 'approve' } },
      },
    ],
  });
  return { agents: { helper, middle }, paid };
}

async function open(options: TestBoxOptions = {}) {
  const { agents, paid } = createAgents();
  return serve(await boxes.open({ agents, ...options }), paid);
}

async function serve(box: TestBox, paid: number[]) {
  const url = await box.listen();
  const openai = new OpenAI({ baseURL: `${url}/wire-a/v1`, apiKey: 'dev', maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: `${url}/wire-b`, apiKey: 'dev', maxRetries: 0 });
  const client = (threadId: string, messages: Message[] = []) =>
    new HttpAgent({ url: `${url}/agui/v1/agents/helper`, threadId, headers: KEY, initialMessages: messages });
  return { box, paid, url, openai, anthropic, client };
}

interface Choice {
  message: { content: string; tool_calls?: { id: string }[] };
  finish_reason: string;
  svc?: { interrupts: { id: string; toolCallId: string; message: string }[] };
}

async function askA(box: TestBox, content: string, headers: Record<string, string> = {}) {
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model: 'helper', messages: [{ role: 'user', content }] }, { headers: { ...KEY, ...headers } }),
  );
  const body = (await answer.json()) as { choices: Choice[]; error?: { code: string } };
  const [choice] = body.choices ?? [];
  return { status: answer.status, body, code: body.error?.code, choice, waits: choice?.svc?.interrupts ?? [] };
}

const decide = (box: TestBox, id: string | undefined, body: object = approve) =>
  call(box, `POST /api/approvals/${id}/decide`, body);
const pending = async (box: TestBox) =>
  (
    await call<{ items: { approvalId: string; payload: { arguments: { n: number } } }[] }>(
      box,
      'GET /api/approvals?status=pending',
    )
  ).body.items;
const rootOf = async (box: TestBox) => {
  const runs = await box.journal.listRuns({ name: 'helper' }, { limit: 50 });
  return runs.find(({ parentRunId }) => parentRunId === null)?.runId ?? '';
};
const answerAll = ({ interrupts }: Received, payload: unknown = approve) =>
  interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload }));
const callsOf = ({ events }: Received) =>
  events.filter(({ type }) => type === 'TOOL_CALL_START').map(({ toolCallId }) => toolCallId);
const ofTasks = ({ interrupts }: Received) =>
  interrupts.map(({ metadata }) => (metadata as { svc: { agent?: string } }).svc.agent);

describe('a person who is asked in a sub-agent', () => {
  test.each([false, true])('ends the completion, streamed: %s; the decision goes on with both', async (stream) => {
    const { box, openai, paid } = await open();
    const options = { headers: { 'x-svc-session': 'a' } };
    const request = { model: 'helper', messages: [{ role: 'user' as const, content: ONE }] };
    const answer = stream
      ? await openai.chat.completions.stream({ ...request, stream: true }, options).finalChatCompletion()
      : await openai.chat.completions.create(request, options);
    const choice = answer.choices[0] as unknown as Choice;
    expect(choice.finish_reason).toBe('stop');
    expect(choice.message.content).toBe('Waiting for a decision: Run "pay"?\n');
    const [waiting] = await pending(box);
    expect(choice.svc?.interrupts).toEqual([
      { id: waiting?.approvalId, toolCallId: choice.message.tool_calls?.[0]?.id, message: 'Run "pay"?' },
    ]);
    const refused = await openai.chat.completions.create(request, options).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 409, code: 'approval_pending' });
    await decide(box, waiting?.approvalId);
    expect(await finish(box, await rootOf(box))).toMatchObject({ output: { content: 'Done.' } });
    expect(paid).toEqual([1]);
    expect((await askA(box, 'say:after', { 'x-svc-session': 'a' })).choice?.message.content).toBe('after');
  });

  test.each([false, true])('ends the message, streamed: %s', async (stream) => {
    const { box, anthropic } = await open();
    const request = { model: 'helper', max_tokens: 99, messages: [{ role: 'user' as const, content: ONE }] };
    const options = { headers: { 'x-svc-session': 'b' } };
    const answer = stream
      ? await anthropic.messages.stream(request, options).finalMessage()
      : await anthropic.messages.create(request, options);
    expect(answer.stop_reason).toBe('end_turn');
    expect(answer.content.at(-1)).toMatchObject({ type: 'text', text: 'Waiting for a decision: Run "pay"?\n' });
    const refused = await anthropic.messages.create(request, options).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 409 });
    expect(JSON.stringify(refused)).toContain('approval_pending');
    await decide(box, (await pending(box))[0]?.approvalId);
    expect(await finish(box, await rootOf(box))).toMatchObject({ output: { content: 'Done.' } });
  });

  test('is an interrupt of the call that handed the task on, and a resume decides it', async () => {
    const { box, client, paid } = await open();
    const agent = client('c');
    const received = await say(agent, ONE);
    expect(received.interrupts).toMatchObject([
      {
        reason: 'tool_call',
        message: 'Run "pay"?',
        toolCallId: callsOf(received)[0],
        responseSchema: { required: ['decision'] },
        metadata: { svc: { agent: 'helper/payer', tool: 'pay', arguments: { n: 1 } } },
      },
    ]);
    expect(typesOf(received).slice(-2)).toEqual(['STEP_FINISHED', 'RUN_FINISHED']);
    const refused = await say(client('c', agent.messages), 'say:more').catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 409, payload: { code: 'approval_pending' } });
    const resumed = await say(agent, undefined, { resume: answerAll(received) });
    expect(typesOf(resumed)).toEqual(RESUMED);
    expect(resumed.events[1]).toMatchObject({ content: 'Paid.', toolCallId: callsOf(received)[0] });
    expect([resumed.end.outcome, paid]).toEqual([{ type: 'success' }, [1]]);
    const run = await box.journal.getRun(await rootOf(box));
    const used = (key: 'inputTokens' | 'outputTokens') =>
      (received.end.usage?.[0]?.[key] ?? 0) + (resumed.end.usage?.[0]?.[key] ?? 0);
    expect([used('inputTokens'), used('outputTokens')]).toEqual([run?.inputTokens, run?.outputTokens]);
    expect(textOf(await say(agent, 'say:after'))).toBe('after');
  });

  test('may edit and reject, and is shown what the call takes', async () => {
    const { client, paid } = await open();
    const agent = client('edit');
    const received = await say(agent, ONE);
    const edit = (input: object) => say(agent, undefined, { resume: answerAll(received, { decision: 'edit', input }) });
    expect(await edit({ n: 'x' }).catch((error: unknown) => error)).toMatchObject({ status: 400 });
    expect(textOf(await edit({ n: 7 }))).toBe('Done.');
    const again = await say(agent, ONE);
    await say(agent, undefined, { resume: answerAll(again, { decision: 'reject' }) });
    expect(paid).toEqual([7]);
  });

  test('is asked two levels down, too', async () => {
    const { client, paid, box } = await open();
    const agent = client('deep');
    const below = use(...task('deep', PAY, 'say:Deep.'));
    const received = await say(agent, [use(...task('middle', below, 'say:Middle.')), 'say:Done.'].join('\n'));
    expect(ofTasks(received)).toEqual(['middle/deep']);
    expect(received.interrupts.map(({ toolCallId }) => toolCallId)).toEqual(callsOf(received));
    const resumed = await say(agent, undefined, { resume: answerAll(received) });
    expect([textOf(resumed), paid]).toEqual(['Done.', [1]]);
    expect(resumed.events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({ content: 'Middle.' });
    expect(await box.journal.listRuns({ kind: 'agent' }, { limit: 9 })).toHaveLength(3);
  });

  test('is asked about two calls at once, which are answered each in its way', async () => {
    const { client, paid } = await open();
    const agent = client('two');
    const below = task('payer', uses(['pay', { n: 1 }], ['pay', { n: 2 }]), 'say:Both.');
    const received = await say(agent, [use(...below), 'say:Done.'].join('\n'));
    expect(new Set(received.interrupts.map(({ toolCallId }) => toolCallId))).toEqual(new Set(callsOf(received)));
    const resume = received.interrupts.map(({ id, metadata }) => {
      const isFirst = (metadata as { svc: { arguments: { n: number } } }).svc.arguments.n === 1;
      return { interruptId: id, status: 'resolved' as const, payload: { decision: isFirst ? 'approve' : 'reject' } };
    });
    const resumed = await say(agent, undefined, { resume });
    expect([textOf(resumed), paid]).toEqual(['Done.', [1]]);
  });

  test('is asked again after the first decision', async () => {
    const { client, paid } = await open();
    const agent = client('chain');
    const received = await say(
      agent,
      [use(...task('payer', PAY, use('pay', { n: 2 }), 'say:Paid.')), 'say:Done.'].join('\n'),
    );
    const second = await say(agent, undefined, { resume: answerAll(received) });
    expect(second.interrupts).toMatchObject([{ metadata: { svc: { arguments: { n: 2 } } } }]);
    expect(second.end.usage).toBeUndefined();
    const third = await say(agent, undefined, { resume: answerAll(second) });
    expect([textOf(third), paid]).toEqual(['Done.', [1, 2]]);
    expect(typesOf(third)).not.toContain('MESSAGES_SNAPSHOT');
  });

  test('is answered for by the deadline where there is one', async () => {
    const { box, client, paid } = await open();
    const received = await say(client('hasty'), [use(...task('hasty', PAY, 'say:Paid.')), 'say:Done.'].join('\n'));
    expect(Date.parse(received.interrupts[0]?.expiresAt ?? '')).toBeGreaterThan(0);
    expect(await finish(box, await rootOf(box))).toMatchObject({ output: { content: 'Done.' } });
    expect(paid).toEqual([1]);
  });

  test('by a turn without a session ends its answer, and the turn goes on when it is decided', async () => {
    const { box, paid } = await open({ options: { engine: { limits: { parkAfter: 20 } } } });
    const { waits } = await askA(box, ONE);
    expect(waits).toHaveLength(1);
    await decide(box, waits[0]?.id);
    expect(await finish(box, await rootOf(box))).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
    expect(paid).toEqual([1]);
  });
});

describe('several people who are asked', () => {
  const BOTH = [
    uses(
      ['pay', { n: 1 }],
      task('payer', use('pay', { n: 2 }), 'say:Two.'),
      task('payer', use('pay', { n: 3 }), 'say:Three.'),
      ['plain', {}],
    ),
    'say:Done.',
  ].join('\n');

  test('by the turn and by two sub-agents are reported together, each once', async () => {
    const { client, paid } = await open();
    const agent = client('both');
    const received = await say(agent, BOTH);
    expect(ofTasks(received)).toEqual([undefined, 'helper/payer', 'helper/payer']);
    expect(received.interrupts.map(({ toolCallId }) => toolCallId)).toEqual(callsOf(received).slice(0, 3));
    expect(received.events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject([{ content: 'seen' }]);
    const some = answerAll(received).slice(0, 2);
    const refused = await say(client('both', agent.messages), undefined, { resume: some }).catch((e: unknown) => e);
    expect(refused).toMatchObject({
      status: 409,
      payload: { details: { interruptIds: [received.interrupts[2]?.id] } },
    });
    expect(paid).toEqual([]);
    const resumed = await say(agent, undefined, { resume: answerAll(received) });
    expect([textOf(resumed), paid.sort()]).toEqual(['Done.', [1, 2, 3]]);
    const results = resumed.events.filter(({ type }) => type === 'TOOL_CALL_RESULT');
    expect(results.map(({ content }) => content).sort()).toEqual(['Three.', 'Two.', 'paid 1']);
    expect(typesOf(resumed)).not.toContain('MESSAGES_SNAPSHOT');
  });

  test('and a sub-agent that works on: the answer ends once it has done its task', async () => {
    const { client, paid } = await open();
    const agent = client('works');
    const slowly = task('payer', 'delay:80', 'chunks:10');
    const received = await say(
      agent,
      [uses(['pay', { n: 1 }], task('payer', PAY, 'say:Paid.'), slowly), 'say:Done.'].join('\n'),
    );
    expect(received.interrupts).toHaveLength(2);
    expect(received.events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject([
      { toolCallId: callsOf(received)[2] },
    ]);
    const resumed = await say(agent, undefined, { resume: answerAll(received) });
    expect([textOf(resumed), paid]).toEqual(['Done.', [1, 1]]);
    expect(resumed.events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toHaveLength(2);
  });

  test('are decided about one by one, here and there', async () => {
    const { box, paid } = await open();
    const { waits } = await askA(box, BOTH, { 'x-svc-session': 'one by one' });
    expect(waits).toHaveLength(3);
    for (const { id } of waits) {
      expect((await askA(box, 'say:no', { 'x-svc-session': 'one by one' })).code).toBe('approval_pending');
      await decide(box, id);
    }
    expect(await finish(box, await rootOf(box))).toMatchObject({ output: { content: 'Done.' } });
    expect(paid.sort()).toEqual([1, 2, 3]);
  });
});

describe('the same request again, under its key', () => {
  test('says the same while it waits, after the decision, and after the end', async () => {
    const { box } = await open();
    const script = [
      uses(task('payer', PAY, use('pay', { n: 2 }), 'say:Paid.'), ['plain', {}]),
      use(...task('payer', use('pay', { n: 3 }), 'say:More.')),
      'say:Done.',
    ].join('\n');
    const ask = () => askA(box, script, { 'x-svc-session': 'key', 'idempotency-key': 'k' });
    const first = await ask();
    expect(first.waits).toHaveLength(1);
    expect(await ask()).toEqual(first);
    for (const n of [1, 2, 3]) {
      await until(async () => (await pending(box))[0]?.payload.arguments.n === n);
      await decide(box, (await pending(box))[0]?.approvalId);
    }
    await finish(box, await rootOf(box));
    expect(await ask()).toEqual(first);
  });

  test('is of no question that was decided while another call ran', async () => {
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const slow = defineTool({ description: 'Take long.', inputSchema: z.object({}), execute: () => held });
    const pay = defineTool({ description: 'Pay.', inputSchema: z.object({ n: z.number() }), execute: () => 'paid' });
    const payer = { name: 'payer', description: 'Pays.', tools: { pay }, interruptOn: { pay: true } };
    const helper = defineDeepAgent({ name: 'helper', tools: { slow }, subagents: [payer] });
    const box = await boxes.open({ agents: { helper } });
    const ask = () =>
      askA(box, [uses(task('payer', PAY, 'say:Paid.'), ['slow', {}]), 'say:Done.'].join('\n'), {
        'idempotency-key': 'k',
      });
    const first = ask();
    await until(async () => (await pending(box)).length === 1);
    await decide(box, (await pending(box))[0]?.approvalId);
    await until(async () => (await box.journal.listRuns({ status: 'completed' }, { limit: 1 })).length === 1);
    letGo();
    const { choice, waits } = await first;
    expect([choice?.finish_reason, waits]).toEqual(['stop', []]);
    expect((await ask()).choice).toEqual(choice);
  });

  test('of a resume reads on, and decides nothing twice', async () => {
    const { box, client, paid } = await open();
    const received = await say(client('again'), ONE);
    const input = { threadId: 'again', runId: 'r', messages: [], resume: answerAll(received) };
    const post = async () => {
      const headers = { ...KEY, 'idempotency-key': 'k' };
      return (await box.request('/agui/v1/agents/helper', json(input, { headers }))).text();
    };
    expect(await post()).toContain('"delta":"Done."');
    expect(await post()).toContain('"content":"Done."');
    expect(paid).toEqual([1]);
  });
});

describe('after a restart', () => {
  test('the interrupts are decided by a client of the new process', async () => {
    const { box, client, paid } = await open();
    const agent = client('restart');
    const received = await say(
      agent,
      [uses(['pay', { n: 1 }], task('payer', use('pay', { n: 2 }), 'say:Two.')), 'say:Done.'].join('\n'),
    );
    const again = await serve(await box.restart(), paid);
    const back = again.client('restart', agent.messages);
    const refused = await say(again.client('restart', agent.messages), 'say:x').catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 409, payload: { code: 'approval_pending' } });
    const resumed = await say(back, undefined, { resume: answerAll(received) });
    expect([textOf(resumed), paid.sort()]).toEqual(['Done.', [1, 2]]);
    expect(typesOf(resumed)).not.toContain('TOOL_CALL_START');
    expect(back.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
  });

  test('a turn without a session goes on: its client has been notified', async () => {
    const { box, paid } = await open();
    const { waits } = await askA(box, ONE);
    const again = await box.restart();
    await decide(again, waits[0]?.id);
    expect(await finish(again, await rootOf(again))).toMatchObject({
      status: 'completed',
      output: { content: 'Done.' },
    });
    expect(paid).toEqual([1]);
  });

  test('the first answer is repeated under its key', async () => {
    const { box } = await open();
    const headers = { 'idempotency-key': 'k' };
    const first = await askA(box, ONE, headers);
    const again = await box.restart();
    expect(await askA(again, ONE, headers)).toEqual(first);
    await decide(again, first.waits[0]?.id);
    await finish(again, await rootOf(again));
    expect(await askA(again, ONE, headers)).toEqual(first);
  });
});

describe('in another process', () => {
  test('a turn whose sub-agent waits is resumed, and reported as the journal has it', async () => {
    const { agents, paid } = createAgents();
    const first = await boxes.open({ agents, options: { exclusive: false } });
    const journal = await openSqliteJournal({ path: first.journalPath });
    onTestFinished(() => journal.close());
    const options = { exclusive: false, engine: { pollMs: 50 } };
    const other = await boxes.open({ agents, journal, options });
    const [here, there] = [await serve(first, paid), await serve(other, paid)];
    const agent = here.client('away');
    const received = await say(
      agent,
      [use(...task('payer', PAY, use('pay', { n: 2 }), 'say:Paid.')), 'say:Done.'].join('\n'),
    );
    const away = there.client('away', agent.messages);
    const second = await say(away, undefined, { resume: answerAll(received) });
    expect(second.interrupts).toMatchObject([{ metadata: { svc: { arguments: { n: 2 } } } }]);
    const third = await say(away, undefined, { resume: answerAll(second) });
    expect(third.end.outcome).toEqual({ type: 'success' });
    expect(away.messages.map(({ content }) => content).slice(2)).toEqual(['Paid.', 'Done.']);
    expect(paid).toEqual([1, 2]);
  });
});
