import { describe, expect, onTestFinished, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { openDatabase } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import { openRedisKv } from '../src/stores/kv-redis.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { createLog } from '../src/log.ts';
import type { Settings } from '../src/settings/settings.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';
import { describeWhen } from './require.ts';
import { connect, ERAS } from './_mcp.ts';
import { bothServers } from './_cluster.ts';
import type { Servers } from './_cluster.ts';

const boxes = setupBoxes();
const PROGRAM = {
  agents: {
    plain: defineDeepAgent({ name: 'plain' }),
    picky: defineDeepAgent({ name: 'picky', model: 'code/picky' }),
  },
  workflows: { echo: { run: async (input: unknown) => input } },
};

const LIST_RUNS = { name: 'call_read_operation', arguments: { operation: 'runs.list', input: {} } };

/** The model the agent's next turn asks. */
async function modelOf(box: TestBox, agent = 'plain'): Promise<unknown> {
  const messages = [{ role: 'user', content: 'say:hi' }];
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model: agent, messages }, { headers: { 'x-api-key': 'any' } }),
  );
  if (answer.status !== 200) return ((await answer.json()) as { error: { code: string } }).error.code;
  await answer.text();
  return box.model.requests.at(-1)?.model;
}

/** Boxes on a database of their own, which share it and Redis. */
async function openReplicas(servers: Servers, hasKv: boolean, setup: TestBoxOptions = {}) {
  const made = await createDatabase(servers.database);
  onTestFinished(() => made.drop());
  const prefix = `test:${Date.now()}:${Math.random()}`;
  const open = async () => {
    const database = openDatabase(openPg(made.url));
    onTestFinished(() => database.close());
    await database.ready;
    const kv = hasKv
      ? openRedisKv({ url: servers.kv, prefix, log: createLog({ level: 'silent', write() {} }) })
      : undefined;
    onTestFinished(() => kv?.close());
    return boxes.open({ ...PROGRAM, ...setup, options: { db: database.db, exclusive: false, ...(kv ? { kv } : {}) } });
  };
  return [await open(), await open()] as const;
}

/** Settings and choices stay in the database: each test has one of its own. */
describeWhen(bothServers, 'the settings', (servers) => {
  const open = async (setup: TestBoxOptions = {}) => (await openReplicas(servers, false, setup))[0];

  test('of a new workspace say what the code says', async () => {
    const box = await open();
    expect(await call(box, 'GET /api/settings')).toEqual({
      status: 200,
      body: {
        name: null,
        defaultModel: null,
        effectiveModel: { model: 'test/scripted', source: 'code' },
        timeZone: null,
        logRetentionDays: null,
        keyDays: null,
        mcp: { enabled: true, tools: false },
        copilot: { enabled: false },
      },
    });
  });

  test('change one by one, are kept, and are in the activity log', async () => {
    const box = await open();
    await Promise.all([
      call(box, 'PATCH /api/settings', { name: 'Shop', timeZone: 'Europe/Madrid' }),
      call(box, 'PUT /api/settings/log-retention', { days: 7 }),
      call(box, 'PUT /api/settings/mcp', { enabled: true, tools: true }),
    ]);
    const set = { name: 'Shop', timeZone: 'Europe/Madrid', logRetentionDays: 7, mcp: { enabled: true, tools: true } };
    expect((await call(box, 'GET /api/settings')).body).toMatchObject(set);
    const cleared = await call(box, 'PATCH /api/settings', { name: null });
    expect(cleared.body).toMatchObject({ ...set, name: null });
    const { body } = await call<{ items: { id: string }[] }>(box, 'GET /api/activity?operation=settings.update');
    const last = await call(box, `GET /api/activity/${body.items[0]?.id}`);
    expect(last.body).toMatchObject({ before: { name: 'Shop' }, after: { name: null } });
  });

  test.each([
    ['PATCH /api/settings', { timeZone: 'Mars/Olympus' }],
    ['PATCH /api/settings', { logRetentionDays: 3 }],
    ['PATCH /api/settings', { defaultModel: '' }],
    ['PUT /api/settings/log-retention', { days: 0 }],
    ['PUT /api/settings/log-retention', { days: 3651 }],
    ['PUT /api/settings/log-retention', {}],
    ['PUT /api/settings/mcp', { tools: true }],
    ['PUT /api/settings/key-expiry', { days: 0 }],
  ])('%s refuses %j', async (route, body) => {
    expect(await call(await open(), route, body)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('choose the model of agents that name none, between the environment and the code', async () => {
    const box = await open();
    expect(await modelOf(box)).toBe('test/scripted');
    await call(box, 'PATCH /api/settings', { defaultModel: 'set/model' });
    expect([await modelOf(box), await modelOf(box, 'picky')]).toEqual(['set/model', 'code/picky']);
    await call(box, 'PATCH /api/settings', { defaultModel: null });
    expect(await modelOf(box)).toBe('test/scripted');
  });

  test('SVC_DEFAULT_MODEL wins over the one that is set, and the answer says so', async () => {
    const made = await open();
    await made.shut();
    const box = await boxes.open({ ...PROGRAM, options: { environmentModel: () => 'environment/model' } });
    const { body } = await call<Settings>(box, 'PATCH /api/settings', { defaultModel: 'set/model' });
    expect(body).toMatchObject({
      defaultModel: 'set/model',
      effectiveModel: { model: 'environment/model', source: 'environment' },
    });
    expect(await modelOf(box)).toBe('environment/model');
    await call(box, 'PATCH /api/settings', { defaultModel: null });
  });

  test('switch /mcp off and on', async () => {
    const box = await open();
    const ask = () => box.request('/mcp', json({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { headers: ACCEPT }));
    const clients = await Promise.all(ERAS.map(([, options]) => connect(box, options)));
    for (const client of clients) expect((await client.listTools()).tools).not.toEqual([]);
    await call(box, 'PUT /api/settings/mcp', { enabled: false });
    for (const client of clients) await expect(client.callTool(LIST_RUNS)).rejects.toThrow(/switched off|503/);
    const off = await ask();
    expect([off.status, await off.json()]).toMatchObject([
      503,
      {
        jsonrpc: '2.0',
        error: { message: expect.stringContaining('PUT /api/settings/mcp'), data: { code: 'mcp_disabled' } },
      },
    ]);
    // No client looks for a sign-in, or for the transport of before: it says what it was told, or the status, and connects again.
    const paths: string[] = [];
    const request = box.request;
    const seen: TestBox = { ...box, request: (path, init) => (paths.push(path), request(path, init)) };
    for (const [, options] of ERAS)
      await expect(connect(seen, options)).rejects.toThrow(/MCP is switched off in this workspace\.|with HTTP 503$/);
    expect(new Set(paths)).toEqual(new Set(['/mcp']));
    await call(box, 'PUT /api/settings/mcp', { enabled: true, tools: true });
    // The same ones, which were connected before.
    for (const client of clients) expect((await client.callTool(LIST_RUNS)).isError).not.toBe(true);
    for (const [, options] of ERAS) expect((await (await connect(box, options)).listTools()).tools).not.toEqual([]);
    const on = await ask();
    expect([on.status, await on.text()]).toEqual([200, expect.stringContaining('workflow_echo')]);
  });

  test('list what a new workspace needs, and tick it off', async () => {
    const [box] = await openReplicas(servers, false, { provider: 'none', defaultModel: '' });
    const setup = async () => {
      const { body } = await call<{ steps: { id: string; done: boolean }[]; gate: object }>(
        box,
        'GET /api/settings/setup',
      );
      return { done: body.steps.flatMap(({ id, done }) => (done ? id : [])), gate: body.gate };
    };
    expect(await setup()).toEqual({ done: [], gate: { open: false, reason: 'no-model-provider' } });
    await call(box, 'PUT /api/model-provider', { baseUrl: box.model.url });
    await call(box, 'PATCH /api/settings', { defaultModel: 'test/scripted' });
    expect(await setup()).toEqual({
      done: ['provider'],
      gate: { open: true, reason: 'model-provider-stored' },
    });
    const { body } = await call<{ steps: { problem?: string }[] }>(box, 'GET /api/settings/setup');
    expect(body.steps.map(({ problem }) => problem)).toEqual([
      undefined,
      'The model provider does not list the default model "test/scripted".',
      undefined,
    ]);
    await call(box, 'PATCH /api/settings', { defaultModel: 'playground/scripted' });
    expect((await setup()).done).toEqual(['provider', 'default-model']);
    await modelOf(box);
    await until(async () => (await setup()).done.includes('first-run'));
  });

  describe.each([
    ['told by Redis', true],
    ['without Redis', false],
  ])('of two replicas %s', (_way, hasKv) => {
    test('are in force on both', async () => {
      const [a, b] = await openReplicas(servers, hasKv);
      expect(await modelOf(b)).toBe('test/scripted');
      await call(a, 'PATCH /api/settings', { defaultModel: 'set/model' });
      await until(async () => (await modelOf(b)) === 'set/model', 20_000);
      await call(b, 'PATCH /api/catalog/agent/plain', { model: 'chosen/model', isHidden: true });
      await until(async () => (await modelOf(a)) === 'chosen/model', 20_000);
      expect((await call(a, 'GET /api/discovery')).body).toEqual({ agents: ['picky'], workflows: ['echo'] });
    });
  });
});

const ACCEPT = { accept: 'application/json, text/event-stream' };
