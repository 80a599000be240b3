import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { markWorkflow } from '../src/internal.ts';
import { svc } from '../src/svc.ts';
import { createTestBox, model } from '../src/testing.ts';
import { getWritable } from '../src/engine/primitives/writable.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const Person = z.object({ name: z.string(), born: z.coerce.date() });

let attempts = 0;
const askInStep = toStep('askInStep', async (message: string) => svc.agent('helper').session().send(message));
const askTwice = toStep('askTwice', async () => {
  const answer = await svc.agent('helper').session().send('say:Once.');
  if (++attempts === 1) throw Object.assign(new Error('Again.'), { name: 'RetryableError', retryAfter: 1 });
  return answer.runId;
});
const stream = toStep('stream', async (message: string) => {
  const { text } = await svc.agent('helper').session().send(message, { writable: getWritable<string>() });
  return text;
});
const consult = defineTool({
  description: 'Ask the helper.',
  inputSchema: z.object({ question: z.string() }),
  execute: async ({ question }) => (await svc.agent('helper').session('consulted').send(question)).text,
});

const agents = {
  helper: defineDeepAgent({ name: 'helper', instructions: 'Help.' }),
  typed: defineDeepAgent({ name: 'typed', output: z.object({ n: z.number() }) }),
  boss: defineDeepAgent({ name: 'boss', tools: { consult } }),
};
const workflows = {
  ask: { run: async (message: string) => svc.agent('helper').session().send(message) },
  talk: {
    run: async (messages: string[]) => {
      const session = svc.agent('helper').session();
      const texts: string[] = [];
      for (const message of messages) texts.push((await session.send(message)).text);
      return texts;
    },
  },
  named: { run: async (message: string) => (await svc.agent('helper').session('shared').send(message)).sessionId },
  typed: { run: async () => (await svc.agent('typed').session().send('say:{"n":3}')).output },
  schema: {
    run: async () => {
      const said = 'say:{"name":"Ada","born":"1815-12-10T00:00:00Z"}';
      const { output } = await svc.agent('helper').session().send(said, { schema: Person });
      return [output.name, output.born.getUTCFullYear()];
    },
  },
  catches: {
    run: async (message: string) =>
      svc
        .agent('helper')
        .session()
        .send(message)
        .catch((error: Error & { code?: string }) => [error.code, (error.cause as Error | undefined)?.message]),
  },
  unknown: { run: async () => svc.agent('nobody').session().send('say:x') },
  inStep: { run: async (message: string) => askInStep(message) },
  askTwice: { run: async () => askTwice() },
  stream: { run: async (message: string) => stream(message), mode: 'chat' },
  streamInBody: { run: async () => svc.agent('helper').session().send('say:x', { writable: getWritable() }) },
};

const open = () => boxes.open({ agents, workflows });
const turnsOf = async (box: TestBox) =>
  (await call<{ items: Record<string, unknown>[] }>(box, 'GET /api/runs?kind=agent')).body.items;
const toldTo = (box: TestBox) =>
  ((box.model.requests.at(-1)?.messages ?? []) as { content: string }[]).map(({ content }) => content);

describe('svc.agent in a workflow body', () => {
  test('answers what the agent said, from a run below this one', async () => {
    const box = await open();
    const parent = await runWorkflow(box, 'ask', { args: ['say:Hello.'] });
    const [turn] = await turnsOf(box);
    expect(parent.output).toEqual({ text: 'Hello.', runId: turn?.runId, sessionId: turn?.sessionId });
    expect(turn).toMatchObject({ name: 'helper', kind: 'agent', trigger: 'workflow', parentRunId: parent.runId });
    expect(turn?.sessionId).toEqual(expect.any(String));
  });

  test('goes on with its session', async () => {
    const box = await open();
    expect((await runWorkflow(box, 'talk', { args: [['say:one', 'say:two']] })).output).toEqual(['one', 'two']);
    expect(toldTo(box)).toEqual(['Help.', 'say:one', 'one', 'say:two']);
  });

  test('goes on with a session of that name from another run', async () => {
    const box = await open();
    const { output } = await runWorkflow(box, 'named', { args: ['say:one'] });
    expect((await runWorkflow(box, 'named', { args: ['say:two'] })).output).toBe(output);
    expect(toldTo(box)).toEqual(['Help.', 'say:one', 'one', 'say:two']);
  });

  test('goes on over a restart while the agent answers, and asks it once', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'talk', { args: [['say:one', 'delay:300\nsay:two', 'say:three']] });
    await until(async () => (await turnsOf(box)).length === 2);
    const again = await box.restart();
    expect(await finish(again, runId)).toMatchObject({ output: ['one', 'two', 'three'] });
    expect((await turnsOf(again)).length).toBe(3);
    expect(toldTo(again)).toEqual(['Help.', 'say:one', 'one', 'delay:300\nsay:two', 'two', 'say:three']);
  });

  test('answers by the schema of the agent, or by one of its own', async () => {
    const box = await open();
    expect((await runWorkflow(box, 'typed')).output).toEqual({ n: 3 });
    expect((await runWorkflow(box, 'schema')).output).toEqual(['Ada', 1815]);
  });

  test('throws what ended the turn, and for a name that is none', async () => {
    const box = await open();
    expect((await runWorkflow(box, 'catches', { args: ['error:400'] })).output).toEqual([
      'child_failed',
      expect.stringContaining('The model provider answered 400'),
    ]);
    expect(await runWorkflow(box, 'unknown')).toMatchObject({
      status: 'failed',
      error: { code: 'agent_not_found', message: expect.stringContaining('"nobody"') },
    });
  });

  test('cancels the turn with the run', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'ask', { args: ['hang'] });
    await until(async () => (await turnsOf(box)).length === 1);
    await call(box, `POST /api/runs/${runId}/cancel`);
    const [turn] = await turnsOf(box);
    expect((await finish(box, String(turn?.runId))).status).toBe('cancelled');
  });

  test('cannot write to a stream', async () => {
    const box = await open();
    expect(await runWorkflow(box, 'streamInBody')).toMatchObject({
      error: { message: expect.stringContaining('Call send() with "writable" in a step.') },
    });
  });
});

describe('svc.agent in a step', () => {
  test('answers as in a body', async () => {
    const box = await open();
    expect((await runWorkflow(box, 'inStep', { args: ['say:Hello.'] })).output).toMatchObject({ text: 'Hello.' });
  });

  test('that is repeated asks once', async () => {
    const box = await open();
    const { output } = await runWorkflow(box, 'askTwice');
    expect((await turnsOf(box)).map(({ runId }) => runId)).toEqual([output]);
  });

  test('hands the text on as it comes', async () => {
    const box = await open();
    const init = json({ args: ['chunks:5\nsay:one two three four five'] });
    const answer = await box.request('/api/workflows/stream/chat', init);
    const events = (await answer.text()).split('\n\n').filter((event) => event.includes('event: frame'));
    const frames = events.map((event) => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as string);
    expect(frames.join('')).toBe('one two three four five');
    expect(frames.length).toBeGreaterThan(1);
  });
});

describe('svc.agent in a tool', () => {
  test('answers the tool, and keeps the session that it names', async () => {
    const box = await open();
    const ask = (question: string) =>
      box.request(
        '/wire-a/v1/chat/completions',
        json(
          { model: 'boss', messages: [{ role: 'user', content: `tool:consult {"question":"${question}"}` }] },
          { headers: { authorization: 'Bearer dev' } },
        ),
      );
    expect(await (await ask('say:one')).text()).toContain('The tool answered: one');
    expect(await (await ask('say:two')).text()).toContain('The tool answered: two');
    const asked = box.model.requests.findLast(({ messages }) => JSON.stringify(messages).includes('Help.'));
    expect(((asked?.messages ?? []) as { content: string }[]).map(({ content }) => content)).toEqual([
      'Help.',
      'say:one',
      'one',
      'say:two',
    ]);
  });
});

test('svc.agent outside of a run says where it works', () => {
  expect(() => svc.agent('helper').session()).toThrow('works in a workflow, a step or a tool');
});

describe('a retry of a workflow whose turn has failed', () => {
  test.each(['ask', 'inStep'] as const)('asks the agent again, and only it (%s)', async (name) => {
    const { helper } = agents;
    const script = [model.reply('One.'), model.fail({ status: 400, message: 'Bad.' }), model.reply('Two.')];
    const { run: ask } = workflows[name];
    const both = async () => [(await ask('one')).text, (await ask('two')).text];
    markWorkflow(both, 'both');
    const box = await createTestBox({ agents: { helper }, workflows: { both: { both } }, model: script });
    onTestFinished(() => box.close());
    const run = await box.workflow('both').start();
    await expect.poll(() => run.status()).toBe('failed');
    const answer = await box.request(`/api/runs/${run.id}/retry`, json({}));
    const { runId } = (await answer.json()) as { runId: string };
    const read = async () => (await (await box.request(`/api/runs/${runId}`)).json()) as Record<string, unknown>;
    await expect.poll(read).toMatchObject({ status: 'completed', output: ['One.', 'Two.'] });
    expect(box.model.left).toBe(0);
  });
});
