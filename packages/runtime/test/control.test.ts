import { describe, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { setAttributes } from '../src/engine/attributes.ts';
import { publish } from '../src/engine/primitives/publish.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { getStepMetadata } from '../src/engine/primitives/metadata.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import {
  call,
  finish,
  getRun,
  giveNewest,
  json,
  runWorkflow,
  setupBoxes,
  startWorkflow,
  toProgram,
  toStep,
  until,
  untilStatus,
} from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

type Row = Record<string, unknown>;

const fatal = (message: string) => Object.assign(new Error(message), { fatal: true });
const double = toStep('double', (n: number) => n * 2);
const NO_RUN = '0190a000-0000-7000-8000-000000000000';

/** A workflow whose second step works as long as `world.works`; `world.ran` notes every attempt. */
function fragile() {
  const world = { works: false, ran: [] as string[] };
  const first = toStep('first', () => {
    world.ran.push('first');
    return Math.random();
  });
  const second = toStep('second', (n: number) => {
    world.ran.push('second');
    if (!world.works) throw fatal('Not yet.');
    return n;
  });
  return { world, workflow: { run: async () => ({ drawn: crypto.randomUUID(), value: await second(await first()) }) } };
}

const WORKFLOWS = {
  tell: { run: async () => (publish({ at: 1 }), await createHook({ token: 'tell' }), publish({ at: 2 })) },
  echo: { run: async (input: unknown) => input },
  hook: { run: async () => createHook({ token: 'hook' }) },
  nap: { run: async () => sleep('1 hour') },
  ask: { run: async () => requestApproval({ title: 'Go?' }) },
  math: { run: async ({ n }: { n: number }) => double(await double(n)) },
};

const open = () => boxes.open({ workflows: WORKFLOWS, agents: { helper: defineDeepAgent({ name: 'helper' }) } });
const cancel = (box: TestBox, runId: string) => call(box, `POST /api/runs/${runId}/cancel`);
const retry = (box: TestBox, runId: string, body?: unknown) => call(box, `POST /api/runs/${runId}/retry`, body);
const stepsOf = async (box: TestBox, runId: string) =>
  (await call<{ items: Row[] }>(box, `GET /api/runs/${runId}/steps`)).body.items;

describe.each([
  ['GET', '/steps'],
  ['GET', '/steps/0'],
  ['GET', '/timeline'],
  ['POST', '/cancel'],
  ['POST', '/retry'],
  ['POST', '/resume'],
  ['DELETE', ''],
])('%s /api/runs/:id%s', (method, path) => {
  test('of no run is 404', async () => {
    const box = await open();
    for (const id of [NO_RUN, 'nope'])
      expect(await call(box, `${method} /api/runs/${id}${path}`)).toMatchObject({
        status: 404,
        body: { code: 'run_not_found', message: `There is no run "${id}".` },
      });
  });
});

describe('a cancel', () => {
  test.each(['hook', 'nap', 'ask'])('ends a run that waits: %s', async (name) => {
    const box = await open();
    const runId = await startWorkflow(box, name);
    await untilStatus(box, runId, 'waiting');
    const held = getRun(box, runId, '20s');
    expect(await cancel(box, runId)).toMatchObject({
      status: 200,
      body: { runId, status: 'cancelled', error: { code: 'run_cancelled' }, endedAt: expect.any(String) },
    });
    expect(await held).toMatchObject({ status: 'cancelled' });
  });

  test('ends a running step by its signal, and its result is not recorded', async () => {
    let reason: unknown;
    let isRunning = false;
    const endless = toStep('endless', () => {
      const { signal } = getStepMetadata();
      isRunning = true;
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason;
          reject(signal.reason as Error);
        });
      });
    });
    const box = await boxes.open({ workflows: { endless: { run: async () => endless() } } });
    const runId = await startWorkflow(box, 'endless');
    await until(() => isRunning);
    await cancel(box, runId);
    await until(() => reason !== undefined);
    expect(reason).toMatchObject({ code: 'run_cancelled' });
    await untilStatus(box, runId, 'cancelled');
    expect(await stepsOf(box, runId)).toMatchObject([
      { name: 'endless', status: 'failed', error: { code: 'run_cancelled' } },
    ]);
  });

  test('ends a run that waits on disk, after a restart', async () => {
    const first = await open();
    const runId = await startWorkflow(first, 'nap');
    await untilStatus(first, runId, 'waiting');
    const box = await first.restart();
    expect((await cancel(box, runId)).body.status).toBe('cancelled');
  });

  test('lets the run clean up, which it says, and the next one ends that', async () => {
    const undone: string[] = [];
    let isStuck = false;
    const undo = toStep('undo', (what: string) => {
      undone.push(what);
      return isStuck ? new Promise<void>(() => {}) : undefined;
    });
    const run = async (): Promise<void> => {
      try {
        await sleep('1 hour');
      } finally {
        await undo('a');
        await undo('b');
      }
    };
    const box = await boxes.open({ workflows: { careful: { run }, careless: { run, cleanup: false } } });
    const start = async (name: string): Promise<string> => {
      const runId = await startWorkflow(box, name);
      await untilStatus(box, runId, 'waiting');
      return runId;
    };
    const first = await cancel(box, await start('careful'));
    expect(first.body).toMatchObject({ status: 'cancelled', cancelling: null, error: { code: 'run_cancelled' } });
    expect(undone).toEqual(['a', 'b']);
    expect((await cancel(box, await start('careless'))).body).toMatchObject({ status: 'cancelled' });
    expect(undone).toEqual(['a', 'b']);

    isStuck = true;
    const runId = await start('careful');
    const { cancelling } = (await cancel(box, runId)).body as { cancelling: { since: string; until: string } };
    expect(Date.parse(cancelling.until) - Date.parse(cancelling.since)).toBe(30_000);
    const why = await call<{ reasons: Row[] }>(box, `GET /api/runs/${runId}/why`);
    expect(why.body.reasons[0]).toMatchObject({ code: 'cancelling' });
    // Sent twice, as many a script does.
    for (let n = 0; n < 2; n++)
      expect((await call(box, 'POST /api/runs/cancel', { name: 'careful' })).body).toMatchObject({
        done: 1,
        failed: [],
      });
    expect(await getRun(box, runId)).toMatchObject({ cancelling: { until: cancelling.until } });
    expect((await cancel(box, runId)).body).toMatchObject({ status: 'cancelled', cancelling: null });
    expect(undone).toEqual(['a', 'b', 'a']);
  });

  test('of a run that has ended is 409 and says how it ended', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'echo');
    expect(await cancel(box, String(runId))).toMatchObject({
      status: 409,
      body: { code: 'run_final', details: { status: 'completed' } },
    });
    const other = await startWorkflow(box, 'hook');
    const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(box, other)));
    // The second one may still meet it cleaning up.
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.length).toBeGreaterThanOrEqual(8);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10 - refused.length);
    expect(await getRun(box, other)).toMatchObject({ status: 'cancelled' });
  });

  test('and a resume at the same time: one wins, and the run is final once', async () => {
    const box = await open();
    for (let n = 0; n < 10; n++) {
      const runId = await startWorkflow(box, 'hook');
      await untilStatus(box, runId, 'waiting');
      await Promise.all([cancel(box, runId), call(box, 'POST /api/workflows/hooks/hook/resume', n)]);
      const { status } = await finish(box, runId);
      expect(['cancelled', 'completed']).toContain(status);
      expect((await getRun(box, runId)).status).toBe(status);
    }
  });
});

describe('the steps of a run', () => {
  test('are listed page by page, whole and in order, and a page of large ones ends before its limit', async () => {
    const text = 'x'.repeat(900_000);
    const make = toStep('make', async (n: number, isLarge: boolean) => `${n}${isLarge ? text : ''}`);
    const box = await boxes.open({
      workflows: {
        many: {
          async run({ isLarge }: { isLarge: boolean }) {
            for (let n = 0; n < 7; n++) await make(n, isLarge);
          },
        },
      },
    });
    type StepPage = { items: { output: string }[]; nextCursor: string | null };
    const pagesOf = async (isLarge: boolean, query: string): Promise<string[]> => {
      const { runId } = await runWorkflow(box, 'many', { isLarge });
      const pages: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await call<StepPage>(box, `GET /api/runs/${String(runId)}/steps?${query}${cursor}`);
        pages.push(body.items.map(({ output }) => output[0]).join(''));
        if (body.nextCursor === null) return pages;
        cursor = `&cursor=${body.nextCursor}`;
      }
    };
    expect(await pagesOf(false, '')).toEqual(['0123456']);
    expect(await pagesOf(false, 'limit=3')).toEqual(['012', '345', '6']);
    expect(await pagesOf(false, 'limit=7')).toEqual(['0123456']);
    const large = await pagesOf(true, '');
    expect(large.join('')).toBe('0123456');
    expect(large.length).toBeGreaterThan(1);
  });

  test('are refused behind a cursor that is none', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'math', { n: 3 });
    const { status, body } = await call<Row>(box, `GET /api/runs/${String(runId)}/steps?cursor=x`);
    expect([status, body]).toMatchObject([400, { code: 'invalid_cursor' }]);
  });

  test('are its calls in order, with input, output and times', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'math', { n: 3 });
    const time = expect.stringMatching(/Z$/);
    const steps = await stepsOf(box, String(runId));
    expect(steps).toHaveLength(2);
    expect(steps[0]).toEqual({
      stepId: '0',
      name: 'double',
      source: 'workflows/test.workflow.ts#double',
      kind: 'step',
      seq: 0,
      call: 0,
      status: 'completed',
      attempt: 1,
      input: { args: [3] },
      output: 6,
      error: null,
      attempts: [],
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      totalTokens: 0,
      startedAt: time,
      endedAt: time,
    });
    expect(steps[1]).toMatchObject({ stepId: '1', input: { args: [6] }, output: 12 });
    expect((await call(box, `GET /api/runs/${String(runId)}/steps/1`)).body).toEqual(steps[1]);
    expect(await call(box, `GET /api/runs/${String(runId)}/steps/2`)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });

  test('count attempts and say why one failed', async () => {
    let n = 0;
    const third = toStep('third', () => {
      if (++n < 3) throw Object.assign(new Error(`No ${n}.`), { name: 'RetryableError', retryAfter: 1 });
      return 'third time';
    });
    const fails = toStep('fails', () => {
      throw fatal('Never.');
    });
    const box = await boxes.open({ workflows: { tries: { run: async () => [await third(), await fails()] } } });
    const run = await runWorkflow(box, 'tries');
    const [one, two] = await stepsOf(box, String(run.runId));
    expect(one).toMatchObject({
      status: 'completed',
      attempt: 3,
      attempts: [
        { attempt: 1, error: 'No 1.' },
        { attempt: 2, error: 'No 2.' },
      ],
    });
    expect(two).toMatchObject({
      status: 'failed',
      attempt: 1,
      output: null,
      error: { name: 'Error', message: 'Never.' },
    });
  });

  test('show a wait with its times, and none that still waits once the run has ended', async () => {
    const box = await boxes.open({
      workflows: {
        waits: {
          run: async () => {
            await sleep(20);
            return [await createHook({ token: 'hook' }), await requestApproval({ title: 'Go?', timeout: '1s' })];
          },
        },
      },
    });
    const runId = await startWorkflow(box, 'waits');
    // The hook is there a moment before it is awaited.
    await until(async () => (await box.journal.getRun(runId))?.waitingFor?.includes('"hook"') === true);
    const before = new Date().toISOString();
    await call(box, 'POST /api/workflows/hooks/hook/resume', 1);
    await finish(box, runId);
    const steps = await stepsOf(box, runId);
    expect(steps.map(({ kind, name, status }) => [kind, name, status])).toEqual([
      ['sleep', 'sleep', 'completed'],
      ['hook', 'hook', 'completed'],
      ['hook', 'await hook', 'completed'],
      ['hook', 'approval', 'completed'],
      ['approval', 'await approval', 'completed'],
    ]);
    const timeOf = (at: unknown) => Date.parse(String(at));
    expect(String(steps[2]?.startedAt) <= before).toBe(true);
    expect(timeOf(steps[0]?.endedAt) - timeOf(steps[0]?.startedAt)).toBeGreaterThanOrEqual(20);
    // Its time begins a moment before it is recorded.
    expect(timeOf(steps[4]?.endedAt) - timeOf(steps[3]?.startedAt)).toBeGreaterThanOrEqual(500);
  });

  test('of a turn are its model calls', async () => {
    const box = await open();
    const messages = [{ role: 'user', content: 'say:hi' }];
    await box.request(
      '/wire-a/v1/chat/completions',
      json({ model: 'helper', messages }, { headers: { 'x-api-key': 'k' } }),
    );
    const [run] = (await call<{ items: Row[] }>(box, 'GET /api/runs?kind=agent')).body.items;
    await finish(box, String(run?.runId));
    const [step] = await stepsOf(box, String(run?.runId));
    expect(step).toMatchObject({ kind: 'model', status: 'completed' });
    expect(Number(step?.totalTokens)).toBeGreaterThan(0);
    expect(await retry(box, String(run?.runId))).toMatchObject({ status: 409 });
  });
});

describe('a retry', () => {
  test('from the failed step keeps what was recorded and runs the rest', async () => {
    const { world, workflow } = fragile();
    const box = await boxes.open({ workflows: { fragile: workflow } });
    const failed = await runWorkflow(box, 'fragile');
    expect(failed).toMatchObject({ status: 'failed', error: { message: 'Not yet.' } });
    world.works = true;
    const { status, body } = await retry(box, String(failed.runId));
    expect({ status, body }).toEqual({
      status: 202,
      body: {
        workflowName: 'fragile',
        status: 'started',
        runId: expect.any(String),
        worldRunId: expect.any(String),
        trigger: 'POST /api/workflows/fragile/start',
      },
    });
    expect(body.runId).not.toBe(failed.runId);
    const run = await finish(box, String(body.runId));
    expect(run).toMatchObject({ status: 'completed', retryOf: failed.runId, trigger: 'retry', input: failed.input });
    expect(world.ran).toEqual(['first', 'second', 'second']);
    const [kept] = await stepsOf(box, String(failed.runId));
    expect((await stepsOf(box, String(run.runId)))[0]).toMatchObject({ output: kept?.output });
    expect((run.output as { value: number }).value).toBe(kept?.output);
  });

  test('of a retry that failed too keeps what both recorded', async () => {
    const { world, workflow } = fragile();
    const box = await boxes.open({ workflows: { fragile: workflow } });
    const first = await runWorkflow(box, 'fragile');
    const second = await finish(box, String((await retry(box, String(first.runId))).body.runId));
    expect(second.status).toBe('failed');
    world.works = true;
    const third = await finish(box, String((await retry(box, String(second.runId))).body.runId));
    expect(third).toMatchObject({ status: 'completed', retryOf: second.runId });
    expect(world.ran).toEqual(['first', 'second', 'second', 'second']);
  });

  test('from the start repeats everything', async () => {
    const { world, workflow } = fragile();
    world.works = true;
    const box = await boxes.open({ workflows: { fragile: workflow } });
    const first = await runWorkflow(box, 'fragile');
    const again = await finish(box, String((await retry(box, String(first.runId), { from: 'start' })).body.runId));
    expect(again).toMatchObject({ status: 'completed', retryOf: first.runId });
    expect(world.ran).toEqual(['first', 'second', 'first', 'second']);
    expect(again.output).not.toEqual(first.output);
  });

  test('of a run that goes on is 409', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'hook');
    await untilStatus(box, runId, 'waiting');
    expect(await retry(box, runId)).toMatchObject({
      status: 409,
      body: { code: 'run_not_final', message: expect.stringContaining('waiting') },
    });
  });

  test('of a cancelled run goes on where it was', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'hook');
    await untilStatus(box, runId, 'waiting');
    await cancel(box, runId);
    const { body } = await retry(box, runId);
    await untilStatus(box, String(body.runId), 'waiting');
    expect((await call(box, 'POST /api/workflows/hooks/hook/resume', 'on')).body.runId).toBe(body.runId);
    expect((await finish(box, String(body.runId))).output).toBe('on');
  });

  test.each([[{ from: 'middle' }], [{ from: 'start', name: 'x' }], [[]]])('by %j is 400', async (body) => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'echo');
    expect(await retry(box, String(runId), body)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('of a workflow that is gone, or does not compile, says so', async () => {
    const first = await open();
    const { runId } = await runWorkflow(first, 'echo');
    const gone = await first.restart({ workflows: {} });
    expect(await retry(gone, String(runId))).toMatchObject({ status: 404, body: { code: 'workflow_not_found' } });
    const broken = await gone.restart({ workflows: { echo: new Error('x') } });
    expect(await retry(broken, String(runId))).toMatchObject({
      status: 503,
      body: { code: 'workflow_compile_failed' },
    });
  });

  test('while the gate is closed is 503', async () => {
    const box = await boxes.open({ provider: 'none', workflows: WORKFLOWS });
    expect(await retry(box, NO_RUN)).toMatchObject({ status: 503, body: { code: 'workflow_runtime_not_armed' } });
  });
});

describe('a delete', () => {
  test('of a run that has ended removes it, with its steps', async () => {
    const box = await open();
    const { runId } = await runWorkflow(box, 'math', { n: 1 });
    const path = `/api/runs/${String(runId)}`;
    expect(await call(box, `DELETE ${path}`)).toEqual({ status: 200, body: { runId, deleted: true } });
    for (const route of [`GET ${path}`, `GET ${path}/steps`, `DELETE ${path}`])
      expect(await call(box, route)).toMatchObject({ status: 404, body: { code: 'run_not_found' } });
    expect((await call<{ items: unknown[] }>(box, 'GET /api/runs')).body.items).toEqual([]);
  });

  test('of a run that goes on is 409', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'hook');
    await untilStatus(box, runId, 'waiting');
    expect(await call(box, `DELETE /api/runs/${runId}`)).toMatchObject({
      status: 409,
      body: { code: 'run_not_final', message: expect.stringContaining('Cancel it') },
    });
    await cancel(box, runId);
    expect((await call(box, `DELETE /api/runs/${runId}`)).status).toBe(200);
  });
});

describe('a blocked run', () => {
  const one = toStep('one', () => 1);
  const other = toStep('other', () => 2);
  const before = { run: async () => [await one(), await createHook({ token: 'hook' })] };
  const renamed = { run: async () => [await other(), await createHook({ token: 'hook' })] };

  /** Runs a step, waits for a hook, and finds another step there once it is given the code there is after a restart. */
  async function block(): Promise<{ box: TestBox; runId: string }> {
    const first = await boxes.open({ workflows: { w: before }, hash: 'v1' });
    const runId = await startWorkflow(first, 'w');
    await untilStatus(first, runId, 'waiting');
    const box = await first.restart({ workflows: { w: renamed }, hash: 'v2' });
    await call(box, 'POST /api/workflows/hooks/hook/resume', 'go');
    await giveNewest(box, runId);
    await untilStatus(box, runId, 'blocked');
    return { box, runId };
  }

  test('says what was recorded, what is called now, and is not final', async () => {
    const { box, runId } = await block();
    expect(await getRun(box, runId, '10ms')).toMatchObject({
      status: 'blocked',
      endedAt: null,
      waitingFor: { type: 'decision', code: 'code_changed', message: expect.stringMatching(/#one.*#other/) },
    });
  });

  test('goes on by /resume once the code is repaired, over a reload', async () => {
    const { box, runId } = await block();
    await box.reload(toProgram({ workflows: { w: before }, hash: 'v3' }));
    expect(await call(box, `POST /api/runs/${runId}/resume`)).toMatchObject({ status: 200, body: { runId } });
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: [1, 'go'] });
    expect((await call(box, `POST /api/runs/${runId}/resume`)).body.code).toBe('run_not_blocked');
  });

  test('resumed on code that does not fit is blocked again', async () => {
    const { box, runId } = await block();
    const { status, body } = await call(box, `POST /api/runs/${runId}/resume`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'blocked', waitingFor: { type: 'decision' } });
  });

  test('can be cancelled, and started again', async () => {
    const { box, runId } = await block();
    expect((await call(box, `DELETE /api/runs/${runId}`)).status).toBe(409);
    expect((await retry(box, runId)).body.code).toBe('run_not_final');
    expect((await cancel(box, runId)).body.status).toBe('cancelled');
    const again = String((await retry(box, runId, { from: 'start' })).body.runId);
    await untilStatus(box, again, 'waiting');
  });

  test.each(['hook', 'echo'])('a run that is none is not continued: %s', async (name) => {
    const box = await open();
    const runId = await startWorkflow(box, name);
    await until(async () => ['waiting', 'completed'].includes(String((await getRun(box, runId)).status)));
    expect(await call(box, `POST /api/runs/${runId}/resume`)).toMatchObject({
      status: 409,
      body: { code: 'run_not_blocked' },
    });
  });
});

describe('attributes', () => {
  test('of a run are what its body and its steps have set, the later the truer', async () => {
    const mark = toStep('mark', () => setAttributes({ customer: 'ada', paid: true }));
    const box = await boxes.open({
      workflows: {
        marks: {
          run: async () => {
            setAttributes({ order: 'A-1', n: 1 });
            await mark();
            setAttributes({ n: 2 });
            await createHook({ token: 'hook' });
            setAttributes({ last: 'yes' });
          },
        },
      },
    });
    const runId = await startWorkflow(box, 'marks');
    await untilStatus(box, runId, 'waiting');
    expect((await getRun(box, runId)).attributes).toEqual({ order: 'A-1', n: 2, customer: 'ada', paid: true });
    const again = await box.restart();
    await call(again, 'POST /api/workflows/hooks/hook/resume', null);
    expect((await finish(again, runId)).attributes).toEqual({
      order: 'A-1',
      n: 2,
      customer: 'ada',
      paid: true,
      last: 'yes',
    });
    const { items } = (await call<{ items: Row[] }>(again, 'GET /api/runs')).body;
    expect(items[0]?.attributes).toMatchObject({ order: 'A-1' });
  });

  test('of a kind there is not fail the run', async () => {
    const box = await boxes.open({ workflows: { bad: { run: async () => setAttributes({ a: [] as never }) } } });
    expect(await runWorkflow(box, 'bad')).toMatchObject({
      status: 'failed',
      error: { message: 'The attribute "a" must be a string, a finite number or a boolean.' },
    });
  });
});

describe('what a run publishes', () => {
  test('is answered while it waits, and streamed until it has ended', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'tell');
    await untilStatus(box, runId, 'waiting');
    expect((await call(box, `GET /api/runs/${runId}/state`)).body).toEqual({
      runId,
      status: 'waiting',
      state: { at: 1 },
    });
    const stream = await box.request(`/api/runs/${runId}/state/stream`);
    let text = '';
    for await (const bytes of stream.body ?? []) {
      text += Buffer.from(bytes).toString();
      if (text.includes('event: state') && !text.includes('"at":2'))
        await call(box, 'POST /api/workflows/hooks/tell/resume', {});
    }
    const events = text.split('\n\n').filter((frame) => frame.startsWith('event'));
    expect(events.at(0)).toContain('"state":{"at":1}');
    expect(events.at(-1)).toBe(`event: end\ndata: ${JSON.stringify({ runId, status: 'completed', state: { at: 2 } })}`);
    expect((await call(box, `GET /api/runs/${NO_RUN}/state`)).body).toMatchObject({ code: 'run_not_found' });
  });
});

describe('many runs at once', () => {
  test('are counted, cancelled page by page, retried once each and deleted, as the filter says', async () => {
    const box = await open();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await startWorkflow(box, 'nap'));
    const other = await startWorkflow(box, 'ask');
    for (const id of ids) await untilStatus(box, id, 'waiting');
    const all = (what: string, body: object) => call<Row>(box, `POST /api/runs/${what}`, body);
    expect((await all('cancel', {})).body).toMatchObject({ code: 'invalid_request' });
    expect((await all('cancel', { name: 'nap', status: 'completed' })).body).toMatchObject({ code: 'invalid_request' });
    expect((await all('cancel', { name: 'nap', dryRun: true })).body).toMatchObject({ matched: 5, done: 0 });
    const first = await all('cancel', { name: 'nap', limit: 3 });
    expect(first.body).toEqual({ matched: 5, done: 3, failed: [], nextCursor: `${ids[2]!}.5` });
    // They clean up first, which nothing waits for here.
    for (const id of ids.slice(2)) await untilStatus(box, id, 'cancelled');
    const rest = await all('cancel', { name: 'nap', limit: 3, cursor: first.body.nextCursor });
    expect(rest.body).toEqual({ matched: 5, done: 2, failed: [], nextCursor: null });
    expect((await all('cancel', { name: 'nap', cursor: ids[2] })).body).toMatchObject({ code: 'invalid_cursor' });
    for (const id of ids) await untilStatus(box, id, 'cancelled');
    expect(await getRun(box, other)).toMatchObject({ status: 'waiting' });
    const count = async () => (await call<{ items: Row[] }>(box, 'GET /api/runs?name=nap')).body.items.length;
    expect((await all('retry', { name: 'nap', status: 'cancelled' })).body).toMatchObject({ done: 5, failed: [] });
    expect((await all('retry', { name: 'nap', status: 'cancelled' })).body).toMatchObject({ done: 5, failed: [] });
    expect(await count()).toBe(10);
    expect((await all('delete', { name: 'nap' })).body).toMatchObject({ matched: 5, done: 5, failed: [] });
    expect(await count()).toBe(5);
  });
});

describe('a paused run', () => {
  test('says so, and goes on when it is resumed', async () => {
    const box = await open();
    const runId = await startWorkflow(box, 'hook');
    await untilStatus(box, runId, 'waiting');
    expect((await call(box, `POST /api/runs/${runId}/pause`)).body).toMatchObject({ pausedAt: expect.any(String) });
    const resumed = await call(box, 'POST /api/workflows/hooks/hook/resume', { a: 1 });
    expect(resumed.status).toBe(200);
    const why = await call<{ reasons: Row[] }>(box, `GET /api/runs/${runId}/why`);
    expect(why.body.reasons[0]).toMatchObject({ code: 'paused' });
    expect(await getRun(box, runId)).toMatchObject({ endedAt: null });
    expect((await call(box, `POST /api/runs/${runId}/resume`)).body).toMatchObject({ pausedAt: null });
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { a: 1 } });
    expect((await call(box, `POST /api/runs/${runId}/pause`)).body).toMatchObject({ code: 'run_final' });
  });
});
