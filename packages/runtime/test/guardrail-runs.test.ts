import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { describeWhen } from './require.ts';
import { call, finish, json, setupBoxes, startWorkflow, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

type Body = Record<string, unknown>;

interface Hit extends Body {
  ruleName: string;
}
interface Answer extends Body {
  runs: { runId: string; judged: number; places: { side: string; step: number | null; hits: Hit[] }[] }[];
  nextCursor: string | null;
}

const boxes = setupBoxes();
const shared = boxes.share();
const SIDES = ['agent-input', 'agent-output', 'tool-call', 'tool-result'];
const WORDS = { kind: 'words', words: ['falcon'] };
let names = 0;
const newName = () => `recorded-${++names}`;

const note = defineTool({
  description: 'Keep a note.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => `kept ${text}`,
});
const toOptions = (name: string): TestBoxOptions => ({
  agents: { [name]: defineDeepAgent({ name, tools: { note } }) },
  workflows: { [name]: { run: (input: unknown) => input } },
});
const ask = async (box: TestBox, model: string, content: string) => {
  const body = { model, messages: [{ role: 'user', content }] };
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json(body, { headers: { authorization: 'Bearer k' } }),
  );
  expect([answer.status, await answer.text()]).toMatchObject([200, expect.stringContaining('choices')]);
};
const runsOf = async (box: TestBox, name: string) =>
  (await call<{ items: { runId: string }[] }>(box, `GET /api/runs?name=${name}&kind=agent`)).body.items.map(
    ({ runId }) => runId,
  );
const addRule = async (box: TestBox, name: string, more: Body = {}) => {
  const rule = { name: newName(), check: WORDS, sides: SIDES, action: 'block', attachment: { kind: 'agent', name } };
  const { status, body } = await call<{ id: string; name: string }>(box, 'POST /api/guardrails', { ...rule, ...more });
  expect(status).toBe(201);
  onTestFinished(async () => void (await box.request(`/api/guardrails/${body.id}`, { method: 'DELETE' })));
  return body;
};
const tryOn = (box: TestBox, body: Body, headers?: Record<string, string>) =>
  call<Answer>(box, 'POST /api/guardrails/test', body, headers);
const NOTE = `tool:note ${JSON.stringify({ text: 'a falcon' })}`;

describe('a dry run on a turn whose texts have waited', () => {
  const decide = async (box: TestBox, decision: 'approve' | 'reject') => {
    const list = () =>
      call<{ items: { approvalId: string; runId: string }[] }>(box, 'GET /api/approvals?status=pending');
    let one: { approvalId: string; runId: string } | undefined;
    await until(async () => ([one] = (await list()).body.items) !== undefined && one !== undefined);
    await call(box, `POST /api/approvals/${one?.approvalId}/decide`, { decision });
    return finish(box, one?.runId ?? '');
  };
  const askIn = async (box: TestBox, model: string, content: string) => {
    const headers = { authorization: 'Bearer k', 'x-svc-session': newName() };
    const body = { model, messages: [{ role: 'user', content }] };
    await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
  };

  test.each(['approve', 'reject'] as const)('judges a result once, and no words of the box: %s', async (decision) => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    const hold = await addRule(box, name, { action: 'hold', sides: ['tool-result'] });
    await askIn(box, name, `${NOTE}; say:Done.`);
    const { runId } = await decide(box, decision);
    const { body } = await tryOn(box, { runId });
    expect(body.runs[0]?.places.filter(({ side }) => side === 'tool-result')).toMatchObject([
      { verdict: 'hold', hits: [{ ruleName: hold.name }] },
    ]);
    expect(body.runs[0]?.judged).toBe(1);
  });

  test('asks no rule about the refusal of a call', async () => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    await addRule(box, name, { action: 'hold', sides: ['tool-call'] });
    await askIn(box, name, `${NOTE}; say:Done.`);
    const { runId } = await decide(box, 'reject');
    const check = { kind: 'words', words: ['rejected'] };
    const { body } = await tryOn(box, { runId, side: 'tool-result', rule: { check, action: 'block' } });
    expect(body.runs[0]).toMatchObject({ runId, places: [] });
  });

  test('judges a reply whole, though it is recorded as what was said and the rest', async () => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    await addRule(box, name, { action: 'hold', sides: ['agent-output'] });
    await askIn(box, name, 'say:It is a falcon and more.');
    const { runId } = await decide(box, 'approve');
    const check = { kind: 'regex', pattern: 'is a falcon and m' };
    const { body } = await tryOn(box, { runId, side: 'agent-output', rule: { check, action: 'block' } });
    expect(body.runs[0]?.places).toMatchObject([{ side: 'agent-output', verdict: 'block' }]);
  });
});

describe('a dry run on a recorded turn', () => {
  test('says what each rule would have done at each place, without the text, and records nothing', async () => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    await ask(box, name, NOTE);
    const [runId = ''] = await runsOf(box, name);
    const steps = await call<{ items: { call: number; kind: string }[] }>(box, `GET /api/runs/${runId}/steps`);
    const [first, tool] = steps.body.items.filter(({ kind }) => kind === 'model' || kind === 'tool');
    const before = await call(box, `GET /api/runs/${runId}`);
    const hold = await addRule(box, name, {
      sides: ['tool-call'],
      action: 'hold',
      check: { kind: 'regex', pattern: 'a f.l' },
    });
    const mask = await addRule(box, name, { action: 'mask' });
    const block = await addRule(box, name, { sides: ['tool-result'] });

    const { status, body } = await tryOn(box, { runId });
    expect(status).toBe(200);
    expect(body).toMatchObject({ verdict: 'block', rule: block.name, text: null, nextCursor: null });
    const [run] = body.runs;
    expect(run).toMatchObject({ runId, kind: 'agent', name, verdict: 'block', problem: null });
    expect(run?.places.slice(0, 3)).toMatchObject([
      { side: 'agent-input', step: null, verdict: 'mask', hits: [{ ruleId: mask.id, action: 'mask', count: 1 }] },
      {
        side: 'tool-call',
        step: first?.call,
        tools: ['note'],
        verdict: 'hold',
        hits: expect.arrayContaining([
          expect.objectContaining({ ruleId: hold.id, action: 'hold', isApplied: true }),
          expect.objectContaining({ ruleId: mask.id, action: 'mask' }),
        ]) as unknown,
      },
      { side: 'tool-result', step: tool?.call, tools: ['note'], verdict: 'block' },
    ]);
    expect(run?.judged).toBeGreaterThanOrEqual(4);
    expect((body.hits as Hit[]).map(({ ruleName }) => ruleName).sort()).toEqual(
      [hold, mask, block].map((rule) => rule.name).sort(),
    );
    expect(JSON.stringify(body)).not.toContain('falcon');
    // Nothing has happened to the run, and no hit is recorded.
    expect(await call(box, `GET /api/runs/${runId}`)).toEqual(before);
    expect((await call(box, `GET /api/runs/${runId}/steps`)).body).toEqual(steps.body);
    for (const { id } of [hold, mask, block])
      expect((await call(box, `GET /api/guardrails/hits?ruleId=${id}`)).body.items).toEqual([]);
  });

  test('tries a rule that is not kept, on one side alone where it is named', async () => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    await ask(box, name, NOTE);
    const [runId] = await runsOf(box, name);
    const rule = { check: WORDS, action: 'audit' };
    const all = await tryOn(box, { runId, rule });
    expect(all.body).toMatchObject({ verdict: 'pass', rule: null, hits: [{ ruleId: null, ruleName: 'draft' }] });
    expect(all.body.runs[0]?.places.map(({ side }) => side)).toEqual(
      expect.arrayContaining(SIDES.filter((side) => side !== 'agent-output')),
    );
    const one = await tryOn(box, { runId, rule, side: 'tool-result' });
    expect(one.body.runs[0]?.places.map(({ side }) => side)).toEqual(['tool-result']);
    const held = await tryOn(box, { runId, rule: { check: WORDS, action: 'hold' } });
    expect(held.body).toMatchObject({ verdict: 'hold', rule: 'draft' });
    const places = ({ body }: typeof held) => body.runs[0]?.places.map(({ side, step }) => ({ side, step }));
    expect(places(held)).toEqual(places(all));
  });

  test('judges a workflow by its input', async () => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    const runId = await startWorkflow(box, name, { deep: [{ bird: 'a falcon' }] });
    await finish(box, runId);
    const rule = await addRule(box, name, { sides: ['workflow-input'], attachment: { kind: 'workflow', name } });
    expect((await tryOn(box, { runId })).body).toMatchObject({
      verdict: 'block',
      rule: rule.name,
      runs: [{ runId, kind: 'workflow', judged: 1, places: [{ side: 'workflow-input', step: null, tools: [] }] }],
    });
  });
});

describe('a dry run on many recorded runs', () => {
  test('takes the newest that match, page after page, and none twice', async () => {
    const name = newName();
    const box = await boxes.open(toOptions(name));
    for (let n = 0; n < 5; n += 1) await ask(box, name, n % 2 === 0 ? 'say:a falcon' : 'say:a sparrow');
    const ids = await runsOf(box, name);
    await addRule(box, name, { sides: ['agent-output'], action: 'audit' });
    const seen: Answer['runs'] = [];
    let cursor: string | null | undefined;
    for (let page = 0; cursor !== null && page < 9; page += 1) {
      const { body } = await tryOn(box, { runs: { name, kind: 'agent' }, limit: 2, ...(cursor ? { cursor } : {}) });
      expect(body.runs.length).toBeLessThanOrEqual(2);
      seen.push(...body.runs);
      cursor = body.nextCursor;
    }
    expect(seen.map(({ runId }) => runId)).toEqual(ids);
    expect(seen.map(({ places }) => places.length)).toEqual([1, 0, 1, 0, 1]);
  });

  test('of a long turn judges a part in each answer, and each record once', async () => {
    const name = newName();
    const long = defineTool({
      description: 'Answers at length.',
      inputSchema: z.object({}),
      execute: () => `kept ${'falcon '.repeat(130_000)}`,
    });
    const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name, tools: { long } }) } });
    await ask(box, name, `${'tool:long {}; '.repeat(6)}say:Done.`);
    const [runId = ''] = await runsOf(box, name);
    const rule = { check: { kind: 'words', words: ['kept'] }, action: 'audit' };
    const steps: (number | null)[] = [];
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null && pages < 20; pages += 1) {
      const { body } = await tryOn(box, { runId, rule, side: 'tool-result', ...(cursor ? { cursor } : {}) });
      steps.push(...(body.runs[0]?.places ?? []).map(({ step }) => step));
      cursor = body.nextCursor;
    }
    expect(pages).toBeGreaterThan(1);
    expect(steps).toEqual([1, 3, 5, 7, 9, 11]);
  });
});

describe('is refused', () => {
  test.each([
    ['nothing to try', {}, 400],
    ['a text and a run', { text: 'x', runId: 'y' }, 400],
    ['a cursor for a text', { text: 'x', cursor: 'y' }, 400],
    ['a number of runs for one', { runId: '0192f3b4-7a10-7001-8000-000000000001', limit: 2 }, 400],
    ['an agent for a run', { runId: 'y', agent: 'a' }, 400],
    ['more runs than may be', { runs: {}, limit: 51 }, 400],
    ['a run that is none', { runId: '0192f3b4-7a10-7001-8000-000000000001' }, 404],
    ['odd text for a run', { runId: '\u0000' }, 400],
    ['a cursor that is none', { runs: {}, cursor: 'x' }, 400],
    ['a cursor of other than a place', { runs: {}, cursor: Buffer.from('["x",-1]').toString('base64url') }, 400],
  ])('%s', async (_, body, status) => {
    expect((await tryOn(await shared(), body)).status).toBe(status);
  });
});

describeWhen(bothServers, 'a dry run on Postgres', (servers) => {
  test('reads what another replica has recorded', async () => {
    const name = newName();
    const open = createCluster(boxes, servers);
    const [a, b] = [await open(toOptions(name)), await open(toOptions(name))];
    await ask(a, name, NOTE);
    const [runId] = await runsOf(a, name);
    const { body } = await tryOn(b, { runId, rule: { check: WORDS, action: 'mask' } });
    expect(body).toMatchObject({ verdict: 'mask', runs: [{ runId, places: [{ side: 'agent-input' }, {}, {}, {}] }] });
  });
});
