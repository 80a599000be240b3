import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const nothing = z.object({});
const add = defineTool({
  description: 'Add two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const refund = defineTool({ description: 'Pay back.', inputSchema: nothing, execute: () => 'paid' });
const tools = { add, refund };

interface Listed {
  items: { sessionId: string; name: string; turns: number; totalTokens: number; agent: string }[];
  nextCursor: string | null;
}

/** A box whose agent no other test has: the database is one for the file. */
async function open(): Promise<{ box: TestBox; agent: string; say: Say }> {
  const agent = `agent-${randomUUID().slice(0, 8)}`;
  const box = await boxes.open({
    agents: { [agent]: defineDeepAgent({ name: agent, instructions: 'Help.', tools, interruptOn: { refund: true } }) },
  });
  return {
    box,
    agent,
    async say(session, content, more = {}) {
      const { header = 'x-svc-session', messages = [{ role: 'user', content }] } = more;
      const headers = { 'x-api-key': 'any', [header]: session };
      const answer = await box.request('/wire-a/v1/chat/completions', json({ model: agent, messages }, { headers }));
      await answer.text();
      // The answer is sent once the end is recorded, but not of a turn that waits.
      return answer.status;
    },
  };
}
type Say = (session: string, content: string, more?: { header?: string; messages?: object[] }) => Promise<number>;

describe('the sessions of a box', () => {
  test('are listed by last activity, in pages, with turns and tokens', async () => {
    const { box, agent, say } = await open();
    for (const name of ['a', 'b', 'c', 'a']) expect(await say(name, 'say:hello')).toBe(200);
    const first = (await call<Listed>(box, `GET /api/sessions?agent=${agent}&limit=2`)).body;
    expect(first.items.map(({ name, turns }) => [name, turns])).toEqual([
      ['a', 2],
      ['c', 1],
    ]);
    expect(first.items[0]).toMatchObject({ agent, kind: 'session' });
    expect(first.items[0]?.totalTokens).toBeGreaterThan(0);
    const next = (await call<Listed>(box, `GET /api/sessions?agent=${agent}&limit=2&cursor=${first.nextCursor}`)).body;
    expect([next.items.map(({ name }) => name), next.nextCursor]).toEqual([['b'], null]);
  });

  test.each(['2026', '2026-02-31 00:00:00+00', '2026-01-01 25:00:00+00', 'now', 7])(
    'and a cursor of the time %j is none',
    async (at) => {
      const { box } = await open();
      const cursor = Buffer.from(JSON.stringify([at, '00000000-0000-4000-8000-000000000000'])).toString('base64url');
      for (const path of ['/api/sessions', '/api/memory'])
        expect(await call(box, `GET ${path}?cursor=${cursor}`)).toMatchObject({
          status: 400,
          body: { code: 'invalid_cursor' },
        });
    },
  );

  test('are found by id, and by what the client calls them', async () => {
    const { box, agent, say } = await open();
    await say('my chat/1', 'say:hello');
    const path = `/api/sessions/${encodeURIComponent('my chat/1')}`;
    const { body } = await call(box, `GET ${path}?agent=${agent}`);
    expect(body).toMatchObject({
      name: 'my chat/1',
      openTurn: null,
      pendingApproval: null,
      pendingApprovals: [],
      turns: 1,
    });
    expect((await call(box, `GET /api/sessions/${body.sessionId}`)).body).toEqual(body);
    for (const wrong of [path, `${path}?agent=other`, `/api/sessions/${randomUUID()}`])
      expect(await call(box, `GET ${wrong}`)).toMatchObject({ status: 404, body: { code: 'session_not_found' } });
  });

  test('list their turns with tool calls, results, reasoning and the run behind each', async () => {
    const { box, agent, say } = await open();
    await say('told', 'reason:Sum it up.; tool:add {"a":1,"b":2}; say:Three.');
    await say('told', 'say:Bye.');
    const { body } = await call<{ items: { runId: string; messages: object[] }[] }>(
      box,
      `GET /api/sessions/told/messages?agent=${agent}`,
    );
    const [turn, last] = body.items;
    expect(turn?.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: null,
        reasoning: 'Sum it up.',
        toolCalls: [{ name: 'add', arguments: expect.stringContaining('"a":1'), callId: expect.any(String) }],
      },
      { role: 'tool', content: '{"sum":3}', toolCallId: expect.any(String) },
      { role: 'assistant', content: 'Three.', reasoning: null, toolCalls: [] },
    ]);
    expect(last?.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: 'Bye.' }]);
    const runs = await call<{ items: { runId: string }[] }>(box, `GET /api/sessions/told/runs?agent=${agent}`);
    expect(runs.body.items.map(({ runId }) => runId)).toEqual([last?.runId, turn?.runId]);
  });

  test('page their turns', async () => {
    const { box, agent, say } = await open();
    for (const text of ['one', 'two', 'three']) await say('paged', `say:${text}`);
    interface Turns {
      items: { messages: { content: string }[] }[];
      nextCursor: string | null;
    }
    const path = `GET /api/sessions/paged/messages?agent=${agent}&limit=2`;
    const first = (await call<Turns>(box, path)).body;
    const next = (await call<Turns>(box, `${path}&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...next.items].map(({ messages }) => messages.at(-1)?.content)).toEqual([
      'one',
      'two',
      'three',
    ]);
    expect(next.nextCursor).toBeNull();
    expect((await call(box, `${path}&cursor=x`)).body).toMatchObject({ code: 'invalid_cursor' });
  });

  test('that only group turns list what was new in each', async () => {
    const { box, agent, say } = await open();
    const header = 'x-svc-conversation';
    await say('grouped', 'say:one', { header });
    const messages = [
      { role: 'user', content: 'say:one' },
      { role: 'assistant', content: 'one' },
      { role: 'user', content: 'say:two' },
    ];
    await say('grouped', '', { header, messages });
    const { body } = await call<{ items: { messages: object[] }[] }>(
      box,
      `GET /api/sessions/grouped/messages?agent=${agent}`,
    );
    expect(body.items.map((turn) => turn.messages)).toMatchObject([
      [{ content: 'say:one' }, { content: 'one' }],
      [{ content: 'say:two' }, { content: 'two' }],
    ]);
  });

  test('that first grouped turns keep their messages once a turn asks for it, and list all of them', async () => {
    const { box, agent, say } = await open();
    const get = async () => (await call<{ kind: string }>(box, `GET /api/sessions/c1?agent=${agent}`)).body.kind;
    await say('c1', 'say:one', { header: 'x-svc-conversation' });
    expect(await get()).toBe('conversation');
    await say('c1', 'tool:add {"a":1,"b":2}; say:Three.');
    expect(await get()).toBe('session');
    await say('c1', 'say:four', { header: 'x-svc-conversation' });
    expect(await get()).toBe('session');
    const path = `GET /api/sessions/c1/messages?agent=${agent}`;
    const { body } = await call<{ items: { messages: { role: string; content: string }[] }[] }>(box, path);
    expect(body.items.map(({ messages }) => messages.map(({ role, content }) => `${role} ${content}`))).toEqual([
      ['user say:one', 'assistant one'],
      ['user tool:add {"a":1,"b":2}; say:Three.', 'assistant null', 'tool {"sum":3}', 'assistant Three.'],
      ['user say:four', 'assistant four'],
    ]);
  });

  test('show the approval they wait for', async () => {
    const { box, agent, say } = await open();
    await say('paused', 'tool:refund {}; say:Done.');
    const path = `GET /api/sessions/paused?agent=${agent}`;
    await until(async () => (await call(box, path)).body.pendingApproval !== null);
    const { body } = await call<{ openTurn: { runId: string }; pendingApproval: { approvalId: string } }>(box, path);
    expect(body).toMatchObject({
      openTurn: { status: 'waiting' },
      pendingApproval: { status: 'pending', runId: body.openTurn.runId },
    });
  });
});

test('a turn says what it has used, and a session what its agent keeps', async () => {
  const agent = `agent-${randomUUID().slice(0, 8)}`;
  const keeper = defineDeepAgent({ name: agent, instructions: 'Plan.', planning: true, files: true });
  const prices = { 'test/scripted': { inputPerMillion: 3, outputPerMillion: 15 } };
  const box = await boxes.open({ agents: { [agent]: keeper }, options: { prices: () => prices } });
  const say = async (content: string) => {
    const headers = { 'x-api-key': 'any', 'x-svc-session': 'kept' };
    const body = { model: agent, messages: [{ role: 'user', content }] };
    await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
  };
  const plan = [{ content: 'Look', status: 'completed' }];
  await say(
    `tool:write_todos ${JSON.stringify({ todos: plan })}; tool:write_file {"file_path":"/a.md","content":"b"}; say:x`,
  );
  await say('say:y');
  const shown = (await call(box, `GET /api/sessions/kept?agent=${agent}`)).body;
  expect(shown['kept']).toEqual({ plan, files: { 'a.md': 'b' } });
  const turns = async () =>
    (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/sessions/kept/messages?agent=${agent}`)).body
      .items;
  const [first, second] = await turns();
  const run = (await call(box, `GET /api/runs/${String(first?.['runId'])}`)).body;
  const { inputTokens, outputTokens, cost } = run;
  expect(first).toMatchObject({ inputTokens, outputTokens, cost });
  expect(Number(first?.['cost']) + Number(second?.['cost'])).toBeCloseTo(Number(shown['cost']), 8);
  await box.request(`/api/runs/${String(first?.['runId'])}`, { method: 'DELETE' });
  const [left] = await turns();
  expect(left).toMatchObject({ inputTokens: null, outputTokens: null, totalTokens: first?.['totalTokens'] });
  expect(left).not.toHaveProperty('cost');
});

describe('the run of a turn', () => {
  test('shows its model calls and its tools with tokens and times', async () => {
    const { box, agent, say } = await open();
    await say('steps', 'tool:add {"a":1,"b":2}; say:Three.');
    interface Row {
      kind: string;
      name: string;
      inputTokens: number;
      outputTokens: number;
      totalTokens: number;
      startedAt: string;
      endedAt: string;
    }
    const runs = await call<{ items: { runId: string }[] }>(box, `GET /api/sessions/steps/runs?agent=${agent}`);
    const path = `GET /api/runs/${runs.body.items[0]?.runId}`;
    const run = (await call<Row>(box, path)).body;
    for (const rows of ['steps', 'timeline']) {
      const { items } = (await call<{ items: Row[] }>(box, `${path}/${rows}`)).body;
      const calls = items.filter(({ kind }) => kind === 'model' || kind === 'tool');
      expect(calls.map(({ kind, name }) => [kind, name])).toEqual([
        ['model', 'test/scripted'],
        ['tool', 'add'],
        ['model', 'test/scripted'],
      ]);
      expect(calls.filter(({ startedAt, endedAt }) => startedAt > endedAt)).toEqual([]);
      const sum = (key: 'inputTokens' | 'outputTokens' | 'totalTokens') =>
        calls.reduce((total, row) => total + row[key], 0);
      expect([sum('inputTokens'), sum('outputTokens'), sum('totalTokens')]).toEqual([
        run.inputTokens,
        run.outputTokens,
        run.totalTokens,
      ]);
    }
  });
});

test('a model call shows what it was asked with, unless that is as before', async () => {
  const { box, agent } = await open();
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'tool:add {"a":1,"b":2}; say:Three.' },
  ];
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model: agent, messages }, { headers: { 'x-api-key': 'any' } }),
  );
  expect(answer.status).toBe(200);
  const runs = await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${agent}`);
  const path = `GET /api/runs/${runs.body.items[0]?.runId}/steps`;
  const { items } = (await call<{ items: { kind: string; output: { request?: object } }[] }>(box, path)).body;
  const calls = items.filter(({ kind }) => kind === 'model').map(({ output: { request } }) => request);
  expect(calls).toEqual([{ system: 'Help.\n\nBe brief.', tools: ['add', 'refund'] }, undefined]);
});

describe('deleting a session', () => {
  test('deletes its turns and their runs, and frees its name', async () => {
    const { box, agent, say } = await open();
    await say('gone', 'say:one');
    await say('stays', 'say:one');
    const { body } = await call(box, `DELETE /api/sessions/gone?agent=${agent}`);
    expect(body).toEqual({ sessionId: expect.any(String), deleted: true });
    expect((await call(box, `GET /api/sessions/${body.sessionId}`)).status).toBe(404);
    expect((await call<Listed>(box, `GET /api/runs?session=${body.sessionId}`)).body.items).toEqual([]);
    expect((await call<Listed>(box, `GET /api/sessions?agent=${agent}`)).body.items).toHaveLength(1);
    expect(await say('gone', 'say:again')).toBe(200);
    expect(box.model.requests.at(-1)?.messages).toHaveLength(2);
    // A session like any other: the turn is kept, and the next one goes on with it.
    expect(await say('gone', 'say:more')).toBe(200);
    expect(box.model.requests.at(-1)?.messages).toHaveLength(4);
    expect((await call(box, `GET /api/sessions/gone?agent=${agent}`)).body).toMatchObject({ turns: 2 });
  });

  test('is refused while a turn has not ended', async () => {
    const { box, agent, say } = await open();
    await say('open', 'tool:refund {}; say:Done.');
    const path = `/api/sessions/open?agent=${agent}`;
    await until(async () => (await call(box, `GET ${path}`)).body.openTurn !== null);
    const refused = await call<{ code: string; details: { runId: string } }>(box, `DELETE ${path}`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'turn_in_progress', details: { status: 'waiting' } } });
    await call(box, `POST /api/runs/${refused.body.details.runId}/cancel`);
    expect((await call(box, `DELETE ${path}`)).status).toBe(200);
  });
});
