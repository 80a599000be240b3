import { eq } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { decode, encode } from '../src/engine/serialize.ts';
import { findSqlite } from '../src/engine/stores/sqlite/driver.ts';
import { guardrails } from '../src/guardrails/table.ts';
import { defineDeepAgent, defineTool, svc } from '../src/index.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { describeWhen } from './require.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

type Body = Record<string, unknown>;
interface Rule extends Body {
  id: string;
  name: string;
}

const boxes = setupBoxes();
let names = 0;
/** The boxes of this file share one database, so each rule is of one agent or workflow. */
const newName = () => `place-${++names}`;

const WORDS = { kind: 'words', words: ['forbidden'] };
const CARDS = { kind: 'pii', kinds: ['card', 'email'] };
const CARD = '4111 1111 1111 1111';

const create = async (box: TestBox, more: Body): Promise<Rule> => {
  const rule = { check: WORDS, sides: ['workflow-input'], action: 'block', name: newName(), ...more };
  const { status, body } = await call<Rule>(box, 'POST /api/guardrails', rule);
  expect([status, body]).toMatchObject([201, { name: rule.name }]);
  return body;
};
const of = (kind: string, name: string) => ({ attachment: { kind, name } });
const list = async (box: TestBox) =>
  (await call<{ items: Rule[] }>(box, 'GET /api/guardrails')).body.items.map(({ id }) => id);
const hitsOf = async (box: TestBox, ruleId: string) =>
  (await call<{ items: Body[] }>(box, `GET /api/guardrails/hits?ruleId=${ruleId}`)).body.items;
const start = (box: TestBox, name: string, input: unknown) =>
  call<Body & { details: Body }>(box, `POST /api/workflows/${name}/start`, input);
const send = (box: TestBox, method: string, path: string, body: unknown) =>
  box.request(path, json(body, { method })).then(async (answer) => ({
    status: answer.status,
    body: (await answer.json()) as Body & { items: Rule[] },
  }));
const ask = async (box: TestBox, model: string, content: unknown, more: Body = {}) => {
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model, messages: [{ role: 'user', content }], ...more }, { headers: { authorization: 'Bearer key' } }),
  );
  return { status: answer.status, body: (await answer.json()) as Body & { error: Body } };
};
const withEcho = (name: string, more: TestBoxOptions = {}) =>
  boxes.open({ workflows: { [name]: { run: (input: unknown) => input } }, ...more });

describe('rules', () => {
  test('are kept with their defaults, changed, ordered and deleted', async () => {
    const box = await boxes.open();
    const [first, second] = [await create(box, {}), await create(box, { action: 'mask', check: CARDS })];
    expect(first).toMatchObject({
      check: { kind: 'words', words: ['forbidden'], ignoreCase: true, wholeWord: true },
      attachment: { kind: 'workspace', name: '' },
      enabled: true,
      failClosed: true,
      createdBy: 'owner',
    });
    const both = [first.id, second.id];
    const ordered = async () => (await list(box)).filter((id) => both.includes(id));
    expect(await ordered()).toEqual(both);
    const { body } = await send(box, 'PUT', '/api/guardrails/order', { ids: [second.id] });
    expect(body.items[0]).toMatchObject({ id: second.id, order: 1 });
    expect(await ordered()).toEqual([second.id, first.id]);
    const changed = await send(box, 'PATCH', `/api/guardrails/${first.id}`, { enabled: false, note: 'for now' });
    expect(changed.body).toMatchObject({ enabled: false, note: 'for now', name: first.name });
    expect((await call(box, `GET /api/guardrails/${first.id}`)).body).toMatchObject({ enabled: false, hits: [] });
    for (const id of both) expect((await send(box, 'DELETE', `/api/guardrails/${id}`, {})).status).toBe(200);
    expect(await ordered()).toEqual([]);
    expect(await send(box, 'DELETE', `/api/guardrails/${first.id}`, {})).toMatchObject({
      status: 404,
      body: { code: 'guardrail_not_found' },
    });
  });

  test('of one name are one', async () => {
    const box = await boxes.open();
    const { name, id } = await create(box, {});
    const other = await create(box, {});
    const again = { name, check: WORDS, sides: ['agent-input'], action: 'block' };
    const taken = { status: 409, body: { code: 'guardrail_exists', details: { name } } };
    expect(await send(box, 'POST', '/api/guardrails', again)).toMatchObject(taken);
    expect(await send(box, 'PATCH', `/api/guardrails/${other.id}`, { name })).toMatchObject(taken);
    for (const rule of [id, other.id]) await send(box, 'DELETE', `/api/guardrails/${rule}`, {});
  });

  test.each([
    ['a pattern that is none', { check: { kind: 'regex', pattern: '(' } }, 'check.pattern'],
    ['a pattern with a lookahead', { check: { kind: 'regex', pattern: 'a(?=b)' } }, 'check.pattern'],
    ['a schema that is none', { check: { kind: 'schema', schema: { type: 'nothing' } } }, 'check.schema'],
    [
      'a schema of which a part would be left out',
      { check: { kind: 'schema', schema: { not: { pattern: 'a(?=b)' } } } },
      'check.schema',
    ],
    ['a mask over what has no place', { check: { kind: 'length', max: 3 }, action: 'mask' }, 'action'],
    ['a length of nothing', { check: { kind: 'length' } }, 'check'],
    ['a side twice', { sides: ['agent-input', 'agent-input'] }, 'sides'],
    ['a workspace by name', { attachment: { kind: 'workspace', name: 'x' } }, 'attachment.name'],
    ['an unknown member', { colour: 'red' }, ''],
  ])('refuse %s, and say where', async (_, more, path) => {
    const box = await boxes.open();
    const rule = { name: newName(), check: WORDS, sides: ['agent-input'], action: 'block', ...more };
    const { status, body } = await send(box, 'POST', '/api/guardrails', rule);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(body.details)).toContain(path === '' ? 'colour' : `"${path.split('.').at(-1)}"`);
  });
});

describe('the input of a workflow', () => {
  test('is refused with the rule in the body, wherever the start comes from', async () => {
    const name = newName();
    const box = await withEcho(name, {
      workflows: {
        [name]: { run: (input: unknown) => input },
        outer: { run: () => svc.workflows.startAndWait(name, { text: 'forbidden' }) },
      },
    });
    const { id, name: rule } = await create(box, of('workflow', name));
    const refused = await start(box, name, { deep: [{ text: 'a Forbidden fruit' }] });
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'workflow_guardrail_blocked', details: { rule, ruleId: id, reason: 'word' } },
    });
    expect(refused.body.message).toContain(`"${rule}"`);
    expect(await runWorkflow(box, 'outer')).toMatchObject({
      status: 'failed',
      error: { code: 'workflow_guardrail_blocked' },
    });
    expect((await start(box, name, { text: 'allowed' })).status).toBe(202);
    expect(await hitsOf(box, id)).toMatchObject([
      { ruleName: rule, side: 'workflow-input', action: 'block', place: `workflow ${name}`, runId: null, count: 1 },
      { count: 1, isApplied: true },
    ]);
    expect((await call(box, 'GET /api/runs?name=' + name)).body.items).toHaveLength(1);
  });

  test('is masked before it is recorded', async () => {
    const name = newName();
    const box = await withEcho(name);
    const { id } = await create(box, { ...of('workflow', name), check: CARDS, action: 'mask' });
    const run = await finish(box, await startWorkflow(box, name, { pay: `with ${CARD}`, n: 4111111111111111 }));
    expect(run).toMatchObject({
      input: { pay: 'with [card]', n: '[card]' },
      output: { pay: 'with [card]', n: '[card]' },
    });
    expect(await hitsOf(box, id)).toMatchObject([{ action: 'mask', count: 2, reason: 'card' }]);
    expect(JSON.stringify(await hitsOf(box, id))).not.toContain('4111');
  });

  test('passes a rule that is disabled, audits, or is of another', async () => {
    const name = newName();
    const box = await withEcho(name);
    await create(box, { ...of('workflow', name), enabled: false });
    await create(box, of('workflow', 'other'));
    const { id } = await create(box, { ...of('workflow', name), action: 'audit' });
    expect((await start(box, name, { text: 'forbidden' })).status).toBe(202);
    expect(await hitsOf(box, id)).toMatchObject([{ action: 'audit', isApplied: true }]);
  });

  test('a change holds from the next start on', async () => {
    const name = newName();
    const box = await withEcho(name);
    const { id } = await create(box, of('workflow', name));
    const status = async () => (await start(box, name, { text: 'forbidden' })).status;
    expect(await status()).toBe(422);
    await send(box, 'PATCH', `/api/guardrails/${id}`, { enabled: false });
    expect(await status()).toBe(202);
    await send(box, 'PATCH', `/api/guardrails/${id}`, { enabled: true });
    expect(await status()).toBe(422);
  });

  test('rules are asked in their order, and the first that blocks is named', async () => {
    const name = newName();
    const box = await withEcho(name);
    const rules = [await create(box, of('workflow', name)), await create(box, of('workflow', name))];
    const named = async () => (await start(box, name, { text: 'forbidden' })).body.details.rule;
    expect(await named()).toBe(rules[0]?.name);
    await send(box, 'PUT', '/api/guardrails/order', { ids: [rules[1]?.id] });
    expect(await named()).toBe(rules[1]?.name);
  });
});

describe('what an agent is asked', () => {
  test('is refused before a turn begins', async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name }) } });
    const { id, name: rule } = await create(box, { ...of('agent', name), sides: ['agent-input'] });
    const { status, body } = await ask(box, name, 'say:forbidden');
    expect([status, body.error]).toMatchObject([422, { code: 'agent_guardrail_blocked' }]);
    expect(body.error.message).toContain(`"${rule}"`);
    expect((await call(box, `GET /api/runs?name=${name}`)).body.items).toEqual([]);
    expect(await hitsOf(box, id)).toMatchObject([{ place: `agent ${name}`, side: 'agent-input', runId: null }]);
    expect((await ask(box, name, 'say:fine')).status).toBe(200);
  });

  test('is judged wherever a request has it: in the name of who speaks, of a file, in a refusal, in what is expected', async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name }) } });
    await create(box, { ...of('agent', name), sides: ['agent-input'], check: CARDS, action: 'mask' });
    const value = 'ada@example.com';
    const messages = [
      { role: 'user', content: [{ type: 'file', file: { filename: `of ${value} is.pdf`, file_data: 'data:,' } }] },
      { role: 'assistant', content: [{ type: 'refusal', refusal: `Not ${value}.` }] },
      { role: 'user', name: value, content: 'say:ok' },
      { role: 'user', name: 'bob', content: 'say:ok' },
    ];
    const prediction = { type: 'content', content: [{ type: 'text', text: `To ${value}` }] };
    expect(await ask(box, name, '', { messages, prediction })).toMatchObject({ status: 200 });
    const sent = JSON.stringify(box.model.requests.at(-1));
    expect(sent).not.toContain(value);
    for (const kept of ['of [email] is.pdf', 'Not [email].', 'To [email]', '"name":"bob"'])
      expect(sent).toContain(kept);
    const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body;
    const run = JSON.stringify((await call(box, `GET /api/runs/${items[0]?.runId}`)).body);
    expect(run).toContain('of [email] is.pdf');
    expect(run).not.toContain(value);
  });

  test('reaches neither the model nor the journal where it is masked', async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name }) } });
    await create(box, { ...of('agent', name), sides: ['agent-input'], check: CARDS, action: 'mask' });
    const parts = [{ type: 'text', text: `say:pay ${CARD}` }];
    expect(await ask(box, name, parts)).toMatchObject({ body: { choices: [{ message: { content: 'pay [card]' } }] } });
    expect(JSON.stringify(box.model.requests.at(-1))).not.toContain('1111');
    const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body;
    const run = await call(box, `GET /api/runs/${items[0]?.runId}`);
    expect(JSON.stringify(run.body)).toContain('[card]');
    expect(JSON.stringify(run.body)).not.toContain('1111');
  });
});

describe('hits', () => {
  test('go when they are as old as log records may be', async () => {
    const name = newName();
    const { id } = await create(await boxes.open(), { ...of('workflow', name), action: 'audit' });
    const box = await withEcho(name, {
      options: { engine: { sweepMs: 20 }, retentionEveryMs: 1, logRetentionDays: () => 1e-9 },
    });
    expect((await start(box, name, { text: 'forbidden' })).status).toBe(202);
    await until(async () => (await hitsOf(box, id)).length === 0);
  });
});

describe('a dry run', () => {
  test('says what would come of a text, and records nothing', async () => {
    const box = await boxes.open();
    const name = newName();
    const mask = await create(box, { ...of('agent', name), sides: ['agent-output'], check: CARDS, action: 'mask' });
    const block = await create(box, { ...of('agent', name), sides: ['agent-output'] });
    const text = `pay ${CARD} forbidden`;
    const { body } = await call<Body & { hits: Body[] }>(box, 'POST /api/guardrails/test', { text, agent: name });
    expect(body).toMatchObject({ verdict: 'block', rule: block.name, text: null });
    expect(body.hits).toMatchObject([
      { ruleId: mask.id, action: 'mask', count: 1, reason: 'card' },
      { ruleId: block.id, action: 'block', count: 1 },
    ]);
    expect(await hitsOf(box, mask.id)).toEqual([]);
    const rule = { check: { kind: 'regex', pattern: 'p.y' }, action: 'mask' };
    expect((await call(box, 'POST /api/guardrails/test', { text, rule })).body).toMatchObject({
      verdict: 'mask',
      text: `[pattern] ${CARD} forbidden`,
      hits: [{ ruleId: null, ruleName: 'draft' }],
    });
    expect((await call(box, 'POST /api/guardrails/test', { text: 'x', agent: 'none' })).body).toMatchObject({
      verdict: 'pass',
      text: 'x',
      hits: [],
    });
  });
});

describe('while the store does not answer', () => {
  test('no start is let through, and none where there are no rules either', async () => {
    const name = newName();
    const { createDrizzle } = await import('../src/stores/drizzle.ts');
    const { BoxError } = await import('../src/errors.ts');
    const refuse = () => Promise.reject(new BoxError('store_unavailable', 'The database does not answer.'));
    const client = new Proxy({}, { get: () => refuse });
    const db = createDrizzle(client as never, Promise.resolve());
    const box = await withEcho(name, { options: { db, isBlank: () => false } });
    expect(await start(box, name, { text: 'fine' })).toMatchObject({
      status: 503,
      body: { code: 'store_unavailable' },
    });
  });
});

describeWhen(bothServers, 'guardrails on Postgres and Redis', (servers) => {
  test('a replica that hears of a rule judges by it at once', async () => {
    const name = newName();
    const open = createCluster(boxes, servers);
    const workflows = { [name]: { run: () => 1 } };
    const a = await open({ workflows, engine: WITHOUT_LOOKS });
    const b = await open({ workflows, engine: WITHOUT_LOOKS });
    expect((await start(b, name, { text: 'forbidden' })).status).toBe(202);
    const { id } = await create(a, of('workflow', name));
    await until(async () => (await start(b, name, { text: 'forbidden' })).status === 422, 20_000);
    await send(a, 'DELETE', `/api/guardrails/${id}`, {});
    await until(async () => (await start(b, name, { text: 'forbidden' })).status === 202, 20_000);
    const made = await Promise.all([1, 2, 3].map(() => send(a, 'POST', '/api/guardrails', sameName(name))));
    expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });
});

function sameName(name: string) {
  return { name, check: WORDS, sides: ['workflow-input'], action: 'block', ...of('workflow', name) };
}

describe('what an agent says', () => {
  const answer = (box: TestBox, name: string, content: string) =>
    ask(box, name, `say:${content}`).then(({ body }) => (body as unknown as { choices: Body[] }).choices[0]);
  const stream = async (box: TestBox, name: string, content: string) =>
    (
      await box.request(
        '/wire-a/v1/chat/completions',
        json(
          { model: name, stream: true, messages: [{ role: 'user', content }] },
          { headers: { authorization: 'Bearer key' } },
        ),
      )
    ).text();

  test('is masked for clients and in the journal, streamed or not', async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name }) } });
    await create(box, { ...of('agent', name), sides: ['agent-output'], check: CARDS, action: 'mask' });
    expect(await answer(box, name, `pay ${CARD} now`)).toMatchObject({ message: { content: 'pay [card] now' } });
    expect(await stream(box, name, `say:pay ${CARD} now`)).not.toContain('1111 1111');
    const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body;
    const { body } = await call<{ items: Body[] }>(box, `GET /api/runs/${items[0]?.runId}/steps`);
    expect(JSON.stringify(body.items.find(({ kind }) => kind === 'model')?.output)).toContain('pay [card] now');
  });

  test("ends with the wire's own word for refused content where a rule blocks it", async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name }) } });
    const { id } = await create(box, { ...of('agent', name), sides: ['agent-output'] });
    expect(await answer(box, name, 'that is forbidden here')).toMatchObject({
      message: { content: 'that is ' },
      finish_reason: 'content_filter',
    });
    const streamed = await stream(box, name, 'say:that is forbidden here');
    expect(streamed).toContain('"finish_reason":"content_filter"');
    expect(streamed).not.toMatch(/forbidden|here/);
    const other = await box.request(
      '/wire-b/v1/messages',
      json(
        { model: name, max_tokens: 100, messages: [{ role: 'user', content: 'say:it is forbidden' }] },
        { headers: { 'x-api-key': 'key' } },
      ),
    );
    expect(await other.json()).toMatchObject({ stop_reason: 'refusal', content: [{ type: 'text', text: 'it is ' }] });
    expect(await hitsOf(box, id)).toMatchObject([{ side: 'agent-output' }, { side: 'agent-output' }, {}]);
  });

  test('and what it calls and is answered: masked arguments run, a blocked call does not', async () => {
    const name = newName();
    const ran: unknown[] = [];
    const note = defineTool({
      description: 'Keep a note.',
      inputSchema: z.object({ text: z.string() }),
      execute: (input) => (ran.push(input), `kept for ada@example.com`),
    });
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name, tools: { note } }) } });
    const sides = ['tool-call', 'tool-result', 'agent-output'];
    await create(box, { ...of('agent', name), sides, check: CARDS, action: 'mask' });
    await create(box, { ...of('agent', name), sides: ['tool-call'] });
    const streamed = await stream(box, name, `tool:note ${JSON.stringify({ text: `pay ${CARD}` })}`);
    expect(ran).toEqual([{ text: 'pay [card]' }]);
    expect(streamed).not.toMatch(/1111|ada@/);
    expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('kept for [email]');
    const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body;
    const steps = await call(box, `GET /api/runs/${items[0]?.runId}/steps`);
    // What the caller itself wrote is no output of the agent.
    const own = JSON.stringify((steps.body.items as Body[]).map(({ output }) => output));
    expect(own).not.toMatch(/1111|ada@/);
    const twice = await stream(box, name, `tool:note {"text": "pay ${CARD}", "text": "nothing"}`);
    expect(ran.pop()).toEqual({ text: 'nothing' });
    expect(twice).not.toContain('1111');
    const blocked = await stream(box, name, `tool:note ${JSON.stringify({ text: 'forbidden' })}`);
    expect(blocked).toContain('"finish_reason":"content_filter"');
    expect(ran).toHaveLength(1);
  });

  describe('what a sub-agent answers', () => {
    const open = async (rule: Body) => {
      const name = newName();
      const lead = defineDeepAgent({ name, subagents: [{ name: 'child', description: 'Does it.' }] });
      const box = await boxes.open({ agents: { [name]: lead } });
      const { id } = await create(box, { ...of('agent', name), check: CARDS, ...rule });
      const task = JSON.stringify({ subagent_type: 'child', description: 'say:It is ada@example.com.' });
      await ask(box, name, `tool:task ${task}; say:Done.`);
      const last = box.model.requests.at(-1)?.messages.at(-1);
      const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body;
      const steps = await call<{ items: Body[] }>(box, `GET /api/runs/${items[0]?.runId}/steps`);
      // The task itself was written by the model above.
      const recorded = JSON.stringify(
        steps.body.items.filter(({ kind }) => kind !== 'model').map(({ output }) => output),
      );
      return { name, last, recorded, hits: await hitsOf(box, id) };
    };

    test.each([
      ['its output', 'agent-output', '/child'],
      ['a result of the agent above', 'tool-result', ''],
    ])('is judged as %s, and recorded there as it was judged', async (_, side, below) => {
      const { name, last, recorded, hits } = await open({ sides: [side], action: 'mask' });
      expect(last).toMatchObject({ role: 'tool', content: 'It is [email].' });
      expect(hits).toMatchObject([{ side, place: `agent ${name}${below}` }]);
      expect(recorded).not.toContain('ada@');
    });

    test('is withheld where a rule blocks results, and the turn goes on', async () => {
      const { last, recorded, hits } = await open({ sides: ['tool-result'], action: 'block' });
      expect(last).toMatchObject({ content: expect.stringMatching(/^The guardrail ".*" withholds this result\.$/) });
      expect(recorded).not.toContain('ada@');
      expect(hits).toMatchObject([{ side: 'tool-result', action: 'block' }]);
    });

    test.each([
      ['has begun', false],
      ['has carried on', true],
    ])('goes on as it was recorded where a box before %s the turn', async (_, isRestarted) => {
      const name = newName();
      let looks = 0;
      const execute = () => (++looks === 1 ? new Promise<string>(() => {}) : 'Seen.');
      const look = defineTool({ description: 'Looks.', inputSchema: z.object({}), execute });
      const lead = defineDeepAgent({ name, tools: { look }, subagents: [{ name: 'child', description: 'Does it.' }] });
      const box = await boxes.open({ agents: { [name]: lead } });
      const task = JSON.stringify({ subagent_type: 'child', description: 'say:I did it.' });
      const messages = [{ role: 'user', content: `tool:task ${task}; tool:look {}; say:Done.` }];
      const headers = { authorization: 'Bearer key', 'idempotency-key': name };
      const given = json({ model: name, messages }, { headers });
      const asked = Promise.resolve(box.request('/wire-a/v1/chat/completions', given)).catch(() => undefined);
      await until(() => looks === 1);
      const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}`)).body;
      const runId = String(items[0]?.runId);
      const { opener } = await findSqlite();
      await box.shut();
      await asked;
      const db = opener?.open(box.journalPath);
      if (!db) throw new Error('No SQLite.');
      // As that box has recorded it: the wait has the answer, and nothing of the task is behind it.
      const records = db
        .prepare<{ seq: number; step_id: string; output: string | null }>(
          'select seq, step_id, output from run_events where run_id = ? order by seq',
        )
        .all(runId);
      const find = (step: string) => {
        const found = records.find(({ step_id: id }) => id.startsWith(step));
        if (!found) throw new Error(`Nothing is recorded of "${step}".`);
        return found;
      };
      const write = (step: string, output: string) =>
        db.prepare('update run_events set output = ? where run_id = ? and seq = ?').run(output, runId, find(step).seq);
      const { answer: how, ...started } = decode(find('start ').output ?? '') as { runId: string; answer: string };
      write('start ', encode(isRestarted ? { ...started, answer: how } : started, ''));
      write('wait ', encode({ content: 'I did it.', finishReason: 'stop', steps: 1 }, ''));
      const { seq } = find('tool:task');
      db.prepare('delete from run_events where run_id = ? and seq = ?').run(runId, seq);
      for (const later of records.filter((record) => record.seq > seq))
        db.prepare('update run_events set seq = seq - 1, call = call - 1 where run_id = ? and seq = ?').run(
          runId,
          later.seq,
        );
      db.prepare('update runs set seq = seq - 1 where run_id = ?').run(runId);
      db.close();
      const again = await boxes.open({ agents: { [name]: lead }, journalPath: box.journalPath });
      expect(await finish(again, runId)).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      const told = again.model.requests.at(-1)?.messages ?? [];
      expect(told.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual(['I did it.', 'Seen.']);
    });
  });

  test('one that is kept with a check that cannot judge blocks, and says so in the list and with the start', async () => {
    const name = newName();
    const agents = { [name]: defineDeepAgent({ name }) };
    const box = await boxes.open({ agents });
    const check = { kind: 'schema', schema: { properties: { n: { type: 'number' } } } };
    const rule = await create(box, { ...of('agent', name), name, sides: ['agent-output'], check });
    const bad = { kind: 'schema' as const, schema: { unevaluatedProperties: false } };
    await boxes.db.update(guardrails).set({ check: bad }).where(eq(guardrails.id, rule.id));
    const again = await boxes.open({ agents });
    const said = () => again.logs.filter(({ level, message }) => level === 'error' && String(message).includes(name));
    await until(() => said().length > 0);
    const why = 'The schema is not understood: "unevaluatedProperties" is not known here';
    expect(said()).toMatchObject([
      {
        message: `The guardrail "${name}" cannot judge, and blocks all it is about. ${why}. Change its check, or switch it off.`,
        ruleId: rule.id,
      },
    ]);
    expect((await call(again, `GET /api/guardrails/${rule.id}`)).body).toMatchObject({ problem: why });
    const { items } = (await call<{ items: Body[] }>(again, 'GET /api/guardrails')).body;
    expect(items.find(({ id }) => id === rule.id)).toMatchObject({ problem: why });
    expect(await answer(again, name, '{}')).toMatchObject({ finish_reason: 'content_filter' });
    await send(again, 'PATCH', `/api/guardrails/${rule.id}`, { check });
    expect((await call(again, `GET /api/guardrails/${rule.id}`)).body).toMatchObject({ problem: null });
    expect(await answer(again, name, '{}')).toMatchObject({ finish_reason: 'stop' });
    expect(said()).toHaveLength(1);
  });

  test('what needs all of it is judged before any of it is sent', async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name }) } });
    const check = { kind: 'length', max: 10 };
    await create(box, { ...of('agent', name), sides: ['agent-output'], check });
    expect(await answer(box, name, 'short')).toMatchObject({ message: { content: 'short' }, finish_reason: 'stop' });
    expect(await answer(box, name, 'much longer than ten')).toMatchObject({ finish_reason: 'content_filter' });
    expect(await stream(box, name, 'say:much longer than ten')).not.toContain('much');
  });
});
