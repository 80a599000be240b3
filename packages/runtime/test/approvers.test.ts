import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import type { Role } from '../src/auth/permissions.ts';
import { createLog } from '../src/log.ts';
import { createAgent, post } from './_agui.ts';
import type { Calls } from './_agui.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, setupBoxes, until } from './_setup.ts';

const boxes = setupBoxes();
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

type Headers = Record<string, string>;
const REFUSED = { status: 403, body: { code: 'not_an_approver' } };

/** A call of a tool that waits for these. */
async function open(approvers?: string[]) {
  const calls: Calls[] = [];
  const agent = createAgent(calls);
  const refund = approvers === undefined ? true : { approvers };
  const clerk = { name: 'clerk', description: 'Does the same.', tools: agent.tools ?? {} };
  const helper = defineDeepAgent({ ...agent, interruptOn: { ...agent.interruptOn, refund }, subagents: [clerk] });
  const strategy = plane.strategy({ log: createLog({ level: 'silent', write: () => {} }) });
  const box = await boxes.open({ agents: { helper }, options: { host: 'image', strategy } });
  const as = async (sub: string, role: Role): Promise<Headers> => ({
    authorization: `Bearer ${await plane.mint(role, { claims: { sub, name: sub } })}`,
  });
  const owner = await as('olga', 'owner');
  const speak = (headers: Headers, content: string, more: object = {}) =>
    post(box, { threadId: 't', runId: 'r', messages: [{ id: 'u1', role: 'user', content }], ...more }, headers);
  const pause = async (content = REFUND): Promise<string> => {
    const { text } = await speak(owner, content);
    return /"interrupts":\[\{"id":"([^"]+)"/.exec(text)?.[1] ?? '';
  };
  const get = async (id: string) => (await call(box, `GET /api/approvals/${id}`, undefined, owner)).body;
  const decide = (id: string, body: object, who: Headers) => call(box, `POST /api/approvals/${id}/decide`, body, who);
  return { box, calls, as, owner, speak, pause, get, decide };
}

const REFUND = 'tool:refund {"order":"A-1","amount":5}; say:Done.';
const APPROVE = { decision: 'approve' };

test('a call that names its approvers is decided by those alone, on whatever road', async () => {
  const { box, calls, as, owner, speak, pause, get, decide } = await open(['ada@shop.example', 'role:admin']);
  const id = await pause();
  expect(await get(id)).toMatchObject({ status: 'pending', approvers: ['ada@shop.example', 'role:admin'] });
  expect(await decide(id, APPROVE, owner)).toMatchObject({
    ...REFUSED,
    body: { details: { approvers: ['ada@shop.example', 'role:admin'] } },
  });
  expect(await decide(id, { decision: 'reject' }, await as('bob@shop.example', 'approver'))).toMatchObject(REFUSED);
  // Neither a name that is written like a role, nor a role that may not decide at all.
  expect(await decide(id, APPROVE, await as('role:admin', 'approver'))).toMatchObject(REFUSED);
  expect(await decide(id, APPROVE, await as('ada@shop.example', 'viewer'))).toMatchObject({ status: 403 });
  expect(await call(box, `POST /api/workflows/hooks/${id}/resume`, APPROVE, owner)).toMatchObject(REFUSED);
  const resume = [{ interruptId: id, status: 'resolved', payload: APPROVE }];
  const spoken = await speak(owner, REFUND, { resume });
  expect([spoken.status, spoken.text]).toEqual([403, expect.stringContaining('"not_an_approver"')]);
  expect(calls).toEqual([]);
  expect((await get(id)).status).toBe('pending');
  const decided = await decide(id, APPROVE, await as('ada@shop.example', 'approver'));
  expect(decided).toMatchObject({ status: 200, body: { status: 'approved', decidedBy: 'ada@shop.example' } });
  await until(() => calls.length === 1);
});

test('a role is enough, and a sub-agent asks the approvers of its parent', async () => {
  const { calls, as, owner, pause, get, decide } = await open(['role:admin']);
  const given = { subagent_type: 'clerk', description: REFUND.replace('; ', '\n') };
  const task = `tool:task ${JSON.stringify(given)}\nsay:Done.`;
  const id = await pause(task);
  expect(await get(id)).toMatchObject({ approvers: ['role:admin'] });
  expect(await decide(id, APPROVE, owner)).toMatchObject(REFUSED);
  expect(await decide(id, APPROVE, await as('carla', 'admin'))).toMatchObject({ status: 200 });
  await until(() => calls.length === 1);
});

test('a decision that says which arguments it is about is taken about no others', async () => {
  const { calls, owner, pause, get, decide } = await open();
  const id = await pause();
  const { argsDigest, approvers } = await get(id);
  // The members in order: the same for whoever computes it.
  const digest = createHash('sha256').update('{"amount":5,"order":"A-1"}').digest('hex');
  expect([argsDigest, approvers]).toEqual([digest, null]);
  const other = createHash('sha256').update('{"amount":500,"order":"A-1"}').digest('hex');
  expect(await decide(id, { ...APPROVE, argsDigest: other }, owner)).toMatchObject({
    status: 409,
    body: { code: 'arguments_changed', details: { argsDigest: digest } },
  });
  expect((await get(id)).status).toBe('pending');
  expect(await decide(id, { ...APPROVE, argsDigest: digest }, owner)).toMatchObject({ status: 200 });
  await until(() => calls.length === 1);
});

test.each([
  [[], 'must be a list of ids of people'],
  [['ada', ''], 'must be a list of ids of people'],
  [['role:viewer'], '"role:owner", "role:admin", "role:approver"'],
  ['ada', 'must be a list of ids of people'],
])('approvers %j are refused where the agent is defined', (approvers, words) => {
  const agent = createAgent([]);
  const define = (policy: object) => () => defineDeepAgent({ ...agent, interruptOn: { refund: policy } });
  expect(define({ approvers })).toThrow(words);
  expect(define({ by: 'user', approvers: ['ada'] })).toThrow('is left to the user');
});
