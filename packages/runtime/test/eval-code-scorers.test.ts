import { describe, expect, test } from 'vitest';
import { defineDeepAgent, defineScorer, svc } from '../src/index.ts';
import type { ScorerDefinition, ScorerSubject } from '../src/index.ts';
import { call, json, setupBoxes, startProvider, toModelStream, toProgram, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Body = Record<string, unknown>;

const boxes = setupBoxes();
const agents = { support: defineDeepAgent({ name: 'support', instructions: 'Be kind.' }) };
let names = 0;
const newName = () => `coded-${++names}`;

const create = async (box: TestBox, what: 'cases' | 'suites', body: Body) => {
  const answer = await call<Body & { id: string }>(box, `POST /api/evals/${what}`, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
};
const ask = (message: string, more: Body = {}): Body => ({
  name: message.slice(0, 50),
  target: { kind: 'agent', name: 'support' },
  input: message,
  ...more,
});
/** The cells of the only case of a suite. */
const evaluate = async (box: TestBox, one: Body, scorers: Body[]): Promise<Body & { cells: Body[] }> => {
  const made = await create(box, 'cases', one);
  const name = newName();
  await create(box, 'suites', { name, cases: [made.id], scorers });
  const { body } = await call<Body>(box, `POST /api/evals/suites/${name}/run`, {});
  const run = await call<Body & { cases: { cells: Body[] }[] }>(box, `GET /api/evals/runs/${String(body.id)}?wait=20`);
  expect(run.body.status).toBe('completed');
  const cells = (run.body.cases[0]?.cells ?? []).map(({ scorer, mean, passRate, note }) => ({
    scorer,
    score: mean,
    passed: passRate === 1,
    note,
  }));
  return { ...run.body, cells };
};
const code = (scorer: string, more: Body = {}): Body => ({ type: 'code', scorer, ...more });

describe('a scorer of the workspace', () => {
  test('is asked with the question, what is expected and what came of it', async () => {
    const seen: ScorerSubject[] = [];
    const polite = defineScorer({
      score(subject) {
        seen.push(subject);
        return { score: subject.text === subject.expected ? 0.75 : 0, note: `asked ${String(subject.input)}` };
      },
    });
    const box = await boxes.open({ agents, scorers: { polite } });
    const run = await evaluate(box, ask('say:Good day.', { expected: 'Good day.' }), [
      code('polite'),
      code('polite', { name: 'again', weight: 3 }),
    ]);
    expect(run.cells).toMatchObject([
      { scorer: 'polite', score: 0.75, passed: true, note: 'asked say:Good day.' },
      { scorer: 'again', score: 0.75 },
    ]);
    expect(seen[0]).toMatchObject({
      input: 'say:Good day.',
      expected: 'Good day.',
      output: 'Good day.',
      text: 'Good day.',
      calls: [],
      latencyMs: expect.any(Number) as number,
    });
    expect(seen[0]?.inputTokens).toBeGreaterThan(0);
  });

  test.each<[string, ScorerDefinition['score'], Body]>([
    ['yes', () => true, { score: 1, passed: true }],
    ['no', async () => false, { score: 0, passed: false }],
    ['a number below the threshold', () => 0.4, { score: 0.4, passed: false }],
    ['a score that passes all the same', () => ({ score: 0.4, passed: true }), { score: 0.4, passed: true }],
    ['a number that is none', () => Number.NaN, { passed: false, note: expect.stringContaining('NaN') as string }],
    ['more than one', () => 7, { passed: false, note: expect.stringContaining('from 0 to 1') as string }],
    ['nothing', () => undefined as never, { passed: false, note: expect.stringContaining('no score') as string }],
    [
      'an error',
      () => {
        throw new Error('the list is empty');
      },
      { passed: false, note: 'the list is empty' },
    ],
  ])('may answer %s', async (_, score, cell) => {
    const box = await boxes.open({ agents, scorers: { own: defineScorer({ score }) } });
    expect((await evaluate(box, ask('say:Hi'), [code('own')])).cells).toMatchObject([cell]);
  });

  test('has its time, and may ask a model, which counts for the run', async () => {
    const slow = defineScorer({ timeout: 50, score: () => new Promise<number>(() => {}) });
    const judge = defineScorer({
      async score({ text }) {
        const { text: said } = await svc.ai.chat({ prompt: `say:${text}`, model: 'judge/one' });
        return said === text;
      },
    });
    const box = await boxes.open({ agents, scorers: { slow, judge } });
    const run = await evaluate(box, ask('say:Hi'), [code('slow'), code('judge')]);
    expect(run.cells).toMatchObject([
      { passed: false, note: expect.stringContaining('50 ms') as string },
      { passed: true },
    ]);
    const { body } = await call<Body & { inputTokens: number }>(box, `GET /api/runs/${String(run.id)}`);
    expect(body.inputTokens).toBeGreaterThan(0);
  });

  test('that is not there is refused, and the others are named', async () => {
    const box = await boxes.open({ agents, scorers: { polite: defineScorer({ score: () => 1 }) } });
    const scorers = [code('polit')];
    for (const [what, more] of [
      ['cases', ask('say:Hi')],
      ['suites', { name: newName(), tags: ['x'] }],
    ] as const)
      expect(await call<Body>(box, `POST /api/evals/${what}`, { ...more, scorers })).toMatchObject({
        status: 400,
        body: {
          code: 'invalid_request',
          message: '"scorers.0" cannot be asked: the workspace has no evals/polit.scorer.ts; there is "polite".',
        },
      });
  });

  test('that no longer loads is named, stays what it was, and fails where it never was', async () => {
    const own = defineScorer({ score: () => true });
    const box = await boxes.open({ agents, scorers: { own, late: defineScorer({ score: () => 1 }) } });
    const cases = ask('say:Hi', { scorers: [code('own')] });
    await box.reload(toProgram({ agents, scorers: { own: { score: 1 }, other: new Error('no such list') } }));
    expect(box.problems()).toMatchObject([
      { file: 'evals/own.scorer.ts', message: expect.stringContaining('not a scorer') as string },
      { file: 'evals/other.scorer.ts', message: 'no such list' },
    ]);
    expect((await evaluate(box, cases, [code('other')])).cells).toMatchObject([
      { scorer: 'own', passed: true },
      { scorer: 'other', passed: false, note: expect.stringContaining('evals/other.scorer.ts') as string },
    ]);
  });
});

test.each<[object, string]>([
  [{}, 'function'],
  [{ score: () => 1, threshold: 2 }, 'threshold'],
  [{ score: () => 1, timeout: '2h' }, 'timeout'],
  [{ score: () => 1, name: 'x' }, '"name"'],
])('defineScorer(%j) says what is wrong', (definition, said) => {
  expect(() => defineScorer(definition as ScorerDefinition)).toThrow(said);
});

test('a live turn is scored once it has ended, and no turn waits for what scores another', async () => {
  const statuses: unknown[] = [];
  const answers: (() => void)[] = [];
  const scores: (() => void)[] = [];
  const provider = await startProvider((response) => {
    answers.push(() =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(toModelStream([{ content: 'Good day.' }])),
    );
  });
  const name = newName();
  const listTurns = async () => (await call<{ items: Body[] }>(box, `GET /api/runs?name=${name}`)).body.items;
  const held = defineScorer({
    timeout: 60_000,
    async score() {
      statuses.push((await listTurns()).at(-1)?.status);
      await new Promise<void>((resolve) => scores.push(resolve));
      return 1;
    },
  });
  const box = await boxes.open({
    agents: { [name]: defineDeepAgent({ name }) },
    scorers: { held },
    provider: { baseUrl: provider.url },
  });
  await create(box, 'suites', { name, scorers: [code('held')], online: { agent: name, share: 1 } });
  const say = async (): Promise<string> => {
    const body = { model: name, messages: [{ role: 'user', content: 'Hello.' }] };
    const headers = { authorization: 'Bearer dev' };
    return (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
  };
  const first = say();
  await until(() => answers.length === 1);
  expect((await listTurns())[0]?.status).toBe('running');
  expect(statuses).toEqual([]);
  answers.shift()?.();
  expect(await first).toContain('Good day.');
  await until(() => scores.length === 1, 20_000);
  expect(statuses).toEqual(['completed']);
  // The first one is still being scored.
  const second = say();
  await until(() => answers.length === 1);
  answers.shift()?.();
  expect(await second).toContain('Good day.');
  expect(scores).toHaveLength(1);
  scores.shift()?.();
  await until(() => scores.length === 1, 20_000);
  scores.shift()?.();
  const listed = async () => (await call<{ items: Body[] }>(box, `GET /api/evals/runs?suite=${name}`)).body.items;
  await until(async () => ((await listed())[0]?.summary as { passed?: number } | undefined)?.passed === 2, 20_000);
}, 60_000);
