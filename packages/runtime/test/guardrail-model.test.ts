import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { createLog } from '../src/log.ts';
import { JUDGE, startJudgingProvider } from './_judging-provider.ts';
import type { JudgingProvider } from './_judging-provider.ts';
import { startPlane } from './_plane.ts';
import { call, json, setupBoxes, startWorkflow } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

type Body = Record<string, unknown>;

const boxes = setupBoxes();
let names = 0;
const newName = () => `place-${++names}`;

/** Of the judge, what `answer` says of a text; of every other model, what the scripted one does. */
let provider: JudgingProvider;
let answer: (text: string) => string | number | undefined;

beforeAll(async () => {
  provider = await startJudgingProvider();
  provider.judge((message) => answer((JSON.parse(message) as { text: string }).text));
});
afterAll(() => provider.close());
beforeEach(() => {
  provider.asked.length = 0;
  answer = (text) =>
    JSON.stringify(/idiot/.test(text) ? { hit: true, label: 'insult' } : { hit: false, label: 'other' });
});

const open = (options: TestBoxOptions) => boxes.open({ provider, ...options });
const create = async (box: TestBox, more: Body, check: Body = {}): Promise<Body & { id: string; name: string }> => {
  const { status, body } = await call<Body & { id: string; name: string }>(box, 'POST /api/guardrails', {
    name: newName(),
    action: 'block',
    check: { kind: 'model', rubric: 'Nobody is insulted.', labels: ['insult', 'threat'], model: JUDGE, ...check },
    ...more,
  });
  expect([status, body]).toMatchObject([201, { check: { kind: 'model' } }]);
  return body;
};
const ask = async (box: TestBox, model: string, content: string) => {
  const response = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model, messages: [{ role: 'user', content }] }, { headers: { authorization: 'Bearer key' } }),
  );
  return { status: response.status, text: await response.text() };
};
const hitsOf = async (box: TestBox, { id }: { id: string }) =>
  (await call<{ items: Body[] }>(box, `GET /api/guardrails/hits?ruleId=${id}`)).body.items;

describe('a model as judge', () => {
  test('blocks what breaks the rule, with one of its labels as the reason, and takes the text as material', async () => {
    const name = newName();
    const box = await open({ workflows: { [name]: { run: (input: unknown) => input } } });
    const rule = await create(box, { sides: ['workflow-input'], attachment: { kind: 'workflow', name } });
    const start = (text: string) => call<Body>(box, `POST /api/workflows/${name}/start`, { text });
    expect(await start('you idiot')).toMatchObject({
      status: 422,
      body: { code: 'workflow_guardrail_blocked', details: { rule: rule.name, reason: 'insult' } },
    });
    expect((await start('a kind word')).status).toBe(202);
    expect(await hitsOf(box, rule)).toMatchObject([{ reason: 'insult', count: 1, isApplied: true }]);
    const [first] = provider.asked;
    expect(first?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(first?.messages[0]?.content).toContain('Nobody is insulted.');
    expect(first).toMatchObject({ temperature: 0, response_format: { type: 'json_schema' } });
  });

  test('is not asked again about the same text', async () => {
    const name = newName();
    const box = await open({ workflows: { [name]: { run: (input: unknown) => input } } });
    await create(box, { sides: ['workflow-input'], attachment: { kind: 'workflow', name } });
    for (let time = 0; time < 3; time++) await startWorkflow(box, name, { text: 'the same' });
    expect(provider.asked).toHaveLength(1);
  });

  test('judges what an agent says before anybody reads it, and the arguments of its calls', async () => {
    const name = newName();
    const send = defineTool({
      description: 'Sends.',
      inputSchema: z.object({ text: z.string() }),
      execute: () => 'sent',
    });
    const agent = defineDeepAgent({ name, model: 'vendor/one', tools: { send } });
    const box = await open({ agents: { [name]: agent } });
    const attachment = { kind: 'agent', name };
    const said = await create(box, { sides: ['agent-output'], attachment });
    expect(await ask(box, name, 'say:you idiot')).toMatchObject({
      status: 200,
      text: expect.stringContaining('"finish_reason":"content_filter"') as string,
    });
    expect((await ask(box, name, 'say:you idiot')).text).not.toContain('idiot');
    expect((await ask(box, name, 'say:good day')).text).toContain('good day');
    expect(await hitsOf(box, said)).toMatchObject([{ side: 'agent-output' }, {}]);
    const called = await create(box, { sides: ['tool-call'], attachment });
    expect((await ask(box, name, 'tool:send {"text":"idiot"}')).text).toContain('content_filter');
    expect(await hitsOf(box, called)).toMatchObject([{ side: 'tool-call', reason: 'insult' }]);
  });

  test.each([
    ['no answer in time', () => undefined, 'no answer of the model within 1000 ms', 1_000],
    ['a failure of the provider', () => 400, 'the model could not be asked', 30_000],
    ['an answer that is no verdict', () => 'I would rather not say.', 'no verdict', 30_000],
  ])('blocks on %s, with a reason that does not quote the text, unless it may pass', async (_, fail, reason, ms) => {
    const name = newName();
    const box = await open({ workflows: { [name]: { run: (input: unknown) => input } } });
    const of = { sides: ['workflow-input'], attachment: { kind: 'workflow', name } };
    const closed = await create(box, of, { timeoutMs: ms });
    answer = fail;
    const refused = await call<{ details: { reason: string } }>(box, `POST /api/workflows/${name}/start`, 'Rosebud');
    expect(refused).toMatchObject({
      status: 422,
      body: { details: { reason: expect.stringContaining(reason) as string } },
    });
    expect(JSON.stringify(refused.body)).not.toContain('Rosebud');
    await box.request(`/api/guardrails/${closed.id}`, json({ failClosed: false }, { method: 'PATCH' }));
    expect((await call(box, `POST /api/workflows/${name}/start`, 'Rosebud')).status).toBe(202);
    expect((await hitsOf(box, closed))[0]).toMatchObject({ isApplied: false });
    // A verdict that was never given is not remembered.
    answer = () => JSON.stringify({ hit: true, label: 'threat' });
    expect(await call(box, `POST /api/workflows/${name}/start`, 'Rosebud')).toMatchObject({
      status: 422,
      body: { details: { reason: 'threat' } },
    });
  });

  test('says a label of the rule, and never what the model makes up', async () => {
    const name = newName();
    const box = await open({ workflows: { [name]: { run: (input: unknown) => input } } });
    await create(box, { sides: ['workflow-input'], attachment: { kind: 'workflow', name } });
    answer = (text) => JSON.stringify({ hit: true, label: text });
    expect(await call(box, `POST /api/workflows/${name}/start`, 'Rosebud')).toMatchObject({
      status: 422,
      body: { details: { reason: 'by the model' } },
    });
  });

  test('can be tried without being kept, and has no place to mask', async () => {
    const box = await open({});
    const rule = { check: { kind: 'model', rubric: 'Nobody is insulted.', labels: ['insult'], model: JUDGE } };
    expect(await call(box, 'POST /api/guardrails/test', { text: 'idiot', rule })).toMatchObject({
      status: 200,
      body: { verdict: 'block', hits: [{ reason: 'insult' }] },
    });
    expect(
      (await call(box, 'POST /api/guardrails/test', { text: 'idiot', rule: { ...rule, action: 'mask' } })).status,
    ).toBe(400);
    provider.asked.length = 0;
    expect(await call(box, 'POST /api/guardrails/test', { text: 'x'.repeat(200_001), rule })).toMatchObject({
      body: { verdict: 'block', hits: [{ reason: expect.stringContaining('200000') as string }] },
    });
    expect(provider.asked).toEqual([]);
  });
});

test('who may not change rules tries none that asks a model', async () => {
  const plane = await startPlane();
  const name = newName();
  const box = await open({
    agents: { [name]: defineDeepAgent({ name }) },
    options: {
      host: 'image',
      registration: { installationId: plane.installationId, hmacSecret: 'f'.repeat(64) },
      strategy: plane.strategy({ log: createLog({ level: 'silent', write: () => {} }) }),
    },
  });
  try {
    const as = async (role: string) => ({ authorization: `Bearer ${await plane.mint(role)}` });
    const check = { kind: 'model', rubric: 'Nobody is insulted.', labels: ['insult'], model: JUDGE };
    const attachment = { kind: 'agent', name };
    const rule = { name, action: 'audit', sides: ['agent-output'], attachment, check };
    const turn = { model: name, messages: [{ role: 'user', content: 'say:you idiot' }] };
    expect((await call(box, 'POST /wire-a/v1/chat/completions', turn, await as('member'))).status).toBe(200);
    expect((await call(box, 'POST /api/guardrails', rule, await as('member'))).status).toBe(201);
    const text = { text: 'you idiot', agent: name };
    const runs = { kind: 'agent', name };
    for (const tried of [text, { text: 'you idiot', rule: { check } }, { runs }, { runs, rule: { check } }]) {
      expect(await call(box, 'POST /api/guardrails/test', tried, await as('viewer'))).toMatchObject({
        status: 403,
        body: { code: 'forbidden', details: { permission: 'guardrails:write' } },
      });
      expect(provider.asked).toEqual([]);
    }
    expect(await call(box, 'POST /api/guardrails/test', text, await as('member'))).toMatchObject({
      status: 200,
      body: { verdict: 'pass', hits: [{ action: 'audit', reason: 'insult' }] },
    });
    expect(await call(box, 'POST /api/guardrails/test', { runs, rule: { check } }, await as('member'))).toMatchObject({
      status: 200,
      body: { verdict: 'block', hits: [{ ruleName: 'draft', reason: 'insult', count: 2 }] },
    });
  } finally {
    await plane.close();
  }
});
