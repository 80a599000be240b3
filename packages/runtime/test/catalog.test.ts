import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { toCursor, toPage } from '../src/operations/cursor.ts';
import { defineDynamicConfig } from '../src/index.ts';
import type { CatalogDetail, CatalogEntry } from '../src/catalog/entry.ts';
import { call, json, setupBoxes, toProgram } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const refund = defineTool({
  description: 'Refund an order.',
  inputSchema: z.object({ id: z.string() }),
  execute: () => 1,
});
const find = defineTool({ description: 'Find an order.', inputSchema: z.object({}), execute: () => 1 });
let boxesMade = 0;

/** Choices stay in the database of this file: each box has an agent with a name of its own. */
async function open() {
  const name = `support-${boxesMade++}`;
  const agents = {
    [name]: defineDeepAgent({
      name,
      description: 'Helps customers.',
      model: 'code/model',
      tools: { refund, find },
      interruptOn: { refund: true, find: false },
      planning: true,
      subagents: [
        { name: 'writer', description: 'Writes.', instructions: 'Write.' },
        { name: 'judge', description: 'Judges.', instructions: 'Judge.', model: 'code/judge' },
      ],
    }),
    broken: new Error('Broken.'),
    'studio-copilot': defineDeepAgent({ name: 'studio-copilot', tools: { find } }),
  };
  const workflows = {
    report: {
      run: async (input: unknown) => input,
      inputSchema: z.object({ n: z.number() }),
      stateSchema: z.string(),
      mode: 'task',
    },
    talk: { run: async () => 1, mode: 'chat' },
  };
  const box = await boxes.open({ agents, workflows });
  return { box, name, agents, workflows };
}

const list = async (box: TestBox, query = '') => {
  const { body } = await call<{ items: CatalogEntry[] }>(box, `GET /api/catalog${query}`);
  return body.items;
};
const get = (box: TestBox, path: string) => call<CatalogDetail>(box, `GET /api/catalog/${path}`);
const modelsOf = async (box: TestBox, wire: string) => {
  const answer = await box.request(`/${wire}/v1/models`, { headers: { 'x-api-key': 'any', 'anthropic-version': 'x' } });
  return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
};
const chat = (box: TestBox, agent: string, content = 'say:hi') =>
  box.request(
    '/wire-a/v1/chat/completions',
    json({ model: agent, messages: [{ role: 'user', content }] }, { headers: { 'x-api-key': 'any' } }),
  );

describe('the catalog', () => {
  test('lists agents, workflows and tools, and system entries only when asked', async () => {
    const { box, name } = await open();
    const ids = (items: CatalogEntry[]) => items.map((entry) => `${entry.kind} ${entry.name}`);
    const shown = [
      'agent broken',
      `agent ${name}`,
      'workflow report',
      'workflow talk',
      `tool ${name}:refund`,
      `tool ${name}:find`,
      `tool ${name}:write_todos`,
    ];
    expect(ids(await list(box))).toEqual(shown);
    expect(ids(await list(box, '?kind=workflow'))).toEqual(['workflow report', 'workflow talk']);
    const all = await list(box, '?system=true');
    expect(ids(all).filter((id) => !shown.includes(id))).toEqual([
      'agent studio-copilot',
      'tool studio-copilot:find',
      ...['list', 'describe'].map((verb) => `tool studio-copilot:${verb}_operation${verb === 'list' ? 's' : ''}`),
      ...['read', 'write'].map((kind) => `tool studio-copilot:call_${kind}_operation`),
    ]);
    expect(all.filter(({ isSystem }) => isSystem)).toHaveLength(6);
    expect((await call(box, 'GET /api/catalog?system=maybe')).status).toBe(400);
  });

  test('lists of an agent its model, its tools and which of them wait for a person', async () => {
    const { box, name } = await open();
    expect((await get(box, `agent/${name}`)).body).toMatchObject({
      kind: 'agent',
      name,
      description: 'Helps customers.',
      health: 'ok',
      isSystem: false,
      isHidden: false,
      model: { declared: 'code/model', override: null, effective: 'code/model' },
      mode: null,
      tools: ['refund', 'find', 'write_todos'],
      interruptOn: ['refund'],
      problem: null,
      file: `deep-agents/${name}/index.ts`,
    });
  });

  test('lists of a workflow its mode, its schema and its start route', async () => {
    const { box } = await open();
    expect((await get(box, 'workflow/report')).body).toMatchObject({
      mode: 'task',
      hasSchema: true,
      inputSchema: { type: 'object', required: ['n'] },
      outputSchema: null,
      stateSchema: { type: 'string' },
      trigger: 'POST /api/workflows/report/start',
      steps: [],
      model: null,
    });
    expect((await get(box, 'workflow/talk')).body).toMatchObject({ mode: 'chat', hasSchema: false });
  });

  test('says what a tool takes', async () => {
    const { box, name } = await open();
    expect((await get(box, `tool/${name}:refund`)).body).toMatchObject({
      description: 'Refund an order.',
      interruptOn: ['refund'],
      inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
    });
  });

  test('reports why an entry does not load, and that the last good one is served', async () => {
    const { box, name, agents, workflows } = await open();
    expect((await get(box, 'agent/broken')).body).toMatchObject({ health: 'failed', problem: { message: 'Broken.' } });
    await box.reload(toProgram({ agents: { ...agents, [name]: new Error('Edited.') }, workflows }));
    expect((await get(box, `agent/${name}`)).body).toMatchObject({
      health: 'stale',
      problem: { message: 'Edited.' },
      model: { effective: 'code/model' },
    });
  });

  test.each(['agent/nope', 'workflow/nope', 'tool/nope', 'tool/nope:x'])('%s is 404', async (path) => {
    const { status, body } = await get((await open()).box, path);
    expect([status, (body as unknown as { code: string }).code]).toEqual([404, 'catalog_entry_not_found']);
  });
});

describe('a model that is chosen', () => {
  test('wins over the code from the next turn on, until it is taken back', async () => {
    const { box, name } = await open();
    const asked = async () => {
      await (await chat(box, name)).text();
      return box.model.requests.at(-1)?.model;
    };
    expect(await asked()).toBe('code/model');
    const chosen = await call(box, `PATCH /api/catalog/agent/${name}`, { model: 'chosen/model' });
    expect(chosen.body).toMatchObject({
      model: { declared: 'code/model', override: 'chosen/model', effective: 'chosen/model' },
    });
    expect(await asked()).toBe('chosen/model');
    await call(box, `PATCH /api/catalog/agent/${name}`, { model: null });
    expect(await asked()).toBe('code/model');
  });

  test('is that of its sub-agents too, unless they name their own', async () => {
    const { box, name } = await open();
    await call(box, `PATCH /api/catalog/agent/${name}`, { model: 'chosen/model' });
    const before = box.model.requests.length;
    const task = (agent: string) => `tool:task ${JSON.stringify({ subagent_type: agent, description: 'say:done' })}`;
    await (await chat(box, name, task('writer'))).text();
    await (await chat(box, name, task('judge'))).text();
    const models = new Set(box.model.requests.slice(before).map(({ model }) => model));
    expect([...models].toSorted()).toEqual(['chosen/model', 'code/judge']);
  });

  test('is in the activity log, and is of no use to a workflow', async () => {
    const { box, name } = await open();
    await call(box, `PATCH /api/catalog/agent/${name}`, { model: 'chosen/model' });
    const { body } = await call<{ items: { id: string }[] }>(box, `GET /api/activity?target=${name}`);
    expect((await call(box, `GET /api/activity/${body.items[0]?.id}`)).body).toMatchObject({
      operation: 'catalog.update',
      before: { model: { override: null } },
      after: { model: { override: 'chosen/model' } },
    });
    const refused = await call(box, 'PATCH /api/catalog/workflow/report', { model: 'x' });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    const limited = await call(box, 'PATCH /api/catalog/workflow/report', { limits: { tokensPerDay: 5 } });
    expect(limited).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect((await call(box, 'PATCH /api/catalog/agent/nope', { model: 'x' })).status).toBe(404);
  });

  test('may be that of studio-copilot', async () => {
    const { box } = await open();
    const { body } = await call<CatalogDetail>(box, 'PATCH /api/catalog/agent/studio-copilot', { model: 'm' });
    expect(body).toMatchObject({ isSystem: true, model: { override: 'm', effective: 'm' } });
  });
});

test('prompts are listed to callers who may write them', async () => {
  const { box, name } = await open();
  const prompt = { ownerKind: 'agent', ownerName: name, key: 'greeting', name: 'Greeting', text: 'Hello' };
  expect((await call(box, 'POST /api/prompts', prompt)).status).toBe(201);
  const path = `agent:${name}:greeting`;
  expect((await list(box, '?kind=prompt')).map((entry) => entry.name)).toContain(path);
  expect((await get(box, `prompt/${path}`)).body).toMatchObject({
    kind: 'prompt',
    name: path,
    description: 'Greeting',
  });
});

test('a hidden agent is offered nowhere and answers callers who know its name', async () => {
  const { box, name } = await open();
  expect(await modelsOf(box, 'wire-a')).toContain(name);
  await call(box, `PATCH /api/catalog/agent/${name}`, { isHidden: true });
  expect([await modelsOf(box, 'wire-a'), await modelsOf(box, 'wire-b')].flat()).not.toContain(name);
  expect((await call<{ agents: string[] }>(box, 'GET /api/discovery')).body.agents).not.toContain(name);
  expect(await list(box, '?kind=agent')).toMatchObject([{ name: 'broken' }, { name, isHidden: true }]);
  expect((await chat(box, name)).status).toBe(200);
});

const openPaged = boxes.share({
  agents: Object.fromEntries(['one', 'two', 'three'].map((name) => [name, defineDeepAgent({ name, tools: { find } })])),
  config: defineDynamicConfig(
    Object.fromEntries(['paged_a', 'paged_b', 'paged_c'].map((key) => [key, z.number().default(1)])),
  ),
});
const read = async (box: TestBox, path: string) =>
  (await call<{ items: unknown[]; nextCursor: string | null }>(box, `GET ${path}`)).body;

describe('a list that is all in memory', () => {
  const PAGED = ['/api/catalog', '/api/catalog/operations', '/api/config', '/api/models'];

  test.each(PAGED.slice(0, 3))('%s is reported in pages, which are the whole in its order', async (path) => {
    const box = await openPaged();
    const whole = (await read(box, path)).items;
    expect(whole.length).toBeGreaterThan(2);
    const parts: unknown[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await read(box, `${path}?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
      expect(page.items.length).toBeLessThanOrEqual(2);
      parts.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor);
    expect(parts).toEqual(whole);
  });

  test.each(PAGED)('%s refuses a page that is none', async (path) => {
    const box = await openPaged();
    for (const query of ['limit=0', 'limit=201', 'limit=x'])
      expect((await box.request(`${path}?${query}`)).status).toBe(400);
    for (const cursor of ['x', toCursor('1', 'a'), toCursor(-1, 'a'), toCursor(1)])
      expect(await (await box.request(`${path}?cursor=${cursor}`)).json()).toMatchObject({ code: 'invalid_cursor' });
  });

  test('goes on where the last item stood once that is gone', () => {
    const page = (items: string[], cursor?: string) => toPage(items, (item) => item, { limit: 2, cursor });
    const { nextCursor } = page(['a', 'b', 'c', 'd']);
    expect(page(['a', 'c', 'd'], nextCursor ?? '').items).toEqual(['c', 'd']);
    expect(page(['0', 'a', 'b', 'c', 'd'], nextCursor ?? '').items).toEqual(['c', 'd']);
  });
});

describe('the operation catalog', () => {
  test('is narrowed by words, tag and kind, and names what no model may call', async () => {
    const { box } = await open();
    const ids = async (query: string) => {
      const { body } = await call<{ items: { id: string }[] }>(box, `GET /api/catalog/operations${query}`);
      return body.items.map(({ id }) => id);
    };
    expect((await ids('?query=cancel%20run&kind=write')).slice(0, 2)).toEqual(['runs.cancel', 'runs.cancel_all']);
    expect(await ids('?tag=secrets&kind=read')).toEqual(['secrets.list', 'secrets.get']);
    expect(await ids('')).not.toContain('keys.create');
    const one = await call(box, 'GET /api/catalog/operations/secrets.rotate');
    expect(one.body).toMatchObject({
      id: 'secrets.rotate',
      confirm: true,
      permission: 'secrets:rotate',
      route: 'POST /api/secrets/:name/rotate',
      input: { required: ['name', 'value'] },
    });
    expect((await call(box, 'GET /api/catalog/operations/keys.create')).body).toMatchObject({
      refused: expect.stringContaining('secret in the answer'),
    });
    expect((await call(box, 'GET /api/catalog/operations/nope')).body.code).toBe('not_found');
  });
});
