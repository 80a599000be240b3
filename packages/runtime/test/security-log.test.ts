import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { createGuesses } from '../src/auth/guesses.ts';
import { addressOf, parseProxies } from '../src/http/address.ts';
import type { Proxies } from '../src/http/address.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import { createSecurityLog } from '../src/auth/security-log.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import { createLog } from '../src/log.ts';
import { callTool, write } from './_mcp.ts';
import { startPlane } from './_plane.ts';
import { json, setupBoxes } from './_setup.ts';

const boxes = setupBoxes();
const TOKEN = 'the-one-token-of-the-operator';

interface Line {
  level: string;
  security?: string;
  [field: string]: unknown;
}

async function open(strategy = operatorToken(TOKEN)) {
  const lines: Line[] = [];
  const log = createLog({ level: 'info', write: (line) => lines.push(JSON.parse(line) as Line) });
  const box = await boxes.open({
    workflows: { echo: { run: async (input: unknown) => input } },
    options: { host: 'image', strategy, log },
  });
  const url = await box.listen();
  const ask = (path: string, credential: string, init: RequestInit = {}, from?: string) =>
    fetch(url + path, {
      ...init,
      headers: {
        ...(init.headers as object),
        authorization: `Bearer ${credential}`,
        ...(from ? { 'x-forwarded-for': from } : {}),
      },
    });
  const security = () => lines.filter((line) => line.security !== undefined);
  return { box, ask, security };
}

test('a caller that guesses operator tokens is held off by its address, and logged', async () => {
  const { ask, security } = await open();
  const statuses: number[] = [];
  for (let n = 0; n < 30; n++) statuses.push((await ask('/api/runs', `wrong-${n}`)).status);
  expect(statuses).toEqual([...Array(10).fill(401), ...Array(20).fill(429)]);
  const wrong = await ask('/api/runs', 'wrong');
  expect([wrong.status, Number(wrong.headers.get('retry-after')) > 0, await wrong.json()]).toEqual([
    429,
    true,
    expect.objectContaining({ code: 'rate_limited' }),
  ]);
  // Many may stand behind that address, with the right one.
  expect((await ask('/api/runs', TOKEN)).status).toBe(200);
  // Behind a proxy on this machine each has its own address; of IPv6 its network is one.
  expect((await ask('/api/runs', 'wrong', {}, '203.0.113.7')).status).toBe(401);
  for (let n = 0; n < 10; n++) await ask('/api/runs', 'wrong', {}, `spoofed, 2001:db8::${n}`);
  expect((await ask('/api/runs', 'wrong', {}, '2001:db8:0:0:9::1')).status).toBe(429);
  expect((await ask('/api/runs', 'wrong', {}, '2001:db8:0:1::1')).status).toBe(401);
  const [first] = security();
  expect(first).toMatchObject({
    level: 'warn',
    security: 'credential_refused',
    code: 'unauthorized',
    route: '/api/runs',
    address: '127.0.0.1',
    requestId: expect.stringMatching(/^req_/),
  });
  const kinds = security().map((line) => [line.security, line.address]);
  expect(kinds.filter(([, address]) => address === '127.0.0.1')).toHaveLength(30);
  expect(kinds.filter(([kind]) => kind === 'credential_throttled').length).toBeGreaterThan(15);
  expect(JSON.stringify(security())).not.toContain('wrong-');
});

test('a flood of wrong tokens through one address keeps no right one out, and is few lines', async () => {
  const { ask, security } = await open();
  const statuses = new Set<number>();
  for (let n = 0; n < 14; n++)
    for (const { status } of await Promise.all(
      Array.from({ length: 50 }, (_, i) => ask('/api/runs', `wrong-${n}-${i}`)),
    ))
      statuses.add(status);
  expect([...statuses].sort()).toEqual([401, 429]);
  expect((await ask('/api/runs', TOKEN)).status).toBe(200);
  expect(security()).toHaveLength(30);
});

test('a request without a credential tries nothing, and keys are kept apart by what they are', async () => {
  const { box, ask, security } = await open();
  const url = await box.listen();
  for (let n = 0; n < 15; n++) expect((await fetch(`${url}/api/runs`)).status).toBe(401);
  const key = `svc_${'0'.repeat(20)}_${'a'.repeat(43)}`;
  for (let n = 0; n < 15; n++) expect((await ask('/api/runs', key)).status).toBe(401);
  expect((await ask('/api/runs', TOKEN)).status).toBe(200);
  expect(security()).toHaveLength(15);
});

test('what a caller is denied, exports and changes of credentials are written down', async () => {
  const { ask, security } = await open();
  const post = async (path: string, body: object) =>
    (await (await ask(path, TOKEN, json(body))).json()) as { runId: string; value: string; id: string };
  const { value, id } = await post('/api/keys', { name: 'shop', grants: { workflows: ['echo'] } });
  const { runId } = await post('/api/workflows/echo/start', {});
  expect((await ask(`/api/runs/${runId}/export`, value)).status).toBe(403);
  expect((await ask(`/api/runs/${runId}/export`, TOKEN)).status).toBe(200);
  await post(`/api/keys/${id}/revoke`, {});
  await ask('/api/secrets/SHOP_KEY', TOKEN, json({ value: 'of-no-concern-to-anybody' }, { method: 'PUT' }));
  const key = { id: `key ${id}`, name: expect.stringContaining('API key "shop"') };
  const operator = { id: 'operator', name: 'operator' };
  expect(security()).toMatchObject([
    { security: 'credentials_changed', operation: 'keys.create', caller: operator, source: 'http', target: { id } },
    { security: 'denied', code: 'forbidden', route: '/api/runs/:id/export', caller: key, address: '127.0.0.1' },
    { security: 'exported', operation: 'runs.export', caller: operator, target: { id: runId }, address: '127.0.0.1' },
    { security: 'credentials_changed', operation: 'keys.revoke', target: { id }, address: '127.0.0.1' },
    { security: 'credentials_changed', operation: 'secrets.set', target: { name: 'SHOP_KEY' } },
  ]);
  expect(JSON.stringify(security())).not.toMatch(/of-no-concern|svc_[\da-f]{20}_/);
});

test('over MCP denials and changes of credentials are written down, too, with the address and the request', async () => {
  const plane = await startPlane();
  onTestFinished(() => plane.close());
  const silent = createLog({ level: 'silent', write() {} });
  const { box, security } = await open(plane.strategy({ log: silent }));
  const url = await box.listen();
  const connectAs = async (role: string) => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const authorization = `Bearer ${await plane.mint(role, { claims: { aud: `${plane.url}/mcp` } })}`;
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization } } }),
    );
    onTestFinished(() => client.close());
    return client;
  };
  const [owner, viewer] = [await connectAs('owner'), await connectAs('viewer')];
  const runId = (await write(owner, 'workflows.start', { name: 'echo', input: {} })).body.runId;
  const secret = { name: 'OTHER_KEY', value: 'of-no-concern-to-anybody' };
  const { requestState } = (await write(owner, 'secrets.set', secret)).body;
  await write(owner, 'secrets.set', secret, requestState);
  await write(viewer, 'secrets.set', secret);
  await write(viewer, 'runs.cancel', { id: runId });
  await callTool(viewer, 'call_read_operation', { operation: 'keys.list', input: {} });
  const from = { address: '127.0.0.1', requestId: expect.stringMatching(/^req_/) };
  const of = (role: string) => ({ caller: { id: `person user-${role}` }, ...from });
  expect(security()).toMatchObject([
    { security: 'credentials_changed', operation: 'secrets.set', source: 'mcp', ...of('owner') },
    { security: 'denied', code: 'forbidden', operation: 'secrets.set', ...of('viewer') },
    { security: 'denied', code: 'forbidden', operation: 'runs.cancel', ...of('viewer') },
    { security: 'denied', code: 'forbidden', operation: 'keys.list', ...of('viewer') },
  ]);
});

test('refusals of one address are so many lines a minute, and the rest is counted', () => {
  const lines: Line[] = [];
  let now = 0;
  const log = createLog({ level: 'info', write: (line) => lines.push(JSON.parse(line) as Line) });
  const security = createSecurityLog({ log, mostLines: 3, now: () => now });
  for (let n = 0; n < 10; n++) security.refused({ code: 'unauthorized', address: 'a' });
  security.refused({ code: 'unauthorized', address: 'b' });
  expect(lines.map(({ address }) => address)).toEqual(['a', 'a', 'a', 'b']);
  now = 60_000;
  security.refused({ code: 'unauthorized', address: 'a' });
  expect(lines.at(-1)).toMatchObject({ address: 'a', leftOut: 7 });
});

test('guesses of one address are counted over replicas, until its minute is over', async () => {
  let now = 0;
  const kv = createMemoryKv(() => now);
  const [here, there] = [0, 1].map(() => createGuesses({ kv, most: 2, now: () => now }));
  const throttled = expect.objectContaining({ details: { retryAfter: 60, of: 'credentials' } });
  for (let n = 0; n < 2; n++) await here?.wrong('a');
  await expect(there?.wrong('a')).rejects.toEqual(throttled);
  await there?.wrong('b');
  now = 60_000;
  await there?.wrong('a');
});

test('guesses that come at once are counted at once, and a flood of them asks the store no more', async () => {
  let asked = 0;
  const kv = { increment: () => (asked++, new Promise<number>(() => {})) };
  const guesses = createGuesses({ kv, most: 4 });
  for (let n = 0; n < 4; n++) void guesses.wrong('a');
  for (let n = 0; n < 100; n++)
    await expect(guesses.wrong('a')).rejects.toEqual(expect.objectContaining({ code: 'rate_limited' }));
  expect(asked).toBe(4);
});

test.each([
  ['203.0.113.9', '10.1.2.3', '203.0.113.9', 'it names none that is trusted'],
  ['10.9.9.9', '10.0.0.7', '10.9.9.9', 'a caller in a private network is a caller'],
  ['spoofed, 203.0.113.9, 10.0.0.8', '10.0.0.7', '203.0.113.9', 'trusted ones stand behind each other'],
  ['spoofed', '10.0.0.7', '10.0.0.7', 'what is no address is not believed'],
  ['203.0.113.9', '::ffff:10.0.0.7', '203.0.113.9', 'an address of IPv4 may be written as one of IPv6'],
  ['203.0.113.9', '192.168.1.1', '192.168.1.1', 'what is not trusted says nothing'],
])('who sends "%s" from %s is %s: %s', (forwarded, remoteAddress, expected) => {
  const proxies = parseProxies(['10.0.0.0/28', '10.1.0.0/16']) as Proxies;
  const headers = new Headers({ 'x-forwarded-for': forwarded });
  const event = { runtime: { node: { req: { socket: { remoteAddress } } } }, req: { headers } };
  expect(addressOf(event as never, proxies)).toBe(expected);
});

test.each(['10.0.0.0/33', 'proxy.example', '10.0.0.0/', '::1/129', '10.0.0.0/8/8'])('%s is no network', (entry) =>
  expect(parseProxies([entry])).toBeUndefined(),
);
