import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { svc } from '../src/index.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { call, finish, runWorkflow, setupBoxes, toStep } from './_setup.ts';

const boxes = setupBoxes();

/** Fails at once. */
const once = (name: string, work: () => unknown, options = {}) =>
  Object.assign(toStep(name, work), { maxRetries: 0, ...options });
const late = once('late', () => new Promise(() => {}), { timeout: 20 });
const odd = once('odd', () => ({ fn: () => 1 }));
const word = once('word', () => {
  // oxlint-disable-next-line typescript/only-throw-error -- what code may do
  throw 'no';
});

/** Bodies that fail by what the runtime says, and call nothing that fails by its own code. */
const BODIES: Record<string, () => Promise<unknown>> = {
  async stepThatIsLate() {
    await sleep(1);
    await late();
  },
  async stepWhoseResultIsNoData() {
    await odd();
  },
  async stepThatThrowsText() {
    await word();
  },
  async startOfNothing() {
    await svc.workflows.start('nothing', {});
  },
  async startThatDoesNotFit() {
    await sleep(1);
    await svc.workflows.startAndWait('typed', { n: 'x' });
  },
  async childThatFails() {
    await svc.workflows.startAndWait('fails', {});
  },
  async agentThereIsNot() {
    await svc.agent('nothing').session('a').send('say:hi');
  },
  async agentWhoseModelRefuses() {
    await svc.agent('helper').session('a').send('error:400');
  },
  async secretThatIsReadInABody() {
    // What a body does first may stand on the stack of the request that started it, with code of the test.
    await sleep(1);
    await svc.secrets.get('x');
  },
  async timerOfNothing() {
    await svc.workflows.schedule('nothing', {}, { in: 1 });
  },
  async configurationThereIsNot() {
    await svc.config.get('nothing' as never);
  },
  async oneOfSeveral() {
    await Promise.all([sleep(1), late()]);
  },
  async laterThan() {
    const answer = late();
    await sleep(1);
    await answer.then((value: unknown) => value).finally(() => {});
  },
};

test.each(Object.keys(BODIES))('an error the runtime makes leads to who waits for it: %s', async (name) => {
  const typed = { run: async () => 1, inputSchema: z.object({ n: z.number() }) };
  const fails = { run: async () => late() };
  const box = await boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper' }) },
    workflows: { [name]: { run: BODIES[name] as () => Promise<unknown> }, typed, fails },
  });
  const run = (await runWorkflow(box, name)) as { status: string; error: { stack: string } };
  expect(run.status).toBe('failed');
  // Here the runtime's own files are in the project, too.
  const lines = run.error.stack.split('\n').filter((line) => line.includes('/test/'));
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`at (?:async )?(?:\\S+\\.)?${name} \\(packages/.*:\\d+:\\d+\\)$`)),
  ]);
});

test('what ends a run that has too many records leads to the call that was one too many', async () => {
  const step = once('step', () => 1);
  const bodies = {
    async many() {
      for (;;) await step();
    },
  };
  const box = await boxes.open({
    workflows: { many: { run: bodies.many as () => Promise<unknown> } },
    options: { engine: { limits: { records: 20 } } },
  });
  const { error } = (await runWorkflow(box, 'many')) as { error: { code: string; stack: string } };
  expect(error.code).toBe('run_journal_full');
  expect(error.stack).toMatch(
    /at (?:async )?(?:\S+\.)?many \(packages\/runtime\/test\/error-places\.test\.ts:\d+:\d+\)$/m,
  );
});

test('an error that leads to code of the workspace is left as it is, and one that is caught has its place', async () => {
  const own = once('own', () => {
    throw new Error('mine');
  });
  const seen: string[] = [];
  const bodies = {
    async plain() {
      await own();
    },
    async caught() {
      await late().catch(({ stack }: Error) => seen.push(stack ?? ''));
      await late().catch(({ stack }: Error) => seen.push(stack ?? ''));
    },
  };
  const workflows = Object.fromEntries(Object.entries(bodies).map(([name, run]) => [name, { run }]));
  const box = await boxes.open({ workflows });
  const { error } = (await runWorkflow(box, 'plain')) as { error: { stack: string } };
  expect(error.stack).toMatch(/own|error-places/);
  expect(error.stack).not.toMatch(/ plain /);
  expect(await runWorkflow(box, 'caught')).toMatchObject({ status: 'completed' });
  expect(seen.map((stack) => /at (?:async )?(?:\S+\.)?caught \(/.test(stack))).toEqual([true, true]);
});

test('a run that ended so is retried from the call that failed', async () => {
  let runs = 0;
  const done = once('done', () => (runs += 1));
  const hang = once('hang', () => new Promise(() => {}), { timeout: 20 });
  const first = { run: async () => [await done(), await hang()] };
  const box = await boxes.open({ workflows: { first } });
  const { runId } = (await runWorkflow(box, 'first')) as { runId: string };
  const again = await call(box, `POST /api/runs/${runId}/retry`, {});
  expect(await finish(box, String(again.body.runId))).toMatchObject({ error: { code: 'step_timeout' } });
  expect(runs).toBe(1);
});
