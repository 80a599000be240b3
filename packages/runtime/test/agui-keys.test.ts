import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeepAgentDefinition } from '../src/definitions/agent.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createLog } from '../src/log.ts';
import { createAgent, post } from './_agui.ts';
import type { Calls } from './_agui.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

type Headers = Record<string, string>;

interface Setup {
  box: TestBox;
  calls: Calls[];
  owner: Headers;
  newKey(grants: object): Promise<Headers & { id: string }>;
  revoke(id: string): Promise<unknown>;
}

/** A box that checks who calls, and one on the same database that makes its keys. */
async function open(by: 'user' | 'operator' | 'default' = 'user'): Promise<Setup> {
  const calls: Calls[] = [];
  const dev = await boxes.open({});
  const strategy = plane.strategy({ log: createLog({ level: 'silent', write: () => {} }) });
  const box = await boxes.open({
    agents: { helper: withClerk(createAgent(calls), by) },
    workflows: { ask: { run: async () => requestApproval({ title: 'Go?' }) } },
    options: { host: 'image', strategy },
  });
  const owner = { authorization: `Bearer ${await plane.mint('owner', { claims: { sub: 'olga', name: 'olga' } })}` };
  return {
    box,
    calls,
    owner,
    async newKey(grants) {
      const { body } = await call<{ id: string; value: string }>(dev, 'POST /api/keys', { name: 'app', grants });
      return { authorization: `Bearer ${body.value}`, id: body.id };
    },
    revoke: (id) => call(dev, `POST /api/keys/${id}/revoke`),
  };
}

/** The same agent, with sub-agents that have its tools. */
function withClerk(agent: DeepAgentDefinition, by: 'user' | 'operator' | 'default'): DeepAgentDefinition {
  const { tools = {}, interruptOn } = agent;
  const refund = { title: 'Pay it back?', description: 'It is gone then.', ...(by === 'default' ? {} : { by }) };
  const clerk = { name: 'clerk', description: 'Does the same.', tools };
  const free = { ...clerk, name: 'free', interruptOn: { refund: false } };
  return defineDeepAgent({ ...agent, interruptOn: { ...interruptOn, refund }, subagents: [clerk, free] });
}

const message = { id: 'u1', role: 'user', content: 'tool:refund {"order":"A-1","amount":5}; say:Done.' };
const run = (box: TestBox, threadId: string, headers: Headers, more: object = {}) =>
  post(box, { threadId, runId: 'r', messages: [message], ...more }, { authorization: headers.authorization ?? '' });
const approve = (interruptId: string) => ({
  resume: [{ interruptId, status: 'resolved', payload: { decision: 'approve' } }],
});

/** The id of the approval a thread waits for. */
async function pause({ box }: Setup, threadId: string, headers: Headers): Promise<string> {
  const { text } = await run(box, threadId, headers);
  const [, id = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(text) ?? [];
  expect(id).not.toBe('');
  return id;
}

const tasked = (agent: string) => {
  const task = { subagent_type: agent, description: message.content.replace('; ', '\n') };
  return [{ ...message, content: `tool:task ${JSON.stringify(task)}\nsay:Done.` }];
};

describe('an API key over AG-UI, where an operator decides', () => {
  test.each(['default', 'operator'] as const)('decides nothing, its own conversation included: %s', async (by) => {
    const setup = await open(by);
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const id = await pause(setup, 'own', key);
    const decisions = [
      { status: 'resolved', payload: { decision: 'approve' } },
      { status: 'resolved', payload: { decision: 'edit', input: { order: 'A-1', amount: 99 } } },
      { status: 'resolved', payload: { decision: 'reject' } },
      { status: 'cancelled' },
    ];
    for (const decision of decisions) {
      const refused = await run(box, 'own', key, { resume: [{ interruptId: id, ...decision }] });
      expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
        403,
        { code: 'decision_not_yours', details: { interruptId: id } },
      ]);
    }
    expect(calls).toEqual([]);
    const { body: asked } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    expect(asked).toMatchObject({
      status: 'pending',
      by: 'operator',
      title: 'Pay it back?',
      description: 'It is gone then.',
    });
    const { body } = await call(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' }, owner);
    expect(body).toMatchObject({ status: 'approved', decidedBy: 'olga' });
    await until(() => calls.length === 1);
  });

  test('nor what a guardrail holds, where its user decides otherwise', async () => {
    const setup = await open('user');
    const { box, calls, owner } = setup;
    const rule = { name: 'refunds', check: { kind: 'words', words: ['A-1'] }, sides: ['tool-call'], action: 'hold' };
    const { body: made } = await call<{ id: string }>(box, 'POST /api/guardrails', rule, owner);
    const key = await setup.newKey({ agents: ['helper'] });
    const id = await pause(setup, 'held', key);
    await box.request(`/api/guardrails/${made.id}`, { method: 'DELETE', headers: owner });
    expect((await run(box, 'held', key, approve(id))).status).toBe(403);
    expect(calls).toEqual([]);
    const { body } = await call(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' }, owner);
    expect(body).toMatchObject({ status: 'approved', source: 'guardrail', title: 'Pay it back?' });
    await until(() => calls.length === 1);
  });

  test('nor by a sub-agent, which asks what its parent asks unless it says otherwise', async () => {
    const setup = await open('operator');
    const { box, calls } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const { text } = await run(box, 'below', key, { messages: tasked('clerk') });
    const [, id = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(text) ?? [];
    expect((await run(box, 'below', key, { messages: tasked('clerk'), ...approve(id) })).status).toBe(403);
    expect(calls).toEqual([]);
    expect((await run(box, 'freely', key, { messages: tasked('free') })).text).toContain('"type":"success"');
    expect(calls).toHaveLength(1);
  });
});

describe('an API key over AG-UI', () => {
  test('what it decides is in the activity log', async () => {
    const setup = await open();
    const { box, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const id = await pause(setup, 'own', key);
    await run(box, 'own', key, approve(id));
    const list = await call<{ items: object[] }>(box, `GET /api/activity?target=${id}`, undefined, owner);
    expect(list.body.items).toMatchObject([
      { operation: 'approvals.decide', source: 'chat', target: { id }, actor: { role: null } },
    ]);
  });

  test('decides about the tools of its thread, and the audit names it', async () => {
    const setup = await open();
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const id = await pause(setup, 'own', key);
    expect((await call(box, `POST /api/approvals/${id}/decide`, { decision: 'approve' }, key)).status).toBe(403);
    expect((await run(box, 'own', key, approve(id))).text).toContain('"type":"success"');
    expect(calls).toHaveLength(1);
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    const by = `API key "app" (svc_${key.id})`;
    expect(body).toMatchObject({ status: 'approved', audit: [{ action: 'asked' }, { action: 'approve', by }] });
  });

  test('decides about the tools of its sub-agents, too', async () => {
    const setup = await open();
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const messages = tasked('clerk');
    const { text } = await run(box, 'below', key, { messages });
    const [, id = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(text) ?? [];
    expect((await run(box, 'other', key, { messages, ...approve(id) })).text).toContain('"type":"interrupt"');
    expect(calls).toEqual([]);
    expect((await run(box, 'below', key, { messages, ...approve(id) })).text).toContain('"type":"success"');
    expect(calls).toHaveLength(1);
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    expect(body).toMatchObject({ status: 'approved', decidedBy: `API key "app" (svc_${key.id})` });
  });

  test('without the agent, or revoked, decides nothing', async () => {
    const setup = await open();
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const id = await pause(setup, 'kept', key);
    const other = await setup.newKey({ workflows: ['ask'] });
    expect(await run(box, 'kept', other, approve(id))).toMatchObject({
      status: 403,
      text: expect.stringContaining('"code":"forbidden"'),
    });
    await setup.revoke(key.id);
    await until(async () => (await call(box, 'GET /wire-a/v1/models', undefined, key)).status === 401);
    expect((await run(box, 'kept', key, approve(id))).status).toBe(401);
    expect(calls).toEqual([]);
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    expect(body.status).toBe('pending');
  });

  test('decides nothing that a workflow asks, nor what another thread waits for', async () => {
    const setup = await open();
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'], workflows: ['ask'] });
    expect((await call(box, 'POST /api/workflows/ask/start', {}, key)).status).toBe(202);
    const asked = async () =>
      (await call<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals?source=workflow', undefined, owner))
        .body.items;
    await until(async () => (await asked()).length === 1);
    const [{ approvalId } = { approvalId: '' }] = await asked();
    const theirs = await pause(setup, 'theirs', key);
    for (const id of [approvalId, theirs]) {
      await run(box, `mine ${id}`, key, { ...approve(id), messages: [{ ...message, content: 'say:hi' }] });
      const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
      expect(body.status).toBe('pending');
    }
    expect(calls).toEqual([]);
  });
});

describe('a call that its user edits, where a guardrail judges calls', () => {
  const edit = (interruptId: string, order: string) => ({
    resume: [{ interruptId, status: 'resolved', payload: { decision: 'edit', input: { order, amount: 5 } } }],
  });
  const withRule = async (setup: Setup, action: string, side = 'tool-call') => {
    const check = { kind: 'words', words: ['forbidden'] };
    const rule = { name: `edits-${action}`, check, sides: [side], action };
    const { body, status } = await call<{ id: string }>(setup.box, 'POST /api/guardrails', rule, setup.owner);
    expect(status).toBe(201);
    return () => setup.box.request(`/api/guardrails/${body.id}`, { method: 'DELETE', headers: setup.owner });
  };

  test.each(['block', 'hold'])('is not run with what a rule would %s, and goes on waiting', async (action) => {
    const setup = await open('user');
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const remove = await withRule(setup, action);
    const id = await pause(setup, `edit-${action}`, key);
    const refused = await run(box, `edit-${action}`, key, edit(id, 'forbidden'));
    await remove();
    expect([refused.status, calls]).toEqual([422, []]);
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    expect(body).toMatchObject({ status: 'pending' });
  });

  test('is run without what a rule masks, and so recorded', async () => {
    const setup = await open('user');
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const remove = await withRule(setup, 'mask');
    const id = await pause(setup, 'edit-mask', key);
    await run(box, 'edit-mask', key, edit(id, 'a forbidden one'));
    await remove();
    expect(calls).toMatchObject([{ input: { order: 'a [word] one', amount: 5 } }]);
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    expect(JSON.stringify(body)).not.toContain('forbidden');
  });

  test('is rejected with a note that is judged as what the agent is asked', async () => {
    const setup = await open('user');
    const { box, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const id = await pause(setup, 'noted', key);
    const remove = await withRule(setup, 'mask', 'agent-input');
    const note = 'It is a forbidden one.';
    const payload = { decision: 'reject', note };
    const { text } = await run(box, 'noted', key, { resume: [{ interruptId: id, status: 'resolved', payload }] });
    await remove();
    expect(text).toContain('It is a [word] one.');
    const { body } = await call(box, `GET /api/approvals/${id}`, undefined, owner);
    expect(body).toMatchObject({ status: 'rejected', note: 'It is a [word] one.' });
  });

  test('is run with what an operator edits it to, who may say what a rule refuses', async () => {
    const setup = await open('user');
    const { box, calls, owner } = setup;
    const key = await setup.newKey({ agents: ['helper'] });
    const remove = await withRule(setup, 'block');
    const id = await pause(setup, 'by-operator', key);
    const decision = { decision: 'approve', input: { order: 'forbidden', amount: 5 } };
    expect((await call(box, `POST /api/approvals/${id}/decide`, decision, owner)).status).toBe(200);
    await until(() => calls.length === 1);
    await remove();
    expect(calls).toMatchObject([{ input: { order: 'forbidden' } }]);
  });
});
