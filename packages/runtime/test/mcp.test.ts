import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { createHostCheck } from '../src/http/hosts.ts';
import { callTool, connect, ERAS, MODERN, openMcpBox, write } from './_mcp.ts';
import type { Json } from './_mcp.ts';
import { getRun, json, setupBoxes, startWorkflow, until } from './_setup.ts';
import type { TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const open = (options: TestBoxOptions['options'] = {}) => openMcpBox(boxes, options);

describe.each(ERAS)('a client of %s', (era, options) => {
  test('connects, and sees the four tools with what they do', async () => {
    const client = await connect(await open(), options);
    expect(client.getNegotiatedProtocolVersion()).toBe(era);
    expect(client.getServerVersion()).toMatchObject({ name: 'test-box' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ['list_operations', true],
      ['describe_operation', true],
      ['call_read_operation', true],
      ['call_write_operation', false],
    ]);
    expect(tools[3]?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: false, openWorldHint: false });
    expect(tools.map(({ inputSchema }) => inputSchema.type)).toEqual(['object', 'object', 'object', 'object']);
  });

  test('finds operations by words, tag and kind', async () => {
    const client = await connect(await open(), options);
    const idsOf = async (filter: Json) => {
      const { operations } = (await callTool(client, 'list_operations', filter)).body as {
        operations: { id: string }[];
      };
      return operations.map(({ id }) => id);
    };
    expect((await idsOf({ query: 'cancel run', kind: 'write' })).slice(0, 2)).toEqual([
      'runs.cancel',
      'runs.cancel_all',
    ]);
    expect(await idsOf({ tag: 'approvals', kind: 'read' })).toEqual(['approvals.list', 'approvals.get', 'hooks.kept']);
    const all = await idsOf({});
    expect(all).toContain('workflows.start');
    expect(all).not.toContain('keys.create');
  });

  test('learns what an operation takes and answers', async () => {
    const client = await connect(await open(), options);
    const { body } = await callTool(client, 'describe_operation', { operation: 'runs.cancel' });
    expect(body).toMatchObject({
      id: 'runs.cancel',
      kind: 'write',
      confirm: true,
      permission: 'runs:cancel',
      input: { type: 'object', properties: { id: { type: 'string', description: 'The run id' } }, required: ['id'] },
      output: { properties: { status: { enum: expect.arrayContaining(['cancelled']) } } },
    });
  });

  test('reads, as text and as an object', async () => {
    const client = await connect(await open(), options);
    const { body, text } = await callTool(client, 'call_read_operation', { operation: 'discovery.get' });
    expect(body).toEqual({ agents: ['helper'], workflows: ['echo', 'rest', 'fails'] });
    expect(JSON.parse(text)).toEqual(body);
  });

  test('writes what is not marked at once', async () => {
    const box = await open();
    const client = await connect(box, options);
    const { body } = await write(client, 'workflows.start', { name: 'echo', input: { text: 'hi' } });
    expect(body).toMatchObject({ workflowName: 'echo', status: 'started' });
    expect(await getRun(box, String(body.runId), '20s')).toMatchObject({ status: 'completed', output: { text: 'hi' } });
  });

  test.each([
    [
      'call_read_operation',
      'runs.cancel',
      { id: 'x' },
      'invalid_request',
      /changes something: call it with call_write/,
    ],
    ['call_write_operation', 'runs.list', {}, 'invalid_request', /only reads: call it with call_read/],
    ['call_read_operation', 'nope', {}, 'not_found', /list_operations/],
    ['call_read_operation', 'services.get', {}, 'forbidden', /cannot be called here: endpoints/],
    ['call_write_operation', 'keys.create', { name: 'x' }, 'forbidden', /secret in the answer/],
    ['call_read_operation', 'runs.get', { id: 'x', other: 1 }, 'invalid_request', /not valid/],
    ['call_read_operation', 'runs.get', { id: 'x' }, 'run_not_found', /"x"/],
    ['call_write_operation', 'runs.cancel', {}, 'invalid_request', /"id"/],
  ])('is sent why %s of %s is refused', async (tool, operation, input, code, message) => {
    const client = await connect(await open(), options);
    const { isError, body } = await callTool(client, tool, { operation, input });
    expect([isError, body.code]).toEqual([true, code]);
    expect(body.message).toMatch(message);
  });

  test('gets the beginning of a long result, marked as such', async () => {
    const box = await open();
    const id = await startWorkflow(box, 'echo', { text: 'x'.repeat(40_000) });
    await until(async () => (await getRun(box, id)).status === 'completed');
    const client = await connect(box, options);
    const { body, text } = await callTool(client, 'call_read_operation', { operation: 'runs.get', input: { id } });
    expect(body).toMatchObject({ truncated: true, note: text });
    expect(text).toMatch(/^The result has \d+ characters; these are the first 60000\. Ask for less/);
    expect(String(body.text)).toHaveLength(60_000);
  });
});

test('a stream that listens ends at once: there is nothing to announce', async () => {
  const client = await connect(await open(), MODERN);
  const subscription = await client.listen({ toolsListChanged: true, promptsListChanged: true });
  expect(subscription.honoredFilter).toEqual({});
  await subscription.closed;
});

describe('the address', () => {
  const INITIALIZE = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  };
  const accept = { accept: 'application/json, text/event-stream' };

  test.each(['GET', 'DELETE'])('%s is 405 with what is allowed', async (method) => {
    const answer = await (await open()).request('/mcp', { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await answer.json()).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { data: { code: 'method_not_allowed' } },
    });
  });

  test('keeps no session', async () => {
    const answer = await (await open()).request('/mcp', json(INITIALIZE, { headers: accept }));
    expect([answer.status, answer.headers.get('mcp-session-id')]).toEqual([200, null]);
    expect(answer.headers.get('cache-control')).toBe('no-store, no-transform');
  });

  test('takes a notification without an answer', async () => {
    const init = json({ jsonrpc: '2.0', method: 'notifications/initialized' }, { headers: accept });
    const answer = await (await open()).request('/mcp', init);
    expect([answer.status, await answer.text()]).toEqual([202, '']);
  });

  test.each([
    ['bad JSON', '{', {}, 400, -32_700],
    ['another content type', '{}', { 'content-type': 'text/plain' }, 415, -32_600],
    [
      'an unknown revision',
      JSON.stringify({ ...INITIALIZE, method: 'ping' }),
      { 'mcp-protocol-version': '1999-01-01' },
      400,
      undefined,
    ],
  ])('refuses %s', async (_what, body, headers, status, code) => {
    const answer = await (await open()).request('/mcp', json(body, { headers: { ...accept, ...headers } }));
    const { error } = (await answer.json()) as { error: { code: number } };
    expect([answer.status, code ?? error.code]).toEqual([status, error.code]);
  });

  test('refuses a foreign Host under dev', async () => {
    const box = await open({ isAllowedHost: createHostCheck({ listen: false }) });
    const answer = await box.request('/mcp', json(INITIALIZE, { headers: { ...accept, host: 'rebound.example' } }));
    expect(answer.status).toBe(403);
  });

  test('asks a deployed caller for a credential, and takes no API key', async () => {
    const dev = await open();
    const created = await dev.request('/api/keys', json({ name: 'mcp', grants: { agents: 'all', workflows: 'all' } }));
    const { value } = (await created.json()) as { value: string };
    const box = await open({ host: 'image' });
    const bare = await box.request('/mcp', json(INITIALIZE, { headers: accept }));
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="mcp"']);
    const keyed = await box.request(
      '/mcp',
      json(INITIALIZE, { headers: { ...accept, authorization: `Bearer ${value}` } }),
    );
    expect(keyed.status).toBe(403);
  });
});

describe.each(ERAS)('with agents and workflows as tools, for %s', (_era, options) => {
  const openTools = async () => {
    const box = await open({ mcpTools: () => true });
    return connect(box, options);
  };

  test('each is listed with its own input', async () => {
    const { tools } = await (await openTools()).listTools();
    expect(tools.map(({ name }) => name).slice(4)).toEqual([
      'agent_helper',
      'workflow_echo',
      'workflow_rest',
      'workflow_fails',
    ]);
    expect(tools.find(({ name }) => name === 'workflow_echo')?.inputSchema).toMatchObject({
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    });
  });

  test('names that are equal as far as a tool name goes are tools of their own', async () => {
    const long = 'a'.repeat(60);
    const agent = (name: string) => [name, defineDeepAgent({ name })] as const;
    const flow = (name: string) => [name, { run: async () => name }] as const;
    const box = await boxes.open({
      agents: Object.fromEntries([`${long}-ask`, `${long}-tell`].map(agent)),
      workflows: Object.fromEntries([`${long}-pay`, `${long}-ship`, 'b'.repeat(55), 'b'.repeat(56)].map(flow)),
      options: { mcpTools: () => true },
    });
    const client = await connect(box, options);
    const names = (await client.listTools()).tools.map(({ name }) => name).slice(4);
    expect(new Set(names).size).toBe(6);
    expect(names.filter((name) => name.length > 64)).toEqual([]);
    expect(names).toContain(`workflow_${'b'.repeat(55)}`);
    const pays = names.filter((name) => name.startsWith('workflow_a'));
    const outputs = await Promise.all(pays.map(async (name) => (await callTool(client, name, {})).body.output));
    expect(outputs).toEqual([`${long}-pay`, `${long}-ship`]);
  });

  test('an agent answers', async () => {
    const { body } = await callTool(await openTools(), 'agent_helper', { message: 'say:hello' });
    expect(body).toMatchObject({ text: expect.stringContaining('hello'), runId: expect.any(String) });
  });

  test('a workflow answers with its output', async () => {
    const { body } = await callTool(await openTools(), 'workflow_echo', { text: 'hi' });
    expect(body).toMatchObject({ status: 'completed', output: { text: 'hi' } });
  });

  test('a workflow that fails says why', async () => {
    const { isError, body } = await callTool(await openTools(), 'workflow_fails', {});
    expect([isError, body.status, body.message]).toEqual([true, 'failed', 'broken']);
  });
});
