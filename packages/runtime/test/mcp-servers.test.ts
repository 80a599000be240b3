import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import type { McpServer } from '../src/definitions/agent.ts';
import { createMcpConnection } from '../src/tools/mcp/connection.ts';
import { startMcpServer } from './fixtures/mcp-server.mjs';
import { call, finish, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const FIXTURE = fileURLToPath(new URL('./fixtures/mcp-server.mjs', import.meta.url));
const own = defineTool({ description: 'Its own.', inputSchema: z.object({}), execute: () => 'own' });

async function startServer(options: { port?: number; twice?: boolean } = {}) {
  const server = await startMcpServer(options);
  onTestFinished(() => server.close().catch(() => {}));
  return server;
}

const openWith = (mcpServers: Record<string, McpServer>, more: object = {}) =>
  boxes.open({ agents: { clerk: defineDeepAgent({ name: 'clerk', mcpServers, ...more }) } });

async function ask(box: TestBox, content: string, init: RequestInit = {}, session?: string) {
  const headers = { authorization: 'Bearer dev', ...(session === undefined ? {} : { 'x-svc-session': session }) };
  const body = { model: 'clerk', messages: [{ role: 'user', content }] };
  const answer = await box.request('/wire-a/v1/chat/completions', json(body, { ...init, headers }));
  return answer.text();
}

interface Asked {
  messages: { role: string; content: string }[];
  tools?: { function: { name: string; parameters: object } }[];
}
const asked = (box: TestBox) => box.model.requests.at(-1) as unknown as Asked;
const offered = (box: TestBox) => (asked(box).tools ?? []).map(({ function: { name } }) => name);
const results = (box: TestBox) =>
  asked(box)
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

async function flood(response: ServerResponse, type: string): Promise<void> {
  response.writeHead(200, { 'content-type': type });
  response.write(type === 'application/json' ? '{"jsonrpc":"2.0","id":1,"result":"' : 'data: ');
  const part = 'x'.repeat(1_048_576);
  while (!response.destroyed) await new Promise<void>((resolve) => response.write(part, () => resolve()));
}

/** A way to a server that answers 502 to the requests it is told to refuse, and without an end to those it is to flood. */
async function startBetween(
  target: string,
  isRefused: (body: string) => boolean | Promise<boolean>,
  flooded?: (body: string) => string | undefined,
): Promise<string> {
  const http = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    const type = flooded?.(body);
    if (type !== undefined) return flood(response, type);
    if (await isRefused(body)) return response.writeHead(502).end();
    const headers = Object.entries(request.headers).filter(
      ([name]) => name.startsWith('mcp') || /accept|type/.test(name),
    );
    const answer = await fetch(target, {
      method: request.method ?? 'GET',
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
      ...(body === '' ? {} : { body }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    const copy = async () => {
      for await (const part of answer.body ?? []) response.write(part);
    };
    await copy().catch(() => {});
    response.end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

async function listPending(box: TestBox): Promise<{ approvalId: string; runId: string }[]> {
  const { body } = await call<{ items: { approvalId: string; runId: string }[] }>(
    box,
    'GET /api/approvals?status=pending',
  );
  return body.items;
}

describe('an MCP server', () => {
  test('over HTTP gives its tools, with the headers of the agent', async () => {
    const server = await startServer();
    const box = await openWith({ math: { url: server.url, headers: { 'x-key': 'k' } } });
    await ask(box, 'tool:add {"a":1,"b":2}\ntool:fail {}\nsay:Done.');
    expect(offered(box)).toEqual(['add', 'fail', 'environment', 'wait', 'hang']);
    expect(results(box)).toEqual(['3', 'The tool "fail" failed: The disk is full.']);
    expect(asked(box).tools?.[0]?.function.parameters).toMatchObject({ required: ['a', 'b'] });
    expect(server.headers.every((headers) => headers['x-key'] === 'k')).toBe(true);
    const { items } = (await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?kind=agent')).body;
    const steps = (
      await call<{ items: { name: string; kind: string }[] }>(box, `GET /api/runs/${items[0]?.runId}/steps`)
    ).body;
    expect(steps.items.map(({ kind, name }) => `${kind} ${name}`)).toContainEqual(
      expect.stringMatching(/^tool .*add$/),
    );
  });

  test('as a program gets the environment it is given and nothing of the box', async () => {
    process.env.SECRET = 'of the box';
    onTestFinished(() => void delete process.env.SECRET);
    const box = await openWith({
      local: { command: process.execPath, args: [FIXTURE], env: { GREETING: 'hello' } },
    });
    await ask(box, 'tool:environment {}\nsay:Done.');
    expect(results(box)).toEqual(['hello nothing']);
  });

  test('has its name before a tool name that is taken', async () => {
    const server = await startServer();
    const box = await openWith(
      { a: { url: server.url }, b: { url: `${server.url}?b` } },
      { tools: { own, fail: own } },
    );
    await ask(box, 'say:hello');
    expect(offered(box).slice(0, 5)).toEqual(['own', 'fail', 'a_add', 'a_fail', 'a_environment']);
    expect(offered(box)).toContain('b_add');
  });

  test('that is down is sent to the model, and so are its tools when it goes', async () => {
    const server = await startServer();
    const box = await openWith({ math: { url: server.url }, gone: { url: 'http://127.0.0.1:9/mcp' } });
    await ask(box, 'tool:add {"a":1,"b":2}\nsay:Done.');
    expect(results(box)).toEqual(['3']);
    expect(asked(box).messages[0]).toEqual({
      role: 'system',
      content: expect.stringMatching(/^The tool server "gone" cannot be reached/),
    });
    await server.close();
    await ask(box, 'tool:add {"a":1,"b":2}\nsay:Done.');
    expect(results(box)).toEqual([expect.stringMatching(/^The tool "add" failed: /)]);
    expect(box.logs).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('"gone"') }),
    );
    await startServer({ port: server.port });
    await ask(box, 'tool:add {"a":2,"b":2}\nsay:Done.');
    expect(results(box)).toEqual(['4']);
  });

  test("that cannot be reached is named to the model; what it said is anybody's text, and stands in the log alone", async () => {
    const args = ['-e', 'console.error("No key is set."); process.exit(1)'];
    const box = await openWith({ local: { command: process.execPath, args }, none: { command: '/nowhere/at/all' } });
    expect(await ask(box, 'say:hello')).toContain('hello');
    expect(asked(box).messages[0]?.content).toContain('"local" cannot be reached');
    expect(asked(box).messages[0]?.content).not.toContain('No key is set.');
    expect(JSON.stringify(box.logs)).toContain('No key is set.');
    expect(asked(box).messages[0]?.content).toContain('"none" cannot be reached');
  });

  test('is let go of when the run is cancelled', async () => {
    const server = await startServer();
    const box = await openWith({ math: { url: server.url } });
    void ask(box, 'tool:hang {}').catch(() => {});
    await until(() => server.calls.length === 1);
    const { items } = (await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?kind=agent')).body;
    const runId = String(items[0]?.runId);
    await call(box, `POST /api/runs/${runId}/cancel`);
    expect((await finish(box, runId)).status).toBe('cancelled');
    await ask(box, 'tool:add {"a":1,"b":1}\nsay:Done.');
    expect(results(box)).toEqual(['2']);
  });

  test.each(['over HTTP', 'as a program'])('%s is given up on when a call takes too long, and is kept', async (how) => {
    const server = await startServer();
    // What the program greets with is the id of its process.
    const program = ['-c', `GREETING=$$ exec "${process.execPath}" "${FIXTURE}"`];
    const box = await openWith({
      math: { ...(how === 'over HTTP' ? { url: server.url } : { command: 'sh', args: program }), timeout: '2s' },
    });
    await ask(box, 'tool:environment {}\nsay:Done.');
    const [before] = results(box);
    await ask(box, 'tool:hang {}\nsay:Done.');
    expect(results(box)).toEqual([
      expect.stringMatching(/^The tool "hang" failed: It took longer than its timeout of /),
    ]);
    await ask(box, 'tool:environment {}\nsay:Done.');
    expect(results(box)).toEqual([before]);
    expect(box.logs).toEqual([]);
  });

  test('is one whichever timeouts agents give it', async () => {
    const program = { command: 'sh', args: ['-c', `GREETING=$$ exec "${process.execPath}" "${FIXTURE}"`] };
    const box = await openWith({ a: { ...program, timeout: 10_000 }, b: program });
    await ask(box, 'tools:a_environment {} | b_environment {}\nsay:Done.');
    const [first, second] = results(box);
    expect(first).toMatch(/^\d+ nothing$/);
    expect(second).toBe(first);
  });

  test('gives an agent that names tools of it no other one, and says which it has not', async () => {
    const server = await startServer();
    const box = await boxes.open({
      agents: {
        clerk: defineDeepAgent({ name: 'clerk', mcpServers: { math: { url: server.url, tools: ['add', 'gone'] } } }),
        all: defineDeepAgent({ name: 'all', mcpServers: { math: { url: server.url } } }),
      },
    });
    await ask(box, 'tool:add {"a":1,"b":2}\nsay:Done.');
    expect([offered(box), results(box)]).toEqual([['add'], ['3']]);
    expect(await ask(box, 'tool:environment {}\nsay:Done.')).not.toContain('PATH');
    expect(results(box)).not.toContainEqual(expect.stringContaining('PATH'));
    await ask(box, 'say:Again.');
    const said = box.logs.filter(({ message }) => String(message).includes('has no tool "gone"'));
    expect(said).toMatchObject([{ server: 'math', tool: 'gone' }]);
    const body = { model: 'all', messages: [{ role: 'user', content: 'say:hi' }] };
    await (
      await box.request('/wire-a/v1/chat/completions', json(body, { headers: { authorization: 'Bearer dev' } }))
    ).text();
    expect(offered(box)).toHaveLength(5);
  });

  test.each([[[]], ['add'], [['']], [[7]]])('with the tools %j is refused', (tools) => {
    const server = { url: 'http://127.0.0.1:9', tools } as McpServer;
    const define = () => defineDeepAgent({ name: 'clerk', mcpServers: { math: server } });
    expect(define).toThrow('The MCP server "math" needs a list of names as its "tools"');
  });

  test('with a timeout that is none is refused', () => {
    const define = (timeout: unknown) => () =>
      defineDeepAgent({ name: 'clerk', mcpServers: { math: { url: 'http://127.0.0.1:9', timeout } as McpServer } });
    expect(define('soon')).toThrow('The MCP server "math": timeout: "soon" is not a duration.');
    expect(define(0)).toThrow('The MCP server "math": timeout is 0: nothing is done in no time.');
  });

  test('can have a tool that waits for a person', async () => {
    const server = await startServer();
    const box = await openWith({ math: { url: server.url } }, { interruptOn: { add: true } });
    await ask(box, 'tool:add {"a":1,"b":2}\nsay:Done.');
    const { items } = (
      await call<{ items: { approvalId: string; runId: string }[] }>(box, 'GET /api/approvals?status=pending')
    ).body;
    expect(server.calls).toEqual([]);
    await call(box, `POST /api/approvals/${items[0]?.approvalId}/decide`, { decision: 'approve' });
    expect((await finish(box, items[0]?.runId ?? '')).status).toBe('completed');
    expect(server.calls).toEqual([{ name: 'add', a: 1, b: 2 }]);
  });

  test('that is down when its call is approved after a restart does not stop the turn', async () => {
    const server = await startServer();
    const box = await openWith({ math: { url: server.url } }, { interruptOn: { add: true } });
    await ask(box, 'tool:add {"a":1,"b":2}\nsay:Done.', {}, 'kept');
    const [pending] = await listPending(box);
    await server.close();
    const again = await box.restart();
    await call(again, `POST /api/approvals/${pending?.approvalId}/decide`, { decision: 'approve' });
    expect(await finish(again, pending?.runId ?? '')).toMatchObject({ status: 'completed' });
    expect(results(again)).toEqual(['There is no tool "add". Tools: none.']);
  });

  test.each([
    ['b_add', 'add', 'its server is the only one'],
    ['add', 'b_add', 'another server has one of that name'],
  ])('whose tool %s waits for a person is asked about as %s, when %s', async (policy, name) => {
    const [a, b] = [await startServer(), await startServer()];
    const alone = { b: { url: b.url } };
    const servers = name === 'add' ? alone : { a: { url: a.url }, ...alone };
    const box = await openWith(servers, { interruptOn: { [policy]: true } });
    await ask(box, `tool:${name} {"a":1,"b":2}\nsay:Done.`);
    expect(offered(box)).toContain(name);
    expect(await listPending(box)).toHaveLength(1);
    expect(b.calls).toEqual([]);
  });

  test('that fails one call goes on with those of others', async () => {
    const server = await startServer();
    const box = await openWith({
      math: { url: await startBetween(server.url, (body) => body.includes('"environment"')) },
    });
    const before = box.model.requests.length;
    const slow = ask(box, 'tool:wait {"ms":600}\nsay:Done.');
    await until(() => server.calls.length === 1);
    await ask(box, 'tool:environment {}\nsay:Done.');
    await slow;
    // Which of the two turns asks last is left to the machine.
    const requests = JSON.stringify(box.model.requests.slice(before));
    expect(requests).toContain('The tool \\"environment\\" failed: ');
    expect(requests).toContain('"content":"waited"');
  });

  test('is asked for its tools again when its connection was lost while it listed them', async () => {
    const server = await startServer();
    const held: { what: string; go(): void }[] = [];
    const hold = (what: string) => new Promise<void>((go) => held.push({ what, go }));
    let lists = 0;
    const url = await startBetween(server.url, async (body) => {
      if (body.includes('"tools/list"') && ++lists === 2) await hold('list');
      if (body.includes('"environment"')) await hold('call');
      return body.includes('"environment"');
    });
    const connection = createMcpConnection({ url }, () => {});
    onTestFinished(() => connection.close());
    await connection.list();
    const failing = connection.call('environment', {}, new AbortController().signal).catch(String);
    await until(() => held.length === 1);
    const late = AbortSignal.abort(Object.assign(new Error('Late.'), { code: 'step_timeout' }));
    await expect(connection.call('hang', {}, late)).rejects.toThrow('Late.');
    const listing = connection.list();
    await until(() => held.length === 2);
    held[0]?.go();
    expect(await failing).toContain('SdkHttpError');
    held[1]?.go();
    expect((await listing).tools).not.toEqual([]);
    await connection.list();
    expect(lists).toBe(3);
  });

  test('that lists a name twice has one tool of that name', async () => {
    const server = await startServer({ twice: true });
    const box = await openWith({ math: { url: server.url } }, { interruptOn: { add: true } });
    await ask(box, 'say:hello');
    expect(offered(box).filter((name) => name.includes('add'))).toEqual(['add']);
  });
});

test.each(['application/json', 'text/event-stream'])('an answer of %s without an end is broken off', async (type) => {
  const server = await startServer();
  const isCall = (body: string): boolean => body.includes('"tools/call"');
  const url = await startBetween(
    server.url,
    () => false,
    (body) => (isCall(body) ? type : undefined),
  );
  const connection = createMcpConnection({ url }, () => {});
  onTestFinished(() => connection.close());
  const [tool] = (await connection.list()).tools;
  await expect(connection.call(tool?.name ?? '', {}, new AbortController().signal)).rejects.toThrow(
    /The server answered more than 16777216 bytes\.|Connection closed/,
  );
});
