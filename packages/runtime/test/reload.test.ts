import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import type { Problem } from '../src/manifest.ts';
import { call, json, runWorkflow, setupBoxes, toProgram } from './_setup.ts';
import type { TestBox, TestProgram } from './_setup.ts';

const boxes = setupBoxes();
const agent = (name: string, instructions = 'v1') => defineDeepAgent({ name, instructions });
const answers = (value: unknown) => ({ run: async () => value });
const ask = (box: TestBox, model: string) =>
  box.request(
    '/wire-a/v1/chat/completions',
    json({ model, messages: [{ role: 'user', content: 'say:hi' }] }, { headers: { 'x-api-key': 'any' } }),
  );
const start = (box: TestBox, name: string) => box.request(`/api/workflows/${name}/start`, json({}));
const instructionsOf = (box: TestBox) => box.model.requests.at(-1)?.messages[0]?.content;

const BROKEN_AGENTS: [what: string, module: unknown, message: string][] = [
  ['throws on load', new Error('No such file: prompt.md'), 'No such file: prompt.md'],
  ['has no default export', undefined, 'is not an agent. Write: export default defineDeepAgent({ ... }).'],
  ['exports something else', { name: 'bad' }, 'is not an agent.'],
  ['exports null', null, 'is not an agent.'],
  ['is named unlike its folder', agent('other'), 'is named "other"; its folder is "bad". Make them equal.'],
];

const BROKEN_WORKFLOWS: [what: string, module: unknown, message: string][] = [
  ['throws on load', new Error('boom'), 'boom'],
  ['exports no function', { run: 'text' }, 'exports no workflow function.'],
  ['has an input schema that is none', { ...answers(1), inputSchema: { type: 'object' } }, '"inputSchema" of'],
  ['has an output schema that is none', { ...answers(1), outputSchema: 'z.object' }, 'is not a zod schema.'],
  ['has a state schema that is none', { ...answers(1), stateSchema: { type: 'object' } }, '"stateSchema" of'],
  ['has a schema that is a function', { ...answers(1), inputSchema: () => 1 }, 'is not a zod schema.'],
];

describe('one broken file', () => {
  test.each(BROKEN_AGENTS)('an agent that %s is named, and the others answer', async (_what, module, message) => {
    const box = await boxes.open({ agents: { good: agent('good'), bad: module }, workflows: { w: answers(1) } });
    expect(box.problems()).toEqual([
      expect.objectContaining({ file: 'deep-agents/bad/index.ts', message: expect.stringContaining(message) }),
    ]);
    const refused = await ask(box, 'bad');
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: 'agent_load_failed', message: expect.stringContaining('deep-agents/bad/index.ts') } },
    ]);
    expect((await ask(box, 'good')).status).toBe(200);
    expect((await runWorkflow(box, 'w')).status).toBe('completed');
  });

  test.each(BROKEN_WORKFLOWS)('a workflow that %s is named, and the others answer', async (_what, module, message) => {
    const workflows = { good: answers(1), bad: module } as TestProgram['workflows'];
    const box = await boxes.open({ agents: { a: agent('a') }, ...(workflows ? { workflows } : {}) });
    const refused = await start(box, 'bad');
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { code: 'workflow_compile_failed', message: expect.stringContaining('workflows/bad.workflow.ts:1: ') },
    ]);
    expect(box.problems().map((problem) => problem.message)).toEqual([expect.stringContaining(message)]);
    expect((await runWorkflow(box, 'good')).output).toBe(1);
    expect((await ask(box, 'a')).status).toBe(200);
  });

  test('a problem with a place, attached by the loader, is reported as it is', async () => {
    const problem: Problem = {
      code: 'syntax_error',
      message: 'Unexpected token.',
      file: 'lib/prices.ts',
      line: 7,
      column: 3,
      frame: '> 7 | )',
    };
    const box = await boxes.open({ workflows: { bad: Object.assign(new Error('x'), { problem }) } });
    expect(await (await start(box, 'bad')).json()).toMatchObject({ details: { problem } });
    expect(box.problems()).toEqual([problem]);
  });

  const execute = () => 1;
  const inputSchema = z.object({});
  const BROKEN_TOOLS: [what: string, tool: unknown, message: string][] = [
    ['no inputSchema', { description: 'x', execute }, 'The tool "t": A tool needs an inputSchema'],
    ['a schema that is none', { description: 'x', inputSchema: {}, execute }, 'A tool needs an inputSchema'],
    ['no description', { inputSchema, execute }, 'A tool needs a description'],
    ['no execute', { description: 'x', inputSchema }, 'A tool needs an execute function.'],
    ['nothing', undefined, 'The tool "t": '],
  ];
  test.each(BROKEN_TOOLS)('a tool with %s is refused where the agent is defined', (_what, tool, message) => {
    expect(() => defineDeepAgent({ name: 'a', tools: { t: tool as never } })).toThrow(message);
  });

  test('a tool name, an interruptOn and a step budget that cannot work are refused there too', () => {
    const t = defineTool({ description: 'x', inputSchema: z.object({}), execute: () => 1 });
    expect(() => defineDeepAgent({ name: 'a', tools: { 'a b': t } })).toThrow('The tool name "a b" is not usable.');
    expect(() => defineDeepAgent({ name: 'a', tools: { t }, interruptOn: { u: true } })).toThrow(
      'interruptOn names "u"',
    );
    expect(() => defineDeepAgent({ name: 'a', interruptOn: { toString: true } })).toThrow(
      'interruptOn names "toString"',
    );
    for (const maxRetries of [-1, 11, 1.5, '2' as never])
      expect(() => defineDeepAgent({ name: 'a', maxRetries })).toThrow('it must be a whole number from 0 to 10');
    for (const fallbackModels of ['b', [''], [1], Array.from({ length: 11 }, () => 'b')] as never[])
      expect(() => defineDeepAgent({ name: 'a', fallbackModels })).toThrow('must be a list of model ids, at most 10');
    for (const maxSteps of [0, -1, 1.5, NaN])
      expect(() => defineDeepAgent({ name: 'a', maxSteps })).toThrow('it must be a whole number from 1');
  });
});

describe('after an edit', () => {
  test('the new version answers', async () => {
    const box = await boxes.open({ agents: { a: agent('a', 'v1') }, workflows: { w: answers('v1') } });
    await ask(box, 'a');
    expect([instructionsOf(box), (await runWorkflow(box, 'w')).output]).toEqual(['v1', 'v1']);
    await box.reload(toProgram({ agents: { a: agent('a', 'v2') }, workflows: { w: answers('v2') } }));
    await ask(box, 'a');
    expect([instructionsOf(box), (await runWorkflow(box, 'w')).output]).toEqual(['v2', 'v2']);
  });

  test('that does not load, the last good version answers and the problem is listed', async () => {
    const w = { ...answers('v1'), outputSchema: z.string() };
    const box = await boxes.open({ agents: { a: agent('a', 'v1') }, workflows: { w } });
    for (let round = 0; round < 2; round++)
      await box.reload(toProgram({ agents: { a: new Error('bad a') }, workflows: { w: new Error('bad w') } }));
    expect(box.problems().map(({ message }) => message)).toEqual(['bad a', 'bad w']);
    expect((await ask(box, 'a')).status).toBe(200);
    expect([instructionsOf(box), (await runWorkflow(box, 'w')).output]).toEqual(['v1', 'v1']);
    expect(await (await box.request('/api/workflows/w')).json()).toMatchObject({
      state: 'stale',
      hasSchema: true,
      problem: { message: 'bad w', file: 'workflows/w.workflow.ts' },
    });
    const entry = await (await box.request('/api/catalog/workflow/w')).json();
    expect(entry).toMatchObject({ health: 'stale', outputSchema: { type: 'string' } });
  });

  test('the last good version survives a second bad one, and a good one ends the problem', async () => {
    const box = await boxes.open({ workflows: { w: answers('v1') } });
    for (const message of ['first', 'second']) await box.reload(toProgram({ workflows: { w: new Error(message) } }));
    expect([box.problems()[0]?.message, (await runWorkflow(box, 'w')).output]).toEqual(['second', 'v1']);
    await box.reload(toProgram({ workflows: { w: answers('v3') } }));
    expect([box.problems(), (await runWorkflow(box, 'w')).output]).toEqual([[], 'v3']);
  });

  test('what the scan found wrong keeps the last good version as well', async () => {
    const problem: Problem = {
      code: 'x',
      message: 'Twice.',
      file: 'workflows/w.workflow.ts',
      line: 2,
      column: 1,
      frame: '',
    };
    const box = await boxes.open({ workflows: { w: answers('v1') } });
    await box.reload(toProgram({ workflows: { w: problem } }));
    expect([box.problems(), (await runWorkflow(box, 'w')).output]).toEqual([[problem], 'v1']);
  });

  test('what is gone is gone, and comes back as new', async () => {
    const box = await boxes.open({
      agents: { a: agent('a'), b: agent('b') },
      workflows: { w: answers(1), v: answers(2) },
    });
    await box.reload(toProgram({ agents: { b: agent('b') }, workflows: { v: answers(2) } }));
    expect(await (await box.request('/api/discovery')).json()).toEqual({ agents: ['b'], workflows: ['v'] });
    expect([box.agentNames(), box.workflowNames()]).toEqual([['b'], ['v']]);
    expect([(await ask(box, 'a')).status, (await start(box, 'w')).status]).toEqual([404, 404]);
    await box.reload(toProgram({ workflows: { w: new Error('still bad') } }));
    expect((await start(box, 'w')).status).toBe(503);
  });

  test('a reserved copilot is served by name and in no list', async () => {
    const box = await boxes.open({ agents: { 'studio-copilot': agent('studio-copilot') } });
    expect(box.agentNames()).toEqual([]);
    expect(await (await box.request('/api/discovery')).json()).toEqual({ agents: [], workflows: [] });
    expect((await ask(box, 'studio-copilot')).status).toBe(403);
    await call(box, 'PUT /api/settings/copilot', { enabled: true });
    expect((await ask(box, 'studio-copilot')).status).toBe(200);
  });

  test('a turn under way ends on the code it began with', async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun: (() => void) | undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const wait = defineTool({
      description: 'x',
      inputSchema: z.object({}),
      async execute() {
        begun?.();
        await held;
        return 'old tool';
      },
    });
    const box = await boxes.open({ agents: { a: defineDeepAgent({ name: 'a', tools: { wait } }) } });
    const body = { model: 'a', messages: [{ role: 'user', content: 'tool:wait {}' }] };
    const turn = box.request('/wire-a/v1/chat/completions', json(body, { headers: { 'x-api-key': 'any' } }));
    await running;
    await box.reload(toProgram({ agents: {} }));
    release?.();
    const { choices } = (await (await turn).json()) as { choices: [{ message: { content: string } }] };
    expect(choices[0].message.content).toBe('The tool answered: old tool');
  });
});
