import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { betaTool as betaToolBefore } from 'anthropic-sdk-0/helpers/beta/json-schema';
import { generateText, stepCountIs, streamText, tool as aiTool } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { tool as langchainTool } from '@langchain/core/tools';
import { startProvider, toModelStream } from './_setup.ts';
import { ask, CLIENT_TOOL, post, runsOf, setupWiresB, shownTo, stream, toRequest, user } from './_messages-wire.ts';

const { open, scripted } = setupWiresB();

const ADD = 'tool:add {"a":1,"b":2}; say:Three.';
const OWN = 'tool:client_tool {}; say:Done.';

describe('tools the box runs', () => {
  test('are shown to a client without tools as tool_use, and the turn ends with end_turn', async () => {
    const wire = await open();
    for (const read of [ask, stream])
      expect(await read(wire, ADD)).toMatchObject({
        content: [
          { type: 'tool_use', id: expect.any(String), name: 'add', input: { a: 1, b: 2 } },
          { type: 'text', text: 'Three.' },
        ],
        stop_reason: 'end_turn',
      });
  });

  test('are hidden from a client that brought tools, and are run all the same', async () => {
    const wire = await open();
    for (const read of [ask, stream]) {
      const { content, stop_reason } = await read(wire, ADD, { tools: [CLIENT_TOOL] });
      expect([content, stop_reason]).toEqual([[{ type: 'text', text: 'Three.' }], 'end_turn']);
    }
    expect(shownTo(wire).at(-1)).toMatchObject({ role: 'tool', content: '{"sum":3}' });
  });

  test('are shown with their results to a client that asks for it, whether it brought tools or not', async () => {
    const wire = await open();
    const headers = { 'x-svc-box-tools': 'mcp' };
    for (const tools of [[], [CLIENT_TOOL]]) {
      const whole = await wire.anthropic.messages.create(toRequest(ADD, { tools }), { headers });
      const streamed = await wire.anthropic.messages.stream(toRequest(ADD, { tools }), { headers }).finalMessage();
      for (const { content } of [whole, streamed])
        expect(content).toEqual([
          { type: 'mcp_tool_use', id: expect.any(String), name: 'add', server_name: 'box', input: { a: 1, b: 2 } },
          {
            type: 'mcp_tool_result',
            tool_use_id: (content[0] as { id?: string }).id,
            is_error: false,
            content: [{ type: 'text', text: '{"sum":3}' }],
          },
          { type: 'text', text: 'Three.' },
        ]);
    }
    const failed = await wire.anthropic.messages.create(toRequest('tool:failing {}; say:ok'), { headers });
    expect(failed.content[1]).toMatchObject({ is_error: true });
  });

  test('that are shown with their results are run by the provider, as the Vercel AI SDK sees it', async () => {
    const { ai } = await open();
    const client = vi.fn<() => string>(() => 'wrong');
    const tools = { client_tool: aiTool({ description: 'x', inputSchema: z.object({}), execute: client }) };
    const headers = { 'x-svc-box-tools': 'mcp' };
    const { text, content } = await generateText({ model: ai, maxOutputTokens: 100, prompt: ADD, tools, headers });
    expect(text).toBe('Three.');
    expect(content).toMatchObject([
      { type: 'tool-call', toolName: 'add', providerExecuted: true },
      { type: 'tool-result', toolName: 'add' },
      { type: 'text', text: 'Three.' },
    ]);
    expect(client).not.toHaveBeenCalled();
  });

  test('are no errors to a client without tools of the Vercel AI SDK', async () => {
    const { ai } = await open();
    const { fullStream } = streamText({ model: ai, maxOutputTokens: 100, prompt: ADD });
    const parts: object[] = [];
    for await (const part of fullStream) if (/^tool-(call|result|error)$|^error$/.test(part.type)) parts.push(part);
    expect(parts).toMatchObject([
      { type: 'tool-call', toolName: 'add', providerExecuted: true },
      { type: 'tool-result', toolName: 'add' },
    ]);
  });

  test('are hidden from a client that asks for it', async () => {
    const wire = await open();
    const headers = { 'x-svc-box-tools': 'hidden' };
    const { content } = await wire.anthropic.messages.create(toRequest(ADD), { headers });
    expect(content).toEqual([{ type: 'text', text: 'Three.' }]);
  });

  test('are shown to a page as what no client runs, unless it asks to be shown them as calls', async () => {
    const wire = await open();
    const typesFor = async (more: Record<string, string>) => {
      const headers = { origin: 'http://localhost:5173', ...more };
      const { content } = await wire.anthropic.messages.create(toRequest(ADD), { headers });
      return content.map(({ type }) => type as string);
    };
    expect(await typesFor({})).toEqual(['mcp_tool_use', 'mcp_tool_result', 'text']);
    expect(await typesFor({ 'x-svc-box-tools': 'shown' })).toEqual(['tool_use', 'text']);
  });

  test('are not shown in another way, nor as calls to a client that brought tools', async () => {
    const wire = await open();
    const brought = toRequest('say:hi', { tools: [CLIENT_TOOL] });
    expect((await post(wire, brought, { 'x-api-key': 'any', 'x-svc-box-tools': 'shown' })).status).toBe(400);
    const answer = await post(wire, toRequest('say:hi'), { 'x-api-key': 'any', 'x-svc-box-tools': 'all' });
    expect(answer.status).toBe(400);
    expect(await runsOf(wire)).toEqual([]);
  });

  test.each(['', 'nope', '[1]', '{"a":1,"b":', '{"a":1} and more'])(
    'with the arguments %j leave a message that every client can read',
    async (args) => {
      const calls = [{ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'add' } }] }];
      const pieces = args.split('').map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] }));
      const wire = await scripted([...calls, ...pieces]);
      const [block] = (await ask(wire, 'hi')).content;
      expect(block).toMatchObject({ type: 'tool_use', input: args.startsWith('{"a":1') ? { a: 1 } : {} });
      expect((await stream(wire, 'hi')).content).toEqual([block]);
      const before = await wire.before.messages.stream(toRequest('hi')).finalMessage();
      expect(before.content).toEqual([block]);
    },
  );
});

describe('tools of the client', () => {
  test('that are declared by their type alone are described to the model, and called', async () => {
    const wire = await open();
    const tools = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10_000 },
      { type: 'text_editor_20250124', name: 'str_replace_editor' },
      { type: 'computer_20250124', name: 'computer', display_width_px: 1_024, display_height_px: 768 },
      { type: 'memory_20250818', name: 'memory' },
      { type: 'web_search_20250305', name: 'web_search' },
    ];
    const answer = await ask(wire, 'tool:bash {"command":"ls"}; say:Done.', { tools });
    expect(answer).toMatchObject({
      content: [{ type: 'tool_use', name: 'bash', input: { command: 'ls' } }],
      stop_reason: 'tool_use',
    });
    const offered = (wire.asked()[0]?.tools ?? []) as {
      function: { name: string; description: string; parameters: { type: string } };
    }[];
    const own = offered.slice(-5).map(({ function: called }) => called);
    expect(own.map(({ name, parameters: { type } }) => [name, type])).toEqual([
      ['bash', 'object'],
      ['str_replace_based_edit_tool', 'object'],
      ['str_replace_editor', 'object'],
      ['computer', 'object'],
      ['memory', 'object'],
    ]);
    expect(own[3]?.description).toContain('1024 by 768 pixels');
  });

  const run = () => vi.fn<(input: unknown) => string>(() => 'It is done.');

  test('end the message with tool_use, and go on with their results', async () => {
    const wire = await open();
    for (const read of [ask, stream]) {
      const first = await read(wire, OWN, { tools: [CLIENT_TOOL] });
      expect(first).toMatchObject({ content: [{ type: 'tool_use', name: 'client_tool' }], stop_reason: 'tool_use' });
      const result = { type: 'tool_result', tool_use_id: (first.content[0] as { id: string }).id, content: 'It is.' };
      const messages = [
        ...user(OWN),
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ];
      const second = await read(wire, '', { messages, tools: [CLIENT_TOOL] });
      expect(second).toMatchObject({ content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' });
      expect(shownTo(wire).at(-1)).toMatchObject({ role: 'tool', content: 'It is.' });
    }
  });

  test('are run by the tool runners of both SDKs, those of the box are not', async () => {
    const wire = await open();
    const prompt = 'tool:client_tool {"n":7}\ntool:add {"a":1,"b":2}\nsay:Done.';
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
    const described = { name: 'client_tool', description: 'Of the client.', inputSchema: schema };
    for (const isStream of [false, true]) {
      const [now, before] = [run(), run()];
      const request = { ...toRequest(prompt), stream: isStream };
      const messages = [
        await wire.anthropic.beta.messages
          .toolRunner({ ...request, tools: [betaTool({ ...described, run: now })] })
          .runUntilDone(),
        await wire.before.beta.messages
          .toolRunner({ ...request, tools: [betaToolBefore({ ...described, run: before })] })
          .runUntilDone(),
      ];
      for (const { content } of messages) expect(content).toMatchObject([{ type: 'text', text: 'Done.' }]);
      for (const ran of [now, before]) expect(ran.mock.calls.map(([input]) => input)).toEqual([{ n: 7 }]);
    }
    // A turn ends where the client is to act: two runs for each runner.
    expect(await runsOf(wire)).toHaveLength(8);
  });

  test.each([
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ])('that the model did not finish, because of %s, end the message with %s', async (finish, reason) => {
    const half = { name: 'client_tool', arguments: '{"path":"a.txt","content":"the first ha' };
    const call = { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: half }] };
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(toModelStream([{ content: 'I write.' }, call], finish));
    });
    const wire = await open({ provider: { baseUrl: provider.url } });
    const cut = { stop_reason: reason, content: [{ text: 'I write.' }, { type: 'tool_use', name: 'client_tool' }] };
    for (const read of [ask, stream]) expect(await read(wire, 'hi', { tools: [CLIENT_TOOL] })).toMatchObject(cut);
    const options = { headers: { 'Idempotency-Key': 'k' } };
    const request = toRequest('hi', { tools: [CLIENT_TOOL] });
    const first = await wire.anthropic.messages.create(request, options);
    expect(await wire.anthropic.messages.create(request, options)).toEqual(first);
    const [now, before, ai] = [run(), run(), run()];
    const described = {
      name: 'client_tool',
      description: 'x',
      inputSchema: { type: 'object', properties: {} } as const,
    };
    await wire.anthropic.beta.messages
      .toolRunner({ ...toRequest('hi'), tools: [betaTool({ ...described, run: now })] })
      .runUntilDone();
    await wire.before.beta.messages
      .toolRunner({ ...toRequest('hi'), tools: [betaToolBefore({ ...described, run: before })] })
      .runUntilDone();
    const tools = { client_tool: aiTool({ description: 'x', inputSchema: z.object({}), execute: ai }) };
    await generateText({ model: wire.ai, maxOutputTokens: 100, prompt: 'hi', tools, stopWhen: stepCountIs(2) });
    for (const ran of [now, before, ai]) expect(ran).not.toHaveBeenCalled();
  });

  test('are run by the Vercel AI SDK', async () => {
    const { ai } = await open();
    const execute = run();
    const tools = { client_tool: aiTool({ description: 'x', inputSchema: z.object({}), execute }) };
    const settings = { model: ai, maxOutputTokens: 100, prompt: OWN, tools, stopWhen: stepCountIs(5) };
    const { text, steps } = await generateText(settings);
    expect([text, steps.length]).toEqual(['Done.', 2]);
    expect(await streamText(settings).text).toBe('Done.');
    expect(execute).toHaveBeenCalledTimes(2);
  });

  test('reach LangChain', async () => {
    const { langchain } = await open();
    const bound = langchain.bindTools([
      langchainTool(() => 'done', { name: 'client_tool', description: 'x', schema: z.object({}) }),
    ]);
    const { tool_calls } = await bound.invoke(OWN);
    expect(tool_calls).toMatchObject([{ name: 'client_tool', args: {} }]);
  });

  test("reach the model as they are, those of the vendor's servers do not", async () => {
    const wire = await open();
    const tools = [
      { ...CLIENT_TOOL, type: 'custom' },
      { type: 'web_search_20250305', name: 'web_search' },
    ];
    await ask(wire, 'say:hi', { tools });
    const offered = wire.asked()[0]?.tools as { function: Record<string, unknown> }[];
    expect(offered.at(-1)?.function).toEqual({
      name: 'client_tool',
      description: 'Of the client.',
      parameters: CLIENT_TOOL.input_schema,
    });
    expect(offered).toHaveLength(7);
    await ask(wire, 'say:hi', { tools: [{ ...CLIENT_TOOL, type: null, description: null }] });
    const bare = wire.asked()[1]?.tools as typeof offered;
    expect(bare.at(-1)?.function).toMatchObject({ name: 'client_tool', description: '' });
  });

  test.each([
    [{ type: 'auto' }, undefined],
    [{ type: 'none' }, 'none'],
    [{ type: 'any' }, 'required'],
    [
      { type: 'tool', name: 'client_tool' },
      { type: 'function', function: { name: 'client_tool' } },
    ],
  ])('are chosen as the client says: %j', async (tool_choice, received) => {
    const wire = await open();
    await ask(wire, 'say:hi', { tools: [CLIENT_TOOL], tool_choice });
    expect(wire.asked()[0]?.tool_choice).toEqual(received);
    await ask(wire, 'say:hi', { tools: [CLIENT_TOOL], tool_choice: { type: 'any', disable_parallel_tool_use: true } });
    expect(wire.asked()[1]).toMatchObject({ tool_choice: 'required', parallel_tool_calls: false });
  });

  test('are refused when the one that is chosen is not there', async () => {
    const wire = await open();
    const choice = { tool_choice: { type: 'tool', name: 'nope' } };
    await expect(ask(wire, 'say:hi', { tools: [CLIENT_TOOL], ...choice })).rejects.toMatchObject({
      status: 400,
      error: { error: { message: expect.stringContaining('"nope"'), details: { param: 'tool_choice' } } },
    });
  });

  test('are forced on the first call of the model alone', async () => {
    const wire = await open();
    await ask(wire, ADD, { tools: [CLIENT_TOOL], tool_choice: { type: 'any' } });
    expect(wire.asked().map(({ tool_choice: choice }) => choice)).toEqual(['required', undefined]);
  });

  test('that have the name of one of the box are refused', async () => {
    const wire = await open();
    await expect(ask(wire, 'say:hi', { tools: [{ ...CLIENT_TOOL, name: 'add' }] })).rejects.toMatchObject({
      status: 400,
      error: { error: { message: expect.stringContaining('"add"'), details: { param: 'tools' } } },
    });
  });
});
