import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { costOf } from '../src/limits/prices.ts';
import type { ModelPrices } from '../src/limits/prices.ts';
import { svc } from '../src/svc.ts';
import { z } from 'zod';
import { describeOnBoth } from './_both.ts';
import type { OpenBox } from './_both.ts';
import { call, getRun, runWorkflow, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const PRICE = { inputPerMillion: 3_000, outputPerMillion: 15_000 };
const TOKEN = 'the-token-of-the-operator';
const NAMES = ['first', 'second', 'other', 'vectors'] as const;

interface Spent {
  kind: string;
  id: string;
  tokens: number;
  cost: number;
}

/** Models of names that no other test has: the sums of a store outlive their box. */
async function open(
  openBox: OpenBox,
  priced: readonly string[] = NAMES,
  options: NonNullable<Parameters<OpenBox>[0]['options']> = {},
) {
  const suffix = randomUUID();
  const named = (name: string) => `test/${name}-${suffix}`;
  const prices: ModelPrices = Object.fromEntries(priced.map((name) => [named(name), PRICE]));
  const consult = defineTool({
    description: 'Ask another model.',
    inputSchema: z.object({}),
    execute: async () => (await svc.ai.chat({ prompt: 'say:Other.', model: named('other') })).text,
  });
  const inStep = toStep('inStep', async () => (await svc.ai.chat({ prompt: 'say:x', model: named('other') })).text);
  const agent = `desk-${suffix}`;
  const box = await openBox({
    agents: { [agent]: defineDeepAgent({ name: agent, model: named('first'), tools: { consult } }) },
    workflows: {
      body: { run: async () => (await svc.ai.chat({ prompt: 'say:x', model: named('second') })).text },
      step: { run: async () => inStep() },
      embed: { run: async () => (await svc.ai.embed({ input: 'one two', model: named('vectors') })).usage.inputTokens },
    },
    options: { prices: () => prices, ...options },
  });
  const spent = async (kind: string, id: string): Promise<Spent | undefined> => {
    const { body } = await call<{ items: Spent[] }>(box, `GET /api/usage?kind=${kind}&id=${encodeURIComponent(id)}`);
    return body.items[0];
  };
  const settled = async (kind: string, id: string): Promise<Spent> => {
    await until(async () => (await spent(kind, id)) !== undefined);
    return (await spent(kind, id)) as Spent;
  };
  return { box, agent, prices, spentOfModel: (name: string) => settled('model', named(name)), spent, settled, named };
}

const chat = (box: TestBox, model: string, content: string) =>
  call<{ usage: { prompt_tokens: number; completion_tokens: number } }>(
    box,
    'POST /wire-a/v1/chat/completions',
    { model, messages: [{ role: 'user', content }] },
    { authorization: 'Bearer dev' },
  );

describeOnBoth(boxes, 'what models cost', (openBox) => {
  test('is counted for the model and for the agent that asked it', async () => {
    const { box, agent, spentOfModel, settled } = await open(openBox);
    const { prompt_tokens, completion_tokens } = (await chat(box, agent, 'say:hello')).body.usage;
    const cost = (prompt_tokens * 3_000 + completion_tokens * 15_000) / 1_000_000;
    expect(cost).toBeGreaterThan(0);
    const tokens = prompt_tokens + completion_tokens;
    expect(await spentOfModel('first')).toMatchObject({ tokens, cost: expect.closeTo(cost, 8) });
    expect(await settled('agent', agent)).toMatchObject({ tokens, cost: expect.closeTo(cost, 8) });
  });

  test('of a model that a tool asks is counted for it, and for the agent whose tool it is', async () => {
    const { box, agent, spentOfModel, settled } = await open(openBox);
    await chat(box, agent, 'tool:consult {}; say:done');
    const [first, other] = [await spentOfModel('first'), await spentOfModel('other')];
    expect(other.cost).toBeGreaterThan(0);
    await until(async () => (await settled('agent', agent)).tokens === first.tokens + other.tokens);
    expect((await settled('agent', agent)).cost).toBeCloseTo(first.cost + other.cost, 8);
  });

  test.each([
    ['body', 'second'],
    ['step', 'other'],
    ['embed', 'vectors'],
  ])('of a single call is counted once (%s)', async (workflow, name) => {
    const { box, spentOfModel } = await open(openBox);
    const run = await runWorkflow(box, workflow, {});
    const tokens = (run as unknown as { totalTokens: number }).totalTokens;
    expect(tokens).toBeGreaterThan(0);
    expect(await spentOfModel(name)).toMatchObject({ tokens });
    expect((await spentOfModel(name)).cost).toBeGreaterThan(0);
  });

  test('is shown on the run and on the session, as it was then', async () => {
    const { box, agent, prices, spentOfModel, named } = await open(openBox);
    const say = async (content: string) =>
      call<{ id: string }>(
        box,
        'POST /wire-a/v1/chat/completions',
        { model: agent, messages: [{ role: 'user', content }] },
        { authorization: 'Bearer dev', 'x-svc-session': 'ada' },
      );
    await say('tool:consult {}; say:done');
    await say('say:again');
    const sessions = await call<{ items: { sessionId: string }[] }>(box, `GET /api/sessions?agent=${agent}`);
    const { sessionId } = sessions.body.items[0] as { sessionId: string };
    const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?session=${sessionId}`)).body;
    const costs = await Promise.all(items.map(async ({ runId }) => (await getRun(box, runId)).cost as number));
    const sumOf = async () => (await spentOfModel('first')).cost + (await spentOfModel('other')).cost;
    await until(async () => Math.abs((await sumOf()) - costs[0]! - costs[1]!) < 1e-8);
    const [first, other] = [await spentOfModel('first'), await spentOfModel('other')];
    // What a tool has asked is of its run; of a session the turns are counted, as their tokens are.
    expect(costs[0]! + costs[1]!).toBeCloseTo(first.cost + other.cost, 8);
    const session = () => call<Record<string, unknown>>(box, `GET /api/sessions/${sessionId}`);
    expect((await session()).body.cost).toBeCloseTo(first.cost, 8);
    for (const name of NAMES) delete prices[named(name)];
    expect((await getRun(box, items[0]!.runId)).cost).toBe(costs[0]);
  });

  test('of a run and a session is left out where no model has a price, and is 0 where one costs nothing', async () => {
    const { box, agent, prices, named } = await open(openBox, []);
    const say = () =>
      call(
        box,
        'POST /wire-a/v1/chat/completions',
        { model: agent, messages: [{ role: 'user', content: 'say:hello' }] },
        { authorization: 'Bearer dev', 'x-svc-session': 'ada' },
      );
    const look = async () => {
      const run = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${agent}`)).body.items[0];
      const session = (await call<{ items: { sessionId: string }[] }>(box, `GET /api/sessions?agent=${agent}`)).body;
      return [
        await getRun(box, run?.runId ?? ''),
        (await call(box, `GET /api/sessions/${session.items[0]?.sessionId}`)).body,
      ];
    };
    await say();
    for (const shown of await look()) expect(shown).not.toHaveProperty('cost');
    prices[named('first')] = { inputPerMillion: 0, outputPerMillion: 0 };
    await say();
    for (const shown of await look()) expect(shown).toMatchObject({ cost: 0 });
  });

  test.each(['body', 'step'])('of a run is not disclosed to the API key that started it (%s)', async (workflow) => {
    const { box } = await open(openBox, NAMES, { host: 'image', strategy: operatorToken(TOKEN) });
    const operator = { authorization: `Bearer ${TOKEN}` };
    const grants = { agents: 'all', workflows: 'all' };
    const { value } = (await call<{ value: string }>(box, 'POST /api/keys', { name: 'shop', grants }, operator)).body;
    const key = { authorization: `Bearer ${value}` };
    const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${workflow}/start`, {}, key);
    const read = (headers: Record<string, string>, path = '/api/runs') =>
      call(box, `GET ${path}/${body.runId}?wait=20s`, undefined, headers);
    const shown = await read(operator);
    expect(shown.body).toMatchObject({ status: 'completed', cost: expect.any(Number) as number });
    expect(shown.body.cost).toBeGreaterThan(0);
    for (const path of ['/api/runs', '/api/workflows/runs']) {
      const { status, body: seen } = await read(key, path);
      expect([status, seen]).toMatchObject([200, { status: 'completed', totalTokens: shown.body.totalTokens }]);
      expect(seen).not.toHaveProperty('cost');
    }
  });

  test('is 0 for a model that has no price', async () => {
    const { box, agent, spentOfModel } = await open(openBox, ['other']);
    await chat(box, agent, 'say:hello');
    expect(await spentOfModel('first')).toMatchObject({ tokens: expect.any(Number) as number, cost: 0 });
  });
});

test('what a provider had in its cache has a price of its own', () => {
  const tokens = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 30, totalTokens: 110 };
  const cached = { ...PRICE, cacheReadPerMillion: 300, cacheWritePerMillion: 3_750 };
  expect(costOf({ m: cached }, 'm', tokens)).toBeCloseTo((10 * 3_000 + 60 * 300 + 30 * 3_750 + 10 * 15_000) / 1e6, 9);
  expect(costOf({ m: PRICE }, 'm', tokens)).toBeCloseTo((100 * 3_000 + 10 * 15_000) / 1e6, 9);
  expect(costOf({ m: PRICE }, 'toString', tokens)).toBeUndefined();
});
