import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { OPEN } from '../src/auth/strategy.ts';
import { checkEgress } from '../src/provider/egress.ts';
import { createPinnedFetch } from '../src/provider/pinned-fetch.ts';
import { json, runWorkflow, setupBoxes, startProvider, toModelStream, toProgram, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const PROGRAM = {
  agents: { helper: defineDeepAgent({ name: 'helper' }) },
  workflows: { echo: { run: async (input: unknown) => input } },
};
const open = (options: TestBoxOptions = {}) => boxes.open({ ...PROGRAM, ...options });
const put = (box: TestBox, body: unknown) => box.request('/api/model-provider', json(body, { method: 'PUT' }));
const get = async (box: TestBox) => (await box.request('/api/model-provider')).json();
const chat = (box: TestBox, content = 'say:hi') =>
  box.request(
    '/wire-a/v1/chat/completions',
    json({ model: 'helper', messages: [{ role: 'user', content }] }, { headers: { 'x-api-key': 'any' } }),
  );

describe('a closed gate', () => {
  test('answers every start and every wire with its own 503, and creates no run', async () => {
    const box = await open({ provider: 'none' });
    expect(box.gate.state()).toEqual({ open: false, reason: 'no-model-provider' });
    const start = await box.request('/api/workflows/echo/start', json({}));
    expect([start.status, await start.json()]).toMatchObject([503, { code: 'workflow_runtime_not_armed' }]);
    const turn = await chat(box);
    expect([turn.status, turn.headers.get('x-should-retry'), await turn.json()]).toMatchObject([
      503,
      'false',
      { error: { code: 'agent_runtime_not_armed', type: 'server_error' } },
    ]);
    expect(await box.journal.listRuns({}, { limit: 1 })).toEqual([]);
    const others = ['/live', '/health', '/api/runs', '/api/discovery', '/api/workflows', '/api/model-provider'];
    const answers = await Promise.all(others.map((path) => box.request(path)));
    expect(answers.map(({ status }) => status)).toEqual(others.map(() => 200));
  });

  test('is opened in place by a provider', async () => {
    const box = await open({ provider: 'none' });
    const answer = await put(box, { baseUrl: box.model.url, apiKey: 'k-1' });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { baseUrl: box.model.url, source: 'stored', hasKey: true },
    ]);
    expect(box.gate.state()).toEqual({ open: true, reason: 'model-provider-stored' });
    expect(await (await box.request('/api/discovery')).json()).toEqual({ agents: ['helper'], workflows: ['echo'] });
    expect(await runWorkflow(box, 'echo', { a: 1 })).toMatchObject({ status: 'completed', output: { a: 1 } });
    expect((await chat(box)).status).toBe(200);
  });

  test('is opened by a provider that comes while the gate is being looked at', async () => {
    let look: ((value: undefined) => void) | undefined;
    const value = { baseUrl: boxes.model.url };
    let stored: typeof value | undefined;
    let reads = 0;
    const store = {
      // The first look is still under way when the provider is stored.
      read: () => (++reads === 2 ? new Promise<undefined>((resolve) => (look = resolve)) : Promise.resolve(stored)),
      write: async () => void (stored = value),
      remove: async () => {},
    };
    const egress = { allowLoopback: true, allowed: [] };
    const box = await open({ options: { provider: { environment: undefined, store, egress } } });
    const early = box.gate.check();
    const answer = put(box, value);
    await new Promise((resolve) => setImmediate(resolve));
    look?.(undefined);
    expect((await early).open).toBe(false);
    expect((await answer).status).toBe(200);
    expect(box.gate.state().open).toBe(true);
  });

  test('keeps who asks a box that has just begun until it has looked, and tells it nothing wrong', async () => {
    const box = await open({ hasJustBegun: true });
    const received: number[] = [];
    const asked = [
      chat(box),
      box.request('/api/workflows/echo/start', json({ a: 1 })),
      box.request('/api/discovery'),
      box.request('/mcp', json({ jsonrpc: '2.0', id: 1, method: 'ping' })),
    ].map(async (answer) => received.push((await answer).status));
    expect((await box.request('/live')).status).toBe(200);
    expect((await box.request('/health')).status).toBe(200);
    expect(received).toEqual([]);
    await box.gate.check();
    await Promise.all(asked);
    expect(received.filter((status) => status >= 500)).toEqual([]);
    expect((await (await box.request('/api/discovery')).json()) as object).toEqual({
      agents: ['helper'],
      workflows: ['echo'],
    });
  });

  test('is not opened by an edit', async () => {
    const box = await open({ provider: 'none' });
    await box.reload(toProgram(PROGRAM));
    expect(box.gate.state().open).toBe(false);
    expect((await chat(box)).status).toBe(503);
  });
});

describe('an agent with models to fall back on', () => {
  test('asks the next one where its own is down, and so does a sub-agent without a model of its own', async () => {
    const asked: string[] = [];
    const provider = await startProvider((response, { model, messages }) => {
      asked.push(String(model));
      if (model !== 'vendor/spare') return response.writeHead(529).end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const said = (messages as { role: string; content: string }[]).map(({ content }) => content);
      const task = { name: 'task', arguments: '{"subagent_type":"aide","description":"help"}' };
      const call = { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: task }] };
      if (said.includes('go') && !said.includes('Helped.')) return response.end(toModelStream([call], 'tool_calls'));
      return response.end(toModelStream([{ content: said.includes('go') ? 'Done.' : 'Helped.' }]));
    });
    const boss = defineDeepAgent({
      name: 'boss',
      model: 'vendor/main',
      maxRetries: 0,
      fallbackModels: ['vendor/spare'],
      subagents: [{ name: 'aide', description: 'Helps.', instructions: 'Help.' }],
    });
    const box = await boxes.open({ agents: { boss }, provider: { baseUrl: provider.url } });
    const answer = await box.request(
      '/wire-a/v1/chat/completions',
      json({ model: 'boss', messages: [{ role: 'user', content: 'go' }] }, { headers: { 'x-api-key': 'any' } }),
    );
    expect([answer.status, await answer.json()]).toMatchObject([200, { choices: [{ message: { content: 'Done.' } }] }]);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ['vendor/main', 'vendor/spare']).flat());
    const [run] = await box.journal.listRuns({ name: 'boss' }, { limit: 1 });
    const { items } = (await (await box.request(`/api/runs/${run?.runId}/steps`)).json()) as { items: object[] };
    expect(items[0]).toMatchObject({ kind: 'model', output: { fallback: 'vendor/spare' } });
  });
});

describe('a deployed box without a provider', () => {
  const deployed = (more: TestBoxOptions = {}) =>
    open({ provider: 'none', ...more, options: { host: 'image', strategy: OPEN } });
  const provided = async (box: TestBox) =>
    ((await (await box.request('/health')).json()) as { checks: Record<string, unknown> }).checks.provider;

  test('holds back agents alone, and says so', async () => {
    const box = await deployed();
    expect(await runWorkflow(box, 'echo', { a: 1 })).toMatchObject({ status: 'completed', output: { a: 1 } });
    expect(box.gate.state()).toEqual({ open: false, reason: 'no-model-provider' });
    const turn = await chat(box);
    expect([turn.status, await turn.json()]).toMatchObject([503, { error: { code: 'agent_runtime_not_armed' } }]);
    expect(await provided(box)).toEqual({ status: 'ok', warning: expect.stringContaining('MODEL_PROVIDER_BASE_URL') });
    await put(box, { baseUrl: box.model.url });
    expect((await chat(box)).status).toBe(200);
    await expect.poll(() => provided(box)).toEqual({ status: 'ok' });
  });

  test('has nothing to say without agents', async () => {
    const box = await boxes.open({ workflows: {}, provider: 'none', options: { host: 'image', strategy: OPEN } });
    expect(await provided(box)).toEqual({ status: 'ok' });
  });

  test('keeps turns that are under way until there is one again, and what has run opens nothing', async () => {
    const first = await open();
    await runWorkflow(first, 'echo');
    const turn = chat(first, 'hang');
    await until(async () => (await first.journal.listRuns({ kind: 'agent' }, { limit: 1 })).length > 0);
    const [{ runId } = { runId: '' }] = await first.journal.listRuns({ kind: 'agent' }, { limit: 1 });
    await first.close();
    await turn.catch(() => {});
    const box = await deployed({ journalPath: first.journalPath });
    expect(box.gate.state().open).toBe(false);
    await until(async () => (await box.journal.getRun(runId))?.waitingFor?.includes('held back') === true);
  });
});

describe('the gate says why it is open', () => {
  test.each([
    ['environment', 'model-provider-env'],
    ['stored', 'model-provider-stored'],
  ] as const)('%s: %s', async (provider, reason) => {
    expect((await open({ provider })).gate.state()).toEqual({ open: true, reason });
  });

  test('a run that ever completed: first-run-completed, and chat says what is missing', async () => {
    const first = await open();
    await runWorkflow(first, 'echo');
    await first.close();
    const box = await open({ provider: 'none', journalPath: first.journalPath });
    expect(box.gate.state()).toEqual({ open: true, reason: 'first-run-completed' });
    expect((await runWorkflow(box, 'echo')).status).toBe('completed');
    const turn = await chat(box);
    expect([turn.status, await turn.json()]).toMatchObject([503, { error: { code: 'model_provider_missing' } }]);
  });
});

describe('the model provider', () => {
  test('is shown without its key, wherever it comes from', async () => {
    const none = await open({ provider: 'none' });
    const stored = await open({ provider: 'stored' });
    const environment = await open();
    const { url: baseUrl } = boxes.model;
    expect(await get(none)).toEqual({ baseUrl: null, source: null, hasKey: false });
    expect(await get(stored)).toEqual({ baseUrl, source: 'stored', hasKey: true });
    expect(await get(environment)).toEqual({ baseUrl, source: 'environment', hasKey: true });
  });

  test('without a key is one, and takes the place of one with a key', async () => {
    const box = await open({ provider: 'stored' });
    expect(await (await put(box, { baseUrl: box.model.url })).json()).toMatchObject({ hasKey: false });
    expect(box.stored.value).toEqual({ baseUrl: box.model.url });
  });

  test('of the environment wins over one that is stored', async () => {
    const box = await open();
    const answer = await put(box, { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'other' });
    expect(await answer.json()).toEqual({ baseUrl: box.model.url, source: 'environment', hasKey: true });
    expect(box.stored.value).toEqual({ baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'other' });
    expect((await chat(box)).status).toBe(200);
  });

  test('that is stored is used from the next turn on', async () => {
    const other = await startProvider((response) => response.writeHead(413).end());
    const box = await open({ provider: 'stored' });
    expect((await chat(box)).status).toBe(200);
    await put(box, { baseUrl: other.url });
    expect([(await chat(box)).status, other.served()]).toEqual([413, 1]);
  });

  test('is read again after the store failed once', async () => {
    let reads = 0;
    const store = {
      async read() {
        // The gate looks first, then the failing turn.
        if (++reads === 2) throw new Error('The store is away.');
        return { baseUrl: boxes.model.url };
      },
      write: async () => {},
      remove: async () => {},
    };
    const egress = { allowLoopback: true, allowed: [] };
    const box = await open({ options: { provider: { environment: undefined, store, egress } } });
    expect((await chat(box)).status).toBe(500);
    expect((await chat(box)).status).toBe(200);
  });

  test.each([
    [{}, 'baseUrl'],
    [{ baseUrl: '' }, 'baseUrl'],
    [{ baseUrl: 7 }, 'baseUrl'],
    [{ baseUrl: 'http://127.0.0.1:9/v1', apiKey: '' }, 'apiKey'],
  ])('%o is refused, naming %s', async (body, member) => {
    const box = await open({ provider: 'none' });
    const answer = await put(box, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'invalid_request', details: { issues: [{ path: [member] }] } });
  });
});

describe('an address given over the API', () => {
  const REFUSED = [
    'not a url',
    '/v1',
    'ftp://models.test/v1',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://user:pass@127.0.0.1/v1',
    'http://user@127.0.0.1/v1',
    'http://169.254.169.254/latest',
    'http://168.63.129.16/machine',
    'http://[fe80::1]/v1',
    'http://[fd00:ec2::254]/v1',
    'http://[::ffff:169.254.169.254]/v1',
    'http://[::ffff:a9fe:a9fe]/v1',
    'http://2852039166/v1',
    'http://0xa9fea9fe/v1',
    'http://0251.0376.0251.0376/v1',
    'http://10.0.0.7/v1',
    'http://172.16.0.1/v1',
    'http://172.31.255.255/v1',
    'http://192.168.1.1/v1',
    'http://100.64.0.1/v1',
    'http://0.0.0.0/v1',
    'http://[::]/v1',
    'http://[fd12::1]/v1',
    'http://[::ffff:10.0.0.7]/v1',
    'http://no-such-name.invalid/v1',
  ];
  test.each(REFUSED)('%s is refused and not stored', async (baseUrl) => {
    const box = await open({ provider: 'none' });
    const answer = await put(box, { baseUrl, apiKey: 'k' });
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'provider_url_invalid' }]);
    expect(box.stored.value).toBeUndefined();
    expect(box.gate.state().open).toBe(false);
  });

  test('with credentials is refused without repeating them', async () => {
    const answer = await put(await open({ provider: 'none' }), { baseUrl: 'http://me:hunter2@127.0.0.1/v1' });
    expect(await answer.text()).not.toContain('hunter2');
    const other = await put(await open({ provider: 'none' }), { baseUrl: 'ftp://me:hunter2@127.0.0.1/v1' });
    expect(await other.text()).not.toContain('hunter2');
  });

  const LOCAL = { allowLoopback: true, allowed: [] };
  const LISTED = {
    allowLoopback: false,
    allowed: ['10.0.0.7', 'fd12::1', '169.254.169.254', '168.63.129.16', '127.0.0.1', 'localhost'],
  };
  const NONE = { allowLoopback: false, allowed: [] };
  const GATEWAYS = {
    allowLoopback: true,
    allowed: [
      '64:ff9b::a00:7',
      '::ffff:a9fe:a9fe',
      '::a9fe:a9fe',
      '::ffff:0:a9fe:a9fe',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b:1::a9fe:a9fe',
      '64:ff9b:1:a9fe:a9:fe00::',
      '2002:a9fe:a9fe::1',
    ],
  };
  test.each([
    ['loopback in dev', 'http://127.0.0.1:9101/v1', LOCAL, true],
    ['loopback by name in dev', 'http://localhost:9101/v1', LOCAL, true],
    ['loopback of the other family in dev', 'http://[::1]/v1', LOCAL, true],
    ['loopback elsewhere', 'http://127.0.0.1:9101/v1', NONE, false],
    ['loopback by name elsewhere', 'http://localhost/v1', NONE, false],
    ['loopback that is listed', 'http://127.0.0.1/v1', LISTED, true],
    ['a name that is listed', 'http://localhost/v1', LISTED, true],
    ['a private address that is listed', 'http://10.0.0.7/v1', LISTED, true],
    ['a private address that is listed, of the other family', 'http://[fd12::1]/v1', LISTED, true],
    ['a private address beside a listed one', 'http://10.0.0.8/v1', LISTED, false],
    ['a link-local address that is listed', 'http://169.254.169.254/v1', LISTED, false],
    ['an IPv4-compatible address', 'http://[::7f00:1]/v1', LOCAL, false],
    ['an address of SIIT', 'http://[::ffff:0:a00:7]/v1', LISTED, false],
    ['a relay of 6to4', 'http://192.88.99.1/v1', NONE, false],
    ['a way to a listed address that is listed itself', 'http://[64:ff9b::a00:7]/v1', GATEWAYS, true],
    ['link-local, mapped', 'http://[::ffff:a9fe:a9fe]/v1', GATEWAYS, false],
    ['link-local, compatible', 'http://[::a9fe:a9fe]/v1', GATEWAYS, false],
    ['link-local through SIIT', 'http://[::ffff:0:a9fe:a9fe]/v1', GATEWAYS, false],
    ['link-local through NAT64', 'http://[64:ff9b::a9fe:a9fe]/v1', GATEWAYS, false],
    ['link-local through the NAT64 of a network', 'http://[64:ff9b:1::a9fe:a9fe]/v1', GATEWAYS, false],
    ['the same with the shortest prefix', 'http://[64:ff9b:1:a9fe:a9:fe00::]/v1', GATEWAYS, false],
    ['link-local through 6to4', 'http://[2002:a9fe:a9fe::1]/v1', GATEWAYS, false],
    ['a public address of IPv6', 'https://[2606:4700::1111]/v1', NONE, true],
    ['a public address', 'https://203.0.113.7/v1', NONE, true],
  ])('%s: %s', async (_title, address, policy, allowed) => {
    const checked = checkEgress(new URL(address), policy).then(
      () => true,
      () => false,
    );
    expect(await checked).toBe(allowed);
  });
});

describe('the connection to an address given over the API', () => {
  const policy = { allowLoopback: true, allowed: [] };

  test('is to the address that was checked: a name that turns out to be private is refused, and not asked again', async () => {
    let served = 0;
    const other = await startProvider((response) => {
      served++;
      response.end('{}');
    });
    const strict = createPinnedFetch({ allowLoopback: false, allowed: [] });
    for (const url of [other.url, other.url.replace('127.0.0.1', 'localhost')])
      await expect(strict(url)).rejects.toMatchObject({
        code: 'model_provider_failed',
        message: expect.stringContaining('a loopback address'),
      });
    expect(served).toBe(0);
  });

  test('in a turn fails the turn at once, and says why', async () => {
    const { url } = boxes.model;
    const egress = { allowLoopback: false, allowed: [] };
    const store = {
      // As if its name had led elsewhere when it was set.
      read: async () => ({ baseUrl: url.replace('127.0.0.1', 'localhost') }),
      write: async () => {},
      remove: async () => {},
    };
    const box = await open({ options: { provider: { environment: undefined, store, egress } } });
    const turn = await chat(box);
    expect([turn.status, await turn.json()]).toMatchObject([
      502,
      { error: { code: 'model_provider_failed', message: expect.stringContaining('a loopback address') } },
    ]);
  });

  test('follows no redirect', async () => {
    const inner = await startProvider((response) => response.end('secret'));
    const outer = await startProvider((response) => response.writeHead(302, { location: inner.url }).end());
    const answer = await createPinnedFetch(policy)(outer.url, { method: 'POST', body: '{}' });
    expect([answer.status, inner.served()]).toEqual([302, 0]);
  });

  test('hands over what was answered, piece by piece, and stops when asked to', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'x-one': '1' });
      response.write('first');
    });
    const gone = new AbortController();
    const answer = await createPinnedFetch(policy)(provider.url, { method: 'POST', body: '{}', signal: gone.signal });
    const reader = answer.body?.[Symbol.asyncIterator]();
    expect([answer.headers.get('x-one'), Buffer.from((await reader?.next())?.value ?? []).toString()]).toEqual([
      '1',
      'first',
    ]);
    gone.abort();
    await expect(reader?.next()).rejects.toThrow(/abort/i);
    await until(() => provider.open() === 0);
  });
});

describe('a test of the provider', () => {
  const check = async (box: TestBox, body: object = {}) =>
    (await box.request('/api/model-provider/test', json(body))).json() as Promise<Record<string, unknown>>;

  test('asks it once: for its models, or for one token of a model', async () => {
    const box = await open();
    const before = box.model.requests.length;
    expect(await check(box)).toEqual({ ok: true, call: 'models', status: 200, ms: expect.any(Number), problem: null });
    expect(await check(box, { model: 'test/one' })).toMatchObject({ ok: true, call: 'chat', status: 200 });
    expect(box.model.requests.slice(before)).toMatchObject([{ model: 'test/one', max_tokens: 1 }]);
  });

  test.each([401, 404, 500, 302])('that answers %i says so, and nothing of what came', async (status) => {
    const provider = await startProvider((response) => response.writeHead(status).end('{"error":"planted-body"}'));
    const box = await open({ provider: { baseUrl: provider.url, apiKey: 'planted-key' } });
    const outcome = await check(box, { model: 'm' });
    expect(outcome).toMatchObject({ ok: false, status, problem: expect.stringContaining(`answered ${status}`) });
    expect(JSON.stringify(outcome)).not.toContain('planted');
  });

  test('that does not answer, or not with JSON, says so', async () => {
    const { url, stop } = await startModels([]);
    await stop();
    const down = await open({ provider: { baseUrl: url } });
    expect(await check(down)).toMatchObject({
      ok: false,
      status: null,
      problem: expect.stringContaining('Nothing listens'),
    });
    const page = await startProvider((response) => response.end('<html>planted</html>'));
    const box = await open({ provider: { baseUrl: page.url } });
    const outcome = await check(box, { model: 'm' });
    expect(outcome).toMatchObject({ ok: false, status: 200, problem: 'The address answers, but not with JSON.' });
  });

  test('without one says what is missing', async () => {
    expect(await check(await open({ provider: 'none' }))).toMatchObject({ code: 'model_provider_missing' });
  });
});

describe('the models of the provider', () => {
  test('are listed, and asked for once in five minutes', async () => {
    const provider = await startModels([{ id: 'b' }, { id: 'a' }]);
    const box = await open({ provider: { baseUrl: provider.url } });
    const list = async () => (await box.request('/api/models')).json();
    expect(await list()).toEqual({ items: [{ id: 'a' }, { id: 'b' }], nextCursor: null, readAt: expect.any(String) });
    const paged = async (query: string) => (await box.request(`/api/models?limit=1${query}`)).json();
    const first = (await paged('')) as { items: object[]; nextCursor: string };
    expect([first.items, await paged(`&cursor=${first.nextCursor}`)]).toMatchObject([
      [{ id: 'a' }],
      { items: [{ id: 'b' }], nextCursor: null },
    ]);
    expect(provider.served()).toBe(1);
  });

  test.each([
    ['an answer of another kind', { models: [] }],
    ['no such route', undefined],
  ])('that has none (%s): models_unavailable', async (_title, data) => {
    const provider = await startModels(data);
    const box = await open({ provider: { baseUrl: provider.url } });
    const answer = await box.request('/api/models');
    expect([answer.status, await answer.json()]).toMatchObject([
      502,
      { code: 'models_unavailable', message: expect.stringContaining('has no list of models') },
    ]);
  });
});

test('a stored provider that is removed is gone from the next turn on; one of the environment stays', async () => {
  const box = await open({ provider: 'stored' });
  const removed = await box.request('/api/model-provider', { method: 'DELETE' });
  expect(await removed.json()).toEqual({ baseUrl: null, source: null, hasKey: false });
  expect(await (await chat(box)).json()).toMatchObject({ error: { code: 'model_provider_missing' } });
  const given = await open();
  expect(await (await given.request('/api/model-provider', { method: 'DELETE' })).json()).toMatchObject({
    source: 'environment',
  });
});

interface ModelsProvider {
  url: string;
  served(): number;
  stop(): Promise<void>;
}

/** A provider with that list of models, or with none. */
async function startModels(data: unknown): Promise<ModelsProvider> {
  let served = 0;
  const server = createServer((_request, response) => {
    served++;
    response.writeHead(data === undefined ? 404 : 200).end(JSON.stringify({ data }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${port}/v1`, served: () => served, stop };
}
