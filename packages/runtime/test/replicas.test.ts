import { describe, expect, onTestFinished, test } from 'vitest';
import { createHook, getStepMetadata, getWritable, svc } from '../src/index.ts';
import { readChat } from './_chat-stream.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import type { ReplicaOptions } from './_cluster.ts';
import { createGate } from './_gate.ts';
import { startProxy } from './_proxy.ts';
import { call, finish, getRun, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import type { TestWorkflow } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();

const WAYS: [string, Pick<ReplicaOptions, 'engine' | 'kv'>][] = [
  ['told by Redis', { engine: WITHOUT_LOOKS }],
  ['without Redis', { kv: null }],
];

describeWhen(bothServers, 'two replicas', (servers) => {
  describe.each(WAYS)('%s', (_way, way) => {
    /** A and B; the steps of each say which of them they ran on. */
    const openPair = async (program: (name: string) => Record<string, TestWorkflow>, a: ReplicaOptions = {}) => {
      const open = createCluster(boxes, servers);
      const first = await open({ workflows: program('A'), ...way, ...a, engine: { ...way.engine, ...a.engine } });
      return { a: first, b: await open({ workflows: program('B'), ...way }) };
    };

    test('a cancel through one aborts the step that runs on the other, with the reason that is recorded', async () => {
      const gate = createGate();
      const reasons: unknown[] = [];
      const hold = toStep('hold', async () => {
        const { signal } = getStepMetadata();
        await gate.pass(signal).catch((reason: unknown) => reasons.push(reason));
      });
      const { a, b } = await openPair(() => ({ hold: { run: () => hold() } }));
      const runId = await startWorkflow(a, 'hold');
      await until(() => gate.came === 1);
      expect((await call(b, `POST /api/runs/${runId}/cancel`)).status).toBe(200);
      await until(() => reasons.length === 1);
      expect(reasons).toMatchObject([{ code: 'run_cancelled', message: 'The run was cancelled.' }]);
      // The step is aborted first: the end is recorded once the body has run its `finally` blocks.
      expect(await finish(a, runId)).toMatchObject({ status: 'cancelled', error: { code: 'run_cancelled' } });
    });

    test('a hook resumed through one goes on in the run that lives on the other', async () => {
      const { a, b } = await openPair((name) => ({
        ask: { run: async () => [name, await createHook({ token: 'answer' })] },
      }));
      const runId = await startWorkflow(a, 'ask');
      await untilStatus(a, runId, 'waiting');
      expect((await call(b, 'POST /api/workflows/hooks/answer/resume', { n: 1 })).status).toBe(200);
      expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: ['A', { n: 1 }] });
    });

    test('?wait is answered by one when the other ends the run', async () => {
      const gate = createGate();
      const hold = toStep('hold', () => gate.pass());
      const { a, b } = await openPair((name) => ({ hold: { run: () => hold().then(() => name) } }));
      const runId = await startWorkflow(a, 'hold');
      const waited = getRun(b, runId, '20s');
      await until(() => gate.came === 1);
      gate.open();
      expect(await waited).toMatchObject({ status: 'completed', output: 'A' });
    });

    test('frames of a run on one are streamed by the other as they are written', async () => {
      const gates = [createGate(), createGate()];
      const write = toStep('write', async () => {
        const writer = getWritable({ namespace: 'default' }).getWriter();
        for (const [n, gate] of gates.entries()) {
          await writer.write({ n });
          await gate.pass();
        }
      });
      const { a, b } = await openPair(() => ({ talk: { mode: 'chat', run: () => write() } }));
      const runId = await startWorkflow(a, 'talk');
      await until(() => gates[0]?.came === 1);
      const stream = await readChat(b, 'talk', `${runId}:0`);
      await until(() => stream.text().includes('{"n":0}'));
      gates[0]?.open();
      await until(() => stream.text().includes('{"n":1}'));
      expect(stream.text()).not.toContain('event: end');
      gates[1]?.open();
      await stream.done;
      expect(stream.text()).toContain('"status":"completed"');
    });

    test('what one has no room for, the other takes', async () => {
      const gate = createGate();
      const hold = toStep('hold', () => gate.pass());
      const { a, b } = await openPair((name) => ({ hold: { run: () => hold() }, echo: { run: async () => name } }), {
        engine: { maxLive: 1 },
      });
      const held = await startWorkflow(a, 'hold');
      const runId = await startWorkflow(a, 'echo');
      expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: 'B' });
      gate.open();
      await finish(a, held);
    });

    test('a parent on one goes on when its child ends on the other', async () => {
      const gate = createGate();
      const hold = toStep('hold', () => gate.pass());
      const { a } = await openPair(
        (name) => ({
          // A step under way beside the child: the parent does not only wait, and keeps its place.
          parent: {
            async run() {
              const held = hold();
              const child = await svc.workflows.startAndWait('child', {});
              await held;
              return [name, child];
            },
          },
          child: { run: async () => (gate.open(), name) },
        }),
        { engine: { maxLive: 1 } },
      );
      const runId = await startWorkflow(a, 'parent');
      expect(await finish(a, runId)).toMatchObject({ status: 'completed', output: ['A', 'B'] });
    });

    test('a queued start begins when the run before it is cancelled through another replica', async () => {
      const gate = createGate();
      const hold = toStep('hold', async () => {
        await gate.pass(getStepMetadata().signal);
      });
      const { a, b } = await openPair((name) => ({
        line: { serial: true, run: async (input: { last?: boolean }) => (input.last ? name : hold()) },
      }));
      const first = await startWorkflow(a, 'line');
      const queued = await call(a, 'POST /api/workflows/line/start', { last: true });
      expect(queued.body).toMatchObject({ status: 'queued' });
      await until(() => gate.came === 1);
      await call(b, `POST /api/runs/${first}/cancel`);
      await until(async () => {
        const { items } = (await call<{ items: { status: string }[] }>(a, 'GET /api/runs?name=line')).body;
        return items.length === 2 && items[0]?.status === 'completed';
      });
    });
  });

  test('Redis that is cut off degrades /health alone: starts and cancels work, and it recovers', async () => {
    const gate = createGate();
    const aborted: unknown[] = [];
    const hold = toStep('hold', () =>
      gate.pass(getStepMetadata().signal).catch((error: unknown) => aborted.push(error)),
    );
    const program = { workflows: { hold: { run: () => hold() }, echo: { run: async (input: unknown) => input } } };
    const proxy = await startProxy(servers.kv);
    onTestFinished(() => proxy.close());
    const open = createCluster(boxes, servers);
    const [a, b] = [await open({ ...program, kv: proxy.url }), await open({ ...program, kv: proxy.url })];
    const health = async () => (await a.request('/health')).status;
    expect(await health()).toBe(200);
    const held = await startWorkflow(a, 'hold');
    await until(() => gate.came === 1);
    proxy.cut();
    await until(async () => (await health()) === 503);
    expect(await (await a.request('/health')).json()).toMatchObject({
      status: 'degraded',
      checks: { kv: { status: 'failed', reason: 'It cannot be reached.' } },
    });
    const { status, body } = await call(b, 'POST /api/workflows/echo/start', { n: 1 });
    expect(status).toBe(202);
    expect(await finish(a, String(body.runId))).toMatchObject({ output: { n: 1 } });
    await call(b, `POST /api/runs/${held}/cancel`);
    await until(() => aborted.length === 1);
    proxy.restore();
    await until(async () => (await health()) === 200, 20_000);
  });

  test('rings are heard again after Redis was cut off', async () => {
    const proxy = await startProxy(servers.kv);
    onTestFinished(() => proxy.close());
    const program = { workflows: { ask: { run: () => createHook({ token: 'later' }) } } };
    const open = createCluster(boxes, servers);
    const [a, b] = [
      await open({ ...program, engine: WITHOUT_LOOKS, kv: proxy.url }),
      await open({ ...program, engine: WITHOUT_LOOKS }),
    ];
    proxy.cut();
    await until(async () => (await a.request('/health')).status === 503);
    proxy.restore();
    await until(async () => (await a.request('/health')).status === 200, 20_000);
    const runId = await startWorkflow(a, 'ask');
    await untilStatus(a, runId, 'waiting');
    await call(b, 'POST /api/workflows/hooks/later/resume', 'yes');
    expect(await finish(a, runId)).toMatchObject({ output: 'yes' });
  });
});
