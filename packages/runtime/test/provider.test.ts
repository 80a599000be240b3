import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/agents/definition.ts';
import { checkEgress } from '../src/provider/egress.ts';
import { json, runWorkflow, setupBoxes, startProvider, toProgram } from './_setup.ts';
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

  test('is not opened by an edit', async () => {
    const box = await open({ provider: 'none' });
    await box.reload(toProgram(PROGRAM));
    expect(box.gate.state().open).toBe(false);
    expect((await chat(box)).status).toBe(503);
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
  test('is told without its key, wherever it comes from', async () => {
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
    allowed: ['10.0.0.7', 'fd12::1', '169.254.169.254', '127.0.0.1', 'localhost'],
  };
  const NONE = { allowLoopback: false, allowed: [] };
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
    ['a public address', 'https://203.0.113.7/v1', NONE, true],
  ])('%s: %s', async (_title, address, policy, allowed) => {
    const checked = checkEgress(new URL(address), policy).then(
      () => true,
      () => false,
    );
    expect(await checked).toBe(allowed);
  });
});
