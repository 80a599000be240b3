import { EventEmitter } from 'node:events';
import { createReadStream, ReadStream } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { installUncaught } from '../src/engine/uncaught.ts';
import { createLog } from '../src/log.ts';
import { defineDeepAgent, defineGuardrail, defineScorer, defineTool, getStepMetadata, sleep } from '../src/index.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { call, finish, getRun, json, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox, TestWorkflow } from './_setup.ts';
import { describeWhen } from './require.ts';

// Vitest listens too, and would report what is thrown here as an error of its own.
const others = process.listeners('uncaughtException');
beforeAll(() => {
  process.removeAllListeners('uncaughtException');
  installUncaught();
});
afterAll(() => {
  process.removeAllListeners('uncaughtException');
  for (const listener of others) process.on('uncaughtException', listener);
});

const boxes = setupBoxes();
const never = () => new Promise<never>(() => {});
const boom = (): never => {
  throw new Error('boom');
};

function throwThrice(): void {
  let left = 3;
  const interval = setInterval(() => {
    left -= 1;
    if (left === 0) clearInterval(interval);
    boom();
  }, 1);
}

/** What throws where nothing can catch it, and what the error leads to. */
const inSteps: [string, () => unknown, RegExp][] = [
  ['a timer', () => setTimeout(boom, 1), /uncaught\.test\.ts:\d+/],
  ['an interval', throwThrice, /uncaught\.test\.ts:\d+/],
  ['an immediate', () => setImmediate(boom), /uncaught\.test\.ts:\d+/],
  ['a tick', () => process.nextTick(boom), /uncaught\.test\.ts:\d+/],
  ['a microtask', () => queueMicrotask(boom), /uncaught\.test\.ts:\d+/],
  [
    'an emitter',
    () => setImmediate(() => new EventEmitter().emit('error', new Error('boom'))),
    /uncaught\.test\.ts:\d+/,
  ],
  ['a stream', () => createReadStream('/there/is/none'), /ENOENT.*nothing listens for.*step "[^"]*#work"/],
];
const inBodies: typeof inSteps = [
  ['a tick', () => process.nextTick(boom), /uncaught\.test\.ts:\d+/],
  ['a microtask', () => queueMicrotask(boom), /uncaught\.test\.ts:\d+/],
  ['a stream', () => Reflect.construct(ReadStream, ['/there/is/none']), /nothing listens for.*the body of "main"/],
];

function keepingLogs() {
  const log = createLog({ level: 'silent', write() {} });
  return { log, records: log };
}

type Open = (workflows: Record<string, TestWorkflow>) => Promise<TestBox>;

async function errorsIn(box: TestBox, runId: string): Promise<string[]> {
  const { body } = await call<{ items: { message: string; level: string }[] }>(box, `GET /api/runs/${runId}/logs`);
  return body.items
    .filter(({ level, message }) => level === 'error' && message.includes('nothing could catch'))
    .map(({ message }) => message);
}

function describeUncaught(newOpen: () => Open): void {
  const errorOf = async (box: TestBox, runId: string) => (await getRun(box, runId)).error as Record<string, string>;

  test.each(inSteps)('%s fails the attempt of its step, which may be tried again', async (_name, begin, expected) => {
    let attempts = 0;
    const seen: Error[] = [];
    const work = toStep('work', async () => {
      attempts += 1;
      if (attempts > 1) return 'again';
      begin();
      return never();
    });
    const caught = toStep('caught', async () => {
      begin();
      return never();
    });
    Object.assign(caught, { maxRetries: 0 });
    const run = async () => {
      const answer = await work();
      await caught().catch((error: Error) => seen.push(error));
      return answer;
    };
    const box = await newOpen()({ main: { run } });
    expect(await runWorkflow(box, 'main', null)).toMatchObject({ status: 'completed', output: 'again' });
    expect(attempts).toBe(2);
    expect(`${seen[0]?.message}\n${seen[0]?.stack}`).toMatch(
      new RegExp(expected.source.replace('#work', '#caught'), 's'),
    );
  });

  test.each(inBodies)('%s of a body fails the run', async (_name, begin, expected) => {
    const run = async () => {
      begin();
      await sleep('1h');
    };
    const box = await newOpen()({ main: { run }, plain: { run: async () => 'well' } });
    const runId = await startWorkflow(box, 'main', null);
    await until(async () => (await getRun(box, runId)).status === 'failed');
    const { message, stack } = await errorOf(box, runId);
    expect(`${message}\n${stack}`).toMatch(expected);
    // The process goes on, and so do the others.
    expect(await runWorkflow(box, 'plain', null)).toMatchObject({ output: 'well' });
  });

  test.each([{}, { timeout: 60_000 }])('an attempt that fails so aborts its signal (%j)', async (options) => {
    const reasons: unknown[] = [];
    const work = toStep('work', async () => {
      const { attempt, signal } = getStepMetadata();
      if (attempt > 1) return 'again';
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      setTimeout(boom, 1);
      return never();
    });
    Object.assign(work, options);
    const box = await newOpen()({ main: { run: () => work() } });
    expect(await runWorkflow(box, 'main', null)).toMatchObject({ output: 'again' });
    expect(reasons).toStrictEqual([expect.objectContaining({ message: 'boom' })]);
  });

  test('what listens for the end of its time and throws changes nothing of it', async () => {
    const slow = toStep('slow', async () => {
      getStepMetadata().signal.addEventListener('abort', boom);
      return never();
    });
    Object.assign(slow, { maxRetries: 0, timeout: 50 });
    const box = await newOpen()({ main: { run: () => slow() } });
    const runId = await startWorkflow(box, 'main', null);
    await until(async () => (await getRun(box, runId)).status === 'failed');
    expect(await errorOf(box, runId)).toMatchObject({ code: 'step_timeout' });
    await until(async () => (await errorsIn(box, runId)).length > 0);
    expect(await errorsIn(box, runId)).toStrictEqual([
      expect.stringMatching(/"slow", which was over by then.*boom.*uncaught\.test\.ts:\d+/),
    ]);
  });

  test.each([{}, { timeout: 60_000 }])(
    'what listens for a cancel and throws ends that run alone (%j)',
    async (options) => {
      let isListening = false;
      const waiting = toStep('waiting', async () => {
        getStepMetadata().signal.addEventListener('abort', boom);
        isListening = true;
        return never();
      });
      Object.assign(waiting, options);
      const box = await newOpen()({ main: { run: () => waiting() }, plain: { run: async () => 'well' } });
      const runId = await startWorkflow(box, 'main', null);
      await until(() => isListening);
      expect((await call(box, `POST /api/runs/${runId}/cancel`)).status).toBe(200);
      await until(async () => (await getRun(box, runId)).status === 'cancelled');
      await until(async () => (await errorsIn(box, runId)).length > 0);
      expect(await runWorkflow(box, 'plain', null)).toMatchObject({ output: 'well' });
    },
  );

  test('what listens for a signal of the body and throws fails the step that does', async () => {
    let isListening = false;
    const heard: string[] = [];
    const main = async () => {
      const controller = new AbortController();
      const failed = waiting(controller.signal).catch((error: Error) => error.message);
      const other = heeding(controller.signal);
      await sleep(100);
      controller.abort();
      return [await failed, await other];
    };
    const waiting = toStep('waiting', async (signal: AbortSignal) => {
      signal.addEventListener('abort', boom);
      isListening = true;
      return never();
    });
    const heeding = toStep('heeding', async (signal: AbortSignal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      heard.push(getStepMetadata().stepName);
      return 'heard';
    });
    Object.assign(waiting, { maxRetries: 0 });
    const box = await newOpen()({ main: { run: main } });
    expect(await runWorkflow(box, 'main', null)).toMatchObject({ output: ['boom', 'heard'] });
    expect([isListening, heard]).toStrictEqual([true, ['heeding']]);
  });

  test('what throws once its step is over changes nothing of it, and is in the log', async () => {
    let thrown = false;
    const late = toStep('late', async () => {
      setTimeout(() => {
        thrown = true;
        boom();
      }, 20);
      return 'done';
    });
    const run = async () => {
      const answer = await late();
      await sleep(200);
      return answer;
    };
    const box = await newOpen()({ main: { run } });
    const runId = await startWorkflow(box, 'main', null);
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: 'done' });
    expect(thrown).toBe(true);
    await until(async () => (await errorsIn(box, runId)).length > 0);
    expect(await errorsIn(box, runId)).toStrictEqual([
      expect.stringMatching(/"late", which was over by then.*boom.*uncaught\.test\.ts:\d+/),
    ]);
  });
}

describe('what a run throws where nothing can catch it, on SQLite', () =>
  describeUncaught(() => (workflows) => boxes.open({ workflows, options: keepingLogs() })));

describeWhen(bothServers, 'what a run throws where nothing can catch it, on Postgres', (servers) =>
  describeUncaught(() => {
    const openReplica = createCluster(boxes, servers);
    return (workflows) => openReplica({ workflows, options: keepingLogs() });
  }),
);

describe('code that something asks within a run', () => {
  test('fails as a tool, which is an answer the model reads', async () => {
    const tools = {
      broken: defineTool({
        description: 'Breaks.',
        inputSchema: z.object({}),
        execute() {
          throwThrice();
          return never();
        },
      }),
    };
    const box = await boxes.open({ agents: { helper: defineDeepAgent({ name: 'helper', tools }) } });
    const body = { model: 'helper', messages: [{ role: 'user', content: 'tool:broken {}; say:Done.' }] };
    const answer = await box.request(
      '/wire-a/v1/chat/completions',
      json(body, { headers: { authorization: 'Bearer key' } }),
    );
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'Done.' } }] });
    expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('boom');
  });

  test('fails as a scorer alone, and the next one is asked', async () => {
    const asked = { broken: 0, well: 0 };
    const broken = defineScorer({
      score() {
        asked.broken += 1;
        setTimeout(boom, 1);
        return never();
      },
    });
    const well = defineScorer({ score: () => (asked.well += 1) });
    const agents = { helper: defineDeepAgent({ name: 'helper' }) };
    const box = await boxes.open({ agents, scorers: { broken, well } });
    const target = { kind: 'agent', name: 'helper' };
    const made = await call<{ id: string }>(box, 'POST /api/evals/cases', { name: 'hi', target, input: 'say:Hi' });
    const scorers = ['broken', 'well'].map((scorer) => ({ type: 'code', scorer }));
    await call(box, 'POST /api/evals/suites', { name: 'throws', cases: [made.body.id], scorers });
    const { body } = await call<{ id: string }>(box, 'POST /api/evals/suites/throws/run', {});
    type Judged = { status: string; cases: { cells: { scorer: string; passRate: number; note: string }[] }[] };
    const run = await call<Judged>(box, `GET /api/evals/runs/${body.id}?wait=20`);
    expect(run.body).toMatchObject({ status: 'completed', cases: [{ cells: [{ passRate: 0 }, { passRate: 1 }] }] });
    expect(asked).toStrictEqual({ broken: 1, well: 1 });
  });

  test.each<[string, (signal: AbortSignal) => unknown, RegExp]>([
    ['a timer', () => setTimeout(boom, 1), /it threw Error|Error in guardrails/],
    ['a microtask', () => queueMicrotask(boom), /it threw Error|Error in guardrails/],
    ['a promise', () => void Promise.reject(new TypeError('boom')), /it threw TypeError|TypeError in guardrails/],
    ['a listener', (signal) => signal.addEventListener('abort', boom), /no answer within 200 ms/],
  ])('fails as a check of a guardrail: %s', async (_, begin, reason) => {
    const check = ({ signal }: { signal: AbortSignal }) => {
      begin(signal);
      return never();
    };
    const own = defineGuardrail({ sides: ['workflow-input'], action: 'block', timeout: 200, check });
    const box = await boxes.open({ workflows: { echo: { run: (input: unknown) => input } }, guardrails: { own } });
    const { status, body } = await call<object>(box, 'POST /api/workflows/echo/start', { text: 'a' });
    expect([status, body]).toMatchObject([422, { details: { rule: 'own', reason: expect.stringMatching(reason) } }]);
  });

  test('is a warning, once, where a check has answered before', async () => {
    const warnings: string[] = [];
    const listen = ({ message }: Error) => void warnings.push(message);
    process.on('warning', listen);
    try {
      let thrown = 0;
      const check = () => {
        const interval = setInterval(() => {
          thrown += 1;
          if (thrown === 3) clearInterval(interval);
          boom();
        }, 1);
      };
      const own = defineGuardrail({ sides: ['workflow-input'], action: 'block', check });
      const box = await boxes.open({ workflows: { echo: { run: (input: unknown) => input } }, guardrails: { own } });
      expect(await runWorkflow(box, 'echo', { text: 'a' })).toMatchObject({ status: 'completed' });
      await until(() => thrown === 3 && warnings.length > 0);
      expect(warnings.filter((message) => message.includes('nothing could catch'))).toHaveLength(1);
    } finally {
      process.off('warning', listen);
    }
  });
});

test('what is thrown outside of any run ends the process, unless others listen', async () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as never);
  const counts: number[] = [];
  // What reports errors to a service looks whether it is alone, and ends the process where it is.
  const other = () => counts.push(process.listenerCount('uncaughtException'));
  try {
    process.on('uncaughtException', other);
    const listeners = process.listeners('uncaughtException');
    process.emit('uncaughtException', new Error('not of a run'));
    await until(() => process.listenerCount('uncaughtException') === listeners.length);
    expect(process.listeners('uncaughtException')).toStrictEqual(listeners);
    expect([exit.mock.calls.length, counts]).toStrictEqual([0, [1]]);
    process.off('uncaughtException', other);
    process.emit('uncaughtException', new Error('not of a run'));
    expect(exit).toHaveBeenCalledExactlyOnceWith(1);
  } finally {
    process.off('uncaughtException', other);
    exit.mockRestore();
  }
});
