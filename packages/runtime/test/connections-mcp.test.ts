import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { defineDeepAgent, svc } from '../src/index.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { startMcpServer } from './fixtures/mcp-server.mjs';
import { CLIENT, useOAuthServer } from './_oauth-server.ts';
import { call, finish, json, setupBoxes, toStep } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const oauth = useOAuthServer();
const secretKey = newMasterKey();
const where = toStep('where', (id: string) => svc.connection(id).signInUrl());

let ids = 0;

/** A real server of tools that asks for a token of the authorization server. */
async function startGuardedServer() {
  const server = await startMcpServer();
  const came: (string | undefined)[] = [];
  const gate = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    const { authorization } = request.headers;
    came.push(authorization);
    const known = await fetch(`${oauth.url}/api/me`, { headers: authorization ? { authorization } : {} });
    if (!known.ok) return void response.writeHead(401).end();
    const headers = Object.entries(request.headers).filter(
      ([name]) => name.startsWith('mcp') || /accept|type/.test(name),
    );
    const answer = await fetch(server.url, {
      method: request.method ?? 'GET',
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
      ...(body === '' ? {} : { body }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    for await (const part of answer.body ?? []) response.write(part);
    response.end();
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    gate.closeAllConnections();
    gate.close();
    await server.close();
  });
  return { url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`, came, calls: server.calls };
}

const openWith = (connection: string) =>
  boxes.open({
    agents: { clerk: defineDeepAgent({ name: 'clerk', mcpServers: { sums: { connection, path: '/mcp' } } }) },
    workflows: { where: { run: (id: string) => where(id) } },
    options: { secretKey },
  });

async function declare(box: TestBox, id: string, baseUrl: string, more: object = {}): Promise<void> {
  const about = {
    provider: 'custom',
    auth: 'oauth2',
    baseUrl,
    authorizationUrl: `${oauth.url}/authorize`,
    tokenUrl: `${oauth.url}/token`,
    clientId: CLIENT.id,
  };
  expect((await call(box, 'POST /api/connections', { id, ...about, ...more })).status).toBe(201);
  await call(box, `PUT /api/connections/${id}/credential`, { clientSecret: CLIENT.secret });
}

const come = async (box: TestBox, url: string) => {
  const { pathname, search } = await oauth.approve(url);
  expect((await box.app.request(pathname + search)).status).toBe(200);
};

interface Asked {
  messages: { role: string; content: string }[];
  tools?: { function: { name: string } }[];
}

/** What the model was offered, what its tools answered, and what it was instructed. */
async function ask(box: TestBox, script: string, user?: string) {
  const headers = { authorization: 'Bearer dev', ...(user === undefined ? {} : { 'x-svc-user': user }) };
  const body = { model: 'clerk', messages: [{ role: 'user', content: script }] };
  const answer = await box.request('/wire-a/v1/chat/completions', json(body, { headers }));
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  const { messages, tools = [] } = box.model.requests.at(-1) as unknown as Asked;
  const of = (role: string) => messages.flatMap((one) => (one.role === role ? [one.content] : []));
  return { tools: tools.map((one) => one.function.name), results: of('tool'), system: of('system').join('\n') };
}

const startAs = async (box: TestBox, user: string, id: string) => {
  const init = json({ args: [id] }, { headers: { 'x-svc-user': user } });
  const { runId } = (await (await box.request('/api/workflows/where/start', init)).json()) as { runId: string };
  return (await finish(box, runId)).output as { url: string };
};

beforeEach(() => oauth.reset());

test('an agent calls tools of a server through a connection, whose token is refreshed', async () => {
  const id = `sums-${++ids}`;
  const server = await startGuardedServer();
  const box = await openWith(id);
  await declare(box, id, server.url);
  await come(box, (await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {})).body.url);
  const first = await ask(box, 'tool:add {"a": 1, "b": 2}');
  expect(first.tools).toContain('add');
  expect(first.results).toEqual(['3']);
  const [token] = server.came;
  expect(token).toMatch(/^Bearer access-/);
  oauth.revoke();
  expect((await ask(box, 'tool:add {"a": 2, "b": 2}')).results).toEqual(['4']);
  expect(oauth.granted).toEqual({ authorization_code: 1, refresh_token: 1 });
  expect(server.came.at(-1)).not.toBe(token);
  expect((await call<{ usedBy: object[] }>(box, `GET /api/connections/${id}`)).body.usedBy).toEqual([
    { kind: 'agent', name: 'clerk', lastUsedAt: expect.any(String) },
  ]);
  expect(JSON.stringify(box.model.requests)).not.toContain('access-');
});

test('each user calls them with a credential of their own, and one who has none is offered none', async () => {
  const id = `sums-${++ids}`;
  const server = await startGuardedServer();
  const box = await openWith(id);
  await declare(box, id, server.url, { per: 'user' });
  for (const user of ['ada', 'bob']) await come(box, (await startAs(box, user, id)).url);
  const sentBy = async (user: string) => {
    const before = server.came.length;
    expect((await ask(box, 'tool:add {"a": 1, "b": 1}', user)).results).toEqual(['2']);
    return [...new Set(server.came.slice(before))];
  };
  const [ada, bob, again] = [await sentBy('ada'), await sentBy('bob'), await sentBy('ada')];
  expect([ada.length, bob.length, again]).toEqual([1, 1, ada]);
  expect(ada).not.toEqual(bob);
  const before = server.calls.length;
  for (const user of ['eve', undefined]) {
    const { tools, system } = await ask(box, 'tool:add {"a": 1, "b": 1}', user);
    expect(tools).toEqual([]);
    expect(system).toContain('The tool server "sums" cannot be reached');
  }
  expect(server.calls.length).toBe(before);
});

test('a connection that is not there is said to be in the log', async () => {
  const box = await openWith('nothing');
  expect((await ask(box, 'say:hello')).system).toContain('The tool server "sums" cannot be reached');
  expect(box.logs).toContainEqual(
    expect.objectContaining({ problem: expect.stringContaining('There is no connection "nothing"') }),
  );
});

test.each([
  [{ connection: 'crm', url: 'https://crm.example' }, 'needs a "url", a "connection" or a "command", and one alone'],
  [{ url: 'https://crm.example', path: '/mcp' }, 'has a "path", which goes with a "connection" alone'],
])('a server that is %j is refused', (server, message) => {
  expect(() => defineDeepAgent({ name: 'clerk', mcpServers: { sums: server as never } })).toThrow(message);
});
