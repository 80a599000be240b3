import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/index.ts';
import type { GuardrailDefinition } from '../src/index.ts';
import { call, json, setupBoxes, startProvider, toModelStream } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Body = Record<string, unknown>;

const boxes = setupBoxes();
const VALUE = 'ACME-739215';
/** At the beginning of a line, in JSON: no word begins there as it is written. */
const WRITTEN = String.raw`{"note": "It is\nACME-739215", "id": 12345678901234567890}`;
const CHECK = { kind: 'regex', pattern: String.raw`\bACME-\d{6}\b` } as const;
const inCode: GuardrailDefinition['check'] = ({ text }) =>
  Array.from(text.matchAll(/\bACME-\d{6}\b/g), ({ index }) => ({ start: index, end: index + VALUE.length }));

let names = 0;
/** What the model says next, by what it is asked. */
let reply: (asked: string) => object[] = () => [{ content: 'end' }];

const says = (content: string): object[] => [
  { reasoning_content: 'Hm.' },
  ...cut(content).map((text) => ({ content: text })),
];
const calls = (name: string, args: object): object[] => [
  {
    tool_calls: [
      { index: 0, id: `c${++names}`, type: 'function', function: { name, arguments: JSON.stringify(args) } },
    ],
  },
];

async function openBox(agents: Record<string, ReturnType<typeof defineDeepAgent>>): Promise<TestBox> {
  const provider = await startProvider((response, asked) => {
    const deltas = reply(JSON.stringify(asked));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream(deltas, JSON.stringify(deltas).includes('tool_calls') ? 'tool_calls' : 'stop'));
  });
  return boxes.open({ agents, provider: { baseUrl: provider.url } });
}
async function ask(box: TestBox, agent: string, more: Body = {}): Promise<string> {
  const body = { model: agent, messages: [{ role: 'user', content: 'go' }], ...more };
  const headers = { authorization: 'Bearer dev' };
  return (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
}

/** All there is of the runs of an agent. */
async function recordsOf(box: TestBox, agent: string): Promise<{ runIds: string[]; text: string }> {
  const { items } = (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${encodeURIComponent(agent)}`))
    .body;
  const parts = await Promise.all(
    items.flatMap(({ runId }) => [call(box, `GET /api/runs/${runId}`), call(box, `GET /api/runs/${runId}/steps`)]),
  );
  return { runIds: items.map(({ runId }) => runId), text: JSON.stringify(parts.map(({ body }) => body)) };
}

const hitsOf = async (box: TestBox, rule: string) =>
  (await call<{ items: Body[] }>(box, 'GET /api/guardrails/hits?limit=100')).body.items.filter(
    ({ ruleName }) => ruleName === rule,
  );

async function addRule(box: TestBox, agent: string, more: Body): Promise<string> {
  const name = `answers-${++names}`;
  const rule = { name, attachment: { kind: 'agent', name: agent }, check: CHECK, action: 'mask', ...more };
  expect((await call(box, 'POST /api/guardrails', rule)).status).toBe(201);
  return name;
}

describe('what a sub-agent says that the turn above may not read', () => {
  const open = async (output: boolean, guardrails: GuardrailDefinition[] = []) => {
    const agent = `lead-${++names}`;
    const other = `other-${names}`;
    const lead = defineDeepAgent({
      name: agent,
      subagents: [{ name: 'child', description: 'Does it.' }, other],
      guardrails,
    });
    const schema = z.object({ note: z.string(), id: z.number() });
    const box = await openBox({
      [agent]: lead,
      [other]: defineDeepAgent({ name: other, ...(output ? { output: schema } : {}) }),
    });
    return { box, agent, other };
  };
  const hand = (to: string, answer: string): void => {
    reply = (asked) => {
      if (asked.includes('"role":"tool"')) return says('Done.');
      const description = 'do it for me';
      return asked.includes(description) ? says(answer) : calls('task', { subagent_type: to, description });
    };
  };

  test.each([
    ['text', 'child', `It is ${VALUE}, yes.`, false],
    ['text that is JSON', 'child', WRITTEN, false],
    ['an answer by a schema of an agent of its own', 'other', WRITTEN, true],
    ['JSON in a code block', 'other', '```json\n' + WRITTEN + '\n```', true],
  ])('is masked in its own run, too: %s', async (_, to, answer, hasOutput) => {
    const { box, agent, other } = await open(hasOutput);
    const rule = await addRule(box, agent, { sides: ['tool-result'] });
    const below = to === 'child' ? `${agent}/child` : other;
    hand(to === 'child' ? 'child' : other, answer);
    expect(await ask(box, agent, { stream: true })).toContain('[DONE]');
    const [own, above] = [await recordsOf(box, below), await recordsOf(box, agent)];
    expect(own.runIds).toHaveLength(1);
    expect(own.text).toContain('[pattern]');
    expect(own.text).not.toContain(VALUE);
    expect(above.text).not.toContain(VALUE);
    const runId = String(own.runIds[0]);
    // Of no turn that is the agent's own.
    expect(await hitsOf(box, rule)).toMatchObject([{ side: 'tool-result', place: `agent ${agent}`, runId, count: 1 }]);
    if (to === 'child') return;
    hand('none', 'end');
    reply = () => says(answer);
    expect(await ask(box, other)).toContain(VALUE);
  });

  test('is asked of a check in code as the result it becomes', async () => {
    const asked: Body[] = [];
    const check: GuardrailDefinition['check'] = (subject) => {
      const { side, agent, tool, value } = subject;
      asked.push({ side, agent, tool, value });
      return inCode(subject);
    };
    const { box, agent } = await open(false, [{ name: 'own', sides: ['tool-result'], action: 'mask', check }]);
    hand('child', WRITTEN);
    await ask(box, agent);
    const { text } = await recordsOf(box, `${agent}/child`);
    expect(text).toContain('[found]');
    expect(text).not.toContain(VALUE);
    const value = { note: `It is\n${VALUE}` };
    expect(asked.find((one) => (one.value as Body | undefined)?.note === value.note)).toMatchObject({
      side: 'tool-result',
      agent,
      tool: 'task',
      value,
    });
  });

  test('is left to the turn above where its rule blocks, holds or only audits', async () => {
    for (const action of ['block', 'audit']) {
      const { box, agent } = await open(false);
      const rule = await addRule(box, agent, { sides: ['tool-result'], action });
      hand('child', `It is ${VALUE}.`);
      await ask(box, agent);
      const [{ text }, { runIds }] = [await recordsOf(box, `${agent}/child`), await recordsOf(box, agent)];
      expect(text).toContain(VALUE);
      expect(await hitsOf(box, rule)).toMatchObject([{ action, runId: runIds[0] }]);
    }
  });

  test('is found again by a dry run on its run', async () => {
    const { box, agent } = await open(false);
    hand('child', `It is ${VALUE}.`);
    await ask(box, agent);
    const [runId] = (await recordsOf(box, `${agent}/child`)).runIds;
    const rule = await addRule(box, agent, { sides: ['tool-result'] });
    type Tried = { runs: { places: { side: string; hits: Body[] }[] }[] };
    const { body } = await call<Tried>(box, 'POST /api/guardrails/test', { runId });
    const found = body.runs.flatMap(({ places }) => places).filter(({ hits }) => hits.length > 0);
    expect(found).toMatchObject([{ side: 'tool-result', verdict: 'mask', hits: [{ ruleName: rule }] }]);
  });
});

describe('an answer that is JSON', () => {
  const schema = z.object({ note: z.string(), id: z.number() });

  test.each([
    ['a rule', false, {}],
    ['a rule', false, { output: schema }],
    ['a rule', false, { output: schema, streamOutput: true }],
    ['a rule in code', true, { output: schema }],
    ['a rule in code', true, {}],
  ])('is masked by %s as the values it is read as, in code: %j, agent: %j', async (_, isInCode, definition) => {
    const agent = `json-${++names}`;
    const check = isInCode ? inCode : CHECK;
    const guardrails: GuardrailDefinition[] = [{ name: 'own', sides: ['agent-output'], action: 'mask', check }];
    const box = await openBox({ [agent]: defineDeepAgent({ name: agent, guardrails, ...definition }) });
    for (const stream of [false, true]) {
      reply = () => says(WRITTEN);
      const answered = await ask(box, agent, { stream });
      expect(answered).toMatch(/\[(pattern|found)\]/);
      expect(answered).not.toContain(VALUE);
    }
    const { text } = await recordsOf(box, agent);
    expect(text).not.toContain(VALUE);
  });

  test('stays as it is written where nothing is found, and a value that no one reads is left out', async () => {
    const agent = `json-${++names}`;
    const check = inCode;
    const guardrails: GuardrailDefinition[] = [{ name: 'own', sides: ['agent-output'], action: 'mask', check }];
    const box = await openBox({ [agent]: defineDeepAgent({ name: agent, guardrails }) });
    const said = async (content: string): Promise<unknown> => {
      reply = () => says(content);
      return (JSON.parse(await ask(box, agent)) as { choices: { message: { content: string } }[] }).choices[0]?.message
        .content;
    };
    const plain = '{ "id":12345678901234567890,\n "n": [1.0] }';
    expect(await said(plain)).toBe(plain);
    expect(await said(`{"n": "${VALUE}", "n": "no"}`)).toBe('{"n":"no"}');
    expect(await said(`[1] It is ${VALUE}`)).toBe('[1] It is [found]');
    expect(await said(`"${VALUE}" she said`)).toBe('"[found]" she said');
    expect(await said(`"It is\\n${VALUE}"`)).toBe(String.raw`"It is\n[found]"`);
  });

  test('is judged so by a dry run, too', async () => {
    const box = await openBox({});
    const verdicts = await Promise.all(
      ['agent-output', 'tool-result'].map((side) =>
        call(box, 'POST /api/guardrails/test', { text: WRITTEN, side, rule: { check: CHECK, action: 'mask' } }),
      ),
    );
    for (const { body } of verdicts)
      expect(body).toMatchObject({ verdict: 'mask', text: expect.stringContaining('[pattern]'), hits: [{ count: 1 }] });
  });

  test('is blocked or held before any of it is sent', async () => {
    const agent = `json-${++names}`;
    const box = await openBox({ [agent]: defineDeepAgent({ name: agent }) });
    await addRule(box, agent, { sides: ['agent-output'], action: 'block' });
    reply = () => says(WRITTEN);
    const answered = await ask(box, agent, { stream: true });
    expect(answered).toContain('"finish_reason":"content_filter"');
    expect(answered).not.toContain('note');
  });

  test('goes on as it comes where it turns out to be none', async () => {
    const agent = `json-${++names}`;
    const box = await openBox({ [agent]: defineDeepAgent({ name: agent }) });
    await addRule(box, agent, { sides: ['agent-output'] });
    reply = () => says('[Yes](https://example.com), it is.');
    const answered = await ask(box, agent, { stream: true });
    expect(answered.match(/"content"/g)?.length).toBeGreaterThan(3);
  });
});

function cut(text: string): string[] {
  return text.match(/[^]{1,3}/g) ?? [];
}
