import { describe, expect, test } from 'vitest';
import { eq } from 'drizzle-orm';
import { z } from 'zod';
import { newRunId } from '../src/engine/ids.ts';
import { evalRuns } from '../src/evals/table.ts';
import { defineDeepAgent, defineTool, svc } from '../src/index.ts';
import { call, finish, json, runWorkflow, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

type Body = Record<string, unknown>;

const weather = defineTool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }: { city: string }) => `sunny in ${city}`,
});
let counted = 0;
let flipped = false;
const PROGRAM = {
  agents: {
    support: defineDeepAgent({ name: 'support', instructions: 'Be kind.', tools: { weather } }),
  },
  workflows: {
    double: {
      inputSchema: z.object({ n: z.number() }),
      run: async ({ n }: { n: number }) => ({ doubled: n * 2 }),
    },
    counts: { run: () => counted++ },
    flips: { run: () => (flipped = !flipped) },
    asks: {
      run: async () => (await svc.ai.chat({ prompt: 'say:asked' })).model,
    },
  },
};
const shared = boxes.share(PROGRAM);
let names = 0;
const newName = (of = 'suite') => `${of}-${++names}`;

const create = async (box: TestBox, what: 'cases' | 'suites', body: Body): Promise<Body & { id: string }> => {
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
const LATENCY = { type: 'latency', maxMs: 60_000 };
const MANY = Array.from({ length: 20 }, (_, nth) => ({ ...LATENCY, name: `latency-${nth}` }));

const launch = (box: TestBox, suite: string, how: Body = {}) => call(box, `POST /api/evals/suites/${suite}/run`, how);
/** A suite of these cases, launched and ended. */
const evaluate = async (box: TestBox, cases: Body[], suite: Body = {}, how: Body = {}): Promise<Body> => {
  const made = [];
  for (const one of cases) made.push(await create(box, 'cases', one));
  const name = newName();
  await create(box, 'suites', { name, cases: made.map(({ id }) => id), ...suite });
  const { status, body } = await launch(box, name, how);
  expect({ status, body }).toMatchObject({ status: 202, body: { status: 'running', suite: name } });
  return ended(box, String(body.id));
};
const ended = async (box: TestBox, id: string): Promise<Body> => {
  const { body } = await call(box, `GET /api/evals/runs/${id}?wait=20`);
  if (body.status === 'running') throw new Error(`The eval run did not end: ${JSON.stringify(body)}`);
  return body;
};
const cellsOf = (run: Body, index = 0): Body[] => (run.cases as { cells: Body[] }[])[index]?.cells ?? [];

describe('cases', () => {
  test('are listed by target and tag, changed and deleted', async () => {
    const box = await shared();
    const tag = newName('tag');
    const made = await create(box, 'cases', ask('say:hello', { expected: 'hello', tags: [tag], note: 'first' }));
    expect(made).toMatchObject({
      input: 'say:hello',
      expected: 'hello',
      tags: [tag],
      fromRunId: null,
      createdBy: 'owner',
    });
    const list = await call(box, `GET /api/evals/cases?kind=agent&name=support&tag=${tag}`);
    expect(list.body).toMatchObject({ items: [{ id: made.id }], nextCursor: null });

    const changed = await box.request(
      `/api/evals/cases/${made.id}`,
      json(
        { expected: null, input: { message: 'say:bye', before: [{ role: 'user', content: 'Hi' }] } },
        { method: 'PATCH' },
      ),
    );
    expect(await changed.json()).toMatchObject({
      expected: null,
      input: { message: 'say:bye', before: [{ role: 'user', content: 'Hi' }] },
      note: 'first',
    });
    expect((await call(box, `DELETE /api/evals/cases/${made.id}`)).body).toEqual({ deleted: true });
    expect(await call(box, `GET /api/evals/cases/${made.id}`)).toMatchObject({
      status: 404,
      body: { code: 'eval_case_not_found' },
    });
  });

  test('of a workflow that is loaded take what its schema takes', async () => {
    const box = await shared();
    const target = { kind: 'workflow', name: 'double' };
    const bad = await call(box, 'POST /api/evals/cases', { name: 'bad', target, input: { n: 'two' } });
    expect(bad).toMatchObject({ status: 400, body: { code: 'workflow_input_invalid' } });
    await create(box, 'cases', { name: 'good', target, input: { n: 2 } });
  });

  test.each([
    [{ target: undefined }, '"target"'],
    [{ input: { text: 'no message' } }, '"input"'],
    [{ expected: 'a\0b' }, 'U+0000'],
    [{ scorers: [{ type: 'regex', pattern: '(a)\\1' }] }, 'scorers.0'],
    [{ scorers: [{ type: 'regex', pattern: '(' }] }, 'scorers.0'],
    [{ scorers: [{ type: 'json-schema', schema: { type: 'nothing' } }] }, 'scorers.0'],
    [{ scorers: [{ type: 'json-schema', schema: { patternProperties: { 'a(?=b)': {} } } }] }, 'scorers.0'],
    [{ scorers: [{ type: 'exact' }, { type: 'exact' }] }, '"exact"'],
    [{ scorers: [{ type: 'tokens' }] }, 'maxInput'],
    [{ scorers: [{ type: 'guess' }] }, 'scorers'],
    [{ input: 'x'.repeat(300_000) }, '"input"'],
  ])('that can never be asked are refused: case %#', async (more, named) => {
    const answer = await call(await shared(), 'POST /api/evals/cases', ask('say:x', more));
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(JSON.stringify(answer.body)).toContain(named.replaceAll('"', '\\"'));
  });

  test('are made of a run of a workflow with one call', async () => {
    const box = await shared();
    const run = await runWorkflow(box, 'double', { n: 4 });
    const made = await create(box, 'cases', { fromRunId: run.runId });
    expect(made).toMatchObject({
      target: { kind: 'workflow', name: 'double' },
      input: { n: 4 },
      expected: { doubled: 8 },
      fromRunId: run.runId,
    });
  });

  test('are made of a turn of a session, with what was said before it and not after', async () => {
    const box = await shared();
    const say = async (text: string): Promise<void> => {
      const answer = await box.request(
        '/wire-a/v1/chat/completions',
        json(
          { model: 'support', messages: [{ role: 'user', content: text }] },
          { headers: { authorization: 'Bearer dev', 'x-svc-session': 'evals-talk' } },
        ),
      );
      expect(answer.status).toBe(200);
      await answer.text();
    };
    await say('say:one');
    await say('say:two');
    await say('say:three');
    const { body } = await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?name=support&limit=3');
    const made = await create(box, 'cases', { fromRunId: body.items[1]?.runId });
    expect(made).toMatchObject({
      name: 'say:two',
      input: {
        message: 'say:two',
        before: [
          { role: 'user', content: 'say:one' },
          { role: 'assistant', content: 'one' },
        ],
      },
      expected: 'two',
    });
  });

  test('are made of no run that there is not', async () => {
    const fromRunId = '0192f3b4-0000-7000-8000-000000000000';
    const answer = await call(await shared(), 'POST /api/evals/cases', { fromRunId });
    expect(answer).toMatchObject({ status: 404, body: { code: 'run_not_found' } });
  });
});

describe('suites', () => {
  test('are found by their name, which is theirs alone', async () => {
    const box = await shared();
    const name = newName();
    const made = await create(box, 'suites', { name, gates: { passRate: 0.9 } });
    expect(made).toMatchObject({ name, cases: [], samples: 1, gates: { passRate: 0.9, scorers: [] }, online: null });
    expect((await call(box, `GET /api/evals/suites/${name}`)).body).toMatchObject({ id: made.id });
    expect(await call(box, 'POST /api/evals/suites', { name })).toMatchObject({
      status: 409,
      body: { code: 'eval_suite_exists' },
    });
    expect(await call(box, 'POST /api/evals/suites', { name: 'list' })).toMatchObject({ status: 400 });
  });

  test('keep what a change leaves out', async () => {
    const box = await shared();
    const one = await create(box, 'cases', ask('say:x'));
    const name = newName();
    await create(box, 'suites', { name, cases: [one.id], samples: 3, model: 'test/other' });
    const patch = json({ concurrency: 9 }, { method: 'PATCH' });
    const changed = await box.request(`/api/evals/suites/${name}`, patch);
    expect(await changed.json()).toMatchObject({ cases: [one.id], samples: 3, model: 'test/other', concurrency: 9 });
    expect((await call(box, `GET /api/evals/suites/${name}`)).body).toMatchObject({ samples: 3, concurrency: 9 });
  });

  test('name cases that there are', async () => {
    const cases = ['0192f3b4-0000-7000-8000-000000000000'];
    const answer = await call(await shared(), 'POST /api/evals/suites', { name: newName(), cases });
    expect(answer).toMatchObject({ status: 404, body: { code: 'eval_case_not_found' } });
  });

  test('are not launched without a case, or with one that nothing judges', async () => {
    const box = await shared();
    const empty = newName();
    await create(box, 'suites', { name: empty });
    expect(await launch(box, empty)).toMatchObject({ status: 409, body: { code: 'eval_suite_not_runnable' } });
    const one = await create(box, 'cases', ask('say:x'));
    const unjudged = newName();
    await create(box, 'suites', { name: unjudged, cases: [one.id] });
    const refused = await launch(box, unjudged);
    expect(refused).toMatchObject({ status: 409, body: { code: 'eval_suite_not_runnable' } });
    expect(String(refused.body.message)).toContain(one.id);
  });
});

describe('live turns', () => {
  const say = async (box: TestBox, text: string): Promise<void> => {
    const request = { model: 'support', messages: [{ role: 'user', content: text }] };
    const headers = { authorization: 'Bearer dev' };
    await (await box.request('/wire-a/v1/chat/completions', json(request, { headers }))).text();
  };

  test('of an agent are scored after they end, by the suite that asks for them', async () => {
    const box = await shared();
    const name = newName();
    const scorers = [{ type: 'contains', values: ['good'] }];
    await create(box, 'suites', { name, scorers, online: { agent: 'support', share: 1 }, gates: { passRate: 0.5 } });
    const listed = async () => (await call<{ items: Body[] }>(box, `GET /api/evals/runs?suite=${name}`)).body.items;
    // What is known of the suites may be some seconds old.
    await until(async () => {
      await say(box, 'say:good');
      return (await listed()).length > 0;
    }, 20_000);
    await say(box, 'say:bad');
    await until(async () => {
      const [run] = await listed();
      const { results = 0, passed = 0 } = (run?.summary ?? {}) as { results?: number; passed?: number };
      return passed > 0 && results > passed;
    });
    const [run] = await listed();
    expect(run).toMatchObject({ origin: 'online', status: 'running', suite: name, startedBy: 'the box' });
    const { body } = await call<{ cases: { name: string; cells: Body[] }[] }>(
      box,
      `GET /api/evals/runs/${String(run?.id)}`,
    );
    expect(body.cases.find((one) => one.name === 'say:bad')?.cells).toMatchObject([{ scorer: 'contains', mean: 0 }]);
    await box.request(`/api/evals/suites/${name}`, json({ online: null }, { method: 'PATCH' }));
  }, 40_000);

  test('are asked nothing that compares with an expectation', async () => {
    const online = { agent: 'support', share: 0.1 };
    const box = await shared();
    for (const scorers of [[], [{ type: 'exact' }], [{ type: 'contains' }]])
      expect(await call(box, 'POST /api/evals/suites', { name: newName(), scorers, online })).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', details: { param: 'online' } },
      });
  });
});

describe('a run of a suite', () => {
  test('asks agents and workflows, and says what passes by case and scorer', async () => {
    const box = await shared();
    const run = await evaluate(
      box,
      [
        ask('say:hello world', { expected: 'hello world' }),
        ask('say:goodbye', { expected: 'hello' }),
        { name: 'two', target: { kind: 'workflow', name: 'double' }, input: { n: 1 }, expected: { doubled: 2 } },
      ],
      {
        scorers: [{ type: 'exact' }, { type: 'latency', maxMs: 60_000 }],
        gates: { passRate: 0.6, scorers: [{ scorer: 'latency', score: 1 }] },
      },
    );
    expect(run).toMatchObject({
      status: 'completed',
      passed: true,
      planned: 3,
      startedBy: 'owner',
      summary: {
        results: 3,
        passed: 2,
        errors: 0,
        gates: [
          { gate: 'passRate', wanted: 0.6, passed: true },
          { gate: 'scorer latency', wanted: 1, got: 1, passed: true },
        ],
      },
    });
    expect(run.score).toBeCloseTo((1 + 0.5 + 1) / 3);
    expect(cellsOf(run, 1)).toMatchObject([
      { scorer: 'exact', mean: 0, note: expect.stringContaining('goodbye') },
      { scorer: 'latency', mean: 1 },
    ]);
    const { samples } = (run.cases as { samples: Body[] }[])[0] ?? {};
    const behind = await finish(box, String(samples?.[0]?.runId));
    expect(behind).toMatchObject({ kind: 'agent', name: 'support', trigger: 'eval', parentRunId: run.id });
    expect((run.summary as Body).inputTokens).toBeGreaterThan(0);
  });

  test('that falls below its gate has not passed', async () => {
    const run = await evaluate(await shared(), [ask('say:a', { expected: 'b' })]);
    expect(run).toMatchObject({ status: 'completed', passed: false, score: 0 });
  });

  test('counts what fails as an error and goes on', async () => {
    const run = await evaluate(await shared(), [
      ask('error:400', { expected: 'x' }),
      ask('say:ok', { expected: 'ok' }),
    ]);
    expect(run).toMatchObject({ status: 'completed', passed: false, summary: { results: 2, passed: 1, errors: 1 } });
    const [first] = run.cases as { samples: Body[] }[];
    expect(first?.samples[0]).toMatchObject({ passed: false, error: expect.stringContaining('model_provider_failed') });
  });

  test('ends what takes longer than it may', async () => {
    const run = await evaluate(await shared(), [ask('hang', { expected: 'x' })], { timeoutMs: 1_000 });
    const [first] = run.cases as { samples: Body[] }[];
    expect(first?.samples[0]).toMatchObject({ passed: false, error: expect.stringContaining('run_timeout') });
  });

  test('repeats its cases and says how far their scores lie apart', async () => {
    const run = await evaluate(await shared(), [ask('say:same', { expected: 'same' })], { samples: 3 });
    const [first] = run.cases as { samples: Body[] }[];
    const samples = first?.samples ?? [];
    expect(first).toMatchObject({ passRate: 1, score: { mean: 1, min: 1, max: 1, deviation: 0 } });
    expect(samples.map(({ sample }) => sample)).toEqual([1, 2, 3]);
    expect(new Set(samples.map(({ runId }) => runId)).size).toBe(3);
  });

  test('says the spread of samples that differ, of the case and of each scorer', async () => {
    const box = await shared();
    const one = {
      name: 'counts',
      target: { kind: 'workflow', name: 'counts' },
      input: {},
      expected: 1,
      scorers: [
        { type: 'exact', weight: 3 },
        { type: 'contains', values: ['1', '2'] },
      ],
    };
    const run = await evaluate(box, [one], { samples: 4, concurrency: 1, gates: { passRate: 0 } });
    // It answers 0, 1, 2 and 3: of these "exact" takes one, and "contains" gives each of 1 and 2 a half.
    const [row] = run.cases as { samples: Body[]; score: Body; passRate: number }[];
    expect(row?.samples.map(({ score }) => score)).toEqual([0, 0.875, 0.125, 0]);
    expect(row).toMatchObject({ passRate: 0, score: { mean: 0.25, min: 0, max: 0.875 } });
    const apart = Math.sqrt((0.25 ** 2 + 0.625 ** 2 + 0.125 ** 2 + 0.25 ** 2) / 4);
    expect(row?.score.deviation).toBeCloseTo(apart);
    expect(cellsOf(run)).toMatchObject([
      { scorer: 'exact', mean: 0.25, min: 0, max: 1, passRate: 0.25 },
      { scorer: 'contains', mean: 0.25, min: 0, max: 0.5, deviation: 0.25, passRate: 0 },
    ]);
    expect(cellsOf(run)[0]?.deviation).toBeCloseTo(Math.sqrt(3) / 4);
  });

  test('has no more cases under way than it may', async () => {
    const box = await shared();
    const cases = Array.from({ length: 6 }, (_, index) => ask(`delay:20; say:c${index}`, { expected: `c${index}` }));
    const run = await evaluate(box, cases, { concurrency: 2 });
    const { body } = await call<{ items: { startedAt: string; endedAt: string }[] }>(
      box,
      `GET /api/runs?parent=${String(run.id)}`,
    );
    const most = Math.max(
      ...body.items.map(
        ({ startedAt: at }) => body.items.filter((one) => one.startedAt <= at && one.endedAt > at).length,
      ),
    );
    expect(body.items).toHaveLength(6);
    expect(most).toBeLessThanOrEqual(2);
  });

  test('takes the cases with its tags, and keeps them as they were', async () => {
    const box = await shared();
    const tag = newName('tag');
    const one = await create(box, 'cases', ask('say:tagged', { expected: 'tagged', tags: [tag] }));
    const name = newName();
    await create(box, 'suites', { name, tags: [tag] });
    const { body } = await launch(box, name);
    expect(await ended(box, String(body.id))).toMatchObject({ passed: true, planned: 1 });
    await box.request(`/api/evals/cases/${one.id}`, json({ name: 'renamed' }, { method: 'PATCH' }));
    expect(await ended(box, String(body.id))).toMatchObject({ cases: [{ name: 'say:tagged' }] });
  });

  test('uses another model, and a version of a prompt that is not published', async () => {
    const box = await shared();
    const prompt = {
      ownerKind: 'agent',
      ownerName: 'support',
      key: 'instructions',
      name: 'Draft',
      text: 'Draft text.',
    };
    const { body } = await call(box, 'POST /api/prompts', prompt);
    const how = { model: 'test/another', prompts: [{ promptId: body.id, version: 1 }] };
    const run = await evaluate(
      box,
      [
        ask('say:pinned', { expected: 'pinned' }),
        { name: 'asks', target: { kind: 'workflow', name: 'asks' }, input: {}, expected: 'test/another' },
      ],
      {},
      how,
    );
    expect(run).toMatchObject({ passed: true, model: 'test/another', prompts: [{ ownerName: 'support', version: 1 }] });
    const asked = box.model.requests.find(({ messages }) => messages.at(-1)?.content === 'say:pinned');
    expect(asked).toMatchObject({ model: 'test/another', messages: [{ role: 'system', content: 'Draft text.' }, {}] });
    // What is published is as it was.
    await call(box, `DELETE /api/prompts/${String(body.id)}`);
  });

  test('is launched once for a key, however often and by however many at once it is asked for', async () => {
    const box = await shared();
    const one = await create(box, 'cases', ask('say:once', { expected: 'once' }));
    const [name, other] = [newName(), newName()];
    for (const suite of [name, other]) await create(box, 'suites', { name: suite, cases: [one.id] });
    const keyed = (suite: string, how: Body = {}, key = 'k') =>
      call(box, `POST /api/evals/suites/${suite}/run`, how, { 'idempotency-key': key });
    const answers = await Promise.all(Array.from({ length: 5 }, () => keyed(name, { note: 'nightly' })));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    const [id, ...others] = [...new Set(answers.map(({ body }) => String(body.id)))];
    expect(others).toEqual([]);
    await ended(box, id as string);
    expect((await keyed(name, { note: 'nightly' })).body).toMatchObject({ id, status: 'completed' });
    expect(await keyed(name, { note: 'again' })).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } });
    // A key is that of its suite.
    const { body } = await keyed(other, { note: 'nightly' });
    const list = async (suite: string) =>
      (await call<{ items: Body[] }>(box, `GET /api/evals/runs?suite=${suite}`)).body.items.map((run) => run.id);
    expect([await list(name), await list(other)]).toEqual([[id], [body.id]]);
    expect((await keyed(name, {}, 'k2')).body.id).not.toBe(id);
  });

  test('is cancelled with what it has started', async () => {
    const box = await shared();
    const one = await create(box, 'cases', ask('hang', { expected: 'x' }));
    const name = newName();
    await create(box, 'suites', { name, cases: [one.id] });
    const { body } = await launch(box, name);
    const id = String(body.id);
    const below = async () => (await call<{ items: Body[] }>(box, `GET /api/runs?parent=${id}`)).body.items;
    await until(async () => (await below()).length === 1);
    expect(await call(box, `DELETE /api/evals/runs/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'eval_run_not_final' },
    });
    expect((await call(box, `POST /api/evals/runs/${id}/cancel`)).body).toMatchObject({
      status: 'cancelled',
      passed: null,
    });
    await until(async () => (await below())[0]?.status === 'cancelled');
    expect(await call(box, `POST /api/evals/runs/${id}/cancel`)).toMatchObject({
      status: 409,
      body: { code: 'eval_run_final' },
    });
    expect((await call(box, `DELETE /api/evals/runs/${id}`)).body).toEqual({ deleted: true });
  });

  test('is seen to have ended where its run was cancelled elsewhere', async () => {
    const box = await shared();
    const one = await create(box, 'cases', ask('hang', { expected: 'x' }));
    const name = newName();
    await create(box, 'suites', { name, cases: [one.id] });
    const { body } = await launch(box, name);
    await call(box, `POST /api/runs/${String(body.id)}/cancel`);
    await until(async () => (await call(box, `GET /api/evals/runs/${String(body.id)}`)).body.status === 'cancelled');
    const { body: list } = await call<{ items: Body[] }>(box, 'GET /api/evals/suites');
    expect(list.items.find((suite) => suite.name === name)).toMatchObject({ lastRun: { status: 'cancelled' } });
  });

  test.each<[string, Body[], string[], boolean]>([
    ['nothing', [], ['exact'], false],
    ['what it took', [LATENCY, { type: 'tokens', maxTotal: 1_000_000 }], ['latency', 'tokens', 'exact'], false],
    ['what it called', [{ type: 'trajectory', calls: [], forbidden: ['no'] }], ['trajectory', 'exact'], false],
    ['what it took, by that name', [{ ...LATENCY, name: 'exact' }], ['exact', 'expected'], false],
    [
      'what it took, by both names',
      [
        { ...LATENCY, name: 'exact' },
        { ...LATENCY, name: 'expected' },
      ],
      ['exact', 'expected', 'expected-2'],
      false,
    ],
    ['what it took, as often as may be', MANY, [...MANY.map(({ name }) => name), 'exact'], false],
    ['what it says', [{ type: 'regex', pattern: 'No' }, LATENCY], ['regex', 'latency'], true],
    ['a part of what is expected', [{ type: 'contains', values: ['N'] }], ['contains'], true],
  ])(
    'compares a case with its expectation, unless its answer is judged otherwise: %s',
    async (_, scorers, columns, passed) => {
      const box = await shared();
      const run = await evaluate(box, [ask('say:No', { expected: 'Yes' })], { scorers });
      expect(cellsOf(run).map(({ scorer }) => scorer)).toEqual(columns);
      expect(run.passed).toBe(passed);
      // Of a case that expects nothing there is nothing to compare.
      if (scorers.length === 0) return;
      const free = await evaluate(box, [ask('say:No')], { scorers });
      expect(cellsOf(free)).toHaveLength(scorers.length);
    },
  );

  test('is compared with another, case by case', async () => {
    const box = await shared();
    const [same, worse, better, gone, added] = await Promise.all(
      [
        ask('say:same', { expected: 'same' }),
        ask('say:1', { expected: '1' }),
        ask('say:2', { expected: 'x' }),
        ask('say:3', { expected: '3' }),
        ask('say:4', { expected: '4' }),
      ].map((one) => create(box, 'cases', one)),
    );
    const idsOf = (...all: (Body | undefined)[]) => all.map((one) => one?.id);
    const name = newName();
    await create(box, 'suites', { name, cases: idsOf(same, worse, better, gone) });
    const before = await ended(box, String((await launch(box, name)).body.id));
    const patch = (path: string, body: Body) => box.request(`/api/evals/${path}`, json(body, { method: 'PATCH' }));
    await patch(`cases/${worse?.id}`, { expected: 'other' });
    await patch(`cases/${better?.id}`, { expected: '2' });
    await patch(`suites/${name}`, { cases: idsOf(same, worse, better, added) });
    const after = await ended(box, String((await launch(box, name)).body.id));

    const { body } = await call<{ items: Body[] }>(box, `GET /api/evals/runs/${String(after.id)}/compare`);
    expect(body).toMatchObject({
      run: { id: after.id },
      with: { id: before.id },
      counts: { worse: 1, better: 1, new: 1, gone: 1, same: 1 },
    });
    expect(body.items.map(({ caseId, change }) => [caseId, change])).toEqual([
      [worse?.id, 'worse'],
      [better?.id, 'better'],
      [added?.id, 'new'],
      [gone?.id, 'gone'],
      [same?.id, 'same'],
    ]);
    expect(body.items[0]).toMatchObject({ before: 1, after: 0, scorers: [{ scorer: 'exact', before: 1, after: 0 }] });
    expect(await call(box, `GET /api/evals/runs/${String(before.id)}/compare`)).toMatchObject({ status: 400 });
  });

  test('is compared with a run of another suite, by what both asked of a case', async () => {
    const box = await shared();
    const [worse, better, less, same, left] = await Promise.all(
      ['w', 'b', 'l', 's', 'x'].map((text) => create(box, 'cases', ask(`say:${text} ok`, { name: text }))),
    );
    const idsOf = (...all: (Body | undefined)[]) => all.map((one) => one?.id);
    const suite = async (cases: unknown[], scorers: Body[]): Promise<Body> => {
      const name = newName();
      await create(box, 'suites', { name, cases, scorers });
      return ended(box, String((await launch(box, name)).body.id));
    };
    const has = (name: string, ...values: string[]) => ({ type: 'contains', name, values });
    // By hand: what each suite finds in "w ok", "b ok", "l ok", "s ok" and "x ok".
    const before = await suite(idsOf(worse, better, less, same, left), [
      { ...has('letter', 'w', 'l', 's', 'x'), mode: 'any' },
      has('word', 'ok'),
    ]);
    const after = await suite(idsOf(worse, better, less, same), [
      { ...has('letter', 'b', 'l', 's'), mode: 'any' },
      { ...has('word', 'ok'), weight: 3 },
      { type: 'latency', maxMs: 60_000 },
    ]);
    type Compared = { counts: Body; items: Body[] };
    const path = `GET /api/evals/runs/${String(after.id)}/compare?with=${String(before.id)}`;
    const { body } = await call<Compared>(box, path);
    expect(body.counts).toEqual({ worse: 1, better: 1, new: 0, gone: 1, same: 2 });
    const rows = body.items.map(({ name, change, before: from, after: to, passRateBefore, passRateAfter }) => [
      name,
      change,
      [from, to],
      [passRateBefore, passRateAfter],
    ]);
    expect(rows).toEqual([
      ['w', 'worse', [1, 4 / 5], [1, 0]],
      ['b', 'better', [0.5, 1], [0, 1]],
      ['x', 'gone', [1, null], [1, null]],
      ['l', 'same', [1, 1], [1, 1]],
      ['s', 'same', [1, 1], [1, 1]],
    ]);
    const none = { scorer: 'latency', before: null, after: 1 };
    expect(body.items[0]?.scorers).toEqual([{ scorer: 'letter', before: 1, after: 0 }, none]);
    expect(body.items[1]?.scorers).toEqual([{ scorer: 'letter', before: 0, after: 1 }, none]);
    expect(body.items.find(({ name }) => name === 'l')).toMatchObject({
      runIdsBefore: [expect.any(String)],
      runIdsAfter: [expect.any(String)],
    });
  });

  test('is worse where fewer samples pass, though they score more', async () => {
    const box = await shared();
    const one = { name: 'flips', target: { kind: 'workflow', name: 'flips' }, input: {}, expected: true };
    const { id } = await create(box, 'cases', one);
    const name = newName();
    await create(box, 'suites', { name, cases: [id], samples: 2, concurrency: 1, scorers: [{ type: 'exact' }] });
    // One of two is what is expected.
    await ended(box, String((await launch(box, name)).body.id));
    const scorers = [
      { type: 'regex', pattern: 'neither' },
      { type: 'latency', maxMs: 60_000, weight: 3 },
    ];
    await box.request(`/api/evals/suites/${name}`, json({ scorers }, { method: 'PATCH' }));
    const after = await ended(box, String((await launch(box, name)).body.id));
    const { body } = await call<{ items: Body[] }>(box, `GET /api/evals/runs/${String(after.id)}/compare`);
    expect(body.items).toMatchObject([
      { change: 'worse', before: 0.5, after: 0.75, passRateBefore: 0.5, passRateAfter: 0 },
    ]);
  });

  test('is compared with the launch before it, and with live turns of the suite where one says so', async () => {
    const box = await shared();
    const one = await create(box, 'cases', ask('say:x', { expected: 'x' }));
    const name = newName();
    await create(box, 'suites', { name, cases: [one.id] });
    const compare = async (run: Body, other = '') =>
      (await call<{ with: Body }>(box, `GET /api/evals/runs/${String(run.id)}/compare${other}`)).body.with?.id;
    const first = await ended(box, String((await launch(box, name)).body.id));
    // A day of live turns that is over, later than the launch.
    const [launched] = await boxes.db
      .select()
      .from(evalRuns)
      .where(eq(evalRuns.id, String(first.id)));
    const days: string[] = [];
    const addDay = async () => {
      const { plan, ...row } = launched as NonNullable<typeof launched>;
      const id = newRunId();
      days.push(id);
      await boxes.db.insert(evalRuns).values({ ...row, id, plan: { ...plan, online: { agent: 'support', share: 1 } } });
      return { id };
    };
    await addDay();
    const day = await addDay();
    const second = await ended(box, String((await launch(box, name)).body.id));
    expect(await compare(second)).toBe(first.id);
    expect(await compare(second, `?with=${day.id}`)).toBe(day.id);
    // A day is compared with the day before.
    expect(await compare(day)).toBe(days[0]);
  });

  test('shows its matrix in pages', async () => {
    const box = await shared();
    const run = await evaluate(
      box,
      [1, 2, 3].map((n) => ask(`say:${n}`, { expected: `${n}` })),
    );
    const first = await call<{ cases: Body[]; nextCursor: string }>(
      box,
      `GET /api/evals/runs/${String(run.id)}?limit=2`,
    );
    expect(first.body.cases.map(({ name }) => name)).toEqual(['say:1', 'say:2']);
    const next = await call<{ cases: Body[] }>(
      box,
      `GET /api/evals/runs/${String(run.id)}?limit=2&cursor=${first.body.nextCursor}`,
    );
    expect(next.body).toMatchObject({ cases: [{ name: 'say:3' }], nextCursor: null });
    expect(await call(box, `GET /api/evals/runs/${String(run.id)}?cursor=x`)).toMatchObject({
      body: { code: 'invalid_cursor' },
    });
  });
});
