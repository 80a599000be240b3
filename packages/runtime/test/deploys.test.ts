import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createHook } from '../src/engine/primitives/hook.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { call, finish, getRun, giveNewest, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestBox, TestWorkflow } from './_setup.ts';

// A run is parked in the middle when the code changes: what happens to it, per kind of change and kind of wait.

const boxes = setupBoxes();
let effects: string[] = [];
beforeEach(() => (effects = []));

const effect = (name: string) => toStep(name, (order: string) => void effects.push(`${name} ${order}`));
const [charge, bill, reserve, ship, thank] = ['charge', 'bill', 'reserve', 'ship', 'thank'].map(effect) as Step[];
type Step = ReturnType<typeof effect>;
const inputSchema = z.object({ order: z.string() });

type Wait = () => Promise<unknown>;
const WAITS: Record<string, Wait> = {
  sleep: () => sleep(1_500),
  hook: async () => createHook({ token: 'deploys' }),
};

type Input = z.infer<typeof inputSchema>;
type Code = (wait: Wait) => (input: Input) => Promise<unknown>;

const FIRST: Code = (wait) => async (input) => {
  await charge?.(input.order);
  await wait();
  await ship?.(input.order);
  return 'first';
};

interface Change {
  code: Code;
  inputSchema?: z.ZodType;
}

const GOES_ON: Record<string, Change & { output: string; effects: string[] }> = {
  'the same code': { code: FIRST, output: 'first', effects: ['charge a', 'ship a'] },
  'a step appended': {
    code: (wait) => async (input) => {
      await FIRST(wait)(input);
      await thank?.(input.order);
      return 'appended';
    },
    output: 'appended',
    effects: ['charge a', 'ship a', 'thank a'],
  },
  'another input schema: the input was held to the one at its start': {
    code: FIRST,
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    output: 'first',
    effects: ['charge a', 'ship a'],
  },
};

const BLOCKS: Record<string, Change & { recorded: string; called: string | null }> = {
  'a step renamed': {
    code: (wait) => async (input) => {
      await bill?.(input.order);
      await wait();
      await ship?.(input.order);
      return 'renamed';
    },
    recorded: 'charge',
    called: 'bill',
  },
  'a step inserted before': {
    code: (wait) => async (input) => {
      await reserve?.(input.order);
      await FIRST(wait)(input);
      return 'inserted';
    },
    recorded: 'charge',
    called: 'reserve',
  },
  'a step removed': {
    code: (wait) => async (input) => {
      await wait();
      await ship?.(input.order);
      return 'removed';
    },
    recorded: 'charge',
    called: null,
  },
};

const cases = <T>(changes: Record<string, T>) =>
  Object.entries(WAITS).flatMap(([wait, make]) =>
    Object.entries(changes).map(([change, given]) => [change, wait, given, make] as const),
  );

/** A run that waits in the middle, and a box on its journal with the changed code, which it is given. */
async function deploy(wait: Wait, change: Change) {
  const box = await boxes.open({ workflows: { order: workflow(FIRST(wait), inputSchema) }, hash: 'first' });
  const runId = await startWorkflow(box, 'order', { order: 'a' });
  await untilStatus(box, runId, 'waiting');
  const hash = change.code === FIRST && !change.inputSchema ? 'first' : 'second';
  const program = { workflows: { order: workflow(change.code(wait), change.inputSchema ?? inputSchema) }, hash };
  const next = await box.restart(program);
  await resume(next, wait);
  if (hash !== 'first') await giveNewest(next, runId);
  return { box: next, runId };
}

const workflow = (run: unknown, schema: z.ZodType): TestWorkflow => ({
  run: run as TestWorkflow['run'],
  inputSchema: schema,
});

async function resume(box: TestBox, wait: Wait): Promise<void> {
  if (wait !== WAITS['hook']) return;
  const { status } = await call(box, 'POST /api/workflows/hooks/deploys/resume', { go: true });
  expect(status).toBeLessThan(300);
}

describe('a run that is parked goes on over', () => {
  test.each(cases(GOES_ON))('%s, while it waits for a %s', async (_change, _wait, given, make) => {
    const { box, runId } = await deploy(make, given);
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: given.output });
    expect(effects).toEqual(given.effects);
  });
});

describe('a run that is parked is blocked by', () => {
  test.each(cases(BLOCKS))('%s, while it waits for a %s', async (_change, wait, given, make) => {
    const { box, runId } = await deploy(make, given);
    await untilStatus(box, runId, 'blocked');
    const { waitingFor } = await getRun(box, runId);
    const step = (name: string) => `workflows/test.workflow.ts#${name}`;
    const called = given.called === null ? { sleep: 'sleep', hook: 'hook' }[wait] : step(given.called);
    expect(waitingFor).toMatchObject({
      type: 'decision',
      code: 'code_changed',
      call: 0,
      recorded: step(given.recorded),
      called,
      at: expect.stringMatching(/packages\/runtime\/test\/(?:deploys\.test|_setup)\.ts:\d+$/) as string,
      message: expect.stringContaining(String(called)) as string,
    });
    expect(effects).toEqual(['charge a']);
  });
});

describe('the ways out of a blocked run', () => {
  const renamed = BLOCKS['a step renamed'] as Change;
  const sleeps = WAITS['sleep'] as Wait;
  const blocked = async () => {
    const { box, runId } = await deploy(sleeps, renamed);
    await untilStatus(box, runId, 'blocked');
    return { box, runId };
  };

  test('resumed on code that fits, it goes on where it was', async () => {
    const { box, runId } = await blocked();
    const fitting = await box.restart({ workflows: { order: workflow(FIRST(sleeps), inputSchema) }, hash: 'third' });
    expect((await call(fitting, `POST /api/runs/${runId}/resume`)).status).toBe(200);
    expect(await finish(fitting, runId)).toMatchObject({ status: 'completed', output: 'first' });
    expect(effects).toEqual(['charge a', 'ship a']);
  });

  test('started over, it ends as cancelled and a new run does everything on the new code', async () => {
    const { box, runId } = await blocked();
    const kept = await call(box, `POST /api/runs/${runId}/retry`, { from: 'failed-step' });
    expect([kept.status, kept.body]).toMatchObject([409, { code: 'run_not_final' }]);
    const { body } = await call(box, `POST /api/runs/${runId}/retry`, { from: 'start' });
    expect(await finish(box, String(body.runId))).toMatchObject({ output: 'renamed', retryOf: runId });
    expect(await getRun(box, runId)).toMatchObject({ status: 'cancelled', error: { code: 'run_restarted' } });
    expect(effects).toEqual(['charge a', 'bill a', 'ship a']);
  });

  test('cancelled, it is over', async () => {
    const { box, runId } = await blocked();
    expect((await call(box, `POST /api/runs/${runId}/cancel`)).status).toBe(200);
    await until(async () => (await getRun(box, runId)).status === 'cancelled');
  });
});
