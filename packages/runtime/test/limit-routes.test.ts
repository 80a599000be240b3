import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import type { DeepAgentDefinition } from '../src/definitions/agent.ts';
import type { Limits } from '../src/limits/limits.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { svc } from '../src/svc.ts';
import { z } from 'zod';
import { listenTo } from './_sse.ts';
import { call, json, runWorkflow, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const refund = defineTool({ description: 'Refund.', inputSchema: z.object({}), execute: () => 'done' });
const helper = (more: Partial<DeepAgentDefinition> = {}) =>
  defineDeepAgent({ name: 'helper', instructions: 'Help.', tools: { refund }, interruptOn: { refund: true }, ...more });

const think = toStep('think', async (prompt: string) => (await svc.ai.chat({ prompt })).text);

const PROGRAM: TestBoxOptions = {
  agents: { helper: helper() },
  workflows: {
    ask: { run: async (message: string) => (await svc.agent('helper').session().send(message)).text },
    askBudgeted: { run: async (message: string) => (await svc.agent('budgeted').session().send(message)).text },
    think: { run: async (prompt: string) => (await svc.ai.chat({ prompt })).text },
    thinkInStep: { run: async (prompt: string) => think(prompt) },
    echo: { run: async (input: unknown) => input },
  },
};

interface Key {
  id: string;
  value: string;
  limits: object | null;
}

interface Now {
  requests: number;
  turns: number;
  tokensToday: number;
  tokensThisMonth: number;
}

const as = (value: string) => ({ authorization: `Bearer ${value}` });

/** A box that checks keys, and one beside it that makes them and looks. */
async function openBoth(program: TestBoxOptions = PROGRAM): Promise<{ dev: TestBox; image: TestBox }> {
  const kv = createMemoryKv();
  const dev = await boxes.open({ options: { kv } });
  return { dev, image: await boxes.open({ ...program, options: { host: 'image', kv } }) };
}

const makeKey = async (box: TestBox, limits: object | null): Promise<Key> => {
  const asked = { name: 'shop', grants: { agents: 'all', workflows: 'all' }, limits };
  return (await call<Key>(box, 'POST /api/keys', asked, {})).body;
};

const chatA = (box: TestBox, headers: Record<string, string>, content = 'say:hello', model = 'helper') =>
  call<{ error?: { type: string; code: string; message: string } }>(
    box,
    'POST /wire-a/v1/chat/completions',
    { model, messages: [{ role: 'user', content }] },
    headers,
  );

const usageOf = async (box: TestBox, kind: string, id: string): Promise<Now> =>
  (await call<Now>(box, `GET /api/usage/${kind}/${id}`)).body;

describe('a key with limits', () => {
  test('is refused what is above its requests in a minute, on every wire and operation', async () => {
    const { dev, image } = await openBoth();
    const key = await makeKey(dev, { requestsPerMinute: 2 });
    const headers = as(key.value);
    expect((await chatA(image, headers)).status).toBe(200);
    expect((await call(image, 'POST /api/workflows/echo/start', {}, headers)).status).toBe(202);
    const refused = await chatA(image, headers);
    expect([refused.status, refused.body.error]).toEqual([
      429,
      {
        type: 'rate_limit_error',
        code: 'rate_limited',
        message: expect.stringMatching(
          /^The API key "shop" \(svc_\w+\) may send 2 requests a minute\. Try again in \d+ s\.$/,
        ),
        param: null,
      },
    ]);
    const message = { model: 'helper', max_tokens: 9, messages: [{ role: 'user', content: 'say:hello' }] };
    const asked: [string, object][] = [
      ['POST /wire-b/v1/messages', message],
      ['POST /wire-b/v1/messages/count_tokens', message],
      ['POST /agui/v1/agents/helper', { threadId: 't', runId: 'r', messages: [] }],
      ['POST /api/workflows/echo/start', {}],
    ];
    for (const [route, body] of asked) {
      const [method, path = ''] = route.split(' ');
      const answer = await image.request(path, json(body, { method: method ?? '', headers }));
      expect([route, answer.status, Number(answer.headers.get('retry-after'))]).toEqual([
        route,
        429,
        expect.toSatisfy((seconds: number) => seconds >= 1 && seconds <= 120),
      ]);
      expect(await answer.text()).toMatch(/rate_limit/);
    }
    // Another key is another count, and no one else has any.
    expect((await chatA(image, as((await makeKey(dev, null)).value))).status).toBe(200);
  });

  test('has its limits changed, and refuses a limit that is none', async () => {
    const { dev, image } = await openBoth();
    const key = await makeKey(dev, { requestsPerMinute: 1 });
    expect(key.limits).toEqual({ requestsPerMinute: 1 });
    await chatA(image, as(key.value));
    expect((await chatA(image, as(key.value))).status).toBe(429);
    await call(dev, `PATCH /api/keys/${key.id}`, { limits: null });
    await until(async () => (await chatA(image, as(key.value))).status === 200);
    const wrong = await call(dev, `PATCH /api/keys/${key.id}`, { limits: { requestsPerSecond: 1 } });
    expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([400, expect.stringContaining('requestsPerSecond')]);
  });

  test('has so many turns at once; one that waits for a person is none of them', async () => {
    const { dev, image } = await openBoth();
    const key = await makeKey(dev, { concurrentTurns: 1 });
    const headers = as(key.value);
    const held = image.request(
      '/wire-a/v1/chat/completions',
      json({ model: 'helper', messages: [{ role: 'user', content: 'delay:1500; say:slow' }] }, { headers }),
    );
    await until(async () => (await usageOf(dev, 'key', key.id)).turns === 1);
    const refused = await chatA(image, headers);
    expect([refused.status, refused.body.error?.message]).toEqual([
      429,
      expect.stringMatching(/may have one turn under way at once\. Try again when one has ended\.$/),
    ]);
    await held;
    await until(async () => (await usageOf(dev, 'key', key.id)).turns === 0);
    expect((await chatA(image, headers, 'tool:refund {}')).status).toBe(200);
    await until(async () => (await usageOf(dev, 'key', key.id)).turns === 0);
    expect((await chatA(image, headers)).status).toBe(200);
    expect((await chatA(image, headers, 'error:400')).status).toBeGreaterThanOrEqual(400);
    expect((await chatA(image, headers)).status).toBe(200);
  });

  test.each(['ask', 'think', 'thinkInStep'])('uses up its tokens, also by workflows it starts (%s)', async (name) => {
    const { dev, image } = await openBoth();
    const key = await makeKey(dev, { tokensPerDay: 1 });
    const headers = as(key.value);
    const start = async () => {
      const { body } = await call<{ runId: string }>(image, `POST /api/workflows/${name}/start`, 'say:hello', headers);
      const { body: run } = await call<{ status: string; error: { code: string; message: string } | null }>(
        image,
        `GET /api/workflows/runs/${body.runId}?wait=30s`,
        undefined,
        headers,
      );
      return run;
    };
    expect(await start()).toMatchObject({ status: 'completed' });
    await until(async () => (await usageOf(dev, 'key', key.id)).tokensToday > 0);
    expect(await start()).toMatchObject({
      status: 'failed',
      error: { code: 'budget_exceeded', message: expect.stringMatching(/ has used its 1 tokens of this day\./) },
    });
    const refused = await chatA(image, headers);
    expect([refused.status, refused.body.error?.code]).toEqual([429, 'budget_exceeded']);
    const { body } = await call<{ items: object[] }>(dev, `GET /api/usage?kind=key&id=${key.id}`);
    const { tokensToday: tokens } = await usageOf(dev, 'key', key.id);
    expect(body.items).toEqual([
      { kind: 'key', id: key.id, period: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), tokens, cost: 0 },
    ]);
  });
});

describe('an agent with limits', () => {
  test('has a budget a month that is announced, and held for all its callers and workflows', async () => {
    const limits = { tokensPerMonth: 5, requestsPerMinute: 100 };
    const box = await boxes.open({
      ...PROGRAM,
      agents: { helper: helper(), budgeted: helper({ name: 'budgeted', limits }) },
    });
    const events = await listenTo(`${await box.listen()}/api/events`);
    const key = { authorization: 'Bearer any' };
    expect((await chatA(box, key, 'say:hello', 'budgeted')).status).toBe(200);
    await until(() => events.events('budget.exceeded').length === 1);
    expect(events.events('budget.warning')[0]?.data).toMatchObject({
      kind: 'agent',
      id: 'budgeted',
      period: 'month',
      limit: 5,
    });
    const refused = await chatA(box, key, 'say:hello', 'budgeted');
    expect([refused.status, refused.body.error?.message]).toEqual([
      429,
      expect.stringMatching(/^The agent "budgeted" has used its 5 tokens of this month\. There are more from /),
    ]);
    expect(await runWorkflow(box, 'askBudgeted', 'say:hello')).toMatchObject({
      status: 'failed',
      error: { code: 'budget_exceeded' },
    });
    expect(await usageOf(box, 'agent', 'budgeted')).toMatchObject({ limits, requests: 2, turns: 0 });
    expect(box.logs).toContainEqual(expect.objectContaining({ kind: 'agent', id: 'budgeted', period: 'month' }));
  });

  test('has those an operator chose in place of those of its code, on every replica, until they are taken away', async () => {
    const kv = createMemoryKv();
    const limits = { requestsPerMinute: 100 };
    const name = `chosen-${randomUUID()}`;
    const options = { agents: { [name]: helper({ name, limits }) }, options: { kv } };
    const [box, replica] = [await boxes.open(options), await boxes.open(options)];
    const key = { authorization: 'Bearer any' };
    const choose = (chosen: object | null) =>
      call<{ limits: object }>(box, `PATCH /api/catalog/agent/${name}`, { limits: chosen });
    const set = await choose({ tokensPerMonth: 5 });
    expect([set.status, set.body.limits]).toEqual([
      200,
      { declared: limits, override: { tokensPerMonth: 5 }, effective: { tokensPerMonth: 5 } },
    ]);
    await until(async () => {
      const { body } = await call<{ limits: Limits }>(replica, `GET /api/usage/agent/${name}`);
      return body.limits.tokensPerMonth === 5;
    });
    expect((await chatA(replica, key, 'say:hello', name)).status).toBe(200);
    await until(async () => (await usageOf(box, 'agent', name)).tokensThisMonth > 5);
    for (const one of [box, replica])
      expect(await chatA(one, key, 'say:hello', name)).toMatchObject({
        status: 429,
        body: { error: { message: expect.stringContaining('has used its 5 tokens') } },
      });
    expect((await choose(null)).body.limits).toEqual({ declared: limits, override: null, effective: limits });
    expect((await chatA(box, key, 'say:hello', name)).status).toBe(200);
    expect(await choose({ tokensPerYear: 5 })).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('is declared with limits that there are', () => {
    expect(() => helper({ limits: { tokensPerYear: 1 } as never })).toThrow(
      /^"limits" is wrong: .*tokensPerYear.* The limits are requestsPerMinute, concurrentTurns, tokensPerDay, tokensPerMonth\.$/,
    );
    expect(() => helper({ limits: { tokensPerDay: 0 } })).toThrow(/^"limits.tokensPerDay" is wrong: /);
  });
});

describe('each user of a key', () => {
  const makeUsersKey = async (box: TestBox, limits: object): Promise<Key & { client: string }> =>
    (
      await call<Key & { client: string }>(box, 'POST /api/keys', {
        name: 'shop',
        client: `shop/${String(limits).length}${Math.random()}`,
        users: true,
        grants: { agents: 'all', workflows: 'all' },
        limits,
      })
    ).body;
  const userOf = ({ value }: Key, id: string) => ({ ...as(value), 'x-svc-user': id });

  test('has its own requests in a minute, which keep the others of the key free', async () => {
    const { dev, image } = await openBoth();
    const key = await makeUsersKey(dev, { requestsPerMinute: 4, users: { requestsPerMinute: 2 } });
    const statusOf = async (headers: Record<string, string>) =>
      (await call(image, 'POST /api/workflows/echo/start', {}, headers)).status;
    const ada = userOf(key, 'ada');
    expect([await statusOf(ada), await statusOf(ada)]).toEqual([202, 202]);
    for (let n = 0; n < 5; n++) {
      const refused = await call(image, 'POST /api/workflows/echo/start', {}, ada);
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', details: { value: 2 } } });
      expect(refused.body.message).toMatch(/^The user "ada" of "shop\/.+" may send 2 requests a minute\./);
    }
    // What ada was refused is not the key's.
    expect([await statusOf(userOf(key, 'bob')), await statusOf(as(key.value))]).toEqual([202, 202]);
    expect((await call(image, 'POST /api/workflows/echo/start', {}, userOf(key, 'eve'))).body).toMatchObject({
      details: { value: 4 },
    });
  });

  test('has its own budget, over all keys of its client, and its use is listed', async () => {
    const { dev, image } = await openBoth();
    const key = await makeUsersKey(dev, { users: { tokensPerDay: 10 } });
    expect((await chatA(image, userOf(key, 'ada b'.replace(' ', '/')))).status).toBe(200);
    const id = `${key.client.replace('/', '%2F')}/ada%2Fb`;
    const path = `/api/usage/user/${encodeURIComponent(id)}`;
    const used = async () => (await call<Now & { limits: object }>(dev, `GET ${path}`)).body;
    await until(async () => (await used()).tokensToday >= 10);
    expect((await used()).limits).toEqual({ tokensPerDay: 10 });
    const other = { name: 'next', client: key.client, users: true, grants: { agents: 'all' } };
    const next = (await call<Key>(dev, 'POST /api/keys', { ...other, limits: { users: { tokensPerDay: 10 } } })).body;
    await until(async () => (await chatA(image, userOf(next, 'ada/b'))).status === 429);
    expect((await chatA(image, userOf(key, 'ada/b'))).body.error?.code).toBe('budget_exceeded');
    expect((await chatA(image, userOf(key, 'bob'))).status).toBe(200);
    const { body } = await call<{ items: object[] }>(dev, `GET /api/usage?kind=user&id=${encodeURIComponent(id)}`);
    expect(body.items).toMatchObject([{ kind: 'user', id, tokens: expect.any(Number) }]);
  });

  test('has its own turns at once, and what its workflows use counts for it', async () => {
    const { dev, image } = await openBoth();
    const key = await makeUsersKey(dev, { users: { concurrentTurns: 1 } });
    const idOf = (user: string) => encodeURIComponent(`${key.client.replace('/', '%2F')}/${user}`);
    const held = image.request(
      '/wire-a/v1/chat/completions',
      json(
        { model: 'helper', messages: [{ role: 'user', content: 'delay:1500; say:slow' }] },
        { headers: userOf(key, 'ada') },
      ),
    );
    await until(async () => (await usageOf(dev, 'user', idOf('ada'))).turns === 1);
    expect((await chatA(image, userOf(key, 'ada'))).status).toBe(429);
    expect((await chatA(image, userOf(key, 'bob'))).status).toBe(200);
    await held;
    await call(image, 'POST /api/workflows/ask/start', 'say:hello', userOf(key, 'cy'));
    await until(async () => (await usageOf(dev, 'user', idOf('cy'))).tokensToday > 0);
  });
});
