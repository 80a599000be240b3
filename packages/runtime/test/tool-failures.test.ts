import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ToolDefinition } from '../src/definitions/agent.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createTestBox, model } from '../src/testing.ts';
import { call as ask, json, setupBoxes, until } from './_setup.ts';

const boxes = setupBoxes();

type Execute = (signal: AbortSignal) => unknown;

/** What tools do that do not end by themselves. */
const ENDLESS: [string, Execute][] = [
  ['never settles', () => new Promise(() => {})],
  [
    'rejects once it is told',
    (signal) => new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason))),
  ],
  [
    'answers once it is told',
    (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
  ],
];

type More = Pick<ToolDefinition, 'timeout'>;

/** A box whose agent calls one tool, then says what it was told. Closed after the test. */
async function open(execute: Execute, more?: More) {
  const box = await openBox(execute, more);
  onTestFinished(() => box.close());
  return box;
}

/** One such box for all tests that need no more than a turn of their own; answers how to take one with this tool. */
function share(more?: More) {
  let execute: Execute | undefined;
  let opened: ReturnType<typeof openBox> | undefined;
  afterAll(async () => (await opened)?.close());
  return async (given: Execute) => {
    execute = given;
    const box = await (opened ??= openBox((signal) => execute?.(signal), more));
    return box.agent('helper').send('go');
  };
}

async function openBox(execute: Execute, more: More = {}) {
  const tool = defineTool({
    ...more,
    description: 'Does it.',
    inputSchema: z.object({}),
    execute: (_, { signal }) => execute(signal),
  });
  return createTestBox({
    agents: { helper: defineDeepAgent({ name: 'helper', tools: { tool } }) },
    model: ({ messages }) =>
      messages.at(-1)?.role === 'user' ? model.reply({ toolCalls: [{ name: 'tool' }] }) : `${messages.length}`,
  });
}

const reject = (value: unknown) => () => Promise.reject(value);
const cyclic: Record<string, unknown> = { n: 1n };
cyclic.self = cyclic;

describe('a tool that fails is an answer the model reads, and the turn goes on', () => {
  const send = share();

  test.each<[string, Execute, string]>([
    ['an error', reject(new Error('No.')), 'The tool "tool" failed: No.'],
    ['an error without a message', reject(new RangeError()), 'The tool "tool" failed: RangeError'],
    ['a text', reject('No.'), 'The tool "tool" failed: No.'],
    ['an object', reject({ reason: 'No.' }), 'The tool "tool" failed: {"reason":"No."}'],
    ['an object without a prototype', reject(Object.create(null)), 'The tool "tool" failed: {}'],
    ['nothing', reject(undefined), 'The tool "tool" failed: It does not say why.'],
    [
      'what cannot be shown',
      reject({
        get a(): never {
          throw new Error('Hidden.');
        },
      }),
      'The tool "tool" failed: What it threw cannot be shown.',
    ],
    ['an error as long as a book', reject(new Error('x'.repeat(2_000_000))), 'is too long: '],
  ])('it throws %s', async (_, execute, content) => {
    const turn = await send(execute);
    expect(turn).toMatchObject({ text: '3', toolCalls: [{ isError: true }] });
    expect(turn.toolCalls[0]?.result).toContain(content);
  });

  test.each<[string, unknown, boolean, string]>([
    ['more than is kept', 'x'.repeat(2_000_000), true, 'The result of "tool" is too long: 2000002 bytes'],
    ['more than is kept once it is recorded', '"'.repeat(600_000), true, 'Ask for less'],
    ['what is just kept', 'x'.repeat(1_000_000), false, 'xxx'],
    ['what refers to itself', cyclic, false, '{"n":"1","self":null}'],
    ['a function', () => 1, false, 'null'],
    ['nothing', undefined, false, 'null'],
    [
      'what cannot be read',
      {
        get a(): never {
          throw new Error('Hidden.');
        },
      },
      true,
      'The tool "tool" failed: Hidden.',
    ],
  ])('it answers %s', async (_, value, isError, content) => {
    const turn = await send(() => value);
    expect(turn).toMatchObject({ text: '3', toolCalls: [{ isError }] });
    expect(turn.toolCalls[0]?.result).toContain(content);
  });
});

describe('a built-in tool whose answer is more than is kept is an answer the model reads', () => {
  const reads = async (agent: object, ...calls: { name: string; args: object }[]) => {
    const box = await createTestBox({
      agents: { helper: defineDeepAgent({ name: 'helper', ...agent }) },
      model: [...calls.map((call) => model.reply({ toolCalls: [call] })), model.reply('ok')],
    });
    onTestFinished(() => box.close());
    const { toolCalls } = await box.agent('helper').send('go');
    return toolCalls.at(-1);
  };

  test('a file of characters that are long in a record', async () => {
    const file_path = 'a.txt';
    const edited = { file_path, old_string: 'x', new_string: '\u0001', replace_all: true };
    const call = await reads(
      { files: true },
      { name: 'write_file', args: { file_path, content: 'x'.repeat(250_000) } },
      { name: 'edit_file', args: edited },
      { name: 'read_file', args: { file_path } },
    );
    expect(call).toMatchObject({ isError: true });
    expect(call?.result).toMatch(/^The result of "read_file" is too long: 15000\d\d bytes/);
  });

  test('a skill as long as a book', async () => {
    const skills = [{ name: 'book', description: 'Long.', text: 'x'.repeat(1_100_000) }];
    const call = await reads({ skills }, { name: 'read_skill', args: { name: 'book' } });
    expect(call?.result).toContain('The result of "read_skill" is too long');
  });
});

describe('a turn that is cancelled while its tool runs', () => {
  test.each(ENDLESS)('ends at once though the tool %s, and the session answers the next', async (title, execute) => {
    let received: AbortSignal | undefined;
    const answer = (signal: AbortSignal) => {
      if (received) return 'second';
      received = signal;
      return execute(signal);
    };
    const box = await open(answer, title.startsWith('rejects') ? { timeout: '1 hour' } : {});
    const turn = box.agent('helper').send('go', { session: 's' });
    await until(() => received !== undefined);
    const [run] = await box.listRuns();
    await run?.cancel();
    expect((await turn).finishReason).toBe('cancelled');
    expect(received?.aborted).toBe(true);
    expect(await run?.status()).toBe('cancelled');
    expect(await box.agent('helper').send('again', { session: 's' })).toMatchObject({
      text: '3',
      toolCalls: [{ result: 'second' }],
    });
  });
});

test('a turn that fails after its tool has run adds nothing to its session; its run has the call', async () => {
  const tool = defineTool({ description: 'Does it.', inputSchema: z.object({}), execute: () => 'done' });
  const box = await createTestBox({
    agents: { helper: defineDeepAgent({ name: 'helper', tools: { tool }, planning: true }) },
    model: [
      model.reply({ text: 'Hello.', usage: { inputTokens: 1, outputTokens: 1 } }),
      model.reply({
        toolCalls: [{ name: 'tool' }, { name: 'write_todos', args: { todos: [{ content: 'x', status: 'pending' }] } }],
        usage: { inputTokens: 10, outputTokens: 10 },
      }),
      model.fail({ status: 400 }),
      ({ messages }) => messages.map(({ role, content }) => `${role}: ${String(content)}`).join(', '),
    ],
  });
  onTestFinished(() => box.close());
  const send = (text: string) => box.agent('helper').send(text, { session: 's' });
  await send('hi');
  await expect(send('go')).rejects.toMatchObject({ status: 400 });
  const session = (await (await box.request('/api/sessions/s?agent=helper')).json()) as Record<string, unknown>;
  expect(session).toMatchObject({ turns: 1, totalTokens: 2 });
  const [failed] = await box.listRuns();
  expect(await failed?.status()).toBe('failed');
  expect(await failed?.steps()).toContainEqual(
    expect.objectContaining({ name: 'tool', output: { content: 'done', isError: false } }),
  );
  expect((await send('and now?')).text).toBe('user: hi, assistant: Hello., user: and now?');
});

test('a turn that is cancelled while the arguments are checked does not run the tool', async () => {
  const ran: string[] = [];
  let go: (value: boolean) => void = () => {};
  const check = new Promise<boolean>((resolve) => (go = resolve));
  const tool = defineTool({
    description: 'Does it.',
    inputSchema: z.object({}).refine(() => (ran.push('check'), check)),
    execute: () => ran.push('tool'),
  });
  const box = await createTestBox({
    agents: { helper: defineDeepAgent({ name: 'helper', tools: { tool } }) },
    model: [model.reply({ toolCalls: [{ name: 'tool' }] })],
  });
  onTestFinished(() => box.close());
  const turn = box.agent('helper').send('go');
  await until(() => ran.length > 0);
  await (await box.listRuns())[0]?.cancel();
  expect((await turn).finishReason).toBe('cancelled');
  go(true);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(ran).toEqual(['check']);
});

describe('a tool with a timeout', () => {
  const sendInShort = share({ timeout: '30ms' });
  const sendInLong = share({ timeout: 2_147_483_648 });
  const tooLong =
    'The tool "tool" failed: It took longer than its timeout of 30 ms, and may have had an effect all the same.';

  test.each(ENDLESS)('that %s is given up, and the model is sent why', async (_, execute) => {
    let received: AbortSignal | undefined;
    const turn = await sendInShort((signal) => {
      received = signal;
      return execute(signal);
    });
    expect(turn).toMatchObject({ text: '3', toolCalls: [{ isError: true, result: tooLong }] });
    expect(received?.aborted).toBe(true);
    expect(received?.reason).toMatchObject({ code: 'step_timeout' });
    expect((await turn.run.steps())[1]).toMatchObject({ kind: 'tool', output: { isError: true, content: tooLong } });
    expect(await turn.run.status()).toBe('completed');
  });

  test('whose turn is cancelled in time is not said to have taken longer', async () => {
    let received: AbortSignal | undefined;
    const tool = defineTool({
      description: 'Does it.',
      inputSchema: z.object({}),
      timeout: '1 hour',
      execute: (_, { signal }) =>
        new Promise((_resolve, fail) => {
          received = signal;
          signal.addEventListener('abort', () => fail(signal.reason));
        }),
    });
    const box = await boxes.open({ agents: { helper: defineDeepAgent({ name: 'helper', tools: { tool } }) } });
    const input = { threadId: 't', runId: 'r', messages: [{ id: 'u', role: 'user', content: 'tool:tool {}' }] };
    const body = { ...input, tools: [], context: [], state: {}, forwardedProps: {} };
    const answer = await box.request(
      '/agui/v1/agents/helper',
      json(body, { headers: { authorization: 'Bearer dev' } }),
    );
    await until(() => received !== undefined);
    // A store that is further away than a file.
    const { getRun } = box.journal;
    box.journal.getRun = async (runId) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return getRun(runId);
    };
    const { body: runs } = await ask<{ items: { runId: string }[] }>(box, 'GET /api/runs?kind=agent');
    await ask(box, `POST /api/runs/${runs.items[0]?.runId}/cancel`);
    const text = await answer.text();
    expect(text).toContain('TOOL_CALL_START');
    expect(text).not.toContain('timeout');
  });

  test.each<[string, Execute, string]>([
    ['answers', () => 'done', 'done'],
    ['throws', reject(new Error('No.')), 'The tool "tool" failed: No.'],
    [
      'throws before it waits for anything',
      () => {
        throw new Error('No.');
      },
      'The tool "tool" failed: No.',
    ],
  ])('that %s in time is reported as it is', async (_, execute, result) => {
    let received: AbortSignal | undefined;
    const { toolCalls } = await sendInLong((signal) => {
      received = signal;
      return execute(signal);
    });
    expect(toolCalls).toMatchObject([{ result }]);
    expect(received?.aborted).toBe(false);
  });

  test.each([
    ['soon', 'timeout: "soon" is not a duration.'],
    [-1, 'timeout: "-1" is not a duration.'],
    [true, 'timeout: "true" is not a duration.'],
    [null, 'timeout: "null" is not a duration.'],
    [0, 'timeout is 0: nothing is done in no time. Leave it out for none.'],
    ['0s', 'timeout is "0s": nothing is done in no time. Leave it out for none.'],
  ])('of %j is refused', (timeout, sentence) => {
    const tool = { description: 'x', inputSchema: z.object({}), execute: () => 1, timeout } as never;
    expect(() => defineTool(tool)).toThrow(sentence);
    expect(() => defineDeepAgent({ name: 'helper', tools: { tool } })).toThrow(`The tool "tool": ${sentence}`);
  });
});
