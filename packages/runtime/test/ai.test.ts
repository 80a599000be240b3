import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { OPEN } from '../src/auth/strategy.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { getWritable } from '../src/engine/primitives/writable.ts';
import { markWorkflow } from '../src/internal.ts';
import { svc } from '../src/svc.ts';
import { createTestBox, model } from '../src/testing.ts';
import {
  call,
  finish,
  json,
  runWorkflow,
  setupBoxes,
  startProvider,
  startWorkflow,
  toModelStream,
  toStep,
} from './_setup.ts';
import { until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const Person = z.object({ name: z.string(), born: z.coerce.date() });

const chatInStep = toStep('chatInStep', async (prompt: string) => svc.ai.chat({ prompt }));
const embedInStep = toStep('embedInStep', async (texts: string[]) => svc.ai.embed({ input: texts }));
let attempts = 0;
const askAndFail = toStep('askAndFail', async () => {
  await svc.ai.chat({ prompt: 'say:spent' });
  attempts += 1;
  if (attempts === 1) throw Object.assign(new Error('Again.'), { name: 'RetryableError', retryAfter: 1 });
});
const stream = toStep('stream', async (prompt: string) => {
  const { text } = await svc.ai.chat({ prompt, writable: getWritable<string>() });
  return text;
});
const consult = defineTool({
  description: 'Ask another model.',
  inputSchema: z.object({ question: z.string() }),
  execute: async ({ question }) => (await svc.ai.chat({ prompt: question, model: 'test/other' })).text,
});

const codeOf = (error: Error & { code?: string }) => [error.code, error.message];
const workflows = {
  chat: { run: async (prompt: string) => svc.ai.chat({ prompt, temperature: 0, maxTokens: 50, system: 'Be brief.' }) },
  inStep: { run: async (prompt: string) => chatInStep(prompt) },
  embed: { run: async (...input: string[]) => svc.ai.embed({ input }) },
  embedInStep: { run: async (texts: number) => (await embedInStep(Array.from({ length: texts }, String))).usage },
  schema: {
    run: async (prompt: string) => {
      const { object, usage } = await svc.ai.chat({ prompt, schema: Person });
      return [object.name, object.born.getUTCFullYear(), usage.outputTokens];
    },
  },
  catches: { run: async (options: object) => svc.ai.chat(options as { prompt: string }).catch(codeOf) },
  catchesEmbed: { run: async (options: object) => svc.ai.embed(options as { input: string }).catch(codeOf) },
  spends: { run: async () => askAndFail() },
  stream: { run: async (prompt: string) => stream(prompt), mode: 'chat' },
  streamInBody: { run: async () => svc.ai.chat({ prompt: 'say:x', writable: getWritable() }) },
};
const agents = { boss: defineDeepAgent({ name: 'boss', tools: { consult } }) };
const embeddingModel = () => 'test/embeddings';
const open = (more: object = {}) => boxes.open({ agents, workflows, options: { embeddingModel }, ...more });
const stepsOf = async (box: TestBox, runId: unknown) =>
  (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/runs/${String(runId)}/steps`)).body.items;

describe('svc.ai.chat in a workflow body', () => {
  test('is one recorded call of the model, whose tokens are those of the step and the run', async () => {
    const box = await open();
    const run = await runWorkflow(box, 'chat', { args: ['reason:hm; say:Hello.'] });
    const { prompt_tokens: input, completion_tokens: output } = {
      prompt_tokens: run.inputTokens,
      completion_tokens: 3,
    };
    expect(run.output).toMatchObject({
      text: 'Hello.',
      reasoning: 'hm',
      finishReason: 'stop',
      model: 'test/scripted',
      usage: { inputTokens: input, outputTokens: output, reasoningTokens: 1, totalTokens: run.totalTokens },
    });
    expect(run.outputTokens).toBe(output);
    expect(await stepsOf(box, run.runId)).toMatchObject([
      { name: 'ai.chat', kind: 'model', status: 'completed', totalTokens: run.totalTokens, attempt: 1 },
    ]);
    expect(box.model.requests.at(-1)).toMatchObject({
      model: 'test/scripted',
      messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
      temperature: 0,
      max_tokens: 50,
    });
  });

  test('is not made again by a replay', async () => {
    const both = async () => [(await svc.ai.chat({ prompt: 'one' })).text, (await svc.ai.chat({ prompt: 'two' })).text];
    markWorkflow(both, 'both');
    const script = [model.reply('One.'), model.reply('Two.'), model.reply('Two again.')];
    const box = await createTestBox({ workflows: { both: { both } }, model: script });
    onTestFinished(() => box.close());
    const crashed = box.crashAt({ step: 'model', when: 'recorded' });
    const run = await box.workflow('both').start();
    await crashed;
    await box.restart();
    expect(await run.result()).toEqual(['One.', 'Two.']);
    expect(box.model.asked.map(({ agent, messages }) => [agent, messages[0]?.content])).toEqual([
      ['both', 'one'],
      ['both', 'two'],
    ]);
  });

  test('answers by a schema, and asks once more for what does not fit', async () => {
    const box = await open();
    const said = 'say:{"name":"Ada","born":"1815-12-10T00:00:00Z"}';
    expect((await runWorkflow(box, 'schema', { args: [said] })).output).toEqual(['Ada', 1815, 11]);
    expect(box.model.requests.at(-1)).toMatchObject({ response_format: { type: 'json_schema' } });

    let asked = 0;
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        toModelStream([{ content: ['No.', '```json\n{"name":"Bo","born":"1990-01-01"}\n```'][asked++] ?? 'No.' }]),
      );
    });
    const strict = await open({ provider: { baseUrl: provider.url } });
    expect((await runWorkflow(strict, 'schema', { args: ['Who?'] })).output).toEqual(['Bo', 1990, 0]);
    expect(await runWorkflow(strict, 'schema', { args: ['Who?'] })).toMatchObject({
      status: 'failed',
      error: { code: 'model_output_invalid', message: expect.stringContaining('"test/scripted"') },
    });
    expect(asked).toBe(4);
  });

  test('throws what the provider refuses, with its code, and asks models in its place', async () => {
    const box = await open();
    expect((await runWorkflow(box, 'catches', { args: [{ prompt: 'error:400' }] })).output).toEqual([
      'model_provider_failed',
      'The model provider answered 400: The scripted model was told to answer 400.',
    ]);
    const models = { maxRetries: 0, model: 'a/one', fallbackModels: ['b/two'] };
    await runWorkflow(box, 'catches', { args: [{ prompt: 'error:500', ...models }] });
    expect(box.model.requests.slice(-2).map((request) => request.model)).toEqual(['a/one', 'b/two']);
    const { output } = await runWorkflow(box, 'catches', { args: [{ prompt: 'say:ok', ...models }] });
    expect(output).toMatchObject({ text: 'ok', model: 'a/one' });
  });

  test('is stopped when the run is cancelled', async () => {
    const provider = await startProvider(() => {});
    const box = await open({ provider: { baseUrl: provider.url } });
    const runId = await startWorkflow(box, 'chat', { args: ['Wait.'] });
    await until(() => provider.open() === 1);
    await call(box, `POST /api/runs/${runId}/cancel`);
    expect((await finish(box, runId)).status).toBe('cancelled');
    await until(() => provider.open() === 0);
  });

  test('is refused with a code where no provider, and no model, is set', async () => {
    const host = { host: 'image' as const, strategy: OPEN };
    const closed = await open({ provider: 'none', options: host });
    const { output } = await runWorkflow(closed, 'catches', { args: [{ prompt: 'Hello' }] });
    expect(output).toEqual(['model_provider_missing', expect.stringContaining('Set MODEL_PROVIDER_BASE_URL')]);
    const run = await runWorkflow(closed, 'inStep', { args: ['Hello'] });
    expect(run).toMatchObject({ status: 'failed', error: { code: 'model_provider_missing' } });
    expect(await stepsOf(closed, run.runId)).toMatchObject([{ status: 'failed', attempt: 1 }]);
    const unnamed = await open({ defaultModel: '' });
    expect((await runWorkflow(unnamed, 'catches', { args: [{ prompt: 'Hello' }] })).output).toEqual([
      'model_not_selected',
      'No model is selected for this call. Name one: svc.ai.chat({ model, … }), or set "model" in svc.config.ts.',
    ]);
  });

  test.each([
    [{}, '"prompt" of svc.ai.chat() is what the model is asked, or "messages" is: pass one of them.'],
    [
      { prompt: 'a', messages: [] },
      '"prompt" of svc.ai.chat() is what the model is asked, or "messages" is: pass one of them.',
    ],
    [{ prompt: '' }, '"prompt" of svc.ai.chat() must be a text that is not empty.'],
    [{ messages: [] }, '"messages" of svc.ai.chat() must be a list with at least one message.'],
    [
      { messages: [{ role: 'tool', content: 'x' }] },
      '"messages[0]" of svc.ai.chat() must be { role, content }, with the role system, user or assistant.',
    ],
    [{ prompt: 'a', schema: {} }, '"schema" of svc.ai.chat() must be a schema of zod.'],
    [{ prompt: 'a', timeout: 'soon' }, '"timeout" of svc.ai.chat() must be a duration above 0, such as "30s".'],
    [{ prompt: 'a', maxRetries: 11 }, '"maxRetries" of svc.ai.chat() must be a whole number from 0 to 10.'],
    [
      { prompt: 'a', max_tokens: 4 },
      expect.stringContaining('"max_tokens" is no member of svc.ai.chat(). The members are: model'),
    ],
  ])('refuses %j', async (options, message) => {
    const box = await shared();
    expect((await runWorkflow(box, 'catches', { args: [options] })).output).toEqual(['invalid_request', message]);
  });

  test('cannot write to a stream', async () => {
    const box = await shared();
    expect(await runWorkflow(box, 'streamInBody')).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('works in a step and a tool') },
    });
  });
});

describe('svc.ai.chat in a step and a tool', () => {
  test('counts its tokens for the step and the run', async () => {
    const box = await open();
    const run = await runWorkflow(box, 'inStep', { args: ['say:Hello.'] });
    expect(run.output).toMatchObject({ text: 'Hello.', usage: { totalTokens: run.totalTokens } });
    expect(await stepsOf(box, run.runId)).toMatchObject([
      { kind: 'step', name: 'chatInStep', totalTokens: run.totalTokens },
    ]);
    expect(run.totalTokens).toBeGreaterThan(0);
  });

  test('counts those of an attempt that failed, too', async () => {
    const box = await open();
    const run = await runWorkflow(box, 'spends');
    const [step] = await stepsOf(box, run.runId);
    expect([step?.attempt, step?.outputTokens, run.outputTokens]).toEqual([2, 4, 4]);
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

  test('answers a tool of an agent, with another model', async () => {
    const box = await open();
    const messages = [{ role: 'user', content: 'tool:consult {"question":"say:four"}' }];
    const headers = { authorization: 'Bearer dev' };
    const answer = await box.request('/wire-a/v1/chat/completions', json({ model: 'boss', messages }, { headers }));
    expect(await answer.text()).toContain('The tool answered: four');
    const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    const tool = (await stepsOf(box, run?.runId)).find(({ kind }) => kind === 'tool');
    expect(tool).toMatchObject({ name: 'consult', outputTokens: 1 });
    expect(box.model.requests.map((request) => request.model)).toContain('test/other');
  });
});

describe('svc.ai.embed', () => {
  test('answers a vector for each text, recorded as one call of the model', async () => {
    const box = await open();
    const run = await runWorkflow(box, 'embed', { args: ['red apple', 'red apple', 'blue'] });
    const { vectors, usage, model: answered } = run.output as { vectors: number[][]; usage: object; model: string };
    expect(vectors.map((vector) => vector.length)).toEqual([32, 32, 32]);
    expect(vectors[0]).toEqual(vectors[1]);
    expect(vectors[0]).not.toEqual(vectors[2]);
    expect([answered, usage]).toEqual(['test/embeddings', expect.objectContaining({ inputTokens: 6, totalTokens: 6 })]);
    expect(await stepsOf(box, run.runId)).toMatchObject([{ name: 'ai.embed', kind: 'model', inputTokens: 6 }]);
  });

  test('sends many texts in batches, and puts their vectors in order', async () => {
    const box = await open();
    const before = box.model.embedRequests.length;
    const { output } = await runWorkflow(box, 'embedInStep', { args: [200] });
    const sizes = box.model.embedRequests.slice(before).map(({ input }) => (input as string[]).length);
    expect(sizes).toEqual([96, 96, 8]);
    expect(output).toMatchObject({ outputTokens: 0, inputTokens: expect.any(Number) });
  });

  test('throws what the provider refuses', async () => {
    const box = await shared();
    const refused = await runWorkflow(box, 'catchesEmbed', { args: [{ input: ['a', 'error:400'] }] });
    expect(refused.output).toEqual(['model_provider_failed', expect.stringContaining('answered 400')]);
  });

  test.each([
    ['no vectors', {}, 'It answered without "data", the list of vectors.'],
    ['too few', { data: [] }, 'It answered 0 vectors for 1 texts.'],
    ['no numbers', { data: [{ index: 0, embedding: 'AAAA' }] }, 'Vector 0 of its answer is none.'],
    ['another index', { data: [{ index: 1, embedding: [1] }] }, 'Vector 0 of its answer is none.'],
  ])('refuses an answer with %s', async (_, answer, reason) => {
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
    });
    const box = await open({ provider: { baseUrl: provider.url } });
    const { output } = await runWorkflow(box, 'catchesEmbed', { args: [{ input: 'a' }] });
    expect(output).toEqual(['model_provider_failed', `The model provider failed: ${reason}`]);
  });

  test.each([
    [{ input: [] }, '"input" of svc.ai.embed() must be a text, or a list of 1 to 10000 texts.'],
    [{ input: ['a', ''] }, '"input[1]" of svc.ai.embed() must be a text that is not empty.'],
    [{ input: 'a', dimensions: 0 }, '"dimensions" of svc.ai.embed() must be a whole number from 1.'],
  ])('refuses %j', async (options, message) => {
    const box = await shared();
    const { output } = await runWorkflow(box, 'catchesEmbed', { args: [options] });
    expect(output).toEqual(['invalid_request', message]);
  });

  test('says how to name a model where none is set', async () => {
    const box = await open({ options: {} });
    const { output } = await runWorkflow(box, 'catchesEmbed', { args: [{ input: 'a' }] });
    expect(output).toEqual(['model_not_selected', expect.stringContaining('set "embeddingModel" in svc.config.ts')]);
  });
});

const shared = boxes.share({ agents, workflows, options: { embeddingModel } });

test('svc.ai outside of a run says where it works', async () => {
  await expect(svc.ai.chat({ prompt: 'x' })).rejects.toThrow('svc.ai.chat() works in a workflow, a step or a tool.');
  await expect(svc.ai.embed({ input: 'x' })).rejects.toThrow('svc.ai.embed() works in a workflow, a step or a tool.');
});

test('a test box answers both: by its script, and with vectors in which texts that share words are near', async () => {
  const run = async () => {
    const { text } = await svc.ai.chat({ messages: [{ role: 'user', content: 'Hi' }] });
    const { vectors } = await svc.ai.embed({ input: ['a red apple', 'the red apple', 'blue sky'] });
    const nearness = (a: number, b: number) =>
      (vectors[a] ?? []).reduce((sum, value, place) => sum + value * (vectors[b]?.[place] ?? 0), 0);
    return [text, nearness(0, 1) > nearness(0, 2)];
  };
  markWorkflow(run, 'nearest');
  const box = await createTestBox({ workflows: { nearest: { run } }, model: [model.reply('Hello.')] });
  onTestFinished(() => box.close());
  expect(await (await box.workflow('nearest').start()).result()).toEqual(['Hello.', true]);
  expect(box.model.askedVectors).toMatchObject([{ agent: 'nearest', model: 'test/embeddings', input: { length: 3 } }]);
});
