import Anthropic from '@anthropic-ai/sdk';
import { HttpAgent } from '@ag-ui/client';
import OpenAI from 'openai';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { KEY, say, textOf, typesOf } from './_agui.ts';
import type { Received } from './_agui.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const execute = vi.fn<(input: { n: number }) => number>(({ n }) => n + 1);
const pay = vi.fn<() => string>(() => 'paid');
const agents = {
  helper: defineDeepAgent({
    name: 'helper',
    tools: {
      count: defineTool({ description: 'Counts.', inputSchema: z.object({ n: z.number() }), execute }),
      pay: defineTool({ description: 'Pays.', inputSchema: z.object({}), execute: pay }),
    },
    interruptOn: { pay: true },
  }),
};
const SCRIPT = 'reason:So.; tool:count {"n":1}; say:It is two.';
const messages = (content: string) => [{ role: 'user' as const, content }];
const keyed = (key = 'k', more: Record<string, string> = {}) => ({ headers: { 'Idempotency-Key': key, ...more } });
const CLIENT_TOOL = {
  name: 'client_tool',
  description: 'Of the client.',
  parameters: { type: 'object', properties: {} },
};

async function open() {
  const box = await boxes.open({ agents });
  const address = await box.listen();
  const before = box.model.requests.length;
  execute.mockClear();
  pay.mockClear();
  return {
    box,
    address,
    openai: new OpenAI({ baseURL: `${address}/wire-a/v1`, apiKey: 'any' }),
    anthropic: new Anthropic({ baseURL: `${address}/wire-b`, apiKey: 'any' }),
    client: (threadId: string, key = 'k') =>
      new HttpAgent({
        url: `${address}/agui/v1/agents/helper`,
        threadId,
        headers: { ...KEY, 'Idempotency-Key': key },
      }),
    asked: () => box.model.requests.length - before,
  };
}

const runsOf = (box: TestBox) => box.journal.listRuns({ kind: 'agent' }, { limit: 50 });
/** However the text was cut. */
const kindsOf = (received: Received) => typesOf(received).filter((type, index, all) => type !== all[index - 1]);
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a chat completion under an Idempotency-Key', () => {
  const body = { model: 'helper', messages: messages(SCRIPT) };

  test('is the same again, whole or streamed', async () => {
    const { openai, asked, box } = await open();
    const first = await openai.chat.completions.create(body, keyed());
    expect(first.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'It is two.', tool_calls: [{ function: { arguments: '{"n":1}' } }] },
    });
    expect(await openai.chat.completions.create(body, keyed())).toEqual(first);
    const stream = openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } }, keyed());
    const { id, created, choices, usage } = await stream.finalChatCompletion();
    expect({ id, created, usage }).toEqual({ id: first.id, created: first.created, usage: first.usage });
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: {
        content: 'It is two.',
        reasoning_content: 'So.',
        tool_calls: (first.choices[0]?.message.tool_calls ?? []).map(({ id: callId }) => ({ id: callId })),
      },
    });
    expect([asked(), execute.mock.calls.length, (await runsOf(box)).length]).toEqual([2, 1, 1]);
  });

  test('that was streamed first is the same whole', async () => {
    const { openai, asked } = await open();
    const stream = openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } }, keyed());
    const first = await stream.finalChatCompletion();
    const again = await openai.chat.completions.create(body, keyed());
    expect([again.id, again.usage, again.choices[0]?.message.content]).toEqual([first.id, first.usage, 'It is two.']);
    expect(asked()).toBe(2);
  });

  test.each([
    ['other messages', { ...body, messages: messages('say:other') }, {}],
    ['other parameters', { ...body, temperature: 0 }, {}],
    ['a session', body, { 'x-svc-session': 's' }],
  ])('is refused with %s', async (_title, other, headers) => {
    const { openai, asked } = await open();
    await openai.chat.completions.create(body, keyed());
    const error = await errorOf(openai.chat.completions.create(other, keyed('k', headers)));
    expect(error).toMatchObject({ status: 409, code: 'idempotency_conflict', type: 'invalid_request_error' });
    expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry')).toBe('false');
    expect(asked()).toBe(2);
  });

  test('that asked for a tool of the client asks for it again, and the result goes on as another turn', async () => {
    const { openai, asked } = await open();
    const tools = [{ type: 'function' as const, function: CLIENT_TOOL }];
    const request = { model: 'helper', messages: messages('tool:client_tool {"a":1}; say:Thanks.'), tools };
    const first = await openai.chat.completions.create(request, keyed());
    const again = await openai.chat.completions.create(request, keyed());
    expect([again, first.choices[0]?.finish_reason]).toEqual([first, 'tool_calls']);
    const [called] = again.choices[0]?.message.tool_calls ?? [];
    const result = { role: 'tool' as const, tool_call_id: called?.id ?? '', content: '7' };
    const said = again.choices[0]?.message;
    const next = { ...request, messages: [...request.messages, said as never, result] };
    for (const _time of [1, 2]) {
      const { choices } = await openai.chat.completions.create(next, keyed('k2'));
      expect(choices[0]?.message.content).toBe('Thanks.');
    }
    expect(asked()).toBe(2);
  });

  test('that waits for a person says so again, and is decided once', async () => {
    const { openai, box } = await open();
    const request = { model: 'helper', messages: messages('tool:pay {}; say:Paid.') };
    const first = await openai.chat.completions.create(request, keyed('k', { 'x-svc-session': 'pays' }));
    const ask = () => openai.chat.completions.create(request, keyed('k', { 'x-svc-session': 'pays' }));
    expect(await ask()).toEqual(first);
    const { svc } = first.choices[0] as unknown as { svc: { interrupts: { id: string }[] } };
    await call(box, `POST /api/approvals/${svc.interrupts[0]?.id}/decide`, { decision: 'approve' });
    await until(async () => (await runsOf(box))[0]?.status === 'completed');
    expect(await ask()).toEqual(first);
    expect(pay).toHaveBeenCalledTimes(1);
  });

  test('that failed fails again, and the model is not asked', async () => {
    const { openai, asked } = await open();
    const ask = () =>
      errorOf(openai.chat.completions.create({ model: 'helper', messages: messages('error:400') }, keyed()));
    const first = await ask();
    expect(first).toMatchObject({ status: 400 });
    const { status, code, message } = (await ask()) as InstanceType<typeof OpenAI.APIError>;
    expect({ status, code, message }).toMatchObject({ status: 400, code: (first as { code: string }).code });
    expect(asked()).toBe(1);
  });

  test.each(['', 'x'.repeat(257)])('needs 1 to 256 characters', async (key) => {
    const { openai } = await open();
    const error = await errorOf(openai.chat.completions.create(body, keyed(key)));
    expect(error).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('is the key holder’s own: another caller begins a turn of its own', async () => {
    const kv = createMemoryKv();
    const dev = await boxes.open({ options: { kv } });
    const image = await boxes.open({ agents, options: { host: 'image', kv } });
    const makeKey = async () =>
      (await call<{ value: string }>(dev, 'POST /api/keys', { name: 'ci', grants: { agents: ['helper'] } })).body.value;
    const ask = async (key: string) => {
      const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'k' };
      return (await call<{ id: string }>(image, 'POST /wire-a/v1/chat/completions', body, headers)).body.id;
    };
    const [mine, theirs] = [await makeKey(), await makeKey()];
    const first = await ask(mine);
    expect(await ask(theirs)).not.toBe(first);
    expect(await ask(mine)).toBe(first);
  });
});

describe('a message under an Idempotency-Key', () => {
  const body = { model: 'helper', max_tokens: 1_000, messages: messages(SCRIPT) };

  test('is the same again, whole or streamed', async () => {
    const { anthropic, asked, box } = await open();
    const first = await anthropic.messages.create(body, keyed());
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'So.' },
      { type: 'tool_use', input: { n: 1 } },
      { type: 'text', text: 'It is two.' },
    ]);
    expect(await anthropic.messages.create(body, keyed())).toEqual(first);
    const { id, content, usage, stop_reason } = await anthropic.messages.stream(body, keyed()).finalMessage();
    expect({ id, content, usage, stop_reason }).toEqual({
      id: first.id,
      content: first.content,
      usage: first.usage,
      stop_reason: first.stop_reason,
    });
    expect([asked(), execute.mock.calls.length, (await runsOf(box)).length]).toEqual([2, 1, 1]);
  });

  test('shows the results of the box as it would have at first', async () => {
    const { anthropic } = await open();
    const mcp = keyed('k', { 'x-svc-box-tools': 'mcp' });
    const first = await anthropic.messages.create(body, mcp);
    expect(JSON.stringify(first.content)).toContain('mcp_tool_result');
    expect(await anthropic.messages.create(body, mcp)).toEqual(first);
  });

  test('is refused with another body, in the words of the wire', async () => {
    const { anthropic } = await open();
    await anthropic.messages.create(body, keyed());
    const error = await errorOf(anthropic.messages.create({ ...body, max_tokens: 5 }, keyed()));
    expect(error).toMatchObject({
      status: 409,
      type: 'conflict_error',
      error: { error: { details: { error_code: 'idempotency_conflict' } } },
    });
  });

  test('is not the chat completion of the same key', async () => {
    const { anthropic, openai, box } = await open();
    await anthropic.messages.create(body, keyed());
    await openai.chat.completions.create({ model: 'helper', messages: messages(SCRIPT) }, keyed());
    expect(await runsOf(box)).toHaveLength(2);
  });
});

test('a turn that was cancelled is reported as such again, as an error of either wire', async () => {
  const { anthropic, openai, asked, box } = await open();
  const askB = () =>
    errorOf(anthropic.messages.create({ model: 'helper', max_tokens: 9, messages: messages('hang') }, keyed()));
  const askA = (stream: boolean) =>
    errorOf(openai.chat.completions.create({ model: 'helper', messages: messages('hang'), stream }, keyed()));
  for (const ask of [askB, () => askA(true)]) {
    const ended = ask();
    const before = asked();
    await until(() => asked() > before);
    for (const { runId, status } of await runsOf(box))
      if (status !== 'cancelled') await call(box, `POST /api/runs/${runId}/cancel`);
    expect(await ended).toMatchObject({ status: 410 });
  }
  expect(await askB()).toMatchObject({ status: 410, errorCode: 'run_cancelled' });
  expect(await askA(false)).toMatchObject({ status: 410, code: 'run_cancelled' });
  expect(asked()).toBe(2);
});

describe('a run of AG-UI under an Idempotency-Key', () => {
  const hello = { id: 'u1', role: 'user' as const, content: SCRIPT };
  const send = (agent: HttpAgent, message = hello) => {
    agent.setMessages([message]);
    return say(agent);
  };

  test('emits the same events again, under the id its client gives it', async () => {
    const { client, asked, box } = await open();
    const first = await send(client('same'));
    const again = await send(client('same'));
    expect(kindsOf(again)).toEqual(kindsOf(first));
    expect(again.added).toEqual(first.added);
    expect(textOf(again)).toBe('It is two.');
    const { outcome, usage, metadata } = first.end as typeof first.end & { metadata: unknown };
    expect(again.end).toMatchObject({ outcome, usage, metadata });
    expect([asked(), execute.mock.calls.length, (await runsOf(box)).length]).toEqual([2, 1, 1]);
  });

  test('on a thread with more in it emits what came before, and nothing that came after', async () => {
    const { client } = await open();
    await send(client('long', 'k0'), { ...hello, id: 'u0', content: 'say:zero' });
    const first = await send(client('long'));
    await send(client('long', 'k2'), { ...hello, id: 'u2', content: 'say:two' });
    const again = await send(client('long'));
    expect(kindsOf(again)).toEqual(kindsOf(first));
    expect(again.added).toEqual(first.added);
    const received = first.events.find(({ type }) => (type as string) === 'MESSAGES_SNAPSHOT');
    expect(again.events.find(({ type }) => (type as string) === 'MESSAGES_SNAPSHOT')).toMatchObject({
      messages: received?.messages,
    });
  });

  test('is refused with another body', async () => {
    const { client } = await open();
    await send(client('other'));
    const error = await errorOf(send(client('other'), { ...hello, content: 'say:other' }));
    expect(error).toMatchObject({ status: 409, payload: { code: 'idempotency_conflict' } });
  });

  test('that waits for a person emits the interrupt again; so does a resume with what it began', async () => {
    const { client, asked, box } = await open();
    const message = { ...hello, content: 'tool:pay {}; say:Paid.' };
    const first = await send(client('pays'), message);
    const agent = client('pays');
    const again = await send(agent, message);
    expect(again.interrupts).toEqual(first.interrupts);
    const [interrupt] = again.interrupts;
    const resume = { interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { decision: 'approve' } };
    const input = {
      threadId: 'pays',
      runId: 'r',
      messages: [message],
      state: {},
      tools: [],
      context: [],
      resume: [resume],
    };
    const post = (more: object = {}) =>
      box.request(
        '/agui/v1/agents/helper',
        json({ ...input, ...more }, { headers: { ...KEY, 'idempotency-key': 'r' } }),
      );
    const resumed = await (await post()).text();
    expect(resumed).toContain('Paid.');
    const repeated = await (await post()).text();
    expect(repeated).toContain('Paid.');
    expect(repeated).toContain('"type":"success"');
    const rejected = { ...resume, payload: { decision: 'reject' } };
    expect((await post({ resume: [rejected] })).status).toBe(409);
    expect([asked(), pay.mock.calls.length, (await runsOf(box)).length]).toEqual([2, 1, 1]);
  });

  test('of a resume that failed fails again instead of asking the agent again', async () => {
    const { client, asked, box } = await open();
    const message = { ...hello, content: 'tool:pay {}; error:400' };
    const received = await send(client('breaks'), message);
    const resume = received.interrupts.map(({ id: interruptId }) => ({
      interruptId,
      status: 'resolved',
      payload: { decision: 'approve' },
    }));
    const input = { threadId: 'breaks', runId: 'r', messages: [message], resume };
    const post = async () =>
      (
        await box.request('/agui/v1/agents/helper', json(input, { headers: { ...KEY, 'idempotency-key': 'r' } }))
      ).text();
    expect(await post()).toContain('RUN_ERROR');
    expect(await post()).toContain('RUN_ERROR');
    expect([asked(), (await runsOf(box)).length]).toEqual([2, 1]);
  });
});
