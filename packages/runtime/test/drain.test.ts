import { describe, expect, test } from 'vitest';
import { createHook, getStepMetadata, getWritable, svc } from '../src/index.ts';
import { readChat } from './_chat-stream.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { createGate } from './_gate.ts';
import { call, finish, getRun, giveNewest, setupBoxes, startWorkflow, toStep, until, untilStatus } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();

describeWhen(bothServers, 'a replica that gets SIGTERM', (servers) => {
  test('refuses starts, lets the step under way end, and hands the run over at once', async () => {
    const gate = createGate();
    const hold = toStep('hold', () => gate.pass());
    const program = (name: string) => ({
      work: {
        run: async () => {
          await hold();
          return [name, await toStep('name', async () => name)()];
        },
      },
    });
    const open = createCluster(boxes, servers);
    const a = await open({ workflows: program('A'), engine: { ...WITHOUT_LOOKS, drainMs: 20_000 } });
    const b = await open({ workflows: program('B'), engine: WITHOUT_LOOKS });
    const runId = await startWorkflow(a, 'work');
    await until(() => gate.came === 1);
    const closed = a.shut();
    const refused = await a.request('/api/workflows/work/start', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ code: 'shutting_down' });
    expect(await getRun(a, runId)).toMatchObject({ status: 'running' });
    gate.open();
    await closed;
    expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: ['B', 'B'] });
    expect(gate.came).toBe(1);
  });

  test('aborts a step that takes longer, and the other replica does it again', async () => {
    const gate = createGate();
    const reasons: unknown[] = [];
    const program = (name: string) => ({
      work: {
        run: toStep('hold', async () => {
          if (name === 'A') await gate.pass(getStepMetadata().signal).catch((reason: unknown) => reasons.push(reason));
          return [name, getStepMetadata().attempt];
        }),
      },
    });
    const open = createCluster(boxes, servers);
    const a = await open({ workflows: program('A'), engine: { ...WITHOUT_LOOKS, drainMs: 50 } });
    const b = await open({ workflows: program('B'), engine: WITHOUT_LOOKS });
    const runId = await startWorkflow(a, 'work');
    await until(() => gate.came === 1);
    await a.shut();
    expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: ['B', 1] });
    expect(reasons).toMatchObject([{ message: 'The box is shutting down.' }]);
  });

  test('lets the step under way start a child, which another replica runs', async () => {
    const gate = createGate();
    const program = (name: string) => ({
      parent: {
        run: toStep('start', async () => {
          await gate.pass();
          return svc.workflows.start('child', {});
        }),
      },
      child: { run: async () => name },
    });
    const open = createCluster(boxes, servers);
    const a = await open({ workflows: program('A'), engine: { ...WITHOUT_LOOKS, drainMs: 20_000 } });
    const b = await open({ workflows: program('B'), engine: WITHOUT_LOOKS });
    const runId = await startWorkflow(a, 'parent');
    await until(() => gate.came === 1);
    const closed = a.shut();
    gate.open();
    await closed;
    const { output } = (await finish(b, runId)) as { output: { runId: string } };
    expect(await finish(b, output.runId)).toMatchObject({ status: 'completed', output: 'B' });
  });

  test('ends streams with a hint to come back, and they go on at the other replica', async () => {
    const gate = createGate();
    const write = toStep('write', async () => {
      const writer = getWritable({ namespace: 'default' }).getWriter();
      await writer.write('one');
      await gate.pass(getStepMetadata().signal);
      await writer.write('two');
    });
    const workflows = { talk: { mode: 'chat', run: () => write() } };
    const open = createCluster(boxes, servers);
    const a = await open({ workflows, engine: { ...WITHOUT_LOOKS, drainMs: 20_000 } });
    const b = await open({ workflows, engine: WITHOUT_LOOKS });
    const runId = await startWorkflow(a, 'talk');
    const stream = await readChat(a, 'talk', `${runId}:0`);
    await until(() => stream.text().includes('"one"'));
    const waited = getRun(a, runId, '60s');
    const closed = a.shut();
    await stream.done;
    expect(stream.text()).toMatch(/retry: 1000\n\n$/);
    expect(stream.text()).not.toContain('event: end');
    expect(await waited).toMatchObject({ status: 'running' });
    const resumed = await readChat(b, 'talk', `${runId}:1`);
    gate.open();
    await closed;
    await resumed.done;
    expect(resumed.text()).toMatch(/"two"[^]*event: end[^]*"completed"/);
    expect(resumed.text()).not.toContain('"one"');
  });

  test('gives back every run that waits in memory, and loses none', async () => {
    const workflows = { ask: { run: async ({ n }: { n: number }) => createHook({ token: `t${n}` }) } };
    const open = createCluster(boxes, servers);
    const a = await open({ workflows, engine: WITHOUT_LOOKS });
    const b = await open({ workflows, engine: WITHOUT_LOOKS });
    const runIds = await Promise.all(Array.from({ length: 200 }, (_, n) => startWorkflow(a, 'ask', { n })));
    await Promise.all(runIds.map((runId) => untilStatus(b, runId, 'waiting')));
    await a.shut();
    await Promise.all(runIds.map((_, n) => call(b, `POST /api/workflows/hooks/t${n}/resume`, n)));
    const ended = await Promise.all(runIds.map((runId) => finish(b, runId)));
    expect(ended.map(({ output }) => output)).toEqual(runIds.map((_, n) => n));
  });

  describe('while a new version is rolled out', () => {
    const first = toStep('first', async () => 1);
    const other = toStep('other', async () => 2);
    const ask = () => createHook({ token: 'go' });
    const old = { work: { run: async () => ['old', await first(), await ask()] } };

    test('a run goes on on the code it began with, as long as its replica lives', async () => {
      const open = createCluster(boxes, servers);
      const a = await open({ workflows: old, hash: 'old', engine: WITHOUT_LOOKS });
      const b = await open({
        workflows: { work: { run: async () => ['new', await other()] } },
        hash: 'new',
        engine: WITHOUT_LOOKS,
      });
      const runId = await startWorkflow(a, 'work');
      await untilStatus(b, runId, 'waiting');
      await call(b, 'POST /api/workflows/hooks/go/resume', 'yes');
      expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: ['old', 1, 'yes'] });
    });

    test('new code that only adds to the end finishes what the old replica gave back, once it is given that', async () => {
      const open = createCluster(boxes, servers);
      const a = await open({ workflows: old, hash: 'old', engine: WITHOUT_LOOKS });
      const added = async () => ['new', await first(), await ask(), await other()];
      const b = await open({ workflows: { work: { run: added } }, hash: 'new', engine: WITHOUT_LOOKS });
      const runId = await startWorkflow(a, 'work');
      await untilStatus(b, runId, 'waiting');
      await a.shut();
      await call(b, 'POST /api/workflows/hooks/go/resume', 'yes');
      await giveNewest(b, runId);
      expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: ['new', 1, 'yes', 2] });
    });

    test('new code that changed what was recorded blocks it as code_changed, and a decision frees it', async () => {
      const open = createCluster(boxes, servers);
      const a = await open({ workflows: old, hash: 'old', engine: WITHOUT_LOOKS });
      const changed = async () => ['new', await other(), await ask()];
      const b = await open({ workflows: { work: { run: changed } }, hash: 'new', engine: WITHOUT_LOOKS });
      const runId = await startWorkflow(a, 'work');
      await untilStatus(b, runId, 'waiting');
      await a.shut();
      await call(b, 'POST /api/workflows/hooks/go/resume', 'yes');
      await giveNewest(b, runId);
      await untilStatus(b, runId, 'blocked');
      expect(await getRun(b, runId)).toMatchObject({ waitingFor: { type: 'decision', code: 'code_changed' } });
      const repaired = await open({ workflows: old, hash: 'repaired', engine: WITHOUT_LOOKS });
      expect((await call(repaired, `POST /api/runs/${runId}/resume`)).status).toBe(200);
      expect(await finish(b, runId)).toMatchObject({ status: 'completed', output: ['old', 1, 'yes'] });
    });
  });
});
