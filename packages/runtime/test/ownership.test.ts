import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES } from '../src/auth/permissions.ts';
import type { Permission, Role } from '../src/auth/permissions.ts';
import { operatorToken } from '../src/auth/strategy.ts';
import { signUserToken } from '../src/client.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { PLAIN_ROUTES } from '../src/box/routes.ts';
import { createLog } from '../src/log.ts';
import { splitRoute } from '../src/operations/define.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { z } from 'zod';
import { callTool, connect } from './_mcp.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { KEY_OPERATIONS, SEATS } from './_seats.ts';
import { call, json, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

/**
 * Every caller there is, at every operation and wire, with what is its own, what is another's and what is not there: what
 * is answered follows from the tables of `_seats.ts` and from who owns what, and is written out for no cell.
 */

const boxes = setupBoxes();
const TOKEN = 'the-token-of-the-operator';
const ABSENT = '01a20419-7a30-76e5-8160-9bf0175a3ec2';
/** Granted to every key here, there but granted to none, and not there. */
const NAMES = { own: 'desk', foreign: 'vault', absent: 'nowhere' } as const;

type Whose = keyof typeof NAMES;
type Headers = Record<string, string>;

interface Who {
  title: string;
  headers: Headers;
  /** `refused`: with no credential that is good. `mute`: a key that speaks for a user and may not. */
  kind: 'person' | 'client' | 'refused' | 'mute';
  role?: Role;
  /** The same for all that own the same. */
  owner: string;
  /** What a token takes from the grants of its key. */
  without?: ('agents' | 'workflows')[];
  /** It goes on with the sessions of others. */
  hasAllSessions?: true;
}
interface Subjects {
  run: string;
  step: string;
  session: string;
  approval: string;
  /** A start that waits. */
  queued: string;
}
interface House {
  box: TestBox;
  callers: Who[];
  /** Someone who may all. */
  chief: Headers;
  /** What is whose, by owner. */
  subjects: Map<string, Subjects>;
}

const as = (value: string, more: Headers = {}): Headers => ({ authorization: `Bearer ${value}`, ...more });
const note = toStep('note', async () => 'noted');
const hold = async () => {
  await note();
  return createHook();
};
const agent = (name: string) =>
  defineDeepAgent({
    name,
    tools: { pay: defineTool({ description: 'Pays.', inputSchema: z.object({}), execute: () => 'paid' }) },
    interruptOn: { pay: true },
  });
const PROGRAM = {
  agents: { desk: agent('desk'), vault: agent('vault') },
  workflows: { desk: { run: hold, mode: 'chat' }, vault: { run: hold, mode: 'chat' } },
};

let plane: Plane;
let houses: House[];
beforeAll(async () => {
  plane = await startPlane();
  houses = await open();
});
afterAll(() => plane.close());

const open = async (): Promise<House[]> => {
  const silent = createLog({ level: 'silent', write: () => {} });
  const hosted = await boxes.share({
    ...PROGRAM,
    options: { host: 'image', strategy: plane.strategy({ log: silent }) },
  })();
  const alone = await boxes.share({ ...PROGRAM, options: { host: 'image', strategy: operatorToken(TOKEN) } })();
  const people: Who[] = [];
  for (const role of ROLES)
    people.push({ title: `the ${role}`, kind: 'person', role, owner: role, headers: as(await plane.mint(role)) });
  const operator: Who = { title: 'the operator', kind: 'person', role: 'owner', owner: 'operator', headers: as(TOKEN) };
  // Where there is one token there is no seat, and an identity token is a text like any other.
  const stranger: Who = { title: 'an identity token', kind: 'refused', owner: '', headers: people[0]?.headers ?? {} };
  return [
    await furnish(hosted, [...people, ...(await makeClients(hosted, people[0]?.headers ?? {}))]),
    await furnish(alone, [operator, stranger, ...(await makeClients(alone, operator.headers)).slice(0, 2)]),
  ];
};

/** Keys, their users and what is no credential. */
async function makeClients(box: TestBox, chief: Headers): Promise<Who[]> {
  const grants = { agents: [NAMES.own], workflows: [NAMES.own] };
  const makeKey = async (more: object = {}) => {
    const given = { name: 'ci', grants, ...more };
    return (await call<{ id: string; value: string; userSecret: string }>(box, 'POST /api/keys', given, chief)).body;
  };
  const [a, b, shop, other] = [
    await makeKey(),
    await makeKey(),
    await makeKey({ users: true }),
    await makeKey({ users: true }),
  ];
  const revoked = await makeKey();
  await call(box, `POST /api/keys/${revoked.id}/revoke`, {}, chief);
  const sign = async (key: Parameters<typeof signUserToken>[0], more: object = {}) =>
    as(await signUserToken(key, { sub: 'ada', ...more }));
  const all = Object.values(NAMES);
  const client = (title: string, owner: string, headers: Headers): Who => ({ title, owner, headers, kind: 'client' });
  const refused = (title: string, headers: Headers): Who => ({ title, owner: '', headers, kind: 'refused' });
  return [
    client('a key', 'a', as(a.value)),
    client('a key of another client', 'b', as(b.value)),
    client('a key that speaks for users', 'shop', as(shop.value)),
    client('a user', 'ada', as(shop.value, { 'x-svc-user': 'ada' })),
    client('another user of the key', 'bob', as(shop.value, { 'x-svc-user': 'bob' })),
    client('the same name at another client', 'ada elsewhere', as(other.value, { 'x-svc-user': 'ada' })),
    client('a user token', 'ada', await sign(shop)),
    client('a user token wider than its key', 'ada', await sign(shop, { agents: all, workflows: all })),
    {
      ...client('a user token for another agent', 'ada', await sign(shop, { agents: [NAMES.foreign] })),
      without: ['agents'],
    },
    {
      ...client('a user token for nothing', 'ada', await sign(shop, { agents: [], workflows: [] })),
      without: ['agents', 'workflows'],
    },
    {
      ...client('a key for every session of its agents', 'backend', as((await makeKey({ sessions: 'agent' })).value)),
      hasAllSessions: true,
    },
    refused('a user token that is over', await overToken(shop)),
    refused('a user token of a foreign secret', await sign({ id: shop.id, userSecret: other.userSecret })),
    refused('a user token of a key without users', await sign({ id: a.id, userSecret: other.userSecret })),
    refused('a revoked key', as(revoked.value)),
    refused('nobody', {}),
    { ...client('a key that may not speak for users', '', as(a.value, { 'x-svc-user': 'ada' })), kind: 'mute' },
  ];
}

function overToken({ id, userSecret }: { id: string; userSecret: string }): Promise<Headers> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ sub: 'ada', iat: now - 700, exp: now - 100 })
    .setProtectedHeader({ alg: 'HS256', typ: 'svc-user+jwt', kid: id })
    .sign(Buffer.from(userSecret, 'base64'))
    .then(as);
}

async function furnish(box: TestBox, callers: Who[]): Promise<House> {
  const house: House = { box, callers, chief: callers[0]?.headers ?? {}, subjects: new Map() };
  for (const who of callers)
    if (isOwner(who) && !house.subjects.has(who.owner))
      house.subjects.set(who.owner, {
        run: await makeRun(house, who),
        step: await stepOf(house),
        queued: await makeQueued(house, who),
        ...(await makePause(house, who)),
      });
  return house;
}

/** Whether it may have anything of its own. */
function isOwner({ kind, role }: Who): boolean {
  return kind === 'client' || (role !== undefined && holds('workflows:start', role) && holds('agents:chat', role));
}

function holds(permission: Permission, role: Role): boolean {
  return SEATS[permission].includes(role);
}

let lastRun = '';
async function makeRun({ box }: House, who: Who): Promise<string> {
  const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${NAMES.own}/start`, {}, who.headers);
  return (lastRun = body.runId);
}

async function makeQueued({ box }: House, who: Who): Promise<string> {
  const headers = { ...who.headers, 'x-svc-delay': '1 hour' };
  return (await call<{ triggerId: string }>(box, `POST /api/workflows/${NAMES.own}/start`, {}, headers)).body.triggerId;
}

async function stepOf({ box, chief }: House): Promise<string> {
  const list = () => call<{ items: { stepId: string }[] }>(box, `GET /api/runs/${lastRun}/steps`, undefined, chief);
  await until(async () => (await list()).body.items.length > 0);
  return (await list()).body.items[0]?.stepId ?? '';
}

/** A conversation that waits for a person. */
async function makePause({ box, chief }: House, who: Who): Promise<Pick<Subjects, 'session' | 'approval'>> {
  const headers = { ...who.headers, 'x-svc-session': randomUUID() };
  const messages = [{ role: 'user', content: 'tool:pay {}' }];
  await (await box.request('/wire-a/v1/chat/completions', json({ model: NAMES.own, messages }, { headers }))).text();
  const first = async (path: string) =>
    (await call<{ items: Record<string, string>[] }>(box, `GET ${path}?limit=1`, undefined, chief)).body.items[0] ?? {};
  const [{ sessionId = '' }, { approvalId = '' }] = [await first('/api/sessions'), await first('/api/approvals')];
  if (!sessionId || !approvalId) throw new Error('Nothing waits.');
  return { session: sessionId, approval: approvalId };
}

interface Seen {
  status: number;
  /** Without what differs from request to request. */
  text: string;
}

async function send({ box }: House, route: string, headers: Headers, body: object = {}): Promise<Seen> {
  const { method, path } = splitRoute(route);
  const gone = new AbortController();
  const init = method === 'GET' || method === 'DELETE' ? { method, headers } : json(body, { method, headers });
  const answer = await box.request(path, { ...init, signal: gone.signal });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const text = isStream ? '' : await answer.text();
  if (isStream) await answer.body?.cancel();
  gone.abort();
  return { status: answer.status, text: text.replace(/"request_?[iI]d":"[^"]*"/, '') };
}

const SUBJECT_OF: [RegExp, keyof Subjects][] = [
  [/^\/api\/(?:workflows\/)?runs\/:id/, 'run'],
  [/^\/api\/sessions\/:id/, 'session'],
  [/^\/api\/approvals\/:id/, 'approval'],
  [/^\/api\/workflows\/:name\/queue\/:triggerId/, 'queued'],
];
const BODIES: Record<string, object> = {
  'approvals.decide': { decision: 'approve' },
  'runs.fork': { from: 'start', etag: 'none' },
  'runs.rewind': { from: 'start', etag: 'none' },
};
/** What a read needs in its address. */
const QUERIES: Record<string, string> = { 'runs.fork_preview': '?from=start' };

function fill(route: string, kind: keyof Subjects, { step, ...subject }: Subjects): string {
  return route
    .replace(':id', subject[kind as 'run'])
    .replace(':triggerId', subject.queued)
    .replace(':stepId', step)
    .replace(':name', kind === 'queued' ? NAMES.own : 'default');
}

const toRoute = ({ id, route }: (typeof OPERATIONS)[number], kind: keyof Subjects, subject: Subjects): string =>
  fill(route, kind, subject) + (QUERIES[id] ?? '');

const NONE: Subjects = { run: ABSENT, session: ABSENT, approval: ABSENT, step: ABSENT, queued: ABSENT };
const isLetIn = (status: number): boolean => ![401, 403, 404].includes(status) && status < 500;

/** The status of what is owned; `in`: let in, and found. */
function expectedOf(
  { kind, role, without = [] }: Who,
  { id, permission }: (typeof OPERATIONS)[number],
  whose: Whose,
): number | 'in' {
  if (kind === 'refused') return 401;
  if (kind === 'mute') return 403;
  if (role === undefined && !KEY_OPERATIONS.includes(id)) return 403;
  if (role !== undefined && permission !== 'none' && !holds(permission, role)) return 403;
  // It names the workflow itself, and is refused that.
  if (id.startsWith('workflows.') && id !== 'workflows.run' && without.includes('workflows')) return 403;
  // What a key may call at all are runs of workflows.
  const isThere = (whose === 'own' && !without.includes('workflows')) || (whose === 'foreign' && role !== undefined);
  return isThere ? 'in' : 404;
}

const isAs = (expected: number | 'in', status: number): boolean =>
  expected === 'in' ? isLetIn(status) : status === expected;

test('the table names each operation that a key may call, and no other', () => {
  const taken = OPERATIONS.filter(({ keys }) => keys === true).map(({ id }) => id);
  expect(KEY_OPERATIONS.toSorted()).toEqual(taken.toSorted());
});

test('what is owned is shown to its owner and to roles that may see it, and is not found by others', async () => {
  const wrong: string[] = [];
  let cells = 0;
  for (const house of houses)
    for (const operation of OPERATIONS) {
      const { path } = splitRoute(operation.route);
      const kind = SUBJECT_OF.find(([route]) => route.test(path))?.[1];
      if (!kind) {
        const route = operation.route.replaceAll(/:\w+/g, 'x');
        // What a key names, and may call, is the next test's.
        if (operation.permission === 'none' || KEY_OPERATIONS.includes(operation.id)) continue;
        for (const who of house.callers.filter((one) => one.kind !== 'person')) {
          const { status } = await send(house, route, who.headers);
          const expected = expectedOf(who, operation, 'absent');
          cells++;
          if (status !== expected) wrong.push(`${who.title} at ${operation.id}: ${status}, not ${expected}`);
        }
        continue;
      }
      for (const who of house.callers) {
        const at = async (whose: Whose, subject: Subjects): Promise<Seen> => {
          const seen = await send(house, toRoute(operation, kind, subject), who.headers, BODIES[operation.id]);
          const expected = expectedOf(who, operation, whose);
          cells++;
          if (!isAs(expected, seen.status))
            wrong.push(`${who.title} at ${operation.id}, ${whose}: ${seen.status}, not ${expected}. ${seen.text}`);
          return { ...seen, text: seen.text.replaceAll(subject[kind], '') };
        };
        const absent = await at('absent', NONE);
        // Whoever owns what decides where keys may call; elsewhere one of the foreign ones stands for all.
        const isByOwner = who.kind === 'client' && KEY_OPERATIONS.includes(operation.id);
        const foreign = [...house.subjects.keys()].find((owner) => owner !== who.owner);
        for (const [owner, kept] of house.subjects) {
          const whose = owner === who.owner ? 'own' : 'foreign';
          if (whose === 'foreign' && !isByOwner && owner !== foreign) continue;
          const maker = house.callers.find((one) => one.owner === owner) as Who;
          // What a write ends or decides is made for it alone.
          const isFresh = operation.kind === 'write' && expectedOf(who, operation, whose) === 'in';
          const subject = !isFresh
            ? kept
            : kind === 'run'
              ? { ...kept, run: await makeRun(house, maker) }
              : kind === 'approval'
                ? { ...kept, ...(await makePause(house, maker)) }
                : kind === 'queued'
                  ? { ...kept, queued: await makeQueued(house, maker) }
                  : kept;
          const seen = await at(whose, subject);
          if (whose === 'foreign' && who.kind !== 'person' && seen.text !== absent.text)
            wrong.push(`${who.title} at ${operation.id} tells what is foreign: ${seen.text}, not ${absent.text}`);
        }
      }
    }
  expect(wrong).toEqual([]);
  expect(cells).toBeGreaterThan(2_000);
}, 120_000);

/** What names an agent or a workflow, and whom it takes. */
const NAMED: [route: string, permission: Permission, body: (name: string) => object][] = [
  ['POST /wire-a/v1/chat/completions', 'agents:chat', (model) => ({ model, messages: HELLO })],
  ['GET /wire-a/v1/models/:name', 'agents:chat', () => ({})],
  ['POST /wire-b/v1/messages', 'agents:chat', (model) => ({ model, max_tokens: 9, messages: HELLO })],
  ['POST /wire-b/v1/messages/count_tokens', 'agents:chat', (model) => ({ model, messages: HELLO })],
  ['GET /wire-b/v1/models/:name', 'agents:chat', () => ({})],
  [
    'POST /agui/v1/agents/:name',
    'agents:chat',
    () => ({ threadId: 't', runId: 'r', messages: [{ id: '1', ...HELLO[0] }] }),
  ],
  ['POST /ui/v1/agents/:name', 'agents:chat', () => ({ id: 'u', messages: [toUiMessage('say:Hello.')] })],
  ['DELETE /agui/v1/agents/:name/t/stream', 'agents:chat', () => ({})],
  ['GET /ui/v1/agents/:name/u', 'agents:chat', () => ({})],
  ['GET /ui/v1/agents/:name/u/stream', 'agents:chat', () => ({})],
  ['DELETE /ui/v1/agents/:name/u/stream', 'agents:chat', () => ({})],
  ['POST /api/workflows/:name/start', 'workflows:start', () => ({})],
  ['POST /api/workflows/:name/start-many', 'workflows:start', () => ({ items: [{}] })],
  ['POST /api/workflows/:name/chat', 'workflows:start', () => ({})],
  ['GET /api/workflows/:name/schema', 'catalog:read', () => ({})],
];
const toUiMessage = (text: string) => ({ id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] });
const HELLO = [{ role: 'user', content: 'say:Hello.' }];

test('each route of a wire that names an agent or a workflow is looked at, and what is listed is what is granted', async () => {
  const shapeOf = (method: string, path: string): string =>
    `${method} ${path.replaceAll(/\/(?::\w+|t|u)(?=\/|$)/g, '/*')}`;
  const looked = new Set(NAMED.map(([route]) => shapeOf(splitRoute(route).method, splitRoute(route).path)));
  const named = PLAIN_ROUTES.filter(
    ({ path, doc }) => path.includes('/:') && ['key', 'caller'].includes(doc?.security ?? ''),
  );
  expect(named.map(({ method, path }) => shapeOf(method, path)).filter((route) => !looked.has(route))).toEqual([]);
  const wrong: string[] = [];
  for (const { box, callers } of houses)
    for (const { title, kind, headers, without = [] } of callers.filter((who) => who.kind !== 'person'))
      for (const path of ['/wire-a/v1/models', '/wire-b/v1/models']) {
        const { status, body } = await call<{ data?: { id: string }[] }>(box, `GET ${path}`, undefined, headers);
        const expected = kind === 'client' ? (without.includes('agents') ? [] : [NAMES.own]) : undefined;
        const listed = body.data?.map(({ id }) => id);
        if (JSON.stringify(listed) !== JSON.stringify(expected)) wrong.push(`${title} at ${path}: ${status} ${listed}`);
      }
  expect(wrong).toEqual([]);
});

test('what is granted is there for a key and its users, and else is refused as what is not there', async () => {
  const wrong: string[] = [];
  for (const house of houses)
    for (const [route, permission, toBody] of NAMED)
      for (const who of house.callers) {
        const at = async (whose: Whose): Promise<Seen> => {
          const name = NAMES[whose];
          const seen = await send(house, route.replace(':name', name), who.headers, toBody(name));
          const expected = namedFor(who, { permission, route }, whose);
          if (!isAs(expected, seen.status))
            wrong.push(`${who.title} at ${route}, ${whose}: ${seen.status}, not ${expected}. ${seen.text}`);
          return { ...seen, text: seen.text.replaceAll(name, '') };
        };
        await at('own');
        const [foreign, absent] = [await at('foreign'), await at('absent')];
        if (who.kind === 'client' && foreign.text !== absent.text)
          wrong.push(`${who.title} at ${route} answers what there is: ${foreign.text}, not ${absent.text}`);
      }
  expect(wrong).toEqual([]);
}, 120_000);

function namedFor(
  { kind, role, without = [] }: Who,
  { permission, route }: { permission: Permission; route: string },
  whose: Whose,
): number | 'in' {
  const of = route.includes('/workflows/') ? 'workflows' : 'agents';
  if (kind === 'refused') return 401;
  if (kind === 'mute') return 403;
  if (role === undefined) return whose === 'own' && !without.includes(of) ? 'in' : 403;
  if (!holds(permission, role)) return 403;
  return whose === 'absent' ? 404 : 'in';
}

const WIRES: Record<string, (name: string, content: string) => [route: string, body: object]> = {
  'wire-a': (_name, content) => [
    'POST /wire-a/v1/chat/completions',
    { model: NAMES.own, messages: [{ role: 'user', content }] },
  ],
  'wire-b': (_name, content) => [
    'POST /wire-b/v1/messages',
    { model: NAMES.own, max_tokens: 9, messages: [{ role: 'user', content }] },
  ],
  agui: (threadId, content) => [
    `POST /agui/v1/agents/${NAMES.own}`,
    { threadId, runId: 'r', messages: [{ id: randomUUID(), role: 'user', content }] },
  ],
  ui: (id, content) => [`POST /ui/v1/agents/${NAMES.own}`, { id, messages: [toUiMessage(content)] }],
};

test('a conversation of one name is another for each owner, over every wire', async () => {
  const wrong: string[] = [];
  for (const house of houses)
    for (const [wire, toRequest] of Object.entries(WIRES)) {
      const said: [owner: string, word: string][] = [];
      const callers = house.callers.filter((who) => isOwner(who) && !who.without && !who.hasAllSessions);
      for (const who of callers) {
        const word = randomUUID();
        const [route, body] = toRequest(wire, `${word} say:Noted.`);
        const { path } = splitRoute(route);
        await (
          await house.box.request(path, json(body, { headers: { ...who.headers, 'x-svc-session': wire } }))
        ).text();
        const received = JSON.stringify(boxes.model.requests.at(-1));
        if (!received.includes(word)) wrong.push(`${who.title} is not heard over ${wire}`);
        for (const [owner, earlier] of said)
          if (received.includes(earlier) !== (owner === who.owner))
            wrong.push(`${who.title} over ${wire} goes on with the conversation of ${owner}, or not with its own`);
        said.push([who.owner, word]);
      }
    }
  expect(wrong).toEqual([]);
}, 120_000);

const RPC = { jsonrpc: '2.0', id: 1, method: 'initialize' } as const;
const INITIALIZE = {
  ...RPC,
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
};

test('/mcp takes the operator, and a token of a seat that is for it, and nothing of a client', async () => {
  const wrong: string[] = [];
  for (const house of houses)
    for (const who of house.callers) {
      const headers = { ...who.headers, accept: 'application/json, text/event-stream' };
      const { status } = await send(house, 'POST /mcp', headers, INITIALIZE);
      const expected = who.owner === 'operator' ? 200 : who.kind === 'client' || who.kind === 'mute' ? 403 : 401;
      if (status !== expected) wrong.push(`${who.title} at /mcp: ${status}, not ${expected}`);
    }
  expect(wrong).toEqual([]);
});

test('over /mcp each seat calls what it holds, and what is not there is said to be so', async () => {
  const [{ box } = {} as House] = houses;
  const wrong: string[] = [];
  for (const role of ROLES) {
    const token = await plane.mint(role, { claims: { aud: `${plane.url}/mcp` } });
    const client = await connect(box, {}, as(token));
    for (const { id, kind, permission, route, copilot } of OPERATIONS) {
      const names = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, ABSENT] as const);
      const asked = { operation: id, input: Object.fromEntries(names) };
      const { body } = await callTool(client, `call_${kind}_operation`, asked);
      const may = permission === 'none' || holds(permission, role);
      // What models are not shown is not there for them, whoever asks.
      const isShown = !copilot.startsWith('no');
      if (isShown && may === (body?.code === 'forbidden'))
        wrong.push(`${role} at ${id}: ${String(body?.code)}, and ${may ? 'may' : 'may not'}`);
    }
  }
  expect(wrong).toEqual([]);
}, 120_000);
