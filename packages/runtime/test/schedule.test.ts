import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { sleep, svc } from '../src/index.ts';
import type { Job } from '../src/jobs/job.ts';
import type { ScheduleOptions } from '../src/index.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { connect, write } from './_mcp.ts';
import type { Json } from './_mcp.ts';
import {
  call,
  finish,
  getRun,
  json,
  runWorkflow,
  setupBoxes,
  startWorkflow,
  toProgram,
  toStep,
  until,
} from './_setup.ts';
import type { TestBox, TestWorkflow } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();

const schedule = (options: ScheduleOptions, name = 'report', input: unknown = { to: 'ops' }) =>
  svc.workflows.schedule(name, input, options);
const inStep = toStep('inStep', schedule);
const report: TestWorkflow = { run: async (input: unknown) => input, inputSchema: z.object({ to: z.string() }) };
const YEARLY: ScheduleOptions = { id: 'yearly', cron: '0 0 29 2 *', timeZone: 'UTC' };

const open = (arm: (options: ScheduleOptions) => unknown = schedule, more: Record<string, TestWorkflow> = {}) =>
  boxes.open({ workflows: { report, arm: { run: async (options: ScheduleOptions) => arm(options) }, ...more } });
const list = async (box: TestBox) => (await call<{ items: Job[] }>(box, 'GET /api/recurring-jobs')).body.items;
const reportsOf = async (box: TestBox) =>
  (await call<{ items: Record<string, unknown>[] }>(box, 'GET /api/runs?name=report')).body.items;

/** A box whose store's clock stands still until it is set. */
async function openAt(time: string, workflows: Record<string, TestWorkflow>) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-clock-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let now = Date.parse(time);
  const journal = await openSqliteJournal({ path: join(folder, 'journal.db'), clock: () => now });
  const box = await boxes.open({ workflows, journal, options: { engine: { sweepMs: 20 } } });
  return { box, setTime: (at: string) => void (now = Date.parse(at)) };
}

describe('a timer that code makes', () => {
  test.each([
    ['a workflow body', schedule],
    ['a step', inStep],
  ])('is among the recurring jobs, from %s', async (_where, arm) => {
    const box = await open(arm);
    expect(await runWorkflow(box, 'arm', YEARLY)).toMatchObject({
      status: 'completed',
      output: { id: 'report@yearly', nextFireAt: expect.stringMatching(/-02-29T00:00:00\.000Z$/) },
    });
    const [job] = await list(box);
    expect(job).toMatchObject({
      id: 'report@yearly',
      workflow: 'report',
      origin: 'made',
      cron: '0 0 29 2 *',
      timeZone: 'UTC',
      input: { to: 'ops' },
      isPaused: false,
      lastRunId: null,
    });
  });

  test('is made by the tool of an agent', async () => {
    const remind = defineTool({
      description: 'Remind.',
      inputSchema: z.object({ q: z.string().optional() }).loose(),
      execute: async () => schedule(YEARLY),
    });
    const agents = { helper: defineDeepAgent({ name: 'helper', instructions: '', tools: { remind } }) };
    const box = await boxes.open({ agents, workflows: { report } });
    const messages = [{ role: 'user', content: 'tool:remind {}' }];
    const headers = { headers: { 'x-api-key': 'k' } };
    await (await box.request('/wire-a/v1/chat/completions', json({ model: 'helper', messages }, headers))).text();
    expect(await list(box)).toMatchObject([{ id: 'report@yearly' }]);
  });

  test('outlives its run and a restart, whose program declares no timers', async () => {
    const first = await open();
    const run = await runWorkflow(first, 'arm', YEARLY);
    await call(first, `DELETE /api/runs/${String(run.runId)}`);
    expect(await list(await first.restart())).toMatchObject([{ id: 'report@yearly' }]);
  });

  test('fires once after a while, and is then shown as spent', async () => {
    const box = await open();
    await runWorkflow(box, 'arm', { id: 'soon', in: '50ms' });
    await until(async () => (await reportsOf(box))[0]?.status === 'completed');
    expect(await reportsOf(box)).toMatchObject([{ trigger: 'schedule', output: { to: 'ops' }, parentRunId: null }]);
    await until(async () => (await list(box))[0]?.lastOutcome === 'completed');
    expect(await list(box)).toMatchObject([{ id: 'report@soon', cron: null, nextFireAt: null }]);
  });

  test('fires at a time', async () => {
    const { box, setTime } = await openAt('2030-01-01T00:00:00Z', { report, arm: { run: schedule as never } });
    await runWorkflow(box, 'arm', { at: '2030-06-01T12:00:00Z' });
    expect(await list(box)).toMatchObject([{ nextFireAt: '2030-06-01T12:00:00.000Z' }]);
    setTime('2030-06-01T11:59:59Z');
    await runWorkflow(box, 'arm', { id: 'other', at: '2040-01-01T00:00:00Z' });
    expect(await reportsOf(box)).toEqual([]);
    setTime('2030-06-01T12:00:00Z');
    await until(async () => (await reportsOf(box)).length === 1);
  });

  test('made again by a retried step is the same, under the name it was given or its own', async () => {
    const seen: unknown[] = [];
    const twice = toStep('twice', async () => {
      seen.push(await schedule({ in: '1 hour' }), await schedule({ in: '1 hour' }), await schedule(YEARLY));
      if (seen.length === 3) throw Object.assign(new Error('Again.'), { name: 'RetryableError', retryAfter: 1 });
    });
    const box = await open(twice);
    expect((await runWorkflow(box, 'arm')).status).toBe('completed');
    expect(seen.slice(3)).toEqual(seen.slice(0, 3));
    expect(await list(box)).toHaveLength(3);
  });

  test('recorded by a body is not made again after it was removed and the run goes on', async () => {
    const first = await open(async (options) => {
      await schedule(options);
      await sleep('1 day');
    });
    const runId = await startWorkflow(first, 'arm', YEARLY);
    await until(async () => (await list(first)).length === 1);
    expect(await call(first, 'DELETE /api/recurring-jobs/report@yearly')).toMatchObject({
      body: { id: 'report@yearly', deleted: true },
    });
    const box = await first.restart();
    await until(async () => (await call(box, `GET /api/runs/${runId}`)).body.status === 'waiting');
    expect(await list(box)).toEqual([]);
  });

  test('of the same name is replaced by another time, and removed by code', async () => {
    const box = await open(async (options) => {
      await schedule(options);
      await schedule({ id: 'yearly', cron: '0 0 1 1 *', timeZone: 'UTC' });
      const { id } = await schedule({ in: '1 day' });
      return [await svc.workflows.unschedule(id), await svc.workflows.unschedule(id)];
    });
    expect((await runWorkflow(box, 'arm', YEARLY)).output).toEqual([true, false]);
    expect(await list(box)).toMatchObject([{ id: 'report@yearly', cron: '0 0 1 1 *' }]);
  });

  test('is paused, resumed and fired by hand as a declared one', async () => {
    const box = await open();
    await runWorkflow(box, 'arm', YEARLY);
    const path = '/api/recurring-jobs/report@yearly';
    expect((await call(box, `PATCH ${path}`, { isPaused: true })).body).toMatchObject({ nextFireAt: null });
    const fired = await call<Job>(box, `POST ${path}/run`);
    expect((await finish(box, String(fired.body.lastRunId))).output).toEqual({ to: 'ops' });
    expect((await call(box, `GET ${path}`)).body).toMatchObject({
      isPaused: true,
      firings: [{ runId: fired.body.lastRunId, outcome: 'completed', error: null }],
    });
  });

  test.each<[string, unknown[], RegExp]>([
    ['an unknown workflow', [{ in: 1 }, 'nope'], /There is no workflow "nope"/],
    ['an input that does not match', [{ in: 1 }, 'report', { to: 1 }], /does not match the schema/],
    ['a broken cron', [{ cron: '99 * * * *' }], /"99 \* \* \* \*" is not usable: "99" is no minute\. Use 0 to 59;/],
    ['a misspelt day', [{ cron: '0 9 * * mon-frri' }], /usable: "mon-frri" is no day of the week\. Use 0 to 7, /],
    [
      'a misspelt zone',
      [{ cron: '0 9 * * *', timeZone: 'Europe/Madird' }],
      /usable: There is no time zone "Europe\/Madird"\. Use a name such as Europe\/Madrid\./,
    ],
    ['six fields', [{ cron: '0 0 0 * * *' }], /must have five fields/],
    ['an unknown zone', [{ cron: '0 0 * * *', timeZone: 'Mars/Olympus' }], /is not usable|never fires/],
    ['two times', [{ cron: '0 0 * * *', in: 1 }], /exactly one of/],
    ['no time', [{}], /exactly one of/],
    ['a broken time', [{ at: 'soon' }], /"soon" is no time/],
    ['a broken name', [{ in: 1, id: 'a b' }], /"a b" cannot name a timer/],
  ])('is refused with a sentence: %s', async (_what, args, message) => {
    const box = await open(async () =>
      schedule(...(args as Parameters<typeof schedule>)).catch((error: Error) => error.message),
    );
    expect((await runWorkflow(box, 'arm')).output).toMatch(message);
    expect(await list(box)).toEqual([]);
  });

  test('whose workflow does not load when its one time comes fires once it does', async () => {
    const arm = { run: schedule as never };
    const { box, setTime } = await openAt('2030-01-01T00:00:00Z', { report, arm });
    await runWorkflow(box, 'arm', { id: 'x', at: '2030-01-02T00:00:00Z' });
    // Gone first: of a module that breaks, the last good version would run.
    await box.reload(toProgram({ workflows: { arm } }));
    await box.reload(toProgram({ workflows: { report: new Error('Broken.'), arm } }));
    setTime('2030-01-02T00:00:00Z');
    await until(async () => (await list(box))[0]?.lastOutcome === 'refused');
    expect(await list(box)).toMatchObject([
      { lastError: { code: 'workflow_compile_failed' }, nextFireAt: expect.stringMatching(/^2030-01-02T00:00:30/) },
    ]);
    await box.reload(toProgram({ workflows: { report, arm } }));
    setTime('2030-01-02T00:00:31Z');
    await until(async () => (await reportsOf(box)).length === 1);
    await until(async () => (await list(box))[0]?.nextFireAt === null);
  });

  test('whose workflow is gone says so, and is spent', async () => {
    const arm = { run: schedule as never };
    const { box, setTime } = await openAt('2030-01-01T00:00:00Z', { report, arm });
    await runWorkflow(box, 'arm', { id: 'x', at: '2030-01-02T00:00:00Z' });
    await box.reload(toProgram({ workflows: { arm } }));
    setTime('2030-01-02T00:00:00Z');
    await until(async () => (await list(box))[0]?.lastOutcome === 'refused');
    expect(await list(box)).toMatchObject([{ lastError: { code: 'workflow_not_found' }, nextFireAt: null }]);
  });
});

describe('a timer in a time zone', () => {
  const nightly = { ...report, schedules: [{ cron: '30 2 * * *', timeZone: 'Europe/Madrid', input: { to: 'ops' } }] };
  const firesOf = async (box: TestBox) =>
    (await call<{ firings: { at: string }[] }>(box, 'GET /api/recurring-jobs/report:0')).body.firings.length;
  const nextOf = async (box: TestBox) => (await list(box))[0]?.nextFireAt;

  test.each([
    [
      'whose hour does not exist fires when the gap is over',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
    ],
    [
      'whose hour comes twice fires the first time',
      '2026-10-24T12:00:00Z',
      ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
    ],
  ])('%s', async (_what, start, times) => {
    const { box, setTime } = await openAt(start, { report: nightly });
    for (const [n, time] of times.entries()) {
      expect(await nextOf(box)).toBe(time);
      setTime(time);
      await until(async () => (await firesOf(box)) === n + 1);
      await until(async () => (await nextOf(box)) !== time);
    }
    expect(await reportsOf(box)).toHaveLength(2);
  });

  test('whose replica slept through many times makes up for one', async () => {
    const { box, setTime } = await openAt('2026-01-01T00:00:00Z', { report: nightly });
    setTime('2026-02-01T00:00:00Z');
    await until(async () => (await firesOf(box)) === 1);
    await until(async () => (await nextOf(box)) === '2026-02-01T01:30:00.000Z');
    expect(await reportsOf(box)).toHaveLength(1);
  });
});

describe('a timer that is due', () => {
  const START = '2030-01-01T00:00:00Z';
  const AT = '2030-01-01T06:00:00Z';
  const TIMER = 'ask@once';
  const program = {
    ask: { run: async () => requestApproval({ title: 'Pay?' }) },
    arm: { run: async () => svc.workflows.schedule('ask', {}, { id: 'once', at: AT }) },
  };
  const overMcp = async (box: TestBox, operation: string, input: Json) => {
    const client = await connect(box);
    const { body } = await write(client, operation, input);
    return 'requestState' in body ? (await write(client, operation, input, body.requestState)).body : body;
  };
  const pause = (box: TestBox, isPaused: boolean) => call(box, `PATCH /api/recurring-jobs/${TIMER}`, { isPaused });
  const armHere = (box: TestBox) => runWorkflow(box, 'arm');
  const armOverMcp = async (box: TestBox) => {
    await overMcp(box, 'workflows.start', { name: 'arm', input: {} });
    await until(async () => (await list(box)).length === 1);
  };

  test.each<[title: string, prepare: (box: TestBox) => Promise<unknown>, isTheirs: boolean]>([
    ['armed by code that a caller has started over MCP', armOverMcp, true],
    [
      'resumed over MCP',
      async (box) => {
        await armHere(box);
        await pause(box, true);
        await overMcp(box, 'jobs.update', { id: TIMER, isPaused: false });
      },
      true,
    ],
    [
      'armed elsewhere, and only left as it is over MCP',
      async (box) => {
        await armHere(box);
        await overMcp(box, 'jobs.update', { id: TIMER, isPaused: false });
      },
      false,
    ],
    [
      'armed over MCP, and resumed elsewhere',
      async (box) => {
        await armOverMcp(box);
        await pause(box, true);
        await pause(box, false);
      },
      false,
    ],
  ])('asks what the same caller does not decide over MCP: %s', async (_title, prepare, isTheirs) => {
    const { box, setTime } = await openAt(START, program);
    await prepare(box);
    setTime(AT);
    let asked: Json | undefined;
    await until(async () => {
      asked = (await call<{ items: Json[] }>(box, 'GET /api/approvals?status=pending')).body.items[0];
      return asked !== undefined;
    });
    const decided = await overMcp(box, 'approvals.decide', { id: asked?.approvalId, decision: 'approve' });
    expect(decided).toMatchObject(isTheirs ? { code: 'decision_not_yours' } : { status: 'approved' });
    const { startedBy } = (await getRun(box, String(asked?.runId))) as { startedBy: { armedBy?: Json[] } | null };
    const armedBy = (startedBy?.armedBy ?? []).map(({ kind, id, via }) => [kind, id, via]);
    expect(armedBy).toEqual(isTheirs ? [['person', 'owner', 'mcp']] : []);
  });
});

describe('a thousand timers that are due at once, on SQLite', () => {
  test('all fire, each once, one of them paused', () => expectAllFire((workflows) => boxes.open({ workflows })));
});

describeWhen(bothServers, 'a thousand timers that are due at once, on Postgres', (servers) => {
  test('all fire, each once, one of them paused', () => {
    const openReplica = createCluster(boxes, servers);
    return expectAllFire((workflows) => openReplica({ workflows }));
  });
});

async function expectAllFire(openBox: (workflows: Record<string, TestWorkflow>) => Promise<TestBox>): Promise<void> {
  const COUNT = 1_000;
  const fired: string[] = [];
  let dueAt = 0;
  const arm = async (names: string[]) => {
    const at = new Date(dueAt);
    await Promise.all(names.map((id) => svc.workflows.schedule('report', { to: id }, { id, at })));
  };
  const note = async ({ to }: { to: string }) => void fired.push(to);
  const box = await openBox({ report: { ...report, run: note }, arm: { run: toStep('arm', arm) } });
  dueAt = Date.now() + 4_000;
  await runWorkflow(box, 'arm', ['t1000']);
  await call(box, 'PATCH /api/recurring-jobs/report@t1000', { isPaused: true });
  const names = Array.from({ length: COUNT }, (_, n) => `t${n}`);
  expect(await runWorkflow(box, 'arm', names)).toMatchObject({ status: 'completed' });
  await until(() => fired.length >= COUNT, 60_000);
  // Later looks find none.
  await box.engine.tick();
  await box.engine.tick();
  expect(new Set(fired).size).toBe(COUNT);
  expect(fired).toHaveLength(COUNT);
  expect(fired).not.toContain('t1000');
  const seventh = async () => (await call<Job>(box, 'GET /api/recurring-jobs/report@t7')).body;
  await until(async () => (await seventh()).lastOutcome === 'completed');
  expect(await seventh()).toMatchObject({ nextFireAt: null, lastError: null });
}
