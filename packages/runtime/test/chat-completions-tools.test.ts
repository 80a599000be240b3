import { generateText, streamText, tool as aiTool } from 'ai';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import {
  AGENT,
  ask,
  CLIENT_TOOL,
  resultsOf,
  runsOf,
  streamed,
  toCall,
  user,
  whenRunsAre,
  setupWires,
} from './_chat-completions.ts';
import type { Wire } from './_chat-completions.ts';

const { open, scripted } = setupWires();

describe('tools the client chooses', () => {
  const named = (name: string) => ({ type: 'function' as const, function: { name } });

  test.each(['auto', 'none', 'required', named('client_tool'), named('add')] as const)(
    'reach the model: %j',
    async (tool_choice) => {
      const wire = await open();
      await ask(wire, 'say:hi', { tools: [CLIENT_TOOL], tool_choice, parallel_tool_calls: false });
      expect(wire.asked()[0]).toMatchObject({ tool_choice, parallel_tool_calls: false });
    },
  );

  test('are forced on the first call of the model alone, and allowed on every one', async () => {
    const wire = await open();
    await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.', { tool_choice: named('add') });
    const allowed_tools = { mode: 'required', tools: [named('add')] };
    await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.', { tool_choice: { type: 'allowed_tools', allowed_tools } });
    expect(wire.asked().map(({ tool_choice }) => tool_choice)).toEqual([
      named('add'),
      undefined,
      { type: 'allowed_tools', allowed_tools },
      { type: 'allowed_tools', allowed_tools: { ...allowed_tools, mode: 'auto' } },
    ]);
  });

  test.each([
    ['a name that no tool has', named('nope'), '"nope"'],
    ['a word that is none', 'always', '"auto"'],
    ['an object without a name', { type: 'function' }, '"auto"'],
  ])('are refused with %s', async (_title, tool_choice, received) => {
    const wire = await open();
    await expect(ask(wire, 'say:hi', { tools: [CLIENT_TOOL], tool_choice })).rejects.toMatchObject({
      status: 400,
      param: 'tool_choice',
      message: expect.stringContaining(received),
    });
    expect([wire.asked(), await runsOf(wire)]).toEqual([[], []]);
  });
});

describe('a session', () => {
  const say = ({ openai }: Wire, messages: object[], session: string) =>
    openai.chat.completions.create(
      { model: 'helper', messages: messages as never, tools: [CLIENT_TOOL] },
      { headers: { 'x-svc-session': session } },
    );

  test('goes on with the result of a tool of the client alone', async () => {
    const wire = await open();
    const first = await say(wire, user('tools:add {"a":1,"b":2} | client_tool {}; say:Done.'), 'alone');
    const [called] = first.choices[0]?.message.tool_calls ?? [];
    const second = await say(wire, [{ role: 'tool', tool_call_id: called?.id, content: 'It is.' }], 'alone');
    expect(second.choices[0]?.message.content).toBe('Done.');
    expect(resultsOf(wire)).toEqual(['{"sum":3}', 'It is.']);
  });

  test.each([
    ['results of calls it has not made', [{ role: 'tool', tool_call_id: 'nope', content: 'x' }]],
    ['nothing after the last answer', [...user('say:one'), { role: 'assistant', content: 'one' }]],
  ])('refuses %s', async (title, messages) => {
    const wire = await open();
    await say(wire, user('say:one'), title);
    await expect(say(wire, messages, title)).rejects.toMatchObject({ status: 400, param: 'messages' });
    expect(await runsOf(wire)).toHaveLength(1);
  });
});

describe('tools the box runs', () => {
  test('are shown to a client without tools, and the turn ends with stop', async () => {
    const wire = await open();
    const { message, finish_reason } = (await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.')).choices[0] ?? {};
    expect(finish_reason).toBe('stop');
    expect(message).toMatchObject({
      content: 'Three.',
      tool_calls: [{ id: expect.any(String), type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
    });
    expect(resultsOf(wire)).toEqual(['{"sum":3}']);
  });

  test('are hidden from a client that brought tools, and are run all the same', async () => {
    const wire = await open();
    const extra = { tools: [CLIENT_TOOL] };
    const whole = (await ask(wire, 'tool:add {"a":1,"b":2}; say:Three.', extra)).choices[0];
    expect(whole?.message).toEqual({ role: 'assistant', content: 'Three.', refusal: null });
    expect(whole?.finish_reason).toBe('stop');
    const chunks = await streamed(wire, 'tool:add {"a":1,"b":2}; say:Three.', extra);
    expect(JSON.stringify(chunks)).not.toContain('tool_calls');
    expect(resultsOf(wire)).toEqual(['{"sum":3}']);
  });

  test('are not run again by the tool loops of the clients', async () => {
    const wire = await open();
    const client = vi.fn<() => string>(() => 'wrong');
    const { text, steps } = await generateText({
      model: wire.ai,
      prompt: 'tool:add {"a":1,"b":2}; say:Three.',
      tools: { client_tool: aiTool({ description: 'x', inputSchema: z.object({}), execute: client }) },
    });
    expect([text, steps.length, client.mock.calls.length]).toEqual(['Three.', 1, 0]);
    const runner = wire.openai.chat.completions.runTools({
      model: 'helper',
      messages: user('tool:add {"a":1,"b":2}; say:Three.'),
      tools: [{ ...CLIENT_TOOL, function: { ...CLIENT_TOOL.function, parse: JSON.parse, function: client } }],
    });
    expect(await runner.finalContent()).toBe('Three.');
    expect([client.mock.calls.length, (await runsOf(wire)).length]).toEqual([0, 2]);
  });

  test('are hidden from a page, which cannot say what asks, unless it asks to be shown them', async () => {
    const wire = await open();
    const asked = async (headers: Record<string, string>) => {
      const request = { model: 'helper', messages: user('tool:add {"a":1,"b":2}; say:Three.') };
      const { choices } = await wire.openai.chat.completions.create(request, { headers });
      return [choices[0]?.message.content, choices[0]?.message.tool_calls?.length ?? 0];
    };
    const page = { origin: 'http://localhost:5173', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0' };
    expect(await asked(page)).toEqual(['Three.', 0]);
    expect(await asked({ ...page, 'x-svc-box-tools': 'shown' })).toEqual(['Three.', 1]);
    expect(await asked({})).toEqual(['Three.', 1]);
  });

  test('are not shown to a client that brought tools, which would run them', async () => {
    const wire = await open();
    const request = { model: 'helper', messages: user('say:hi'), tools: [CLIENT_TOOL] };
    const headers = { 'x-svc-box-tools': 'shown' };
    await expect(wire.openai.chat.completions.create(request, { headers })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('would run the calls'),
    });
    expect(await runsOf(wire)).toEqual([]);
  });

  test('are hidden from the Vercel AI SDK, which takes each call it does not know for an error', async () => {
    const wire = await open();
    for (const headers of [{}, { 'x-svc-session': 'kept' }]) {
      const { fullStream } = streamText({ model: wire.ai, prompt: 'tool:add {"a":1,"b":2}; say:Three.', headers });
      const types: string[] = [];
      for await (const { type } of fullStream) types.push(type);
      expect(types.filter((type) => /tool|error/.test(type))).toEqual([]);
      expect(types).toContain('text-delta');
    }
    const { text, content } = await generateText({ model: wire.ai, prompt: 'tool:add {"a":1,"b":2}; say:Three.' });
    expect([text, content]).toEqual(['Three.', [{ type: 'text', text: 'Three.' }]]);
    expect(resultsOf(wire)).toEqual(['{"sum":3}']);
  });

  test('are hidden from a client that asks for it, and not shown in another way', async () => {
    const wire = await open();
    const asking = (shown: string) => ({ headers: { 'x-svc-box-tools': shown } });
    const request = { model: 'helper', messages: user('tool:add {"a":1,"b":2}; say:Three.') };
    const { choices } = await wire.openai.chat.completions.create(request, asking('hidden'));
    expect(choices[0]?.message).toEqual({ role: 'assistant', content: 'Three.', refusal: null });
    await expect(wire.openai.chat.completions.create(request, asking('all'))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('leave it out, or send "hidden"'),
    });
    expect(await runsOf(wire)).toHaveLength(1);
  });

  test('are numbered through all rounds of a streamed turn', async () => {
    const chunks = await streamed(
      await open(),
      'tool:add {"a":1,"b":2}\ntools:add {"a":3,"b":4} | big\ntool:add {"a":5,"b":6}\nsay:done',
    );
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const begun = calls.filter(({ id }) => id);
    expect(begun.map(({ index, function: called, type }) => [index, called?.name, called?.arguments, type])).toEqual([
      [0, 'add', '', 'function'],
      [1, 'add', '', 'function'],
      [2, 'big', '', 'function'],
      [3, 'add', '', 'function'],
    ]);
    const argumentsOf = (index: number) =>
      calls.map((call) => (call.index === index ? (call.function?.arguments ?? '') : '')).join('');
    expect([0, 1, 2, 3].map(argumentsOf)).toEqual(['{"a":1,"b":2}', '{"a":3,"b":4}', '{}', '{"a":5,"b":6}']);
  });

  test('of one round run at the same time, and their results keep the order of the calls', async () => {
    let arrived = 0;
    let open_: (() => void) | undefined;
    const both = new Promise<void>((resolve) => (open_ = resolve));
    const meet = defineTool({
      description: 'Waits for the other.',
      inputSchema: z.object({ n: z.number() }),
      async execute({ n }) {
        if (++arrived === 3) open_?.();
        await both;
        return `met ${n}`;
      },
    });
    const wire = await open({ agents: { helper: defineDeepAgent({ name: 'helper', tools: { meet } }) } });
    await ask(wire, 'tools:meet {"n":1} | meet {"n":2} | meet {"n":3}; say:ok');
    expect(resultsOf(wire)).toEqual(['met 1', 'met 2', 'met 3']);
  });

  test.each([
    ['throws', 'failing {}', 'The tool "failing" failed: The disk is full.'],
    ['gets arguments that are no JSON', 'add nope', 'The arguments of "add" are not JSON: '],
    ['gets arguments that do not fit', 'add {"a":1}', 'The arguments of "add" are not valid. b: '],
    ['has a schema that throws', 'strict {"x":1}', 'The tool "strict" failed: The check broke.'],
    ['answers a function', 'odd {}', 'null'],
    ['answers a bigint', 'big {}', '{"n":"100000000000000000000"}'],
  ])('that %s: the model gets a result and goes on', async (_title, call, result) => {
    const wire = await open();
    const { message } = (await ask(wire, `tool:${call}\nsay:I see.`)).choices[0] ?? {};
    expect(message?.content).toBe('I see.');
    expect(resultsOf(wire)).toEqual([expect.stringContaining(result)]);
    await whenRunsAre(wire, 'completed');
  });

  test.each([
    [true, 0],
    [{ allow: ['approve' as const] }, 0],
    [false, 1],
  ])('with interruptOn %j are executed %i times', async (waits, times) => {
    const execute = vi.fn<() => string>(() => 'paid');
    const refund = defineTool({ description: 'Pays back.', inputSchema: z.object({}), execute });
    const helper = defineDeepAgent({ name: 'helper', tools: { refund }, interruptOn: { refund: waits } });
    await ask(await open({ agents: { helper } }), 'tool:refund {}; say:ok');
    expect(execute).toHaveBeenCalledTimes(times);
  });

  test.each(['nope', 'toString', 'constructor', '__proto__'])(
    'that the agent has not, "%s": the model gets a result that lists the real ones',
    async (name) => {
      const wire = await scripted([{ tool_calls: [toCall(name)] }]);
      expect((await ask(wire, 'hi')).choices[0]?.finish_reason).toBe('stop');
      const { messages } = wire.seen.at(-1) as { messages: object[] };
      expect(messages.at(-1)).toEqual({
        role: 'tool',
        tool_call_id: name,
        content: `There is no tool "${name}". Tools: add, failing, strict, odd, big, refund.`,
      });
    },
  );

  test('end after the step budget with a sentence', async () => {
    const agent = defineDeepAgent({ name: 'helper', ...AGENT, maxSteps: 2 });
    const wire = await open({ agents: { helper: agent } });
    const calls = Array.from({ length: 5 }, (_, n) => `tool:add {"a":${n},"b":0}`).join('\n');
    const { message, finish_reason } = (await ask(wire, `${calls}\nsay:never`)).choices[0] ?? {};
    expect([message?.content, finish_reason]).toEqual(['The turn stopped after 2 steps.', 'stop']);
    expect(message?.tool_calls).toHaveLength(2);
    expect(wire.asked()).toHaveLength(2);
  });

  test('of the client reach the model as it declared them', async () => {
    const wire = await open();
    const parameters = { type: 'object', properties: {}, additionalProperties: false };
    const strict = { type: 'function', function: { name: 'strict_one', description: 'Is.', parameters, strict: true } };
    const bare = { type: 'function', function: { name: 'bare', parameters: null, strict: null } };
    await ask(wire, 'say:hi', { tools: [CLIENT_TOOL, strict, bare] });
    const { tools } = wire.asked()[0] as { tools: object[] };
    expect(tools.slice(-3)).toEqual([
      CLIENT_TOOL,
      strict,
      { type: 'function', function: { name: 'bare', description: '', parameters: { type: 'object', properties: {} } } },
    ]);
  });

  test('are described to the model by their JSON Schema', async () => {
    const wire = await open();
    await ask(wire, 'say:hi');
    const tools = wire.asked()[0]?.tools as { function: Record<string, unknown> }[];
    expect(tools.map(({ function: called }) => called.name)).toEqual(Object.keys(AGENT.tools));
    expect(tools[0]?.function.parameters).toEqual({
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    });
  });
});
