import { describe, expect, test } from 'vitest';
import { z as z4 } from 'zod';
import { z as z3 } from 'zod3';
import { continueAsNew } from '../src/engine/primitives/continue-as-new.ts';
import type { Problem } from '../src/manifest.ts';
import { svc } from '../src/svc.ts';
import { call, finish, json, runWorkflow, setupBoxes, toStep } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const PROBLEM: Problem = {
  code: 'directive_misspelled',
  message: 'Write "use workflow".',
  file: 'workflows/typo.workflow.ts',
  line: 3,
  column: 5,
  frame: '> 3 | ...',
};

const VERSIONS = [
  ['zod 4', z4],
  ['zod 3', z3 as unknown as typeof z4],
] as const;

const inputOf = (z: typeof z4) =>
  z.object({
    email: z.string(),
    age: z.number().int().optional(),
    address: z.object({ city: z.string() }).optional(),
    lines: z.array(z.object({ sku: z.string() })).optional(),
    plan: z.string().default('free'),
  });

const echo = { run: async (input: unknown) => input };
const open = (provider: 'environment' | 'none' = 'environment') =>
  boxes.open({
    provider,
    workflows: {
      plain: echo,
      spread: { run: async (...args: unknown[]) => args },
      four: { ...echo, inputSchema: inputOf(z4) },
      three: { ...echo, inputSchema: inputOf(z3 as unknown as typeof z4) },
      typo: PROBLEM,
      broken: new Error('The module threw.'),
    },
  });

const start = (box: TestBox, name: string, input: unknown = {}) =>
  box.request(`/api/workflows/${name}/start`, json(input));
const countRuns = async (box: TestBox) => (await box.journal.listRuns({}, { limit: 100 })).length;
const bodyOf = async (response: Response) => (await response.json()) as Record<string, unknown>;

describe('while the gate is closed', () => {
  test.each(['plain', 'plain/schema', 'plain/queue', 'unknown/schema'])(
    'GET /api/workflows/%s says that workflows are held back',
    async (path) => {
      const answer = await (await open('none')).request(`/api/workflows/${path}`);
      expect([answer.status, await bodyOf(answer)]).toMatchObject([
        503,
        { code: 'workflow_runtime_not_armed', message: expect.stringContaining('held back') },
      ]);
    },
  );
});

describe('a start that is refused', () => {
  const rows: [
    situation: string,
    gate: 'environment' | 'none',
    name: string,
    status: number,
    code: string,
    details: unknown,
  ][] = [
    [
      'there is no workflow by that name',
      'environment',
      'refnd',
      404,
      'workflow_not_found',
      { workflows: ['plain', 'spread', 'four', 'three', 'typo', 'broken'] },
    ],
    ['the workflow failed to compile', 'environment', 'typo', 503, 'workflow_compile_failed', { problem: PROBLEM }],
    [
      'the module of the workflow throws',
      'environment',
      'broken',
      503,
      'workflow_compile_failed',
      { problem: expect.objectContaining({ code: 'module_load_failed', file: 'workflows/broken.workflow.ts' }) },
    ],
    ['no workflow runtime is armed', 'none', 'plain', 503, 'workflow_runtime_not_armed', undefined],
    [
      'a name of the prototype is no workflow',
      'environment',
      'constructor',
      404,
      'workflow_not_found',
      expect.anything(),
    ],
  ];
  test.each(rows)('because %s', async (_situation, gate, name, status, code, details) => {
    const box = await open(gate);
    const answer = await start(box, name);
    const { requestId, ...body } = await bodyOf(answer);
    expect({ status: answer.status, body }).toEqual({
      status,
      body: { code, message: expect.stringMatching(/\.$/), ...(details === undefined ? {} : { details }) },
    });
    expect(answer.headers.get('x-request-id')).toBe(requestId);
    expect(await countRuns(box)).toBe(0);
  });

  test('the message of an unknown name lists the real ones', async () => {
    const { message } = await bodyOf(await start(await open(), 'refnd'));
    expect(message).toContain('There is no workflow "refnd". This box has "plain", "spread"');
  });
});

describe.each([
  ['zod 4', 'four'],
  ['zod 3', 'three'],
])('input that does not match a %s schema', (_version, name) => {
  test.each([
    ['the whole payload', [1, 2], [[]]],
    ['null', null, [[]]],
    ['a member', { email: 7 }, [['email']]],
    ['a nested member', { email: 'a', address: { city: 1 } }, [['address', 'city']]],
    ['an item of a list', { email: 'a', lines: [{ sku: 'x' }, { sku: 2 }] }, [['lines', 1, 'sku']]],
    ['two members', { age: 1.5 }, [['email'], ['age']]],
  ])('is refused with the path of %s, and no run is created', async (_place, input, paths) => {
    const box = await open();
    const answer = await start(box, name, input);
    const body = await bodyOf(answer);
    expect({ status: answer.status, ...body, requestId: undefined }).toEqual({
      status: 400,
      code: 'workflow_input_invalid',
      message: `The input does not match the schema of workflow "${name}".`,
      details: { issues: paths.map((path) => ({ path, message: expect.any(String) })) },
    });
    expect(await countRuns(box)).toBe(0);
  });

  test('input that matches reaches the workflow with its defaults', async () => {
    const run = await runWorkflow(await open(), name, { email: 'a@b.c', extra: true });
    expect(run).toMatchObject({ status: 'completed', output: { email: 'a@b.c', plan: 'free' } });
    expect(run.output).not.toHaveProperty('extra');
  });
});

describe('a start that is accepted', () => {
  test('answers 202 with the receipt and nothing else', async () => {
    const box = await open();
    const answer = await start(box, 'plain', { a: 1 });
    const receipt = await bodyOf(answer);
    expect(answer.status).toBe(202);
    expect(receipt).toEqual({
      workflowName: 'plain',
      status: 'started',
      runId: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
      worldRunId: expect.stringMatching(/^[\da-f]{32}$/),
      trigger: 'POST /api/workflows/plain/start',
    });
    const run = await bodyOf(await box.request(`/api/runs/${String(receipt.runId)}?wait=10s`));
    expect(run).toMatchObject({
      runId: receipt.runId,
      traceId: receipt.worldRunId,
      trigger: 'api',
      kind: 'workflow',
      status: 'completed',
      input: { a: 1 },
    });
  });

  test.each([
    ['an object with args alone is spread', { args: [1, 'b', null] }, [1, 'b', null]],
    ['no args at all', { args: [] }, []],
    ['args beside something else is one argument', { args: [1], more: 2 }, [{ args: [1], more: 2 }]],
    ['args that are no list are one argument', { args: 'a' }, [{ args: 'a' }]],
    ['any JSON value is one argument', 'text', ['text']],
    ['an empty body is an empty object', '', [{}]],
  ])('without a schema, %s', async (_title, input, output) => {
    const box = await open();
    const init = input === '' ? { ...json(''), body: '' } : json(JSON.stringify(input));
    const { runId } = await bodyOf(await box.request('/api/workflows/spread/start', init));
    const run = await bodyOf(await box.request(`/api/runs/${String(runId)}?wait=10s`));
    expect(run.output).toEqual(output);
  });

  test('with a schema, args are input like any other', async () => {
    const box = await boxes.open({
      workflows: { checked: { ...echo, inputSchema: z4.object({ args: z4.array(z4.int()) }) } },
    });
    expect((await runWorkflow(box, 'checked', { args: [1, 2] })).output).toEqual({ args: [1, 2] });
  });

  test('runs its steps once and in order', async () => {
    const seen: string[] = [];
    const note = toStep('note', (word: string) => seen.push(word));
    const box = await boxes.open({ workflows: { steps: { run: async () => [await note('a'), await note('b')] } } });
    expect((await runWorkflow(box, 'steps')).output).toEqual([1, 2]);
    expect(seen).toEqual(['a', 'b']);
  });

  test('a value that JSON has no word for reaches the workflow as the schema made it', async () => {
    const inputSchema = z4.object({ at: z4.coerce.date() });
    const isDate = { inputSchema, run: async ({ at }: { at: Date }) => at.getTime() };
    const box = await boxes.open({ workflows: { isDate } });
    expect((await runWorkflow(box, 'isDate', { at: '2020-01-01T00:00:00Z' })).output).toBe(1_577_836_800_000);
  });
});

describe('an output schema', () => {
  test.each(VERSIONS)('is what the output of a run is checked by, with %s', async (_version, z) => {
    const outputSchema = z.object({ total: z.number(), plan: z.string().default('free') });
    const workflows = { total: { outputSchema, run: async (output: unknown) => output } };
    const box = await boxes.open({ workflows });
    const end = (total: unknown) => runWorkflow(box, 'total', { total, note: 'kept from nobody' });
    expect(await end(3)).toMatchObject({ status: 'completed', output: { total: 3, plan: 'free' } });
    expect((await end(3)).output).not.toHaveProperty('note');
    const failed = await end('three');
    expect([failed.status, failed.output]).toEqual(['failed', null]);
    expect(failed.error).toMatchObject({
      code: 'workflow_output_invalid',
      message: expect.stringMatching(/^The output does not match the outputSchema of workflow "total"\. "total": \S/),
      details: { issues: [{ path: ['total'] }] },
    });
  });

  test('may ask the world, as an input schema may, and a run that continues is not looked at before its end', async () => {
    const isKnown = async (): Promise<boolean> => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return true;
    };
    const outputSchema = z4.object({ n: z4.number() }).refine(isKnown);
    const run = async (n: number) => (n === 0 ? continueAsNew(1) : { n });
    const box = await boxes.open({ workflows: { asks: { outputSchema, run } } });
    const { runId } = (await call<{ runId: string }>(box, 'POST /api/workflows/asks/start', { args: [0] })).body;
    await expect
      .poll(async () => (await call(box, `GET /api/runs/${runId}`)).body)
      .toMatchObject({ status: 'completed', continuedTo: expect.any(String) });
    const { continuedTo } = (await call<{ continuedTo: string }>(box, `GET /api/runs/${runId}`)).body;
    expect(await finish(box, continuedTo)).toMatchObject({ status: 'completed', output: { n: 1 } });
  });

  test('is looked at once more by a retry, which keeps what its steps have done', async () => {
    let made = 0;
    let isBroken = true;
    const make = toStep('make', () => (made += 1));
    const run = async () => ({ n: isBroken ? String(await make()) : await make() });
    const box = await boxes.open({ workflows: { make: { outputSchema: z4.object({ n: z4.number() }), run } } });
    const { status, runId } = await runWorkflow(box, 'make');
    expect(status).toBe('failed');
    isBroken = false;
    const again = await call<{ runId: string }>(box, `POST /api/runs/${runId}/retry`, {});
    expect(await finish(box, again.body.runId)).toMatchObject({ status: 'completed', output: { n: 1 } });
    expect(made).toBe(1);
  });
});

describe('a state schema', () => {
  const stateOf = async (box: TestBox, runId: unknown) =>
    (await call<{ state: unknown }>(box, `GET /api/runs/${String(runId)}/state`)).body.state;

  test.each(VERSIONS)('is what is published is checked by, in a body and in a step, with %s', async (_version, z) => {
    const stateSchema = z.object({ done: z.number(), of: z.array(z.string()).default([]) });
    let attempts = 0;
    const tell = toStep('tell', (state) => (attempts++, svc.publish(state)));
    const run = async (given: unknown[]) => {
      for (const state of given.slice(0, -1)) svc.publish(state);
      await tell(given.at(-1));
    };
    const box = await boxes.open({ workflows: { rows: { stateSchema, run } } });
    const end = (...given: unknown[]) => runWorkflow(box, 'rows', { args: [given] });
    const well = await end({ done: 1 }, { done: 2, note: 'kept from nobody' });
    expect([well.status, await stateOf(box, well.runId)]).toEqual(['completed', { done: 2, of: [] }]);
    for (const given of [
      [{ done: 1 }, { done: 2, of: ['a', 3] }, { done: 3 }],
      [{ done: 1 }, { done: 2, of: ['a', 3] }],
    ]) {
      attempts = 0;
      const failed = await end(...given);
      expect([failed.status, await stateOf(box, failed.runId)]).toEqual(['failed', { done: 1, of: [] }]);
      expect(failed.error).toMatchObject({
        code: 'workflow_state_invalid',
        message: expect.stringMatching(
          /^The published state does not match the stateSchema of workflow "rows"\. "of\.1": \S/,
        ),
        details: { issues: [{ path: ['of', 1] }] },
      });
      expect(attempts).toBe(given.length === 2 ? 1 : 0);
    }
  });

  test.each(VERSIONS)('that would have to be waited for says so, with %s', async (_version, z) => {
    const stateSchema = z.string().refine(async () => true);
    const box = await boxes.open({ workflows: { later: { stateSchema, run: async () => svc.publish('a') } } });
    const failed = await runWorkflow(box, 'later');
    expect([failed.status, await stateOf(box, failed.runId)]).toEqual(['failed', null]);
    expect(failed.error).toMatchObject({
      code: 'workflow_state_invalid',
      message: expect.stringMatching(/^The stateSchema of workflow "later" .* Make it synchronous\.$/),
    });
  });

  test('may do what a body may not', async () => {
    const stateSchema = z4.string().refine(() => process.hrtime().length === 2);
    const box = await boxes.open({ workflows: { now: { stateSchema, run: async () => svc.publish('a') } } });
    const { status, runId } = await runWorkflow(box, 'now');
    expect([status, await stateOf(box, runId)]).toEqual(['completed', 'a']);
  });
});

describe('the schema route', () => {
  const schemaOf = async (definition: { inputSchema?: unknown; outputSchema?: unknown; stateSchema?: unknown }) => {
    const box = await boxes.open({ workflows: { w: { ...echo, ...definition } } });
    const answer = await box.request('/api/workflows/w/schema');
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<'input' | 'output' | 'state', JsonObject | null>;
  };

  test('reads null and null when nothing is declared', async () => {
    expect(await schemaOf({})).toEqual({ input: null, output: null });
  });

  test.each(VERSIONS)('describes a %s schema', async (_version, z) => {
    const schema = z.object({
      id: z.string().uuid(),
      at: z.coerce.date(),
      count: z.number().int(),
      note: z.string().optional(),
      plan: z.string().default('free'),
      tags: z.array(z.string()),
    });
    const { input, output } = await schemaOf({ inputSchema: schema, outputSchema: schema });
    expect(input).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        id: { type: 'string', format: 'uuid' },
        at: { type: 'string', format: 'date-time' },
        count: { type: 'integer' },
        note: { type: 'string' },
        plan: { type: 'string', default: 'free' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['id', 'at', 'count', 'tags'],
    });
    expect(output?.properties).toMatchObject({ id: { format: 'uuid' }, count: { type: 'integer' } });
  });

  test.each(VERSIONS)('says of a %s object whether it takes unknown members', async (_version, z) => {
    const loose = await schemaOf({ inputSchema: z.object({ a: z.string() }) });
    const strict = await schemaOf({ inputSchema: z.object({ a: z.string() }).strict() });
    expect(loose.input?.additionalProperties ?? true).toBe(true);
    expect(strict.input?.additionalProperties).toBe(false);
  });

  test.each(VERSIONS)('reports what goes into a %s transform, and nothing of what comes out', async (_version, z) => {
    const schema = z.object({ size: z.string().transform((text) => text.length) });
    const schemas = await schemaOf({ inputSchema: schema, outputSchema: schema, stateSchema: schema });
    const { input, output, state } = schemas;
    expect([input?.properties, output?.properties]).toEqual([{ size: { type: 'string' } }, { size: {} }]);
    expect(state).toEqual(output);
  });

  test('of an unknown workflow is 404, of one that does not compile 503', async () => {
    const box = await open();
    expect((await box.request('/api/workflows/refnd/schema')).status).toBe(404);
    expect((await box.request('/api/workflows/typo/schema')).status).toBe(503);
  });
});

describe('the catalog', () => {
  test('lists every workflow with its start route, schema presence and state', async () => {
    const { items } = (await (await (await open()).request('/api/workflows')).json()) as { items: JsonObject[] };
    expect(items.map(({ name, trigger, hasSchema, state }) => ({ name, trigger, hasSchema, state }))).toEqual(
      [
        ['plain', false, 'ready'],
        ['spread', false, 'ready'],
        ['four', true, 'ready'],
        ['three', true, 'ready'],
        ['typo', false, 'failed'],
        ['broken', false, 'failed'],
      ].map(([name, hasSchema, state]) => ({
        name,
        trigger: `POST /api/workflows/${String(name)}/start`,
        hasSchema,
        state,
      })),
    );
  });

  test('describes one workflow, and the discovery names them all', async () => {
    const box = await open();
    const detail = await bodyOf(await box.request('/api/workflows/typo'));
    expect(detail).toMatchObject({ name: 'typo', state: 'failed', problem: PROBLEM });
    expect((await box.request('/api/workflows/refnd')).status).toBe(404);
    expect(await bodyOf(await box.request('/api/discovery'))).toEqual({
      agents: [],
      workflows: ['plain', 'spread', 'four', 'three', 'typo', 'broken'],
    });
  });
});

type JsonObject = Record<string, unknown>;
