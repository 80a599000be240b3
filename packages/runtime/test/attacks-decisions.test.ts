import { createHash, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Role } from '../src/auth/permissions.ts';
import { signUserToken } from '../src/client.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createLog } from '../src/log.ts';
import { callTool, connect, write } from './_mcp.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, json, setupBoxes, until } from './_setup.ts';

// What a client, a user or a person with the wrong seat does to have a call run that no one who may has said yes to, or with
// arguments no one has seen: on a deployed box over HTTP, on every road a decision can take.

const boxes = setupBoxes();
type Headers = Record<string, string>;
interface Key {
  id: string;
  value: string;
  client: string;
  userSecret: string;
}

const refunds: { amount: number; to: string }[] = [];
const refund = defineTool({
  description: 'Refunds.',
  inputSchema: z.object({ amount: z.number().max(100), to: z.string().max(20) }),
  execute(input) {
    refunds.push(input);
    return { refunded: input.amount };
  },
});
const agent = (name: string, policy: object) => {
  const clerk = { name: 'clerk', description: 'Does the same.', tools: { refund } };
  return defineDeepAgent({ name, tools: { refund }, interruptOn: { refund: policy }, subagents: [clerk] });
};
const program = {
  agents: {
    desk: agent('desk', {}),
    self: agent('self', { by: 'user' }),
    chief: agent('chief', { approvers: ['ada@shop.example'] }),
    plain: agent('plain', { allow: ['approve', 'reject'] }),
    brief: agent('brief', { timeout: 600, fallback: 'reject' }),
  },
  workflows: {
    ask: { run: async () => requestApproval({ title: 'Go?' }) },
    soon: { run: async () => requestApproval({ title: 'Go?', timeout: 900 }) },
  },
};
type Agent = keyof typeof program.agents;

let plane: Plane;
let shared: () => ReturnType<typeof boxes.open>;
let url: string;
let owner: Headers;
let victim: Key;
let attacker: Key;
beforeAll(async () => {
  plane = await startPlane();
  shared = boxes.share({ ...program, options: { host: 'image', strategy: strategy() } });
  url = await (await shared()).listen();
  owner = await seat('owner', 'olga');
  [victim, attacker] = [await makeKey(), await makeKey()];
});
afterAll(() => plane.close());

const strategy = () => plane.strategy({ log: createLog({ level: 'silent', write: () => {} }) });
const as = (value: string, more: Headers = {}): Headers => ({ authorization: `Bearer ${value}`, ...more });
const seat = async (role: Role, sub: string): Promise<Headers> =>
  as(await plane.mint(role, { claims: { sub, name: sub } }));
const makeKey = async (more: object = {}): Promise<Key> => {
  const body = { name: 'app', users: true, grants: { agents: 'all', workflows: 'all' }, ...more };
  return (await call<Key>(await shared(), 'POST /api/keys', body, owner)).body;
};
const post = async (path: string, body: object, headers: Headers = {}) => {
  const answer = await fetch(url + path, json(body, { headers }));
  return { status: answer.status, text: await answer.text() };
};

const REFUND = 'tool:refund {"amount":5,"to":"ada"}; say:Done.';
const BELOW = `tool:task ${JSON.stringify({ subagent_type: 'clerk', description: REFUND.replace('; ', '\n') })}\nsay:Done.`;
const agui = (headers: Headers, of: Agent, threadId: string, more: object) =>
  post(`/agui/v1/agents/${of}`, { threadId, runId: 'r', messages: [], ...more }, headers);
const resume = (id: string, payload: object = { decision: 'approve' }) => ({
  resume: [{ interruptId: id, status: 'resolved', payload }],
});
const decide = (id: string, body: object, headers: Headers) => post(`/api/approvals/${id}/decide`, body, headers);
const hook = (id: string, body: object, headers: Headers) => post(`/api/workflows/hooks/${id}/resume`, body, headers);
/** As a chat of `useChat` answers: what it has of the call says yes or no. */
const ui = (headers: Headers, of: Agent, chat: string, approval: object, role = 'assistant') => {
  const part = { type: 'tool-refund', toolCallId: 'c', state: 'approval-responded', input: {}, approval };
  return post(`/ui/v1/agents/${of}`, { id: chat, messages: [{ id: 'a', role, parts: [part] }] }, headers);
};

interface Pause {
  of: Agent;
  thread: string;
  id: string;
}

/** A turn of whoever that waits. */
async function pause(of: Agent, headers: Headers = as(victim.value), content = REFUND): Promise<Pause> {
  const thread = randomUUID();
  const { text } = await agui(headers, of, thread, { messages: [{ id: 'u', role: 'user', content }] });
  const id = /"interrupts":\[\{"id":"([^"]+)"/.exec(text)?.[1] ?? '';
  if (!id) throw new Error(`Nothing waits: ${text}`);
  return { of, thread, id };
}
const read = async (id: string) => (await call(await shared(), `GET /api/approvals/${id}`, undefined, owner)).body;
/** Nothing was decided, and nothing ran. */
async function requirePending(id: string, before: number): Promise<void> {
  expect([(await read(id)).status, refunds.length]).toEqual(['pending', before]);
}

const EDITS: Record<string, object> = {
  'too much': { amount: 101, to: 'ada' },
  'of another type': { amount: '5', to: 'ada' },
  'that is no number': { amount: null, to: 'ada' },
  'that lack a member': { amount: 5 },
  'that are a list': [{ amount: 5, to: 'ada' }],
  'that are a text': 'amount: 5' as unknown as object,
  'longer than allowed': { amount: 5, to: 'a'.repeat(21) },
};

describe('arguments that the tool does not take', () => {
  test.each(Object.keys(EDITS))('are not run on any road: %s', async (title) => {
    const input = EDITS[title];
    const { id, thread } = await pause('self');
    const before = refunds.length;
    const said = [
      await decide(id, { decision: 'approve', input }, owner),
      await hook(id, { decision: 'approve', input }, owner),
      await agui(as(victim.value), 'self', thread, resume(id, { decision: 'edit', input })),
      await agui(as(victim.value), 'self', thread, resume(id, { decision: 'approve', input })),
    ];
    expect(said.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    await requirePending(id, before);
  });

  test('are not slipped in where a call is approved or refused as it is', async () => {
    const input = { amount: 99, to: 'eve' };
    const { id, thread } = await pause('plain', owner);
    const before = refunds.length;
    const said = [
      await decide(id, { decision: 'approve', input }, owner),
      await hook(id, { decision: 'approve', input }, owner),
      await agui(owner, 'plain', thread, resume(id, { decision: 'edit', input })),
      await agui(owner, 'plain', thread, resume(id, { decision: 'approve', input })),
    ];
    expect(said.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    await requirePending(id, before);
  });

  test('that reach for a prototype, or have more than the tool takes, are not handed on', async () => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    const text = JSON.stringify({ threadId: thread, runId: 'r', messages: [], ...resume(id, { decision: 'edit' }) });
    const evil = text.replace('"decision":"edit"', '"decision":"edit","input":{"amount":5,"__proto__":{"to":"eve"}}');
    expect(evil).toContain('__proto__');
    const answer = await fetch(`${url}/agui/v1/agents/self`, json(evil, { headers: as(victim.value) }));
    await answer.text();
    expect(answer.status).toBe(400);
    await requirePending(id, before);
    const input = { amount: 5, to: 'ada', approvedBy: 'olga', constructor: 'x' };
    await agui(as(victim.value), 'self', thread, resume(id, { decision: 'edit', input }));
    await until(() => refunds.length > before);
    expect(refunds.at(-1)).toEqual({ amount: 5, to: 'ada' });
  });
});

describe('a decision about arguments that were not seen', () => {
  const other = createHash('sha256').update('{"amount":50,"to":"ada"}').digest('hex');

  test('is taken on no road', async () => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    const said = [
      await decide(id, { decision: 'approve', argsDigest: other }, owner),
      await hook(id, { decision: 'approve', argsDigest: other }, owner),
      await agui(as(victim.value), 'self', thread, resume(id, { decision: 'approve', argsDigest: other })),
    ];
    expect(said.map(({ status, text }) => [status, text.includes('arguments_changed')])).toEqual(
      said.map(() => [409, true]),
    );
    await requirePending(id, before);
    const { argsDigest } = await read(id);
    await agui(as(victim.value), 'self', thread, resume(id, { decision: 'approve', argsDigest }));
    await until(() => refunds.length > before);
  });

  test.each(['', 'x', other.toUpperCase(), [other], null])('is refused where it says %j', async (argsDigest) => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    const payload = { decision: 'approve', argsDigest };
    for (const { status } of [
      await decide(id, payload, owner),
      await hook(id, payload, owner),
      await agui(as(victim.value), 'self', thread, resume(id, payload)),
    ])
      expect(status).toBe(400);
    await requirePending(id, before);
  });
});

const WHO: Record<string, () => Headers | Promise<Headers>> = {
  'another key': () => as(attacker.value),
  'a user of its key': () => as(victim.value, { 'x-svc-user': 'eve' }),
  'a user of another key': () => as(attacker.value, { 'x-svc-user': 'ada' }),
  'a user that is called as the client': () => as(attacker.value, { 'x-svc-user': victim.client }),
  'a user that is called as an approver': () => as(victim.value, { 'x-svc-user': 'ada@shop.example' }),
  'a user that is called as a role': () => as(victim.value, { 'x-svc-user': 'role:owner' }),
  'a token of a user of its key': async () => as(await signUserToken(victim, { sub: 'eve' })),
  'a token that is over': async () => as(await overToken(victim)),
  'a token with a role in it': async () => as(await signUserToken(victim, { sub: 'eve', data: { role: 'owner' } })),
  'a member': () => seat('member', 'mia'),
  'a viewer': () => seat('viewer', 'vic'),
  'a person called as the key': () => seat('member', victim.id),
  nobody: () => ({}),
};

function overToken({ id, userSecret }: Key): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ sub: 'ada', iat: now - 700, exp: now - 100 })
    .setProtectedHeader({ alg: 'HS256', typ: 'svc-user+jwt', kid: id })
    .sign(Buffer.from(userSecret, 'base64'));
}

describe.each(Object.keys(WHO))('what waits is not decided by %s', (who) => {
  test.each<[Agent, content: string]>([
    ['self', REFUND],
    ['desk', REFUND],
    ['chief', REFUND],
    ['desk', BELOW],
  ])('of %s, on any road: %s', async (of, content) => {
    const headers = await (WHO[who] as () => Headers | Promise<Headers>)();
    const { id, thread } = await pause(of, as(victim.value), content);
    const before = refunds.length;
    const approve = { decision: 'approve' };
    const said = [
      await decide(id, approve, headers),
      await hook(id, approve, headers),
      await post(`/api/webhooks/${id}`, approve, headers),
      await agui(headers, of, thread, resume(id)),
      await agui(headers, 'self', thread, resume(id)),
      await ui(headers, of, thread, { id, approved: true }),
      await ui(headers, 'self', thread, { id, approved: true }),
    ];
    for (const { status, text } of said) expect([status < 500, text.includes('"refunded"')]).toEqual([true, false]);
    await requirePending(id, before);
  });
});

test('its own key decides on no road what an operator is to decide, also by a chat and below a sub-agent', async () => {
  for (const content of [REFUND, BELOW]) {
    const { id, thread } = await pause('desk', as(victim.value), content);
    const before = refunds.length;
    const headers = as(victim.value);
    for (const { status } of [
      await decide(id, { decision: 'approve' }, headers),
      await hook(id, { decision: 'approve' }, headers),
      await agui(headers, 'desk', thread, resume(id)),
      await agui(headers, 'desk', thread, { resume: [{ interruptId: id, status: 'cancelled' }] }),
      await ui(headers, 'desk', thread, { id, approved: true }),
      await ui(headers, 'desk', thread, { id, approved: false }),
    ])
      expect(status).toBe(403);
    await requirePending(id, before);
  }
});

describe('one that is not the right one', () => {
  test('by its id of another letter, or by what is near it, is found on no road', async () => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    const flipped = `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`;
    for (const guess of [flipped, id.slice(0, -1), `${id}A`, id.toUpperCase(), '%25', '__proto__', `${id}%00`, '']) {
      for (const { status } of [
        await decide(guess, { decision: 'approve' }, owner),
        await hook(guess, { decision: 'approve' }, owner),
      ])
        expect([guess, [400, 404, 405].includes(status)]).toEqual([guess, true]);
      await agui(as(victim.value), 'self', thread, resume(decodeURIComponent(guess)));
    }
    await requirePending(id, before);
  });

  test('of a neighbour in the same thread list decides its own, and not the one beside it', async () => {
    const [mine, other] = [await pause('self'), await pause('self')];
    const before = refunds.length;
    const both = [...resume(mine.id).resume, ...resume(other.id).resume];
    await agui(as(victim.value), 'self', mine.thread, { resume: both });
    await until(() => refunds.length > before);
    expect([(await read(mine.id)).status, (await read(other.id)).status]).toEqual(['approved', 'pending']);
    expect(refunds.length).toBe(before + 1);
  });

  test.each(['yes', 'APPROVE', ['approve'], true, 'edit', 'expired', '__proto__'])(
    'decision %j is none, on any road',
    async (decision) => {
      const { id, thread } = await pause('self');
      const before = refunds.length;
      for (const { status } of [
        await decide(id, { decision }, owner),
        await hook(id, { decision }, owner),
        await agui(as(victim.value), 'self', thread, resume(id, { decision })),
      ])
        expect(status).toBe(400);
      await requirePending(id, before);
    },
  );

  test('said in a message of the person, or of the system, is none', async () => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    for (const role of ['user', 'system']) await ui(as(victim.value), 'self', thread, { id, approved: true }, role);
    for (const approval of [{ id, approved: 'true' }, { id, approved: 1 }, { id: [id], approved: true }, [id], 'yes'])
      expect((await ui(as(victim.value), 'self', thread, approval as object)).status).toBe(400);
    await requirePending(id, before);
  });
});

describe('decided more than once', () => {
  test('at once on every road, it is decided once and runs as that one said', async () => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    const [approver, admin] = [await seat('approver', 'pia'), await seat('admin', 'adam')];
    await Promise.all([
      decide(id, { decision: 'approve', input: { amount: 1, to: 'a' } }, owner),
      decide(id, { decision: 'approve', input: { amount: 2, to: 'b' } }, approver),
      decide(id, { decision: 'reject' }, admin),
      hook(id, { decision: 'approve', input: { amount: 3, to: 'c' } }, admin),
      agui(as(victim.value), 'self', thread, resume(id, { decision: 'edit', input: { amount: 4, to: 'd' } })),
      agui(as(victim.value), 'self', thread, resume(id)),
      ui(as(victim.value), 'self', thread, { id, approved: true }),
    ]);
    await until(async () => (await read(id)).status !== 'pending');
    const { status, audit } = await read(id);
    expect(audit).toHaveLength(2);
    const run = String((await read(id)).runId);
    await call(await shared(), `GET /api/runs/${run}?wait=20s`, undefined, owner);
    expect(refunds.length - before).toBe(status === 'approved' ? 1 : 0);
  });

  test('with another answer it gets what was decided, and changes nothing', async () => {
    const { id, thread } = await pause('self');
    const before = refunds.length;
    expect((await decide(id, { decision: 'reject' }, owner)).status).toBe(200);
    const run = String((await read(id)).runId);
    await call(await shared(), `GET /api/runs/${run}?wait=20s`, undefined, owner);
    const again = [
      await decide(id, { decision: 'approve' }, owner),
      await decide(id, { decision: 'approve', input: { amount: 9, to: 'eve' } }, owner),
      await hook(id, { decision: 'approve' }, owner),
    ];
    expect(again.map(({ status }) => status)).toEqual([409, 409, 409]);
    await agui(as(victim.value), 'self', thread, resume(id));
    await ui(as(victim.value), 'self', thread, { id, approved: true });
    expect([(await read(id)).status, refunds.length]).toEqual(['rejected', before]);
  });

  test('under the key of another decision it is none', async () => {
    const [first, second] = [await pause('self'), await pause('self')];
    const before = refunds.length;
    const once = { 'idempotency-key': randomUUID() };
    expect((await decide(first.id, { decision: 'reject' }, { ...owner, ...once })).status).toBe(200);
    expect((await decide(first.id, { decision: 'approve' }, { ...owner, ...once })).status).toBe(409);
    // Nor of another person.
    const pia = await seat('approver', 'pia');
    await decide(first.id, { decision: 'reject' }, { ...pia, ...once });
    expect(await read(first.id)).toMatchObject({ status: 'rejected', decidedBy: 'olga' });
    await requirePending(second.id, before);
  });
});

describe('a deadline that is past', () => {
  test('has decided, whatever comes after it by any route', async () => {
    const { id, thread } = await pause('brief', owner);
    const before = refunds.length;
    await until(async () => (await read(id)).status === 'expired');
    for (const { status } of [
      await decide(id, { decision: 'approve' }, owner),
      await hook(id, { decision: 'approve' }, owner),
    ])
      expect(status).toBe(409);
    await agui(owner, 'brief', thread, resume(id));
    await ui(owner, 'brief', thread, { id, approved: true });
    expect([(await read(id)).status, refunds.length]).toEqual(['expired', before]);
  });

  test('has decided also where no process was there to say so', async () => {
    const box = await boxes.open({ ...program, options: { host: 'image', strategy: strategy() } });
    const { body } = await call<{ runId: string }>(box, 'POST /api/workflows/soon/start', {}, owner);
    const list = async (of: typeof box) =>
      (
        await call<{ items: { approvalId: string; expiresAt: string }[] }>(
          of,
          `GET /api/approvals?run=${body.runId}`,
          undefined,
          owner,
        )
      ).body.items[0];
    await until(async () => (await list(box)) !== undefined);
    const asked = await list(box);
    await box.shut();
    await until(() => Date.now() > Date.parse(asked?.expiresAt ?? '') + 50);
    const later = await box.restart();
    const said = await call(later, `POST /api/approvals/${asked?.approvalId}/decide`, { decision: 'approve' }, owner);
    // By then it may have been written down.
    expect(said).toMatchObject({
      status: 409,
      body: { code: expect.stringMatching(/approval_closed|already_decided/) },
    });
    const run = await call(later, `GET /api/runs/${body.runId}?wait=20s`, undefined, owner);
    expect(run.body.output).toMatchObject({ approved: false, timedOut: true, by: null });
  });
});

describe('over MCP', () => {
  const client = async (role: Role, sub: string) => {
    const token = await plane.mint(role, { claims: { sub, name: sub, aud: `${plane.url}/mcp` } });
    return connect(await shared(), {}, as(token));
  };

  test('a yes to one is no yes to another, to other arguments or to the opposite, and is good once', async () => {
    const [first, second] = [await pause('desk'), await pause('desk')];
    const before = refunds.length;
    const model = await client('owner', 'olga');
    const reject = { id: first.id, decision: 'reject' };
    const state = (await write(model, 'approvals.decide', reject)).body.requestState;
    expect(state).toEqual(expect.any(String));
    for (const input of [
      { id: second.id, decision: 'reject' },
      { id: first.id, decision: 'approve' },
      { id: first.id, decision: 'approve', input: { amount: 99, to: 'eve' } },
      { id: first.id, decision: 'reject', note: 'edited' },
    ])
      expect((await write(model, 'approvals.decide', input, state)).body.code).toBe('confirmation_required');
    // Of another person, and of the same with another role.
    for (const other of [await client('owner', 'omar'), await client('admin', 'olga')])
      expect((await write(other, 'approvals.decide', reject, state)).body.code).toBe('confirmation_required');
    await requirePending(first.id, before);
    await requirePending(second.id, before);
    expect((await write(model, 'approvals.decide', reject, state)).body.status).toBe('rejected');
    expect((await write(model, 'approvals.decide', reject, state)).body.code).toBe('confirmation_required');
    await requirePending(second.id, before);
  });

  test('who names the approvers is not asked: one who is none is refused before and after the yes', async () => {
    const { id } = await pause('chief');
    const before = refunds.length;
    const model = await client('owner', 'olga');
    const input = { id, decision: 'approve' };
    const asked = await write(model, 'approvals.decide', input);
    const done = await write(model, 'approvals.decide', input, asked.body.requestState);
    expect([done.isError, done.body.code]).toEqual([true, 'not_an_approver']);
    await requirePending(id, before);
  });

  test('who has an agent ask for it decides it by no other token of theirs', async () => {
    const model = await client('owner', 'mallory');
    const { body } = await write(model, 'workflows.start', { name: 'ask', input: {} });
    const runId = String(body.runId);
    const list = async () =>
      (
        await call<{ items: { approvalId: string }[] }>(
          await shared(),
          `GET /api/approvals?run=${runId}`,
          undefined,
          owner,
        )
      ).body.items[0]?.approvalId;
    await until(async () => (await list()) !== undefined);
    const input = { id: await list(), decision: 'approve' };
    for (const again of [await client('owner', 'mallory'), await client('admin', 'mallory')]) {
      const asked = await write(again, 'approvals.decide', input);
      const done = await write(again, 'approvals.decide', input, asked.body.requestState);
      expect(done.body.code).toBe('decision_not_yours');
    }
    expect((await read(String(input.id))).status).toBe('pending');
    const tools = await callTool(model, 'call_write_operation', {
      operation: 'hooks.resume',
      input: { token: input.id },
    });
    expect(tools.isError).toBe(true);
    expect((await read(String(input.id))).status).toBe('pending');
  });
});
