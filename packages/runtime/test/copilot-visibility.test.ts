import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { svc } from '../src/svc.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { guardrailHits } from '../src/guardrails/table.ts';
import { createLog } from '../src/log.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

const refund = defineTool({ description: 'Refund.', inputSchema: z.object({}), execute: async () => 'refunded' });
const AGENTS = {
  'studio-copilot': defineDeepAgent({
    name: 'studio-copilot',
    instructions: 'Help.',
    tools: { refund },
    interruptOn: { refund: true },
  }),
  helper: defineDeepAgent({ name: 'helper', instructions: 'Help.', tools: { refund }, interruptOn: { refund: true } }),
};

type Headers = Record<string, string>;
const as = async (role: string, sub: string): Promise<Headers> => ({
  authorization: `Bearer ${await plane.mint(role, { claims: { sub, name: sub } })}`,
});
const switchOn = async (box: TestBox): Promise<TestBox> => {
  await call(box, 'PUT /api/settings/copilot', { enabled: true }, await as('owner', 'olga'));
  return box;
};
const open = async (): Promise<TestBox> =>
  switchOn(await boxes.open({ agents: AGENTS, options: { host: 'image', strategy: plane.strategy({ log }) } }));

async function chat(box: TestBox, headers: Headers, model: string, session: string, content = 'say:hello') {
  const body = { model, messages: [{ role: 'user', content }] };
  const more = { ...headers, 'x-svc-session': session };
  const { status } = await call(box, 'POST /wire-a/v1/chat/completions', body, more);
  expect([200, 409]).toContain(status);
}

interface Listed {
  items: { runId: string; name: string; sessionId: string; agent: string; approvalId: string }[];
}
const list = async (box: TestBox, path: string, headers: Headers) =>
  (await call<Listed>(box, `GET ${path}`, undefined, headers)).body.items;

describe('a turn of the copilot', () => {
  test('is seen by the person who asked, by owners and admins, and by no one else', async () => {
    const box = await open();
    const asker = await as('member', 'ann');
    await chat(box, asker, 'studio-copilot', 'mine');
    await chat(box, asker, 'helper', 'everybody');
    const [run] = (await list(box, '/api/runs', asker)).filter(({ name }) => name === 'studio-copilot');
    const id = run?.runId ?? '';
    const sessionId = run?.sessionId ?? '';
    const gone = await call(box, 'GET /api/runs/00000000-0000-7000-8000-000000000000', undefined, asker);
    const routes = [
      `GET /api/runs/${id}`,
      `GET /api/runs/${id}/steps`,
      `GET /api/runs/${id}/timeline`,
      `GET /api/runs/${id}/why`,
      `GET /api/runs/${id}/export`,
      `GET /api/sessions/${sessionId}`,
      `GET /api/sessions/${sessionId}/messages`,
      `GET /api/sessions/${sessionId}/runs`,
      'GET /api/sessions/mine?agent=studio-copilot',
    ];
    for (const [role, sub, sees] of [
      ['member', 'ann', true],
      ['owner', 'olga', true],
      ['admin', 'adam', true],
      ['member', 'bob', false],
      ['approver', 'pia', false],
      ['viewer', 'vic', false],
    ] as const) {
      const headers = await as(role, sub);
      const names = (await list(box, '/api/runs', headers)).map(({ name }) => name);
      expect([sub, names.includes('studio-copilot'), names.includes('helper')]).toEqual([sub, sees, true]);
      const agents = (await list(box, '/api/sessions', headers)).map(({ agent }) => agent);
      expect([sub, agents.includes('studio-copilot'), agents.includes('helper')]).toEqual([sub, sees, true]);
      const stats = await call<{ items: { runs: number }[] }>(box, 'GET /api/runs/stats', undefined, headers);
      expect([sub, stats.body.items.reduce((sum, { runs }) => sum + runs, 0)]).toEqual([sub, sees ? 2 : 1]);
      for (const route of routes)
        expect([sub, route, (await call(box, route, undefined, headers)).status]).toEqual([
          sub,
          route,
          sees ? 200 : 404,
        ]);
      if (sees) continue;
      const { body } = await call(box, `GET /api/runs/${id}`, undefined, headers);
      const same = (text: unknown) => String(text).replaceAll(/"[^"]*"/g, '""');
      expect([body.code, same(body.message)]).toEqual([gone.body.code, same(gone.body.message)]);
    }
  });

  test('is visible to all under dev', async () => {
    const box = await boxes.open({ agents: AGENTS });
    await call(box, 'PUT /api/settings/copilot', { enabled: true });
    await chat(box, { authorization: 'Bearer one' }, 'studio-copilot', 'mine');
    const other = { authorization: 'Bearer another' };
    const run = (await list(box, '/api/runs', other)).find(({ name }) => name === 'studio-copilot');
    expect((await call(box, `GET /api/runs/${run?.runId}/steps`, undefined, other)).status).toBe(200);
    expect((await list(box, '/api/sessions', other)).map(({ agent }) => agent)).toContain('studio-copilot');
  });

  test('cannot be cancelled, deleted or repeated by someone else', async () => {
    const box = await open();
    await chat(box, await as('member', 'ann'), 'studio-copilot', 'mine');
    const [run] = await list(box, '/api/runs', await as('owner', 'olga'));
    const other = await as('member', 'bob');
    for (const route of [`POST /api/runs/${run?.runId}/cancel`, `POST /api/runs/${run?.runId}/retry`])
      expect([route, (await call(box, route, {}, other)).status]).toEqual([route, 404]);
    expect((await call(box, `DELETE /api/runs/${run?.runId}`, undefined, other)).status).toBe(404);
    expect((await call(box, `GET /api/runs/${run?.runId}`, undefined, await as('member', 'ann'))).status).toBe(200);
  });

  test('is published to those who see it, and to no one else', async () => {
    const box = await open();
    const read = async (headers: Headers) => {
      const gone = new AbortController();
      const response = await box.request('/api/events', { headers, signal: gone.signal });
      let text = '';
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const reading = (async () => {
        for (;;) {
          const next = await reader?.read();
          if (!next || next.done) return;
          text += next.value;
        }
      })();
      return {
        has: (name: string) => text.includes(`"name":"${name}"`) && text.includes('run.ended'),
        text: () => text,
        async end() {
          await reader?.cancel();
          await reading.catch(() => {});
        },
      };
    };
    const asker = await as('member', 'ann');
    const [own, others] = [await read(asker), await read(await as('viewer', 'vic'))];
    await chat(box, asker, 'studio-copilot', 'mine');
    await until(() => own.has('studio-copilot'));
    await chat(box, asker, 'helper', 'everybody');
    await until(() => others.has('helper'));
    await until(() => own.has('helper'));
    expect(others.text()).not.toContain('studio-copilot');
    await Promise.all([own.end(), others.end()]);
  });

  test('has hits of guardrails that are as hidden as it is, whatever side they are of', async () => {
    const box = await open();
    const [asker, owner] = [await as('member', 'ann'), await as('owner', 'olga')];
    const check = { kind: 'words', words: ['falcon'] };
    const sides = ['agent-input', 'agent-output', 'tool-call', 'tool-result'];
    const rule = { name: 'falcons', check, sides, action: 'audit' };
    const made = await call<{ id: string }>(box, 'POST /api/guardrails', rule, owner);
    const { id } = made.body;
    onTestFinished(async () => void (await call(box, `DELETE /api/guardrails/${id}`, undefined, owner)));
    await chat(box, asker, 'studio-copilot', 'mine', 'say:a falcon');
    const refusing = { ...rule, name: 'refused falcons', sides: ['agent-input'], action: 'block' };
    const { id: refusingId } = (await call<{ id: string }>(box, 'POST /api/guardrails', refusing, owner)).body;
    onTestFinished(async () => void (await call(box, `DELETE /api/guardrails/${refusingId}`, undefined, owner)));
    const refused = { model: 'studio-copilot', messages: [{ role: 'user', content: 'say:a falcon' }] };
    expect((await call(box, 'POST /wire-a/v1/chat/completions', refused, asker)).status).toBe(422);
    await call(box, `DELETE /api/guardrails/${refusingId}`, undefined, owner);
    await chat(box, asker, 'helper', 'everybody', 'say:a falcon');
    interface Seen extends Record<string, unknown> {
      hits: { place: string; side: string; runId: string | null }[];
    }
    const look = async (role: string, sub: string, sees: boolean) => {
      const headers = await as(role, sub);
      const listed = (await list(box, '/api/guardrails/hits', headers)) as unknown as Seen['hits'];
      const { hits } = (await call<Seen>(box, `GET /api/guardrails/${id}`, undefined, headers)).body;
      const ofCopilot = (all: Seen['hits']) => all.filter(({ place }) => place === 'agent studio-copilot').length;
      expect([sub, ofCopilot(listed), ofCopilot(hits)]).toEqual(sees ? [sub, 4, 3] : [sub, 0, 0]);
      expect([sub, hits.filter(({ place }) => place === 'agent helper').length]).toEqual([sub, 2]);
      expect(JSON.stringify([listed, hits])).not.toContain('askedBy');
    };
    await look('member', 'ann', true);
    await look('owner', 'olga', true);
    await look('admin', 'adam', true);
    await look('member', 'bob', false);
    await look('viewer', 'vic', false);
    // Those of an older box say of no one that it asked.
    await boxes.db.update(guardrailHits).set({ askedBy: null });
    await look('owner', 'olga', true);
    await look('member', 'bob', false);
    await look('viewer', 'vic', false);
  });

  test('is tried on rules by those who see it alone', async () => {
    const box = await open();
    const asker = await as('member', 'ann');
    await chat(box, asker, 'studio-copilot', 'mine', 'say:a falcon');
    const [run] = (await list(box, '/api/runs', asker)).filter(({ name }) => name === 'studio-copilot');
    const rule = { check: { kind: 'words', words: ['falcon'] }, action: 'audit' };
    const tries = async (body: object, role: string, sub: string) => {
      const answer = await call<{ runs: { runId: string }[]; code?: string }>(
        box,
        'POST /api/guardrails/test',
        { ...body, rule },
        await as(role, sub),
      );
      return [answer.status, answer.body.runs?.map(({ runId }) => runId) ?? answer.body.code];
    };
    for (const [role, sub] of [
      ['member', 'ann'],
      ['owner', 'olga'],
    ] as const)
      expect(await tries({ runId: run?.runId }, role, sub)).toEqual([200, [run?.runId]]);
    for (const [role, sub] of [
      ['member', 'bob'],
      ['viewer', 'vic'],
    ] as const) {
      expect(await tries({ runId: run?.runId }, role, sub)).toEqual([404, 'run_not_found']);
      expect(await tries({ runs: { name: 'studio-copilot' } }, role, sub)).toEqual([200, []]);
    }
  });

  test('that waits for a person is in no one’s inbox', async () => {
    const box = await open();
    const asker = await as('owner', 'olga');
    const ask = 'tool:refund {}';
    await chat(box, asker, 'studio-copilot', 'mine', ask);
    await chat(box, asker, 'helper', 'everybody', ask);
    await until(async () => (await list(box, '/api/approvals', asker)).length > 0);
    const runs = await list(box, '/api/runs', asker);
    const helper = runs.find(({ name }) => name === 'helper')?.runId;
    expect((await list(box, '/api/approvals', asker)).map(({ runId }) => runId)).toEqual([helper]);
  });
});

describe('what a turn of the copilot does', () => {
  const begin = defineTool({
    description: 'Begin.',
    inputSchema: z.object({}),
    execute: async () => svc.workflows.start('ask', { private: 'of the owner' }),
  });
  const note = defineTool({
    description: 'Note.',
    inputSchema: z.object({}),
    execute: () => {
      svc.log.info('a long note', { text: 'x'.repeat(40_000) });
      return 'noted';
    },
  });

  test('is hidden with it: runs it starts, queued ones too, their approvals and logs', async () => {
    const kept = createLog({ level: 'silent', write: () => {} });
    const box = await boxes.open({
      agents: { 'studio-copilot': defineDeepAgent({ name: 'studio-copilot', tools: { begin, note } }) },
      workflows: { ask: { run: async () => requestApproval({ title: 'Go?' }), serial: true } },
      options: {
        host: 'image',
        strategy: plane.strategy({ log }),
        log: kept,
        records: kept,
      },
    });
    await switchOn(box);
    const asker = await as('owner', 'olga');
    const member = await as('member', 'bob');
    await chat(box, asker, 'studio-copilot', 'mine', 'tool:begin {}\ntool:begin {}\ntool:note {}');
    await until(async () => (await list(box, '/api/approvals', asker)).length === 1);
    expect((await list(box, '/api/runs', member)).length).toBe(0);
    expect((await list(box, '/api/runs', asker)).map(({ name }) => name).toSorted()).toEqual(['ask', 'studio-copilot']);
    expect((await list(box, '/api/workflows/ask/queue', asker)).length).toBe(1);
    expect((await list(box, '/api/workflows/ask/queue', member)).length).toBe(0);
    const [approval] = await list(box, '/api/approvals', asker);
    const one = `/api/approvals/${approval?.approvalId}`;
    const approver = await as('approver', 'pia');
    expect(await list(box, '/api/approvals', approver)).toEqual([]);
    const statuses = [
      (await call(box, `GET ${one}`, undefined, approver)).status,
      (await call(box, `POST ${one}/decide`, { decision: 'approve' }, approver)).status,
      (await call(box, `POST /api/workflows/hooks/${approval?.approvalId}/resume`, { decision: 'approve' }, approver))
        .status,
    ];
    expect(statuses).toEqual([404, 404, 404]);
    expect((await call(box, `POST ${one}/decide`, { decision: 'approve' }, asker)).status).toBe(200);
    await until(async () => (await list(box, '/api/workflows/ask/queue', asker)).length === 0);
    // The one that got the lock is as hidden as it was in the queue.
    expect((await list(box, '/api/runs', member)).length).toBe(0);
    await until(async () => (await list(box, '/api/logs?text=a%20long%20note', asker)).length === 1);
    expect(await list(box, '/api/logs?text=a%20long%20note', member)).toEqual([]);
    // Who decided is in the activity log, for those who see the run.
    const decided = '/api/activity?operation=approvals.decide';
    expect((await list(box, decided, asker)).length).toBe(1);
    expect(await list(box, decided, member)).toEqual([]);
  });

  test('is hidden with it: turns it has other agents do', async () => {
    const ask = defineTool({
      description: 'Ask.',
      inputSchema: z.object({}),
      execute: async () => (await svc.agent('helper').session().send('say:hello')).text,
    });
    const copilot = defineDeepAgent({ name: 'studio-copilot', tools: { ask } });
    const agents = { 'studio-copilot': copilot, helper: AGENTS.helper };
    const box = await boxes.open({ agents, options: { host: 'image', strategy: plane.strategy({ log }) } });
    await switchOn(box);
    const asker = await as('owner', 'olga');
    await chat(box, asker, 'studio-copilot', 'mine', 'tool:ask {}');
    expect((await list(box, '/api/runs', asker)).map(({ name }) => name)).toEqual(['helper', 'studio-copilot']);
    expect(await list(box, '/api/runs', await as('member', 'bob'))).toEqual([]);
  });

  test('can be approved by the person it talks to, over AG-UI', async () => {
    const box = await open();
    const headers = await as('admin', 'adam');
    const messages = [{ id: 'm1', role: 'user', content: 'tool:refund {}' }];
    const run = (more: object) =>
      box.request(
        '/agui/v1/agents/studio-copilot',
        json(
          { threadId: 't', runId: 'r', state: {}, messages, tools: [], context: [], forwardedProps: {}, ...more },
          { headers },
        ),
      );
    const received = await (await run({})).text();
    const [, interruptId] = /"id":"([\w-]{20,})","reason":"tool_call"/.exec(received) ?? [];
    const resume = [{ interruptId, status: 'resolved', payload: { decision: 'approve' } }];
    expect(await (await run({ resume })).text()).toContain('"outcome":{"type":"success"}');
  });
});

describe('the activity log', () => {
  test('shows what was before and after only to those who may read such things', async () => {
    const box = await open();
    const admin = await as('admin', 'adam');
    await call(box, 'POST /api/keys', { name: 'of the admins' }, admin);
    const path = '/api/activity?operation=keys.create';
    const [entry] = (await list(box, path, admin)) as unknown as { id: string }[];
    const read = async (headers: Headers) =>
      (await call<{ after: { name: string } | null }>(box, `GET /api/activity/${entry?.id}`, undefined, headers)).body;
    expect((await read(admin)).after).toMatchObject({ name: 'of the admins' });
    expect((await read(await as('viewer', 'vic'))).after).toBeNull();
  });
});

describe('an API key', () => {
  test('has idempotency keys of its own', async () => {
    const dev = await boxes.open();
    const box = await boxes.open({
      workflows: { echo: { run: async (input: unknown) => input } },
      options: { host: 'image', strategy: plane.strategy({ log }) },
    });
    const newKey = async (): Promise<Headers> => {
      const grants = { workflows: ['echo'] };
      const { body } = await call<{ value: string }>(dev, 'POST /api/keys', { name: 'ci', grants });
      return { authorization: `Bearer ${body.value}`, 'idempotency-key': '1' };
    };
    const [one, other] = [await newKey(), await newKey()];
    const start = async (headers: Headers) =>
      (await call<{ runId: string }>(box, 'POST /api/workflows/echo/start', { a: 1 }, headers)).body.runId;
    const [first, again, second] = [await start(one), await start(one), await start(other)];
    expect([again === first, second === first]).toEqual([true, false]);
  });
});

describe('a resume over AG-UI', () => {
  const run = (box: TestBox, headers: Headers, more: object) =>
    box.request(
      '/agui/v1/agents/helper',
      json(
        { threadId: 't1', runId: 'r', state: {}, messages: [], tools: [], context: [], forwardedProps: {}, ...more },
        { headers },
      ),
    );

  test('needs a seat that decides', async () => {
    const box = await open();
    const member = await as('member', 'ann');
    const messages = [{ id: 'm1', role: 'user', content: 'tool:refund {}' }];
    await (await run(box, member, { messages })).text();
    const [approval] = await list(box, '/api/approvals', member);
    const resume = [{ interruptId: approval?.approvalId, status: 'resolved', payload: { decision: 'approve' } }];
    const refused = await run(box, member, { messages, resume });
    expect(refused.status).toBe(403);
    await refused.text();
    const decided = await run(box, await as('admin', 'adam'), { messages, resume });
    expect(decided.status).toBe(200);
    expect(await decided.text()).toContain('RUN_FINISHED');
  });
});
