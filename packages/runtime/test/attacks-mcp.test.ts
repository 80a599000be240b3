import { beforeAll, describe, expect, test } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { splitRoute } from '../src/operations/define.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { call, json, setupBoxes, until } from './_setup.ts';

// What a model, or whoever holds the token it has, writes to /mcp itself, over HTTP.

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const SECRET = 'a-value-that-is-kept-for-the-box';
const shared = boxes.share({
  agents: { desk: defineDeepAgent({ name: 'desk' }) },
  workflows: {
    echo: { run: async (input: unknown) => input },
    ask: { run: async () => requestApproval({ title: 'Go?' }) },
  },
  options: { host: 'image', strategy: operatorToken(TOKEN), mcpTools: () => true },
});
const as = (value: string) => ({ authorization: `Bearer ${value}` });

let url: string;
beforeAll(async () => {
  const box = await shared();
  url = await box.listen();
  await call(box, 'PUT /api/secrets/KEPT', { value: SECRET }, as(TOKEN));
});

interface Said {
  status: number;
  text: string;
}

/** Sends these very bytes. */
async function post(body: string, headers: Record<string, string> = {}): Promise<Said> {
  const fixed = { ...as(TOKEN), 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const answer = await fetch(`${url}/mcp`, { method: 'POST', headers: { ...fixed, ...headers }, body });
  return { status: answer.status, text: await answer.text() };
}
const rpc = (method: string, params: object = {}, headers: Record<string, string> = {}) =>
  post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers);
const tool = (name: string, input: object) => rpc('tools/call', { name, arguments: input });
const write = (operation: string, input: object, more: object = {}) =>
  tool('call_write_operation', { operation, input, ...more });
const read = (operation: string, input: object = {}) => tool('call_read_operation', { operation, input });
const isRefused = ({ status, text }: Said): boolean =>
  status >= 400 || /"isError":true|"error":\{|confirmation_required|-32\d\d\d/.test(text);

test('a call that is as it should be is answered', async () => {
  expect((await read('runs.list')).text).toContain('items');
});

describe('credentials', () => {
  test('of clients, of no one, and in other places let no one in', async () => {
    const grants = { agents: 'all', workflows: 'all' };
    const { body: key } = await call<{ value: string }>(
      await shared(),
      'POST /api/keys',
      { name: 'a', grants },
      as(TOKEN),
    );
    const asked = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    for (const headers of [
      { authorization: `Bearer ${key.value}` },
      { authorization: '', 'x-api-key': key.value },
      { authorization: '', 'x-api-key': TOKEN },
      { authorization: '', cookie: `authorization=Bearer ${TOKEN}` },
      { authorization: `Basic ${Buffer.from(`operator:${TOKEN}`).toString('base64')}` },
      { authorization: `Bearer ${key.value}`, 'mcp-session-id': 'of-the-operator' },
    ])
      expect([401, 403]).toContain((await post(asked, headers as unknown as Record<string, string>)).status);
    const inQuery = await fetch(
      `${url}/mcp?access_token=${TOKEN}`,
      json({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    );
    expect(inQuery.status).toBe(401);
  });
});

describe('operations', () => {
  test.each([
    '__proto__',
    'constructor',
    'toString',
    'runs',
    'runs.list ',
    'RUNS.LIST',
    'runs.list%00',
    '../api/secrets',
    'GET /api/secrets',
    'hooks.resume',
    'keys.create',
    'keys.rotate',
    'runs.export',
  ])('"%s" is none that a model calls', async (operation) => {
    for (const said of [await read(operation, { id: 'x' }), await write(operation, { id: 'x', name: 'x' })]) {
      expect(isRefused(said)).toBe(true);
      expect(said.text).not.toContain(SECRET);
    }
  });

  test('that change something are not called as ones that read, nor the other way round', async () => {
    const { body } = await call(await shared(), 'POST /api/workflows/ask/start', {}, as(TOKEN));
    expect(isRefused(await read('runs.cancel', { id: body.runId }))).toBe(true);
    expect(isRefused(await write('runs.list', {}))).toBe(true);
    expect((await call(await shared(), `GET /api/runs/${body.runId}`, undefined, as(TOKEN))).body.status).not.toBe(
      'cancelled',
    );
  });

  test('show no stored secret', async () => {
    for (const [operation, input] of [
      ['secrets.list', {}],
      ['logs.list', { text: SECRET }],
      ['activity.list', {}],
      ['provider.get', {}],
      ['config.get', { key: 'KEPT' }],
    ] as const)
      expect((await read(operation, input)).text).not.toContain(SECRET);
  });

  test.each<[title: string, input: object]>([
    ['a member there is not', { name: 'echo', input: {}, caller: { id: 'other' } }],
    ['a caller', { name: 'echo', input: {}, startedBy: { kind: 'person', id: 'other' } }],
    ['a way it came', { name: 'echo', input: {}, via: 'http' }],
    ['a path for a name', { name: '../keys', input: {} }],
    ['a list for a name', { name: ['echo'], input: {} }],
    ['a parent', { name: 'echo', input: {}, parentRunId: '01a20419-7a30-76e5-8160-9bf0175a3ec2' }],
  ])('take no %s in their input', async (_title, input) => {
    expect(isRefused(await write('workflows.start', input))).toBe(true);
  });
});

describe('confirmations', () => {
  const started = async (): Promise<string> =>
    String((await call(await shared(), 'POST /api/workflows/ask/start', {}, as(TOKEN))).body.runId);
  const statusOf = async (id: string) =>
    (await call(await shared(), `GET /api/runs/${id}`, undefined, as(TOKEN))).body.status;
  const stateOf = ({ text }: Said): string => /requestState\\?":\\?"([^"\\]+)/.exec(text)?.[1] ?? '';

  test.each<[title: string, more: (state: string) => object]>([
    ['a yes of its own', () => ({ confirmed: true, confirm: true, decision: 'accept' })],
    [
      'an answer nobody was asked for',
      () => ({ inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } }),
    ],
    [
      'a state of another letter',
      (state) => ({ requestState: `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}` }),
    ],
    ['half a state', (state) => ({ requestState: state.slice(0, state.length / 2) })],
    ['two states', (state) => ({ requestState: `${state}${state}` })],
    ['a list of states', (state) => ({ requestState: [state] })],
  ])('are not given by %s', async (_title, more) => {
    const id = await started();
    const state = stateOf(await write('runs.cancel', { id }));
    expect(state).not.toBe('');
    await write('runs.cancel', { id }, more(state));
    await rpc('tools/call', {
      name: 'call_write_operation',
      arguments: { operation: 'runs.cancel', input: { id } },
      ...more(state),
    });
    expect(await statusOf(id)).not.toBe('cancelled');
    await write('runs.cancel', { id }, { requestState: state });
    await until(async () => (await statusOf(id)) === 'cancelled');
  });

  test('are given by the very text that was handed out, and by no other of the same bytes', async () => {
    const id = await started();
    const state = stateOf(await write('runs.cancel', { id }));
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const last of letters)
      if (!state.endsWith(last)) await write('runs.cancel', { id }, { requestState: state.slice(0, -1) + last });
    expect(await statusOf(id)).not.toBe('cancelled');
    await write('runs.cancel', { id }, { requestState: state });
    await until(async () => (await statusOf(id)) === 'cancelled');
  });

  test('of one run are none for another', async () => {
    const [mine, other] = [await started(), await started()];
    const state = stateOf(await write('runs.cancel', { id: mine }));
    await write('runs.cancel', { id: other }, { requestState: state });
    expect(await statusOf(other)).not.toBe('cancelled');
  });
});

describe('messages', () => {
  test.each([
    ['resources/list', {}],
    ['resources/read', { uri: 'file:///etc/passwd' }],
    ['resources/read', { uri: 'svc://secrets/KEPT' }],
    ['resources/subscribe', { uri: 'svc://runs' }],
    ['prompts/list', {}],
    ['prompts/get', { name: '../../.env' }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'file:///' }, argument: { name: 'a', value: '' } }],
    ['sampling/createMessage', { messages: [], maxTokens: 1 }],
    ['roots/list', {}],
    ['elicitation/create', { message: 'yes?', requestedSchema: { type: 'object', properties: {} } }],
  ])('%s of %j reads nothing', async (method, params) => {
    const said = await rpc(method, params);
    expect([isRefused(said), said.text.includes('root:'), said.text.includes(SECRET)]).toEqual([true, false, false]);
  });

  test.each<[title: string, body: string]>([
    ['no JSON', '{'],
    ['no object', '7'],
    ['another protocol', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
    [
      'a prototype',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_operations","__proto__":{"a":1}}}',
    ],
    ['65 levels', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${'{"a":'.repeat(65)}1${'}'.repeat(66)}`],
    ['many at once', `[${'{"jsonrpc":"2.0","id":1,"method":"tools/list"},'.repeat(2_000).slice(0, -1)}]`],
    ['more than 1 MiB', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(1_100_000) })],
    [
      'a tool there is not',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{}}}',
    ],
  ])('that are %s are refused in little', async (_title, body) => {
    const said = await post(body);
    expect(isRefused(said)).toBe(true);
    expect(said.text.length).toBeLessThan(Math.max(4_000, body.length / 10));
    expect(said.text).not.toMatch(/\bat .+:\d+:\d+|node_modules/);
  });

  test('of a page of another origin are let in by no credential of the browser', async () => {
    const { status, text } = await post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
      authorization: '',
      origin: 'https://evil.example',
    });
    expect([status, text.includes('call_write_operation')]).toEqual([401, false]);
  });
});

describe('what a person has to be asked about', () => {
  test('is all that deletes something or takes a secret, whichever room it came with', () => {
    const members = ({ input }: (typeof OPERATIONS)[number]): string[] =>
      Object.keys((input as unknown as { shape?: object }).shape ?? {});
    // What these keep is shown to those alone who may see it, and lets no one in.
    const texts = [
      'prompts.create',
      'prompts.update',
      'prompts.add_version',
      'evals.cases.create',
      'evals.cases.update',
    ];
    const unmarked = OPERATIONS.filter(
      (op) =>
        op.kind === 'write' &&
        op.copilot === 'yes' &&
        !op.confirm &&
        (splitRoute(op.route).method === 'DELETE' || members(op).some((name) => op.secret?.includes(name))),
    );
    expect(unmarked.map(({ id }) => id)).toEqual([...texts, 'config.set']);
  });

  const SIGNATURE = { scheme: 'token', header: 'x-token' };
  test.each<[operation: string, input: object, path: string]>([
    [
      'triggers.create',
      { name: 'in', target: { workflow: 'echo' }, signature: SIGNATURE, secret: 'known-to-others' },
      '/api/triggers',
    ],
    ['secrets.set', { name: 'OTHER', value: 'a-value-of-a-model' }, '/api/secrets'],
    ['browser.set', { url: 'wss://127.0.0.1:1/{key}', apiKey: 'a-key-of-a-model' }, '/api/browser'],
    ['keys.revoke', { id: 'x' }, '/api/keys'],
    ['memory.clear', { user: 'ada' }, '/api/memory'],
    ['runs.delete_all', { status: 'completed' }, '/api/runs'],
    ['runs.retry_all', { status: 'completed' }, '/api/runs'],
  ])('is not done by a model alone, nor by one that says yes itself: %s', async (operation, input, path) => {
    const before = await (await fetch(url + path, { headers: as(TOKEN) })).text();
    for (const more of [{}, { requestState: 'v1.x.y' }, { confirmed: true }, { requestState: null }])
      expect(isRefused(await write(operation, input, more))).toBe(true);
    expect(await (await fetch(url + path, { headers: as(TOKEN) })).text()).toBe(before);
  });

  test('is done once where the yes comes twice in one message, or in one without an id', async () => {
    const { body } = await call(await shared(), 'POST /api/workflows/ask/start', {}, as(TOKEN));
    const id = String(body.runId);
    const asked = { operation: 'runs.cancel', input: { id } };
    const state = /requestState\\?":\\?"([^"\\]+)/.exec((await tool('call_write_operation', asked)).text)?.[1] ?? '';
    const yes = { name: 'call_write_operation', arguments: { ...asked, requestState: state } };
    const one = (n: number) => ({ jsonrpc: '2.0', id: n, method: 'tools/call', params: yes });
    const twice = await post(JSON.stringify([one(1), one(2)]));
    const again = await post(JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: yes }));
    const done = await post(JSON.stringify(one(3)));
    const ran = [twice, again, done].flatMap(({ text }) => [...text.matchAll(/"status":"cancelled"/g)]);
    expect(ran.length).toBeLessThanOrEqual(1);
  });
});

describe('a call that is not what it seems', () => {
  test.each(['../keys', '..%2fkeys', 'x/../../keys', '%2e%2e/keys', 'x?limit=1', 'x#', ' ', '\u0000', '..\\keys'])(
    'reads nothing else by the id %j',
    async (id) => {
      for (const operation of [
        'runs.get',
        'sessions.get',
        'approvals.get',
        'keys.update',
        'triggers.get',
        'logs.search',
      ]) {
        const said = await read(operation, { id });
        expect([operation, isRefused(said), said.text.includes('svc_')]).toEqual([operation, true, false]);
      }
    },
  );

  test.each<[title: string, operation: unknown]>([
    ['a list', ['runs.list']],
    ['an object', { id: 'runs.list', kind: 'read' }],
    ['nothing', null],
    ['a number', 7],
    ['a text of a megabyte', 'x'.repeat(900_000)],
  ])('whose operation is %s is none', async (_title, operation) => {
    const said = await tool('call_read_operation', { operation, input: {} });
    expect([isRefused(said), said.text.length < 10_000]).toEqual([true, true]);
  });

  test('with a member twice is looked at as it is run', async () => {
    const { body } = await call(await shared(), 'POST /api/workflows/ask/start', {}, as(TOKEN));
    const params = `{"name":"call_read_operation","arguments":{"operation":"runs.list","operation":"runs.cancel","input":{"id":"${body.runId}"}}}`;
    expect(isRefused(await post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`))).toBe(true);
    const run = await call(await shared(), `GET /api/runs/${body.runId}`, undefined, as(TOKEN));
    expect(run.body.status).not.toBe('cancelled');
  });

  test.each<[title: string, headers: Record<string, string>]>([
    ['as a form of a page', { 'content-type': 'text/plain' }],
    ['as fields', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['for a user', { 'x-svc-user': 'ada' }],
    ['in a version there is not', { 'mcp-protocol-version': '1999-01-01' }],
  ])('%s runs nothing', async (_title, headers) => {
    const before = (await call(await shared(), 'GET /api/runs?limit=1', undefined, as(TOKEN))).body;
    const params = {
      name: 'call_write_operation',
      arguments: { operation: 'workflows.start', input: { name: 'echo' } },
    };
    await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }), headers);
    expect((await call(await shared(), 'GET /api/runs?limit=1', undefined, as(TOKEN))).body).toEqual(before);
  });

  test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('by %s opens no stream and ends nothing of another', async (method) => {
    for (const headers of [{}, as(TOKEN)] as Record<string, string>[]) {
      const gone = new AbortController();
      const accept = { accept: 'text/event-stream', 'mcp-session-id': '1' };
      const answer = await fetch(`${url}/mcp`, { method, headers: { ...accept, ...headers }, signal: gone.signal });
      gone.abort();
      expect([method, answer.status >= 400]).toEqual([method, true]);
    }
  });

  test.each(['(a+)+$', '\\', '%', "' or 1=1 --", 'x'.repeat(5_000), '[', '\u0000'])(
    'that searches for %j is answered at once, with what there is',
    async (query) => {
      const begun = performance.now();
      const said = await tool('list_operations', { query });
      expect([said.status < 500, performance.now() - begun < 5_000]).toEqual([true, true]);
      expect(said.text).not.toMatch(/\bat .+:\d+:\d+|node_modules/);
    },
  );
});
