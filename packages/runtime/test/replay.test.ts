import { describe, expect, test } from 'vitest';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { FatalError } from '../src/engine/errors.ts';
import { createHook, createWebhook } from '../src/engine/primitives/hook.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { listHooks } from '../src/engine/stores/contract/world.ts';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { svc } from '../src/index.ts';
import { replayRecording } from '../src/replay/replay.ts';
import type { Replayed } from '../src/replay/replay.ts';
import { parseRecording } from '../src/runs/recording.ts';
import type { Recording } from '../src/runs/recording.ts';
import {
  call,
  finish,
  runWorkflow,
  setupBoxes,
  startWorkflow,
  toProgram,
  toStep,
  until,
  untilStatus,
} from './_setup.ts';
import type { TestBox, TestProgram } from './_setup.ts';

const boxes = setupBoxes();

const exportRun = async (box: TestBox, id: unknown): Promise<Recording> =>
  parseRecording((await call(box, `GET /api/runs/${String(id)}/export`)).body);
const replay = async (recording: Recording, program: TestProgram, more = {}): Promise<Replayed> =>
  replayRecording(recording, toProgram(program), more);

let ran: string[] = [];
const charge = toStep('charge', async (amount: number) => {
  ran.push('charge');
  return `paid ${amount}`;
});
const notify = toStep('notify', async (text: string) => void ran.push(`notify ${text}`));
const order = async ({ amount }: { amount: number }) => {
  const id = crypto.randomUUID();
  const receipt = await charge(amount);
  await sleep(1);
  await notify(`${receipt} ${id}`);
  return { receipt, id, at: new Date() };
};

describe('a replay', () => {
  test('leads the code through every step and runs none of them', async () => {
    const workflows = { order: { run: order } };
    const box = await boxes.open({ workflows });
    const run = await runWorkflow(box, 'order', { amount: 5 });
    const recording = await exportRun(box, run.runId);
    ran = [];
    const seen: string[] = [];
    const replayed = await replay(
      recording,
      { workflows },
      { onAnswer: ({ name }: { name: string }) => seen.push(name) },
    );
    expect(ran).toEqual([]);
    expect(replayed).toMatchObject({ outcome: 'same', next: [], difference: null, ended: { status: 'completed' } });
    expect(replayed.calls).toMatchObject([
      { call: 0, name: 'charge', kind: 'step', input: { args: [5] }, output: 'paid 5', attempts: 0 },
      { call: 1, name: 'sleep', kind: 'sleep' },
      { call: 2, name: 'notify' },
    ]);
    expect(seen).toEqual(['charge', 'sleep', 'notify']);
    expect(replayed.ended?.output).toEqual(run.output);
  });

  test('stops at the first step that differs, and names both and the line', async () => {
    const box = await boxes.open({ workflows: { order: { run: order } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'order', { amount: 5 })).runId);
    const changed = async ({ amount }: { amount: number }) => {
      await charge(amount);
      await notify('early');
    };
    const replayed = await replay(recording, { workflows: { order: { run: changed } }, hash: 'new' });
    expect(replayed).toMatchObject({
      outcome: 'differs',
      calls: [{ name: 'charge' }],
      difference: {
        code: 'code_changed',
        call: 1,
        recorded: 'sleep',
        called: 'workflows/test.workflow.ts#notify',
        at: expect.stringMatching(/_setup\.ts:\d+$/),
        is: { args: ['early'] },
      },
    });
  });

  test('tells other arguments from another step', async () => {
    const box = await boxes.open({ workflows: { order: { run: order } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'order', { amount: 5 })).runId);
    const { difference } = await replay(recording, { workflows: { order: { run: async () => charge(6) } } });
    expect(difference).toMatchObject({ code: 'nondeterministic_workflow', was: { args: [5] }, is: { args: [6] } });
    expect(difference?.message).toContain('was recorded with other arguments');
  });

  test('tells code that ends before its history does, and what it threw', async () => {
    const box = await boxes.open({ workflows: { order: { run: order } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'order', { amount: 5 })).runId);
    const broken = async () => {
      await charge(5);
      throw new TypeError('Cannot read x.');
    };
    const { difference } = await replay(recording, { workflows: { order: { run: broken } } });
    expect(difference?.message).toMatch(/Call 1 .*does not make it now\. Its body threw "Cannot read x\."\.$/);
  });

  test('tells an end that is not the one of the run', async () => {
    const box = await boxes.open({ workflows: { order: { run: async () => charge(5) } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'order')).runId);
    const other = { order: { run: async () => `${await charge(5)}!` } };
    expect(await replay(recording, { workflows: other })).toMatchObject({
      outcome: 'differs',
      difference: { code: 'result_changed', was: 'paid 5', is: 'paid 5!' },
    });
    const thrown = { order: { run: async () => charge(5).then(() => Promise.reject(new Error('Late.'))) } };
    expect((await replay(recording, { workflows: thrown })).difference?.message).toBe(
      'The run ended as completed; the code now ends as failed with "Late.".',
    );
  });

  test('of a failed run ends with the same error, and counts the attempts', async () => {
    let tries = 0;
    const flaky = toStep('flaky', async () => {
      if (++tries < 2) throw new Error('Not yet.');
      throw new FatalError('Never.');
    });
    Object.assign(flaky, { backoff: { initial: 1 } });
    const workflows = { work: { run: async () => flaky() } };
    const box = await boxes.open({ workflows });
    const recording = await exportRun(box, (await runWorkflow(box, 'work')).runId);
    expect(await replay(recording, { workflows })).toMatchObject({
      outcome: 'same',
      calls: [{ name: 'flaky', attempts: 1, error: { message: 'Never.' } }],
      ended: { status: 'failed', error: { message: 'Never.' } },
    });
    expect(tries).toBe(2);
  });

  test('says what the code would do where the history ends, and does not do it', async () => {
    const ask = async () => {
      await charge(1);
      const { approved } = await requestApproval({ title: 'Go?', timeout: '1 day' });
      return approved;
    };
    const box = await boxes.open({ workflows: { ask: { run: ask } } });
    const runId = await startWorkflow(box, 'ask');
    await untilStatus(box, runId, 'waiting');
    const recording = await exportRun(box, runId);
    expect(await replay(recording, { workflows: { ask: { run: ask } } })).toMatchObject({
      outcome: 'open',
      next: [{ name: 'await approval', kind: 'approval' }],
    });
    ran = [];
    const early = async () => {
      await charge(1);
      await Promise.all([notify('a'), notify('b'), sleep('1 day')]);
    };
    const short = { ...recording, records: recording.records.slice(0, 1) };
    const replayed = await replay(short, { workflows: { ask: { run: early } } });
    expect(replayed).toMatchObject({
      outcome: 'open',
      next: [{ name: 'notify' }, { name: 'notify' }, { name: 'sleep' }],
    });
    expect(ran).toEqual([]);
  });

  test('goes as far as asked', async () => {
    const workflows = { order: { run: order } };
    const box = await boxes.open({ workflows });
    const recording = await exportRun(box, (await runWorkflow(box, 'order', { amount: 5 })).runId);
    for (const step of ['charge', '0', 'workflows/test.workflow.ts#charge'])
      expect(await replay(recording, { workflows }, { until: step })).toMatchObject({
        outcome: 'stopped',
        calls: [{ name: 'charge' }],
      });
  });

  test('takes parallel steps, races, children, webhooks, randomness, time and variables as they were', async () => {
    const child = { run: async () => charge(9) };
    const run = async () => {
      const hook = createWebhook();
      const first = await Promise.race([charge(1), charge(2), sleep('1 day')]);
      const values = await Promise.all([charge(3), Promise.resolve(Math.random()), charge(4)]);
      const own = await svc.workflows.startAndWait('child', {});
      const handed = notify(`${hook.url} ${process.env.SVC_REPLAY_TEST} ${Date.now()}`);
      await handed;
      const request = await hook;
      return { first, values, own, method: request.method, body: await request.text(), at: Date.now() };
    };
    process.env.SVC_REPLAY_TEST = 'then';
    const box = await boxes.open({ workflows: { child, work: { run } } });
    const runId = await startWorkflow(box, 'work');
    await until(async () => (await listHooks(box.journal, runId)).length > 0);
    await untilStatus(box, runId, 'waiting');
    const [hook] = await listHooks(box.journal, runId);
    await box.request(`/api/webhooks/${hook?.token}`, { method: 'POST', body: 'hello' });
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { body: 'hello' } });
    process.env.SVC_REPLAY_TEST = 'now';
    const recording = await exportRun(box, runId);
    expect(JSON.stringify(recording)).not.toContain(hook?.token);
    ran = [];
    const replayed = await replay(recording, { workflows: { child, work: { run } } });
    expect(replayed.difference).toBeNull();
    expect(replayed.outcome).toBe('same');
    expect(ran).toEqual([]);
    delete process.env.SVC_REPLAY_TEST;
  });

  test('takes a hook by the name the code gives it: that is no secret', async () => {
    const run = async ({ id }: { id: string }) => {
      const packed = await createHook<{ password: string }>({ token: `packed-${id}` });
      await notify(`${id} is packed-${id}`);
      return packed.password;
    };
    const box = await boxes.open({ workflows: { work: { run } } });
    const runId = await startWorkflow(box, 'work', { id: 'A-1' });
    await untilStatus(box, runId, 'waiting');
    await call(box, 'POST /api/workflows/hooks/packed-A-1/resume', { password: 'hunter2-secret' });
    await finish(box, runId);
    const recording = await exportRun(box, runId);
    expect(recording.records[0]).toMatchObject({ isMasked: false, output: { json: { token: 'packed-A-1' } } });
    expect(JSON.stringify(recording)).not.toContain('hunter2');
    expect(await replay(recording, { workflows: { work: { run } } })).toMatchObject({ difference: null });
  });

  test('passes a masked secret on as its mask', async () => {
    const login = toStep('login', async () => ({ token: 'tok-0123456789', when: new Date(0) }));
    const run = async () => {
      const { token, when } = await login();
      await notify(`with ${token}`);
      await toStep('both', async (_given: unknown) => 1)({ token, when });
      return token;
    };
    const box = await boxes.open({ workflows: { work: { run } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'work')).runId);
    expect(recording.masked).not.toEqual([]);
    const replayed = await replay(recording, { workflows: { work: { run } } });
    expect(replayed.difference).toBeNull();
    expect(replayed).toMatchObject({ outcome: 'same', ended: { output: '__masked_1__' } });
    const cut = async () => notify(`with ${(await login()).token.slice(4)}`);
    const { difference } = await replay(recording, { workflows: { work: { run: cut } } });
    expect(difference?.message).toContain('are masked in the history');
  });

  test('of code that waits for something that is no step does not wait for ever', async () => {
    const box = await boxes.open({ workflows: { work: { run: async () => charge(1) } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'work')).runId);
    const stuck = { work: { run: async () => (await charge(1), new Promise(() => {})) } };
    expect((await replay(recording, { workflows: stuck }, { patienceMs: 200 })).outcome).toBe('stuck');
  });

  test('is refused for a workflow that is not there, and for a document that is no history', async () => {
    const box = await boxes.open({ workflows: { work: { run: async () => 1 } } });
    const recording = await exportRun(box, (await runWorkflow(box, 'work')).runId);
    await expect(replay(recording, { workflows: { other: { run: async () => 1 } } })).rejects.toMatchObject({
      code: 'workflow_not_found',
      message: expect.stringContaining('"other"'),
    });
    expect(() => parseRecording({ format: 'x' })).toThrow('This is no history of a run');
    expect(() => parseRecording({ ...recording, version: 2 })).toThrow('The history is of version 2');
    expect(() => parseRecording({ ...recording, records: [{}] })).toThrow('"records.0.');
  });
});

describe('the replay of a turn', () => {
  const ask = async (box: TestBox, content: string, headers = {}): Promise<Recording> => {
    const body = { model: 'helper', messages: [{ role: 'user', content }] };
    await call(box, 'POST /wire-a/v1/chat/completions', body, { 'x-api-key': 'k', ...headers });
    const find = async () => (await box.journal.listRuns({ kind: 'agent', status: 'completed' }, { limit: 1 }))[0];
    await until(async () => (await find()) !== undefined);
    return exportRun(box, (await find())?.runId);
  };
  let paid = 0;
  const pay = defineTool({ description: 'Pay.', inputSchema: z.object({}), execute: () => ++paid });
  const helper = defineDeepAgent({ name: 'helper', instructions: 'You help.', tools: { pay } });

  test('asks no model, runs no tool, and tells an agent apart that does something else', async () => {
    const box = await boxes.open({ agents: { helper } });
    const recording = await ask(box, 'tool:pay {}');
    const asked = box.model.requests.length;
    expect(await replay(recording, { agents: { helper } })).toMatchObject({
      outcome: 'same',
      calls: [{ kind: 'model' }, { kind: 'tool', name: 'pay' }, { kind: 'model' }],
      ended: { status: 'completed' },
    });
    const changed = defineDeepAgent({ ...helper, interruptOn: { pay: true } });
    expect(await replay(recording, { agents: { helper: changed } })).toMatchObject({
      outcome: 'differs',
      difference: { recorded: 'tool:pay', called: 'approval' },
    });
    expect(paid).toBe(1);
    expect(box.model.requests.length).toBe(asked);
  });

  test('is refused in a session, whose conversation is not in the history', async () => {
    const box = await boxes.open({ agents: { helper } });
    const recording = await ask(box, 'say:hi', { 'x-svc-session': 'ada' });
    await expect(replay(recording, { agents: { helper } })).rejects.toMatchObject({ code: 'run_not_replayable' });
  });
});
