import { describe, expect, test } from 'vitest';
import { createHook } from '../src/engine/primitives/hook.ts';
import { svc } from '../src/index.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestProgram } from './_setup.ts';

const boxes = setupBoxes();
const open = (workflows: TestProgram['workflows']) => boxes.open({ workflows: workflows ?? {} });
const stepOf = async (box: Awaited<ReturnType<typeof open>>, runId: unknown) =>
  (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/runs/${String(runId)}/steps`)).body.items;

class PaymentError extends Error {
  override readonly name = 'PaymentError';
  readonly code = 'card_declined';
  readonly attempt = { at: new Date(0), amount: 12n };
  readonly socket = () => 1;
  readonly reason = new TypeError('the reason');
}

function throwPayment(): never {
  const timeout = Object.assign(new RangeError('too late'), { limit: 5, code: 408 });
  const failed = new AggregateError([new TypeError('one'), 'two', timeout], 'both failed', { cause: { plain: true } });
  throw Object.assign(new PaymentError('declined', { cause: failed }), { fatal: true });
}

const EXPECTED = {
  code: 'card_declined',
  name: 'PaymentError',
  message: 'declined',
  stack: expect.stringMatching(
    /^PaymentError: declined\n\s+at throwPayment \(.*failures\.test\.ts:\d+:\d+\)/,
  ) as string,
  cause: {
    code: 'run_failed',
    name: 'AggregateError',
    message: 'both failed',
    stack: expect.stringContaining('throwPayment') as string,
    cause: { plain: true },
    errors: [
      expect.objectContaining({ name: 'TypeError', message: 'one', cause: null }) as object,
      'two',
      expect.objectContaining({ name: 'RangeError', message: 'too late', details: { limit: 5, code: 408 } }) as object,
    ],
  },
  details: {
    attempt: { at: '1970-01-01T00:00:00.000Z', amount: '12' },
    reason: expect.objectContaining({ name: 'TypeError', message: 'the reason' }) as object,
  },
};

describe('where an error was thrown', () => {
  const root = process.cwd();
  const failWith =
    (...frames: string[]) =>
    async () => {
      throw Object.assign(new Error('no'), { fatal: true, stack: ['Error: no', ...frames].join('\n') });
    };
  const OWN = `    at record (file://${root}/node_modules/@svc/runtime/dist/engine-BcD3.mjs:12:7)`;
  const LIBRARY = `    at parse (${root}/apps/shop/node_modules/zod/index.cjs:9:1)`;
  const CODE = `    at refund (file://${root}/workflows/refund.workflow.ts:12:3)`;

  test.each([
    [
      'leaves out frames of installed packages',
      [OWN, LIBRARY, CODE],
      ['    at refund (workflows/refund.workflow.ts:12:3)'],
    ],
    [
      'keeps the names of the files where there is no other frame',
      [OWN, LIBRARY],
      ['    at record (engine-BcD3.mjs:12:7)', '    at parse (index.cjs:9:1)'],
    ],
  ])('%s', async (_, frames, shown) => {
    const box = await open({ refund: { run: failWith(...frames) } });
    const { error } = (await runWorkflow(box, 'refund')) as { error: { stack: string } };
    expect(error.stack.split('\n')).toEqual(['Error: no', ...shown]);
  });

  test('is named in the code of the project, never in an installed package', async () => {
    const stopped: unknown[] = [];
    const box = await boxes.open({
      workflows: { refund: { run: failWith(OWN, CODE) }, other: { run: failWith(OWN) } },
      options: { onStopped: ({ place }) => void stopped.push(place) },
    });
    for (const name of ['refund', 'other']) await runWorkflow(box, name);
    await until(async () => stopped.length === 2);
    expect(stopped).toEqual(['workflows/refund.workflow.ts:12', undefined]);
  });
});

describe('an error keeps its name, message, stack, causes and properties', () => {
  test('from a step through the body to the run, in both records', async () => {
    const pay = toStep('pay', throwPayment);
    const box = await open({ w: { run: async () => pay() } });
    const run = await runWorkflow(box, 'w');
    expect(run).toMatchObject({ status: 'failed', error: EXPECTED });
    expect((await stepOf(box, run.runId))[0]).toMatchObject({ status: 'failed', error: EXPECTED });
  });

  test('thrown by the body itself', async () => {
    const box = await open({ w: { run: async () => throwPayment() } });
    expect((await runWorkflow(box, 'w')).error).toMatchObject(EXPECTED);
  });

  test('as the cause of what a parent gets for its child', async () => {
    const box = await open({
      child: { run: async () => throwPayment() },
      parent: { run: async () => svc.workflows.startAndWait('child', {}) },
    });
    expect((await runWorkflow(box, 'parent')).error).toMatchObject({ code: 'child_failed', cause: EXPECTED });
  });

  test('in the hands of a body that catches it', async () => {
    const pay = toStep('pay', throwPayment);
    const look = (error: PaymentError) => [
      error.name,
      error.attempt,
      error.reason instanceof TypeError,
      (error.cause as AggregateError).errors.length,
      error.cause instanceof AggregateError,
    ];
    const box = await open({ w: { run: async () => pay().catch(look) } });
    expect((await runWorkflow(box, 'w')).output).toEqual([
      'PaymentError',
      { at: '1970-01-01T00:00:00.000Z', amount: '12' },
      true,
      3,
      true,
    ]);
  });

  const loop = new Error('the loop');
  loop.cause = new Error('between', { cause: loop });
  let deep = new Error('0');
  for (let n = 1; n < 200; n++) deep = new Error(String(n), { cause: deep });
  const trap = Object.defineProperty(new Error('the trap'), 'bad', {
    enumerable: true,
    get() {
      throw new Error('never read');
    },
  });
  test.each([
    ['leads back to itself', loop, { message: 'the loop', cause: { message: 'between', cause: 'the loop' } }],
    ['is caused two hundred deep', deep, { message: '199', cause: { message: '198' } }],
    ['has a property that throws', trap, { message: 'the trap' }],
    ['is caused by what cannot be recorded', new Error('x', { cause: () => 1 }), { cause: '() => 1' }],
    [
      'is no error',
      { plain: 1 },
      { message: 'Not an Error was thrown: {"plain":1}', name: 'FatalError', cause: { plain: 1 } },
    ],
  ])('and is recorded even if it %s', async (_, thrown, expected) => {
    const box = await open({ w: { run: () => Promise.reject(thrown as Error) } });
    expect((await runWorkflow(box, 'w')).error).toMatchObject(expected);
  });
});

describe('a value that cannot be recorded is named by its path, where it is handed over', () => {
  const socket = () => 1;
  const user = { user: { socket } };
  const take = toStep('take', (_value: unknown) => 1);
  const give = toStep('give', () => user);
  const CASES: [what: string, run: () => Promise<unknown>, path: string][] = [
    ['an argument of a step', () => take(user), 'take.args[0].user.socket'],
    ['the result of a step', () => give(), 'result.user.socket'],
    ['the output of a workflow', async () => user, 'output.user.socket'],
    ['the input of a child', () => svc.workflows.startAndWait('child', user), 'input.user.socket'],
  ];
  test.each(CASES)('%s', async (_, run, path) => {
    const box = await open({ w: { run }, child: { run: async () => 1 } });
    expect(await runWorkflow(box, 'w')).toMatchObject({
      status: 'failed',
      error: {
        code: 'not_serializable',
        message: `"${path}" cannot be recorded: it is a function. Pass plain data, or make the value inside the step that uses it.`,
        stack: expect.stringContaining('SerializationError') as string,
      },
    });
  });

  test('a payload of a hook, by any caller that resumes it', async () => {
    const box = await open({ w: { run: async () => createHook({ token: 'failures' }) } });
    const runId = await startWorkflow(box, 'w');
    await untilStatus(box, runId, 'waiting');
    await expect(box.journal.hooks.find('failures')).resolves.toBeDefined();
    await call(box, 'POST /api/workflows/hooks/failures/resume', { ok: 1 });
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { ok: 1 } });
  });

  test('a step argument is refused at the call: a body may catch it and go on', async () => {
    const run = async () => {
      try {
        return await take(user);
      } catch (error) {
        return (error as { path: string }).path;
      }
    };
    const box = await open({ w: { run } });
    expect((await runWorkflow(box, 'w')).output).toBe('take.args[0].user.socket');
  });
});
