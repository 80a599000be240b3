import { createSecretKey, randomBytes } from 'node:crypto';
import { generateText, streamText } from 'ai';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { json, startProvider } from './_setup.ts';
import { ask, KEY, post, readEvents, setupWiresB, shownTo, stream, toRequest, user } from './_messages-wire.ts';

const { open, scripted } = setupWiresB();

describe('an answer in the messages format', () => {
  test('is a message with all of its members, and has the id of its request', async () => {
    const message = await ask(await open(), 'say:Hello there.');
    expect(message).toEqual({
      id: expect.stringMatching(/^msg_[\da-f]{32}$/),
      type: 'message',
      role: 'assistant',
      model: 'helper',
      content: [{ type: 'text', text: 'Hello there.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: expect.any(Number),
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 3,
      },
    });
    expect((message as { _request_id?: string })._request_id).toMatch(/^req_/);
  });

  test('in a stream has the events in their order, each with its name and framed as every client reads it', async () => {
    const answer = await post(await open(), toRequest('say:one two', { stream: true }));
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'request-id': expect.stringMatching(/^req_/),
    });
    const events = await readEvents(answer);
    expect(events.every(({ event, data }) => event === data.type)).toBe(true);
    expect(events.map(({ data: { type: _type, ...rest }, event }) => [event, rest])).toEqual([
      [
        'message_start',
        {
          message: {
            id: expect.stringMatching(/^msg_/),
            type: 'message',
            role: 'assistant',
            model: 'helper',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: {
              input_tokens: expect.any(Number),
              cache_creation_input_tokens: 0,
              cache_read_input_tokens: 0,
              output_tokens: 0,
            },
          },
        },
      ],
      ['ping', {}],
      ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'one ' } }],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'two' } }],
      ['content_block_stop', { index: 0 }],
      [
        'message_delta',
        {
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: {
            input_tokens: expect.any(Number),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 2,
          },
        },
      ],
      ['message_stop', {}],
    ]);
  });

  test.each([
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['stop', 'end_turn'],
  ])('of a model that ends with %s has the stop reason %s', async (finish, reason) => {
    const wire = await open();
    expect((await ask(wire, `say:cut short\nfinish:${finish}`)).stop_reason).toBe(reason);
    expect((await stream(wire, `say:cut short\nfinish:${finish}`)).stop_reason).toBe(reason);
  });

  test('of no words has no blocks', async () => {
    expect((await ask(await scripted([]), 'hi')).content).toEqual([]);
  });

  test('counts input without what came from the cache, over every model call of the turn', async () => {
    const wire = await open();
    const prompt = 'tool:add {"a":1,"b":2}; say:Three.';
    const { usage } = await ask(wire, prompt);
    const streamed = await stream(wire, prompt);
    const [run] = await wire.box.journal.listRuns({ kind: 'agent', status: 'completed' }, { limit: 1 });
    expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
    expect(run).toMatchObject({
      inputTokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
    });
    expect(streamed.usage).toEqual(usage);
  });
});

describe('thinking', () => {
  const PROMPT = 'reason:because it is so; say:Yes.';

  test('is a signed block before the text, in a stream and not', async () => {
    const wire = await open();
    const { content } = await ask(wire, PROMPT);
    expect(content).toEqual([
      { type: 'thinking', thinking: 'because it is so', signature: expect.stringMatching(/^svc1\.[\w-]{43}$/) },
      { type: 'text', text: 'Yes.' },
    ]);
    expect((await stream(wire, PROMPT)).content).toEqual(content);
    const events = await readEvents(await post(wire, toRequest(PROMPT, { stream: true })));
    const deltas = events.flatMap(({ data }) => (data.delta as { type?: string } | undefined)?.type ?? []);
    expect([...new Set(deltas)]).toEqual(['thinking_delta', 'signature_delta', 'text_delta']);
    expect(deltas.filter((type) => type === 'signature_delta')).toHaveLength(1);
  });

  test('has another signature for another thought, and on another box', async () => {
    const [wire, other] = [await open(), await open()];
    const signatureOf = async (at: typeof wire, thought: string) =>
      (await ask(at, `reason:${thought}; say:Yes.`)).content.map((block) => 'signature' in block && block.signature)[0];
    const signature = await signatureOf(wire, 'one');
    expect(await signatureOf(wire, 'one')).toBe(signature);
    expect(await signatureOf(wire, 'two')).not.toBe(signature);
    expect(await signatureOf(other, 'one')).not.toBe(signature);
  });

  test('has the same signature on every box with the same secret key', async () => {
    const secretKey = { key: createSecretKey(randomBytes(32)), kid: 'k' };
    const [one, other] = [await open({ options: { secretKey } }), await open({ options: { secretKey } })];
    expect((await ask(one, PROMPT)).content).toEqual((await ask(other, PROMPT)).content);
  });

  test.each([
    ["the box's own", undefined],
    ['a forged one', 'svc1.AAAA'],
    ["another vendor's", 'EqQBCgIYAhIM'],
    ['an empty', ''],
  ])('that comes back with %s signature is taken, and not sent to the model', async (_title, signature) => {
    const wire = await open();
    const { content } = await ask(wire, PROMPT);
    const replayed = content.map((block) =>
      block.type === 'thinking' && signature !== undefined ? { ...block, signature } : block,
    );
    const redacted = { type: 'redacted_thinking' as const, data: 'c2VjcmV0' };
    await ask(wire, '', {
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      messages: [...user('first'), { role: 'assistant', content: [redacted, ...replayed] }, ...user('say:And on.')],
    });
    expect(shownTo(wire)).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'say:And on.' },
    ]);
  });
});

describe('every client', () => {
  test('of the line of the SDK before is answered, plain, in a stream and beta', async () => {
    const { before } = await open();
    const request = toRequest('reason:hm; say:Hello.');
    const whole = await before.messages.create(request);
    const streamed = await before.messages.stream(request).finalMessage();
    const beta = await before.beta.messages.create({ ...request, betas: ['some-beta-2030-01-01', 'another'] });
    for (const { content } of [whole, streamed, beta])
      expect(content).toMatchObject([{ type: 'thinking', thinking: 'hm' }, { text: 'Hello.' }]);
  });

  test('of the Vercel AI SDK: text, reasoning, usage, stream', async () => {
    const { ai } = await open();
    const whole = await generateText({ model: ai, maxOutputTokens: 100, prompt: 'reason:hm; say:Hello.' });
    expect([whole.text, whole.reasoningText, whole.finishReason]).toEqual(['Hello.', 'hm', 'stop']);
    const streamed = streamText({ model: ai, maxOutputTokens: 100, prompt: 'reason:hm; say:Hello.' });
    expect([await streamed.text, await streamed.reasoningText]).toEqual(['Hello.', 'hm']);
    expect((await streamed.usage).outputTokens).toBe(whole.usage.outputTokens);
    expect((await streamed.usage).inputTokens).toBe(whole.usage.inputTokens);
  });

  test('of the Vercel AI SDK can send a whole conversation back', async () => {
    const { ai } = await open();
    const messages = [{ role: 'user' as const, content: 'tool:add {"a":1,"b":2}; say:Three.' }];
    const first = await generateText({ model: ai, maxOutputTokens: 100, messages });
    const second = await generateText({
      model: ai,
      maxOutputTokens: 100,
      messages: [...messages, ...first.response.messages, { role: 'user', content: 'say:Again.' }],
    });
    expect(second.text).toBe('Again.');
  });

  test('of LangChain: invoke, and a stream with usage', async () => {
    const { langchain } = await open();
    const whole = await langchain.invoke('say:Hello there.');
    expect(whole.text).toBe('Hello there.');
    let streamed: typeof whole | undefined;
    for await (const chunk of await langchain.stream('say:Hello there.'))
      streamed = streamed === undefined ? chunk : (streamed as typeof chunk).concat(chunk);
    expect(streamed?.text).toBe('Hello there.');
    expect(streamed?.usage_metadata?.output_tokens).toBe(whole.usage_metadata?.output_tokens);
    expect(streamed?.usage_metadata?.input_tokens).toBeGreaterThan(0);
  });

  test.each([
    ['x-api-key', { 'x-api-key': 'any' }],
    ['a bearer', { authorization: 'Bearer any' }],
    ['both', { authorization: 'Bearer any', 'x-api-key': 'any' }],
    ['a version of the future', { ...KEY, 'anthropic-version': '2099-01-01', 'anthropic-beta': 'a,b' }],
  ])('with %s is answered, with and without ?beta=true', async (_title, headers) => {
    const wire = await open();
    expect((await post(wire, toRequest('say:hi'), headers)).status).toBe(200);
    const { status } = await fetch(`${wire.url}/v1/messages?beta=true`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(toRequest('say:hi')),
    });
    expect(status).toBe(200);
  });

  test('of a coding agent, which says more than the format knows, runs its own tools and is shown no others', async () => {
    const wire = await open();
    const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const tools = Array.from({ length: 12 }, (_, index) => ({
      name: `Tool${index}`,
      description: 'Of the agent.',
      input_schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} },
      eager_input_streaming: true,
      ...(index === 11 ? cached : {}),
    }));
    const asked = {
      type: 'text',
      text: 'tool:add {"a":1,"b":2}; reason:hm; tool:Tool3 {"x":"1"}; say:Done.',
      ...cached,
    };
    const first = [
      { role: 'user', content: [{ type: 'text', text: '<reminder>It is late.</reminder>' }, asked] },
      { role: 'system', content: [{ type: 'text', text: 'Some tools are deferred.', ...cached }] },
    ];
    const send = async (messages: object[]) => {
      const body = {
        model: 'helper',
        max_tokens: 32_000,
        stream: true,
        thinking: { type: 'adaptive', display: 'summarized' },
        context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
        output_config: { effort: 'medium' },
        metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
        system: [
          { type: 'text', text: 'You write code.' },
          { type: 'text', text: 'Be brief.', ...cached },
        ],
        tools,
        messages,
      };
      const headers = {
        ...KEY,
        accept: 'application/json',
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'one-2025-02-19,two-2025-05-14,three-2025-06-27,four-2025-11-24,five,six,seven',
        'anthropic-dangerous-direct-browser-access': 'true',
        'x-app': 'cli',
        'x-claude-code-session-id': 'd7b1f1f6',
      };
      const answer = await fetch(`${wire.url}/v1/messages?beta=true`, json(body, { headers }));
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
      return readEvents(answer);
    };
    const blocksIn = (events: Awaited<ReturnType<typeof send>>) =>
      events.flatMap(({ data }) => (data.content_block ? [data.content_block as { type: string; id?: string }] : []));
    const events = await send(first);
    const blocks = blocksIn(events);
    expect(blocks.map(({ type }) => type)).toEqual(['thinking', 'tool_use']);
    expect(events.at(-2)?.data.delta).toEqual({ stop_reason: 'tool_use', stop_sequence: null });
    const call = { type: 'tool_use', id: blocks[1]?.id, name: 'Tool3', input: { x: '1' } };
    const last = await send([
      ...first,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { ...call, ...cached },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'It is.', ...cached }] },
    ]);
    expect(blocksIn(last).map(({ type }) => type)).toEqual(['text']);
    expect(shownTo(wire)).toMatchObject([
      { role: 'system', content: 'You write code.\n\nBe brief.\n\nSome tools are deferred.' },
      { role: 'user' },
      { role: 'assistant', content: null, tool_calls: [{ function: { arguments: '{"x":"1"}' } }] },
      { role: 'tool', content: 'It is.' },
    ]);
    expect(wire.asked().at(-1)).toMatchObject({
      max_tokens: 32_000,
      reasoning_effort: 'medium',
      tools: { length: 18 },
    });
    expect(JSON.stringify(wire.asked())).not.toMatch(/cache_control|eager|adaptive|device_id/);
  });

  test('that reads slowly is waited for, and gets all of it', async () => {
    const { anthropic } = await open();
    const words: string[] = [];
    for await (const event of anthropic.messages.stream(toRequest('chunks:3000')))
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') words.push(event.delta.text);
    expect(words).toHaveLength(3_000);
  });
});

test('a long answer is kept alive with pings', async () => {
  const choices = [{ index: 0, delta: { content: 'word' }, finish_reason: null }];
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ choices })}\n\n`);
  });
  const wire = await open({ provider: { baseUrl: provider.url } });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const init = json(toRequest('hi', { stream: true }), { headers: KEY });
  const reader = (await wire.box.request('/wire-b/v1/messages', init)).body?.getReader();
  const read = async () => new TextDecoder().decode((await reader?.read())?.value);
  while (!(await read()).includes('text_delta'));
  const next = read();
  vi.advanceTimersByTime(15_000);
  expect(await next).toBe('event: ping\ndata: {"type":"ping"}\n\n');
  await reader?.cancel();
});

describe('the models', () => {
  const agents = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, defineDeepAgent({ name })]));

  test('are the agents, page by page', async () => {
    const { anthropic, before } = await open({ agents });
    for (const client of [anthropic, before]) {
      const page = await client.models.list({ limit: 2 });
      expect(page).toMatchObject({ has_more: true, first_id: 'a', last_id: 'b' });
      expect(page.data[0]).toMatchObject({ type: 'model', id: 'a', display_name: 'a' });
      expect(page.data[0]?.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      const all: string[] = [];
      for await (const { id } of client.models.list({ limit: 2 })) all.push(id);
      expect(all).toEqual(['a', 'b', 'c', 'd', 'e']);
      const back: string[] = [];
      for await (const { id } of client.models.list({ limit: 2, before_id: 'e' })) back.push(id);
      expect(back.toSorted()).toEqual(['a', 'b', 'c', 'd']);
    }
  });

  test('are all on one page by default, and none after the last', async () => {
    const { anthropic } = await open({ agents });
    expect(await anthropic.models.list()).toMatchObject({ has_more: false, first_id: 'a', last_id: 'e' });
    const none = { data: [], has_more: false, first_id: null, last_id: null };
    for (const query of [{ after_id: 'e' }, { before_id: 'a' }, { after_id: 'b', before_id: 'c' }])
      expect(await anthropic.models.list(query)).toMatchObject(none);
    const between = { after_id: 'a', before_id: 'e', limit: 2 };
    expect(await anthropic.models.list(between)).toMatchObject({ has_more: true, first_id: 'b', last_id: 'c' });
  });

  test.each([{ limit: 0 }, { limit: 1_001 }, { after_id: 'nope' }, { before_id: 'nope' }])(
    'are not listed by %j',
    async (query) => {
      const { anthropic } = await open({ agents });
      await expect(anthropic.models.list(query)).rejects.toMatchObject({ status: 400, errorCode: 'invalid_request' });
    },
  );

  test('can be had one by one', async () => {
    const { anthropic } = await open();
    expect(await anthropic.models.retrieve('helper')).toMatchObject({ type: 'model', id: 'helper' });
    await expect(anthropic.models.retrieve('nope')).rejects.toMatchObject({
      status: 404,
      errorCode: 'agent_not_found',
      error: { error: { message: 'There is no agent "nope". This box has "helper".' } },
    });
  });
});

describe('the count of tokens', () => {
  test('is a number that grows with what is sent, and no model is asked', async () => {
    const wire = await open();
    const count = async (extra: object) =>
      (await wire.anthropic.messages.countTokens({ model: 'helper', messages: user('hello'), ...extra })).input_tokens;
    const plain = await count({});
    expect(plain).toBeGreaterThan(0);
    expect(await count({ system: 'Be brief, and kind to everybody.' })).toBeGreaterThan(plain);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(400_000) } };
    const pictured = await count({ messages: [{ role: 'user', content: [image] }] });
    expect(pictured).toBeGreaterThan(1_000);
    expect(pictured).toBeLessThan(5_000);
    const content = [{ type: 'tool_result', tool_use_id: 'of a session', content: 'x' }];
    expect(await count({ messages: [{ role: 'user', content }] })).toBeGreaterThan(0);
    expect(wire.asked()).toEqual([]);
    await expect(wire.anthropic.messages.countTokens({ model: 'nope', messages: user('x') })).rejects.toMatchObject({
      status: 404,
    });
  });
});
