import { describe, expect, onTestFinished, test } from 'vitest';
import { BUCKET, KEYS, startFixture } from '../../dev-s3/src/_setup.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { svc } from '../src/index.ts';
import { replayRecording } from '../src/replay/replay.ts';
import { parseRecording } from '../src/runs/recording.ts';
import { getRun } from '../src/sdk/run.ts';
import { createStorage } from '../src/storage/storage.ts';
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
import type { TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const LARGE = 5_000_000;
const expected = { $stored: { bytes: expect.any(Number) as number, digest: expect.any(String) as string } };

/** A box with a bucket of its own. */
async function open(setup: TestBoxOptions) {
  const { server } = await startFixture();
  const at = { endpoint: server.url, bucket: BUCKET, region: 'us-east-1', ...KEYS, forcePathStyle: true };
  const storage = createStorage({ ...at, prefix: 'acme/box/' });
  const box = await boxes.open({ ...setup, options: { storage, ...setup.options } });
  // Before its bucket goes.
  onTestFinished(() => box.shut());
  const count = async () => (await storage.list({ prefix: '.svc/values/' })).items.length;
  return { box, storage, count };
}

const make = toStep('make', async (given: string) => given.repeat(LARGE));
const list = toStep('list', async () => (await svc.storage.list()).items.length);
const workflows = {
  work: {
    run: async ({ text }: { text: string }) => {
      const made = await make('x');
      return { text, made, objects: await list() };
    },
  },
  ask: { run: async () => ((await createHook({ token: 'ask' })) as string).length },
};

describe('a value that is too large for the journal', () => {
  test('is whole in the run and in its step, and only its size in lists', async () => {
    const { box, count } = await open({ workflows });
    const text = 'y'.repeat(300_000);
    const run = await runWorkflow(box, 'work', { text });
    expect(run.status).toBe('completed');
    expect(run.output).toStrictEqual({ text, made: 'x'.repeat(LARGE), objects: 0 });
    const { body } = await call(box, `GET /api/runs/${String(run.runId)}`);
    expect([body.input, body.output]).toStrictEqual([{ text }, run.output]);
    expect(await count()).toBe(3);
    const listed = await call<{ items: { cut: string[]; output: string }[] }>(box, 'GET /api/runs');
    expect(listed.body.items).toMatchObject([{ cut: ['input', 'output'], output: '… 5300034 bytes' }]);
    // What is not too large to be read for it is looked through where it lies.
    const found = await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?has=yyyy');
    expect(found.body).toMatchObject({ items: [{ runId: run.runId }], looked: { runs: 1, stored: 1 } });
    const steps = await call<{ items: object[] }>(box, `GET /api/runs/${String(run.runId)}/steps`);
    expect(steps.body.items).toMatchObject([{ name: 'make', output: expected }, { output: 0 }]);
    const step = await call(box, `GET /api/runs/${String(run.runId)}/steps/0`);
    expect(step.body.output).toBe('x'.repeat(LARGE));
    expect((await call(box, `GET /api/runs/${String(run.runId)}/timeline`)).status).toBe(200);
  });

  test('is in the history of the run, which is replayed where there is no store', async () => {
    const { box } = await open({ workflows });
    const run = await runWorkflow(box, 'work', { text: 'y'.repeat(300_000) });
    const answer = await call(box, `GET /api/runs/${String(run.runId)}/export`);
    expect(answer.status).toBe(200);
    const replayed = await replayRecording(parseRecording(answer.body), toProgram({ workflows }));
    expect(replayed).toMatchObject({ outcome: 'same', difference: null });
    expect(replayed.calls[0]?.output).toBe('x'.repeat(LARGE));
  });

  test('goes from run to run: to a child, to a caller that awaits it, and to code that looks it up', async () => {
    let childId = '';
    const look = toStep('look', async () => ((await getRun<string>(childId).returnValue) as string).length);
    const child = { run: async ({ text }: { text: string }) => `${text}z` };
    const parent = {
      run: async () => {
        const text = await make('x');
        const started = await svc.workflows.start('child', { text });
        childId = started.status === 'started' ? started.runId : '';
        const answered = (await svc.workflows.startAndWait('child', { text })) as string;
        return [answered.length, await look()];
      },
    };
    const { box } = await open({ workflows: { child, parent } });
    expect((await runWorkflow(box, 'parent')).output).toStrictEqual([LARGE + 1, LARGE + 1]);
  });

  test('is retried with its run, and goes with it', async () => {
    let isBroken = true;
    const use = toStep('use', async () => {
      if (isBroken) throw Object.assign(new Error('broken'), { fatal: true });
    });
    const run = async ({ text }: { text: string }) => {
      const made = await make(text);
      await use();
      return made.length;
    };
    const { box, count } = await open({ workflows: { work: { run } } });
    const failed = await runWorkflow(box, 'work', { text: 'x' });
    expect([failed.status, await count()]).toStrictEqual(['failed', 1]);
    isBroken = false;
    const retried = await call<{ runId: string }>(box, `POST /api/runs/${String(failed.runId)}/retry`, {});
    expect(await finish(box, retried.body.runId)).toMatchObject({ status: 'completed', output: LARGE });
    expect(await count()).toBe(2);
    for (const [id, left] of [
      [failed.runId, 1],
      [retried.body.runId, 0],
    ]) {
      expect((await call(box, `DELETE /api/runs/${String(id)}`)).status).toBe(200);
      expect(await count()).toBe(left);
    }
  });

  test('goes by itself when its run has ended long enough ago', async () => {
    const retention = { retention: () => ({ runDays: 1 / 86_400 }), retentionEveryMs: 20, engine: { sweepMs: 50 } };
    const { box, count } = await open({ workflows, options: retention });
    const waiting = await startWorkflow(box, 'ask', { text: 'y'.repeat(300_000) });
    await runWorkflow(box, 'work', { text: 'y'.repeat(300_000) });
    await until(async () => (await count()) === 1);
    await untilStatus(box, waiting, 'waiting');
    expect((await call(box, `GET /api/runs/${waiting}`)).body.input).toStrictEqual({ text: 'y'.repeat(300_000) });
  });

  test('is refused by path where there is no store', async () => {
    const box = await boxes.open({ workflows });
    const run = await runWorkflow(box, 'work', { text: 'small' });
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'result_too_large', message: expect.stringContaining('more than 1048576 bytes') as string },
    });
  });
});
