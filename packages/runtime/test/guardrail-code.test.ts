import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineGuardrail, defineTool } from '../src/index.ts';
import type { CheckSubject, GuardrailDefinition } from '../src/index.ts';
import { call, finish, json, setupBoxes, startWorkflow, toProgram, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

type Body = Record<string, unknown>;
interface Rule extends Body {
  id: string;
  name: string;
}

const boxes = setupBoxes();
const WORDS = { kind: 'words' as const, words: ['forbidden'] };
const TICKET = 'TK-904812';

/** Finds ticket numbers. */
const findTickets = ({ text }: CheckSubject) =>
  Array.from(text.matchAll(/TK-\d{6}/g), ({ index }) => ({ start: index, end: index + 9, label: 'ticket' }));
const tickets = (more: Partial<GuardrailDefinition> = {}) =>
  defineGuardrail({ sides: ['workflow-input'], action: 'mask', check: findTickets, ...more });
const betting = defineGuardrail({ sides: ['workflow-input'], action: 'block', check: WORDS, note: 'No betting.' });

const open = (guardrails: Record<string, unknown>, more: TestBoxOptions = {}) =>
  boxes.open({ workflows: { echo: { run: (input: unknown) => input } }, guardrails, ...more });
const list = async (box: TestBox) => (await call<{ items: Rule[] }>(box, 'GET /api/guardrails')).body.items;
const ruleOf = async (box: TestBox, name: string) => (await list(box)).find((rule) => rule.name === name) as Rule;
const start = (box: TestBox, input: unknown) => call<Body>(box, 'POST /api/workflows/echo/start', input);
const echo = async (box: TestBox, input: unknown) =>
  (await finish(box, await startWorkflow(box, 'echo', input))).output;
const send = async (box: TestBox, method: string, path: string, body: unknown) => {
  const answer = await box.request(path, json(body, { method }));
  return { status: answer.status, body: (await answer.json()) as Body & { message: string; items: Rule[] } };
};
const ask = async (box: TestBox, model: string, content: string) => {
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model, messages: [{ role: 'user', content }] }, { headers: { authorization: 'Bearer key' } }),
  );
  const body = (await answer.json()) as Body & { choices?: Body[] };
  return { status: answer.status, body, choice: body.choices?.[0] };
};
const withOther = async <T>(box: TestBox, more: Body, work: (rule: Rule) => Promise<T>): Promise<T> => {
  const rule = { name: 'stored', sides: ['workflow-input'], action: 'block', check: WORDS, ...more };
  const { status, body } = await call<Rule>(box, 'POST /api/guardrails', rule);
  expect([status, body]).toMatchObject([201, { origin: 'api', file: null }]);
  try {
    return await work(body);
  } finally {
    await box.request(`/api/guardrails/${body.id}`, { method: 'DELETE' });
  }
};

describe('a rule in a file', () => {
  test('judges like one that is data, is listed with its file, and keeps its id and its hits', async () => {
    const box = await open({ betting, tickets: tickets() });
    expect(await start(box, { text: 'a Forbidden fruit' })).toMatchObject({
      status: 422,
      body: { code: 'workflow_guardrail_blocked', details: { rule: 'betting', reason: 'word' } },
    });
    expect(await echo(box, { note: `see ${TICKET}`, [TICKET]: [1, TICKET] })).toEqual({
      note: 'see [ticket]',
      '[ticket]': [1, '[ticket]'],
    });
    const rule = await ruleOf(box, 'betting');
    expect(rule).toMatchObject({
      origin: 'code',
      file: 'guardrails/betting.guardrail.ts',
      problem: null,
      order: 1,
      note: 'No betting.',
      check: { kind: 'words', words: ['forbidden'], wholeWord: true },
      attachment: { kind: 'workspace' },
      failClosed: true,
      createdBy: 'code',
      createdAt: null,
    });
    expect(await ruleOf(box, 'tickets')).toMatchObject({ order: 2, check: { kind: 'code', timeoutMs: 5_000 } });
    const again = await box.restart();
    expect(await ruleOf(again, 'betting')).toMatchObject({ id: rule.id });
    const { body } = await call<{ hits: Body[] }>(again, `GET /api/guardrails/${rule.id}`);
    expect(body).toMatchObject({ name: 'betting', order: 1, hits: [{ ruleName: 'betting', action: 'block' }] });
    const hits = await call<{ items: Body[] }>(again, `GET /api/guardrails/hits`);
    expect(hits.body.items).toMatchObject([{ ruleName: 'tickets', count: 3, reason: 'ticket' }, {}]);
    expect(JSON.stringify(hits.body)).not.toContain('904812');
  });

  test('is changed by no call, which names its file', async () => {
    const box = await open({ betting });
    const { id } = await ruleOf(box, 'betting');
    const refused = { status: 409, body: { code: 'guardrail_in_code' } };
    const answers = [
      await send(box, 'PATCH', `/api/guardrails/${id}`, { enabled: false }),
      await send(box, 'DELETE', `/api/guardrails/${id}`, {}),
      await send(box, 'PUT', '/api/guardrails/order', { ids: [id] }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject(refused);
      expect(answer.body.message).toContain('"guardrails/betting.guardrail.ts"');
    }
    const same = { name: 'betting', sides: ['agent-input'], action: 'block', check: WORDS };
    expect(await send(box, 'POST', '/api/guardrails', same)).toMatchObject({
      status: 409,
      body: { code: 'guardrail_exists', details: { name: 'betting' } },
    });
    expect((await start(box, { text: 'forbidden' })).status).toBe(422);
  });

  test('is asked before those that are data, whatever order these are given', async () => {
    const box = await open({ betting });
    await withOther(box, {}, async ({ id }) => {
      const { body } = await send(box, 'PUT', '/api/guardrails/order', { ids: [id] });
      expect(body.items.map(({ name, order }) => [name, order])).toEqual([
        ['betting', 1],
        ['stored', 2],
      ]);
      expect(await start(box, { text: 'forbidden' })).toMatchObject({ body: { details: { rule: 'betting' } } });
      expect(await send(box, 'PATCH', `/api/guardrails/${id}`, { name: 'betting' })).toMatchObject({ status: 409 });
    });
  });

  test('is swapped with the program, and gone with its file', async () => {
    const box = await open({ betting });
    const program = { workflows: { echo: { run: (input: unknown) => input } } };
    await box.reload(toProgram({ ...program, guardrails: { betting: tickets({ action: 'block' }) } }));
    expect((await start(box, { text: 'forbidden' })).status).toBe(202);
    expect((await start(box, { text: TICKET })).status).toBe(422);
    await box.reload(toProgram(program));
    expect((await start(box, { text: TICKET })).status).toBe(202);
    expect(await list(box)).toEqual([]);
  });

  test('that does not load keeps its last good version, and blocks all where there is none', async () => {
    const broken = new Error('MODEL_WORDS is missing.');
    const box = await open({ betting });
    const program = { workflows: { echo: { run: (input: unknown) => input } } };
    await box.reload(toProgram({ ...program, guardrails: { betting: broken } }));
    expect((await start(box, { text: 'fine' })).status).toBe(202);
    expect((await start(box, { text: 'forbidden' })).status).toBe(422);
    expect(await ruleOf(box, 'betting')).toMatchObject({ problem: 'MODEL_WORDS is missing.', check: WORDS });
    expect(box.problems()).toMatchObject([{ file: 'guardrails/betting.guardrail.ts' }]);
    const fresh = await open({ betting: broken });
    expect(await start(fresh, { text: 'fine' })).toMatchObject({
      status: 422,
      body: {
        code: 'workflow_guardrail_blocked',
        details: { rule: 'betting', reason: 'The check failed: "guardrails/betting.guardrail.ts" does not load' },
      },
    });
    await fresh.reload(toProgram({ ...program, guardrails: { betting } }));
    expect((await start(fresh, { text: 'fine' })).status).toBe(202);
  });

  test.each([
    ['another name', { name: 'other' }, 'is named "other"'],
    ['a mask over what has no place', { check: { kind: 'injection' } }, 'finds no place'],
    ['a member that is none', { colour: 'red' }, 'colour'],
    ['no time', { timeout: 0 }, 'timeout is 0'],
    ['time for what is data', { check: WORDS, timeout: '1s' }, '"timeout" is for a check that is a function'],
    ['a pattern that is none', { check: { kind: 'regex', pattern: '(' } }, 'check.pattern'],
    [
      'a schema that is not understood',
      { action: 'block', check: { kind: 'schema', schema: { unevaluatedProperties: false } } },
      'check.schema: The schema is not understood: "unevaluatedProperties" is not known here.',
    ],
  ])('with %s is no rule, and says so', async (_, more, message) => {
    const define = () => tickets(more as Partial<GuardrailDefinition>);
    let made: unknown;
    try {
      made = define();
    } catch (error) {
      made = error;
    }
    const box = await open({ tickets: made });
    const [problem] = box.problems();
    expect(problem).toMatchObject({ file: 'guardrails/tickets.guardrail.ts' });
    expect(problem?.message).toContain(message);
  });
});

describe("a check of the workspace's own", () => {
  test('is asked with whose text it is, and says why all of it is a hit', async () => {
    const asked: unknown[] = [];
    const check = ({ signal, ...subject }: CheckSubject) => {
      asked.push({ ...subject, isAborted: signal.aborted });
      return subject.text.includes('forbidden') ? { reason: 'words' } : undefined;
    };
    const sides = ['workflow-input', 'agent-input', 'agent-output', 'tool-call', 'tool-result'] as const;
    const note = defineTool({
      description: 'Keep a note.',
      inputSchema: z.object({ text: z.string() }),
      execute: () => 'kept',
    });
    const agents = { helper: defineDeepAgent({ name: 'helper', tools: { note } }) };
    const box = await open({ own: defineGuardrail({ sides, action: 'block', check }) }, { agents });
    expect((await start(box, { deep: [{ n: 5 }] })).status).toBe(202);
    expect(await ask(box, 'helper', 'tool:note {"text":"a"}; say:Done.')).toMatchObject({
      choice: { message: { content: 'Done.' } },
    });
    const none = { agent: null, workflow: null, tool: null, isAborted: false };
    const ofHelper = { ...none, agent: 'helper' };
    expect(asked).toEqual([
      { ...none, workflow: 'echo', side: 'workflow-input', text: 'deep\nn\n5', value: { deep: [{ n: 5 }] } },
      { ...ofHelper, side: 'agent-input', text: 'tool:note {"text":"a"}; say:Done.' },
      { ...ofHelper, side: 'tool-call', tool: 'note', text: 'text\na', value: { text: 'a' } },
      { ...ofHelper, side: 'tool-result', tool: 'note', text: 'kept' },
      { ...ofHelper, side: 'agent-output', text: 'Done.' },
    ]);
    expect(await ask(box, 'helper', 'say:forbidden')).toMatchObject({ status: 422 });
    expect(await start(box, ['forbidden'])).toMatchObject({ body: { details: { rule: 'own', reason: 'words' } } });
  });

  test('cannot change what it is asked about', async () => {
    const check = ({ value }: CheckSubject) => void Object.assign(value as object, { text: 'changed' });
    const box = await open({ own: tickets({ check }) });
    expect(await echo(box, { text: 'as sent' })).toEqual({ text: 'as sent' });
  });

  test.each([
    ['throws', () => Promise.reject(new SyntaxError(`${TICKET} is no JSON`)), /SyntaxError in guardrails\/own/],
    ['does not answer', () => new Promise<undefined>(() => {}), /no answer within 50 ms/],
    ['names a place beyond the text', () => [{ start: 0, end: 99 }], /not within the text/],
    ['names a place with a label that is a text', () => [{ start: 0, end: 1, label: `[${TICKET}]` }], /a label/],
    ['names too many places', () => Array.from({ length: 10_001 }, () => ({ start: 0, end: 1 })), /more than 10000/],
    ['answers yes', () => true as never, /neither a reason nor a list/],
    ['names no place to mask', () => 'why', /names no place that could be masked/],
  ])('that %s blocks, in words that do not quote the text, or lets pass where it may', async (_, check, reason) => {
    const box = await open({ own: tickets({ check, timeout: 50 }) });
    const { status, body } = await start(box, { text: TICKET });
    expect([status, body]).toMatchObject([422, { details: { rule: 'own', reason: expect.stringMatching(reason) } }]);
    expect(JSON.stringify([body, box.logs])).not.toContain('904812');
    const open_ = await open({ own: tickets({ check, timeout: 50, failClosed: false }) });
    expect(await echo(open_, { text: TICKET })).toEqual({ text: TICKET });
    const { body: hits } = await call<{ items: Body[] }>(open_, 'GET /api/guardrails/hits?limit=1');
    expect(hits.items).toMatchObject([{ isApplied: false, reason: expect.stringMatching(reason) }]);
  });

  test('masks older messages of a conversation, and judges all of the new ones', async () => {
    const agents = { helper: defineDeepAgent({ name: 'helper' }) };
    const sides = ['agent-input'] as const;
    const check = ({ text }: CheckSubject) => (text.includes('forbidden') ? 'words' : undefined);
    const rules = { own: defineGuardrail({ sides, action: 'block', check }), tickets: tickets({ sides }) };
    const box = await open(rules, { agents });
    const messages = [
      { role: 'user', content: `forbidden ${TICKET}` },
      { role: 'assistant', content: 'no' },
      { role: 'user', content: 'say:fine' },
    ];
    const init = json({ model: 'helper', messages }, { headers: { authorization: 'Bearer key' } });
    expect((await box.request('/wire-a/v1/chat/completions', init)).status).toBe(200);
    expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('forbidden [ticket]');
  });

  test('finds its places beside those that rules of data find', async () => {
    const box = await open({ tickets: tickets() });
    const card = '4111 1111 1111 1111';
    await withOther(box, { action: 'mask', check: { kind: 'pii', kinds: ['card'] } }, async () => {
      expect(await echo(box, { a: `${TICKET} ${card} ${TICKET}` })).toEqual({ a: '[ticket] [card] [ticket]' });
    });
  });
});

describe('rules beside an agent', () => {
  const guardrails = [{ name: 'tickets', sides: ['agent-input', 'agent-output'], action: 'mask', check: findTickets }];
  const define = (name: string, more: object = { guardrails }) => defineDeepAgent({ name, ...more } as never);

  test('are of that agent and its sub-agents alone, and are called by its name', async () => {
    const agents = { helper: define('helper'), other: define('other', {}) };
    const box = await open({}, { agents });
    expect(await list(box)).toMatchObject([
      {
        name: 'helper/tickets',
        origin: 'code',
        file: 'deep-agents/helper/index.ts',
        attachment: { kind: 'agent', name: 'helper' },
      },
    ]);
    expect(await ask(box, 'helper', `say:see ${TICKET}`)).toMatchObject({
      choice: { message: { content: 'see [ticket]' } },
    });
    expect(await ask(box, 'other', `say:see ${TICKET}`)).toMatchObject({
      choice: { message: { content: `see ${TICKET}` } },
    });
    await box.reload(toProgram({ agents: { ...agents, helper: define('helper', {}) } }));
    expect(await list(box)).toEqual([]);
  });

  test.each([
    ['no name', [{ ...guardrails[0], name: undefined }], 'has no name'],
    ['one name twice', [guardrails[0], guardrails[0]], 'Two guardrails are named "tickets"'],
    ['an attachment', [{ ...guardrails[0], attachment: { kind: 'workspace' } }], 'has an attachment'],
    ['the input of workflows', [{ ...guardrails[0], sides: ['workflow-input'] }], 'which no agent has'],
    ['no list', guardrails[0], 'guardrails is no list'],
    [
      'a schema that is not understood',
      [{ name: 'x', sides: ['tool-call'], action: 'block', check: { kind: 'schema', schema: { multipleOf: 0 } } }],
      'guardrails[0]: check.schema: The schema is not understood: "multipleOf" has to be a number above 0.',
    ],
  ])('with %s are refused where the agent is declared', (_, rules, message) => {
    expect(() => define('helper', { guardrails: rules })).toThrow(message);
  });

  test('may hold calls of its tools', async () => {
    const ran: unknown[] = [];
    const refund = defineTool({
      description: 'Refund.',
      inputSchema: z.object({ amount: z.number() }),
      execute: (input) => ran.push(input),
    });
    const large = {
      name: 'large',
      sides: ['tool-call'],
      action: 'hold',
      check: ({ tool, value }: CheckSubject) =>
        tool === 'refund' && (value as { amount: number }).amount > 100 ? 'a large amount' : undefined,
    };
    const agents = { helper: define('helper', { tools: { refund }, guardrails: [large] }) };
    const box = await open({}, { agents });
    await ask(box, 'helper', 'tool:refund {"amount":5}; say:Done.');
    expect(ran).toEqual([{ amount: 5 }]);
    const asked = ask(box, 'helper', 'tool:refund {"amount":500}; say:Done.');
    const pending = async () =>
      (await call<{ items: Body[] }>(box, 'GET /api/approvals?status=pending&source=guardrail')).body.items;
    await until(async () => (await pending()).length === 1);
    const [{ approvalId, description } = {}] = await pending();
    expect(description).toBe('The guardrail "helper/large" holds this call.');
    await call(box, `POST /api/approvals/${String(approvalId)}/decide`, { decision: 'approve' });
    await until(() => ran.length === 2);
    await asked;
  });
});

test('a dry run asks rules in code, and names them', async () => {
  const box = await open({ tickets: tickets({ sides: ['agent-output'] }) });
  const { id } = await ruleOf(box, 'tickets');
  expect((await call(box, 'POST /api/guardrails/test', { text: `see ${TICKET}` })).body).toMatchObject({
    verdict: 'mask',
    text: 'see [ticket]',
    hits: [{ ruleId: id, ruleName: 'tickets', action: 'mask', count: 1, reason: 'ticket' }],
  });
});
