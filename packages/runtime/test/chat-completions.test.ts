import { generateText, streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { json } from './_setup.ts';
import { ask, CLIENT_TOOL, KEY, runsOf, streamed, toCall, user, whenRunsAre, setupWires } from './_chat-completions.ts';

const { open, scripted } = setupWires();

describe('an answer', () => {
  test('is a chat completion with all of its members', async () => {
    const completion = await ask(await open(), 'say:Hello there.');
    expect(completion).toEqual({
      id: expect.stringMatching(/^chatcmpl-[\da-f]{32}$/),
      object: 'chat.completion',
      created: expect.closeTo(Date.now() / 1_000, -2),
      model: 'helper',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number),
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(Number.isInteger(completion.created)).toBe(true);
    expect((completion as { _request_id?: string })._request_id).toMatch(/^req_/);
  });

  test('is given for any text as the key, also one that looks like a key, while the box has made none', async () => {
    const { box } = await open();
    for (const key of ['dev', 'svc_dev']) {
      const init = { headers: { authorization: `Bearer ${key}` } };
      const answer = await box.request(
        '/wire-a/v1/chat/completions',
        json({ model: 'helper', messages: user('say:hi') }, init),
      );
      expect(answer.status).toBe(200);
    }
  });

  test('in a stream begins with the role, ends with one finish reason, and has one id', async () => {
    const chunks = await streamed(await open(), 'say:one two three');
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'one ' },
      { content: 'two ' },
      { content: 'three' },
      {},
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, null, null, 'stop']);
    expect(new Set(chunks.map(({ id, created, object }) => `${id} ${created} ${object}`)).size).toBe(1);
  });

  test('in a stream is framed as every client reads it', async () => {
    const { url } = await open();
    const answer = await fetch(
      `${url}/chat/completions`,
      json({ model: 'helper', messages: user('say:hi'), stream: true }, { headers: KEY }),
    );
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    const text = await answer.text();
    expect(text).toMatch(/^(data: [^\r\n]+\n\n)+$/);
    expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
  });

  test('thinks before it speaks, in a stream and not', async () => {
    const wire = await open();
    const { choices } = await ask(wire, 'reason:because it is so; say:Yes.');
    expect(choices[0]?.message).toMatchObject({ reasoning_content: 'because it is so', content: 'Yes.' });
    const deltas = (await streamed(wire, 'reason:because it is so; say:Yes.')).map(({ choices: [c] }) => c?.delta);
    expect(deltas.map((delta) => Object.keys(delta ?? {}).join())).toEqual([
      'role,content',
      ...Array.from({ length: 4 }, () => 'reasoning_content'),
      'content',
      '',
    ]);
  });

  test('of no words is an empty text, beside shown tool calls null, beside hidden ones an empty text', async () => {
    const silent = await scripted([]);
    expect((await ask(silent, 'hi')).choices[0]?.message).toEqual({ role: 'assistant', content: '', refusal: null });
    const calling = await scripted([{ tool_calls: [toCall('big')] }]);
    expect((await ask(calling, 'hi')).choices[0]?.message).toMatchObject({
      content: null,
      tool_calls: [{ id: 'big' }],
    });
    const hiding = await scripted([{ tool_calls: [toCall('big')] }]);
    expect((await ask(hiding, 'hi', { tools: [CLIENT_TOOL] })).choices[0]?.message.content).toBe('');
  });

  test('of very many pieces is reported whole', async () => {
    const wire = await scripted(Array.from({ length: 150_000 }, () => ({ content: 'x' })));
    expect((await ask(wire, 'hi')).choices[0]?.message.content?.length).toBe(150_000);
  });

  test('in a stream is begun as soon as there is output, also such as is not shown', async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const wait = defineTool({ description: 'Waits.', inputSchema: z.object({}), execute: () => held });
    const { url } = await open({ agents: { helper: defineDeepAgent({ name: 'helper', tools: { wait } }) } });
    const body = { model: 'helper', messages: user('tool:wait {}; say:ok'), stream: true, tools: [CLIENT_TOOL] };
    const signal = AbortSignal.timeout(8_000);
    const answer = await fetch(`${url}/chat/completions`, { ...json(body, { headers: KEY }), signal });
    expect(answer.status).toBe(200);
    letGo();
    expect(await answer.text()).toMatch(/^: keep-alive\n\n(data: [^\r\n]+\n\n)+$/);
  });

  test.each(['length', 'content_filter'])('that ends for another reason says so: %s', async (finish) => {
    const wire = await open();
    expect((await ask(wire, `say:cut short\nfinish:${finish}`)).choices[0]?.finish_reason).toBe(finish);
    const chunks = await streamed(wire, `say:cut short\nfinish:${finish}`);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(finish);
  });

  test('sends usage in a stream when asked, in one last chunk without choices, and not otherwise', async () => {
    const wire = await open();
    const plain = await streamed(wire, 'say:hi');
    const asked = await streamed(wire, 'say:hi', { stream_options: { include_usage: true } });
    expect(plain.every(({ choices, usage }) => choices.length === 1 && !usage)).toBe(true);
    expect(asked.filter(({ usage }) => usage)).toEqual([asked.at(-1)]);
    expect(asked.at(-1)).toMatchObject({ choices: [], usage: (await ask(wire, 'say:hi')).usage });
  });

  test('counts the tokens of every model call of the turn, cached ones among the prompt', async () => {
    const wire = await open();
    const { usage } = await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.');
    await whenRunsAre(wire, 'completed');
    const [run] = await runsOf(wire);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(0);
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(run).toMatchObject({
      inputTokens: usage?.prompt_tokens,
      outputTokens: usage?.completion_tokens,
      cacheReadTokens: usage?.prompt_tokens_details?.cached_tokens,
      totalTokens: usage?.total_tokens,
    });
  });

  test('reaches the Vercel AI SDK: text, reasoning, usage, stream', async () => {
    const { ai } = await open();
    const whole = await generateText({ model: ai, prompt: 'reason:hm; say:Hello.' });
    expect([whole.text, whole.reasoningText, whole.finishReason]).toEqual(['Hello.', 'hm', 'stop']);
    const stream = streamText({ model: ai, prompt: 'reason:hm; say:Hello.' });
    expect(await stream.text).toBe('Hello.');
    expect(await stream.reasoningText).toBe('hm');
    expect((await stream.usage).outputTokens).toBe(whole.usage.outputTokens);
  });

  test("reaches openai's own stream reader", async () => {
    const { openai } = await open();
    const stream = openai.chat.completions.stream({ model: 'helper', messages: user('tool:add {"a":1,"b":2}; say:3') });
    const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0] ?? {};
    expect(finish_reason).toBe('stop');
    expect(message?.content).toBe('3');
    expect(message?.tool_calls?.[0]).toMatchObject({ function: { name: 'add', arguments: '{"a":1,"b":2}' } });
  });
});

describe('the models', () => {
  test('are the agents', async () => {
    const { openai } = await open({
      agents: {
        helper: defineDeepAgent({ name: 'helper' }),
        'studio-copilot': defineDeepAgent({ name: 'studio-copilot' }),
      },
    });
    const model = { id: 'helper', object: 'model', created: expect.any(Number), owned_by: expect.any(String) };
    expect((await openai.models.list()).data).toEqual([model]);
    expect(await openai.models.retrieve('helper')).toMatchObject(model);
  });

  test('one that does not exist is a NotFoundError that lists the others', async () => {
    const { openai } = await open();
    await expect(openai.models.retrieve('nope')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      message: expect.stringContaining('There is no agent "nope". This box has "helper".'),
    });
  });

  test.each([
    ['vendor/own', 'vendor/default', 'vendor/own'],
    [undefined, 'vendor/default', 'vendor/default'],
  ])('the agent names %s and the workspace %s: the provider is asked for %s', async (model, defaultModel, used) => {
    const agent = defineDeepAgent({ name: 'helper', ...(model ? { model } : {}) });
    const wire = await open({ agents: { helper: agent }, defaultModel });
    const completion = await ask(wire, 'say:hi');
    expect([wire.asked()[0]?.model, completion.model]).toEqual([used, 'helper']);
  });

  test('an agent without a model and a workspace without a default is one clear error', async () => {
    const wire = await open({ defaultModel: '' });
    await expect(ask(wire, 'say:hi')).rejects.toMatchObject({
      status: 503,
      code: 'model_not_selected',
      message: expect.stringContaining('No model is selected for agent "helper".'),
    });
    expect(await runsOf(wire)).toEqual([]);
  });
});

describe('what the model is sent', () => {
  test("is the agent's instructions first, then what the client said", async () => {
    const instructions = ({ agent }: { agent: string }) => `You are ${agent}.`;
    const wire = await open({ agents: { helper: defineDeepAgent({ name: 'helper', instructions }) } });
    await wire.openai.chat.completions.create({
      model: 'helper',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', name: 'ada', content: [{ type: 'text', text: 'say:hi' }] },
      ],
    });
    expect(wire.asked()[0]?.messages).toEqual([
      { role: 'system', content: 'You are helper.\n\nBe brief.' },
      { role: 'user', name: 'ada', content: [{ type: 'text', text: 'say:hi' }] },
    ]);
  });

  test('calls of the box that come back without results are left out', async () => {
    const wire = await open();
    const { message } = (await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.')).choices[0] ?? {};
    if (!message) throw new Error('There is no message.');
    const messages = [...user('first'), message, ...user('say:And on.')];
    const { choices } = await wire.openai.chat.completions.create({ model: 'helper', messages });
    expect(choices[0]?.message.content).toBe('And on.');
    expect((wire.asked().at(-1) as { messages: unknown[] }).messages[1]).toEqual({
      role: 'assistant',
      content: 'Three.',
    });
  });

  test('a whole conversation of the Vercel AI SDK can be sent back', async () => {
    const { ai } = await open();
    const messages = [{ role: 'user' as const, content: 'tool:add {"a":1,"b":2}; say:Three.' }];
    const first = await generateText({ model: ai, messages });
    const second = await generateText({
      model: ai,
      messages: [...messages, ...first.response.messages, { role: 'user', content: 'say:Again.' }],
    });
    expect(second.text).toBe('Again.');
  });
});
