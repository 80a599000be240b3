import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { JUDGE, startJudgingProvider } from './_judging-provider.ts';
import type { JudgingProvider } from './_judging-provider.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Body = Record<string, unknown>;

const lookup = (what: string) =>
  defineTool({
    description: `Looks up ${what}.`,
    inputSchema: z.object({ id: z.string() }),
    execute: () => ({ found: true }),
  });
const agents = {
  support: defineDeepAgent({
    name: 'support',
    instructions: 'Be kind.',
    tools: { order: lookup('orders'), refund: lookup('refunds') },
  }),
};
const workflows = {
  total: { run: async (input: unknown) => input },
};

const boxes = setupBoxes();
let provider: JudgingProvider;
let box: TestBox;
let names = 0;

beforeAll(async () => {
  provider = await startJudgingProvider();
});
afterAll(() => provider.close());
const shared = boxes.share({ agents, workflows });

interface Question {
  /** What the agent is asked. */
  ask?: string;
  /** Or what the workflow that answers its input is given. */
  output?: unknown;
  expected?: unknown;
  scorer: Body;
}

/** What one scorer says of one answer. */
const score = async ({ ask, output, expected, scorer }: Question): Promise<Body> => {
  const name = `built-in-${++names}`;
  const target = ask === undefined ? { kind: 'workflow', name: 'total' } : { kind: 'agent', name: 'support' };
  const one = { name, target, input: ask ?? output, ...(expected === undefined ? {} : { expected }) };
  const made = await call<{ id: string }>(box, 'POST /api/evals/cases', one);
  expect(made).toMatchObject({ status: 201 });
  const suite = { name, cases: [made.body.id], scorers: [scorer] };
  expect(await call(box, 'POST /api/evals/suites', suite)).toMatchObject({ status: 201 });
  const { body } = await call<Body>(box, `POST /api/evals/suites/${name}/run`, {});
  const run = await call<Body & { cases: { cells: Body[] }[] }>(box, `GET /api/evals/runs/${String(body.id)}?wait=20`);
  expect(run.body.status).toBe('completed');
  const { mean, passRate, note } = run.body.cases[0]?.cells[0] ?? {};
  return { score: mean, passed: passRate === 1, note };
};
const PASSES = { score: 1, passed: true };
const fails = (note: string, of = 0) => ({ score: of, passed: false, note: expect.stringContaining(note) as string });

const ORDER = { order: { id: 'A-1', total: 20.5 } };
const CALLS = 'tool:order {"id":"A-1"}; tool:refund {"id":"R-1"}; say:done';

describe('a built-in scorer', () => {
  test.each<[string, Question, Body]>([
    ['exact: a text', { ask: 'say:Yes.', expected: ' Yes. ', scorer: { type: 'exact' } }, PASSES],
    [
      'exact: another text',
      { ask: 'say:yes.', expected: 'Yes.', scorer: { type: 'exact' } },
      fails('Expected "Yes.", got "yes."'),
    ],
    [
      'exact: capitals aside',
      { ask: 'say:yes.', expected: 'Yes.', scorer: { type: 'exact', ignoreCase: true } },
      PASSES,
    ],
    [
      'exact: a part, whatever the order of the keys',
      { output: ORDER, expected: { total: 20.5, id: 'A-1' }, scorer: { type: 'exact', path: 'order' } },
      PASSES,
    ],
    [
      'exact: a part that is not there',
      { output: ORDER, expected: 1, scorer: { type: 'exact', path: 'order.sum' } },
      fails('Expected 1, got'),
    ],
    [
      'contains: a share of what is wanted',
      { ask: 'say:a cat and a dog', scorer: { type: 'contains', values: ['cat', 'dog', 'bird', 'fish'] } },
      fails('It lacks ["bird","fish"]', 0.5),
    ],
    [
      'contains: any of it',
      { ask: 'say:a cat', scorer: { type: 'contains', values: ['CAT', 'dog'], mode: 'any', ignoreCase: true } },
      PASSES,
    ],
    [
      'contains: none of it',
      { ask: 'say:a cat', scorer: { type: 'contains', values: ['cat'], mode: 'none' } },
      fails('It has ["cat"] in it.'),
    ],
    ['regex: a match', { ask: 'say:order A-17 is out', scorer: { type: 'regex', pattern: 'A-\\d+' } }, PASSES],
    [
      'regex: none',
      { ask: 'say:order A- is out', scorer: { type: 'regex', pattern: 'A-\\d+' } },
      fails('does not match'),
    ],
    [
      'regex: one there must not be',
      { ask: 'say:SORRY', scorer: { type: 'regex', pattern: 'sorry', ignoreCase: true, matches: false } },
      fails('"SORRY" matches.'),
    ],
    [
      'json-schema: JSON in a text',
      {
        ask: 'say:{"total": 3}',
        scorer: { type: 'json-schema', schema: { type: 'object', required: ['total'] } },
      },
      PASSES,
    ],
    [
      'json-schema: what it may not be, of any type',
      {
        output: { role: 'admin' },
        scorer: { type: 'json-schema', schema: { properties: { role: { not: { const: 'admin' } } } } },
      },
      fails('role is what it may not be.'),
    ],
    [
      'json-schema: what does not fit, with its place',
      {
        output: { order: { total: 'three' } },
        scorer: {
          type: 'json-schema',
          schema: {
            type: 'object',
            properties: { order: { type: 'object', properties: { total: { type: 'number' } } } },
          },
        },
      },
      fails('order.total'),
    ],
    [
      'numeric: within the tolerance, to its edge',
      { output: ORDER, expected: 20.4, scorer: { type: 'numeric', path: 'order.total', tolerance: 0.1 } },
      PASSES,
    ],
    [
      'numeric: the one number of a text, too far off',
      { ask: 'say:It is 112 dollars.', expected: 100, scorer: { type: 'numeric', tolerance: 0.1, relative: true } },
      fails('Expected 100, got 112: off by more than 10.'),
    ],
    [
      'numeric: no number',
      { ask: 'say:one or 2 or 3', expected: 2, scorer: { type: 'numeric' } },
      fails('is no number'),
    ],
    [
      'semantic: near',
      {
        ask: 'say:the parcel arrives on monday',
        expected: 'the parcel arrives monday',
        scorer: { type: 'semantic', model: 'e', threshold: 0.6 },
      },
      { passed: true, note: expect.stringMatching(/^Similarity 0\.[6-9]/) as string },
    ],
    [
      'semantic: far',
      {
        ask: 'say:bananas are yellow',
        expected: 'the parcel arrives monday',
        scorer: { type: 'semantic', model: 'e', threshold: 0.6 },
      },
      { passed: false, note: expect.stringContaining('Similarity') as string },
    ],
    [
      'trajectory: in order, with an argument',
      {
        ask: CALLS,
        scorer: { type: 'trajectory', calls: [{ tool: 'order', arguments: { id: 'A-1' } }, { tool: 'refund' }] },
      },
      PASSES,
    ],
    [
      'trajectory: another argument',
      { ask: CALLS, scorer: { type: 'trajectory', calls: [{ tool: 'order', arguments: { id: 'A-2' } }] } },
      fails('Expected order, it called order, refund.'),
    ],
    [
      'trajectory: the other way round',
      { ask: CALLS, scorer: { type: 'trajectory', calls: [{ tool: 'refund' }, { tool: 'order' }] } },
      fails('Expected refund, order', 0.5),
    ],
    [
      'trajectory: in any order',
      {
        ask: CALLS,
        scorer: { type: 'trajectory', mode: 'any-order', calls: [{ tool: 'refund' }, { tool: 'order' }] },
      },
      PASSES,
    ],
    [
      'trajectory: one too many for exact',
      { ask: CALLS, scorer: { type: 'trajectory', mode: 'exact', calls: [{ tool: 'order' }] } },
      fails('it called order, refund', 0.5),
    ],
    [
      'trajectory: a tool that must not be called',
      { ask: CALLS, scorer: { type: 'trajectory', calls: [{ tool: 'order' }], forbidden: ['refund'] } },
      fails('It called refund.'),
    ],
    ['tokens: few enough', { ask: 'say:short', scorer: { type: 'tokens', maxTotal: 10_000 } }, PASSES],
    ['tokens: too many', { ask: 'say:short', scorer: { type: 'tokens', maxInput: 1 } }, fails('of 1 tokens')],
    [
      'cost: little enough',
      { ask: 'say:short', scorer: { type: 'cost', max: 1, inputPerMillion: 1, outputPerMillion: 1 } },
      PASSES,
    ],
    [
      'cost: too much',
      { ask: 'say:short', scorer: { type: 'cost', max: 0.001, inputPerMillion: 1_000, outputPerMillion: 1_000 } },
      fails('of 0.001.'),
    ],
    ['latency: quick enough', { output: {}, scorer: { type: 'latency', maxMs: 60_000 } }, PASSES],
    [
      'latency: too slow',
      { ask: 'delay:30; say:one two three', scorer: { type: 'latency', maxMs: 1 } },
      fails('of 1 ms.'),
    ],
  ])('%s', async (_, question, said) => {
    box = await shared();
    expect(await score(question)).toMatchObject(said);
  });
});

describe('a model that judges', () => {
  const scorer = { type: 'judge', rubric: 'It is polite.', model: JUDGE, threshold: 0.7 };
  const judged = async (says: (message: string) => string | number | undefined, more: Body = {}): Promise<Body> => {
    box = await boxes.open({ agents, workflows, provider });
    provider.judge(says);
    return score({ ask: 'say:Good day to you.', expected: 'a greeting', scorer: { ...scorer, ...more } });
  };

  test('is shown the question, the answer and what is expected, and the rubric apart from them', async () => {
    const said = await judged(() => '{"reason": "It greets.", "score": 0.9}');
    expect(said).toMatchObject({ score: 0.9, passed: true, note: 'It greets.' });
    const [system, shown] = provider.asked.at(-1)?.messages ?? [];
    expect(system?.content).toContain('It is polite.');
    expect(JSON.parse(String(shown?.content))).toMatchObject({
      question: 'say:Good day to you.',
      answer: 'Good day to you.',
      expected: 'a greeting',
    });
  });

  test('fails what is below the threshold', async () => {
    expect(await judged(() => '{"reason": "Cold.", "score": 0.3}')).toEqual({
      score: 0.3,
      passed: false,
      note: 'Cold.',
    });
  });

  test.each([
    ['a score that is none', () => '{"reason": "Fine.", "score": 7}'],
    ['no JSON', () => 'It is fine.'],
    ['an error', () => 400],
  ])('that answers %s passes nothing', async (_, says) => {
    expect(await judged(says)).toMatchObject({ score: 0, passed: false });
  });

  test('that never answers passes nothing', async () => {
    expect(await judged(() => undefined, { timeoutMs: 1_000 })).toMatchObject({ score: 0, passed: false });
  });
});
