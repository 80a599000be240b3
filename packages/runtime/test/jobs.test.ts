import { describe, expect, test } from 'vitest';
import { encode } from '../src/engine/serialize.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import type { Job } from '../src/jobs/job.ts';
import { call, finish, setupBoxes, toProgram, until } from './_setup.ts';
import type { TestBox, TestWorkflow } from './_setup.ts';

const boxes = setupBoxes();

const echo = { run: async (input: unknown) => input };
/** Leap days: no time that comes while a test runs. */
const MADRID = { cron: '0 9 29 2 *', timeZone: 'Europe/Madrid', input: { to: 'ops' } };
const LEAP = { cron: '0 0 29 2 *' };
/** Every hour, half an hour away from now. */
const HOURLY = { cron: `${(new Date().getUTCMinutes() + 30) % 60} * * * *`, timeZone: 'UTC', input: { n: 1 } };

const open = (schedules: unknown = [MADRID, LEAP], more: Partial<TestWorkflow> = {}) =>
  boxes.open({ workflows: { report: { ...echo, ...more, schedules }, plain: echo } });
const list = async (box: TestBox) => (await call<{ items: Job[] }>(box, 'GET /api/recurring-jobs')).body.items;
const get = (box: TestBox, id: string) => call<Job & { code?: string }>(box, `GET /api/recurring-jobs/${id}`);
const runsOf = async (box: TestBox) =>
  (await call<{ items: Record<string, unknown>[] }>(box, 'GET /api/runs?name=report')).body.items;

/** Closes the box, and writes into its journal that the timer was due then. Opens another box on it. */
async function restartDue(box: TestBox, id: string, at: number): Promise<TestBox> {
  await box.shut();
  const journal = await openSqliteJournal({ path: box.journalPath });
  const known = (await journal.schedules.list()).find((schedule) => schedule.id === id);
  await journal.schedules.advance(id, known?.nextAt ?? 0, at, { at: at - 1, runId: null });
  await journal.close();
  return box.restart();
}

const ago = (ms: number) => Date.now() - ms;

describe('the recurring jobs', () => {
  test('are every timer a workflow declares, with its next fire time', async () => {
    const box = await open();
    const [daily, yearly] = await list(box);
    expect(await list(box)).toHaveLength(2);
    expect(daily).toEqual({
      id: 'report:0',
      workflow: 'report',
      origin: 'declared',
      cron: '0 9 29 2 *',
      timeZone: 'Europe/Madrid',
      input: { to: 'ops' },
      isPaused: false,
      nextFireAt: expect.any(String),
      waitingFor: null,
      lastFiredAt: null,
      lastRunId: null,
      lastOutcome: null,
      lastError: null,
    });
    expect(yearly).toMatchObject({ id: 'report:1', timeZone: null, input: {} });
    const local = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Madrid', timeStyle: 'short' });
    expect(local.format(new Date(daily?.nextFireAt ?? 0))).toBe('09:00');
    expect(Date.parse(daily?.nextFireAt ?? '')).toBeGreaterThan(Date.now());
    expect((await get(box, 'report:0')).body).toEqual({ ...daily, firings: [] });
    expect((await call(box, 'GET /api/workflows/report')).body).toMatchObject({ schedules: 2 });
  });

  test('of a box without timers are none', async () => {
    expect(await call(await boxes.open({ workflows: { plain: echo } }), 'GET /api/recurring-jobs')).toEqual({
      status: 200,
      body: { items: [], nextCursor: null },
    });
  });

  test.each([
    ['GET', undefined],
    ['PATCH', { isPaused: true }],
    ['POST', undefined],
  ])('%s of one that there is not is 404', async (method, body) => {
    const path = `/api/recurring-jobs/nope:0${method === 'POST' ? '/run' : ''}`;
    expect(await call(await open(), `${method} ${path}`, body)).toMatchObject({
      status: 404,
      body: { code: 'job_not_found', message: 'There is no recurring job "nope:0".' },
    });
  });

  test.each(['PATCH /api/recurring-jobs/report', 'POST /api/recurring-jobs/report/run'])(
    '%s, which is a workflow, names the jobs it has',
    async (route) => {
      const { body } = await call(await open(), route, route.startsWith('PATCH') ? { isPaused: true } : undefined);
      expect(body).toMatchObject({
        code: 'job_not_found',
        message:
          'There is no recurring job "report". The jobs of workflow "report" are called by their number or name: "report:0", "report:1".',
      });
    },
  );

  test.each([[{}], [{ isPaused: 'yes' }], [{ isPaused: true, cron: '* * * * *' }]])(
    'a change by %j is 400',
    async (body) => {
      const box = await open();
      expect(await call(box, 'PATCH /api/recurring-jobs/report:0', body)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request' },
      });
    },
  );
});

describe('a timer', () => {
  test('paused has no next fire time, over a restart too, until it is resumed', async () => {
    const first = await open();
    const paused = await call(first, 'PATCH /api/recurring-jobs/report:0', { isPaused: true });
    expect(paused).toMatchObject({ status: 200, body: { isPaused: true, nextFireAt: null } });
    const box = await first.restart();
    expect(await list(box)).toMatchObject([{ isPaused: true, nextFireAt: null }, { isPaused: false }]);
    const resumed = await call(box, 'PATCH /api/recurring-jobs/report:0', { isPaused: false });
    expect(resumed.body).toMatchObject({ isPaused: false, nextFireAt: expect.stringMatching(/Z$/) });
  });

  test('fired by hand starts a run with its input and keeps its next fire time', async () => {
    const box = await open();
    const before = (await get(box, 'report:0')).body;
    const fired = await call<Job>(box, 'POST /api/recurring-jobs/report:0/run');
    expect(fired).toMatchObject({
      status: 202,
      body: { lastRunId: expect.any(String), nextFireAt: before.nextFireAt },
    });
    const run = await finish(box, String(fired.body.lastRunId));
    expect(run).toMatchObject({ name: 'report', trigger: 'schedule', input: { to: 'ops' }, output: { to: 'ops' } });
    expect((await get(box, 'report:0')).body).toMatchObject({
      lastOutcome: 'completed',
      lastFiredAt: expect.any(String),
    });
  });

  test('fired by hand while paused runs and stays paused', async () => {
    const box = await open();
    await call(box, 'PATCH /api/recurring-jobs/report:0', { isPaused: true });
    const { body } = await call<Job>(box, 'POST /api/recurring-jobs/report:0/run');
    expect(body).toMatchObject({ isPaused: true, nextFireAt: null });
    expect((await finish(box, String(body.lastRunId))).status).toBe('completed');
  });

  test('that missed many times while no box ran is fired once at boot', async () => {
    const first = await open([HOURLY]);
    const missed = ago(6 * 3_600_000);
    const box = await restartDue(first, 'report:0', missed);
    await until(async () => (await list(box))[0]?.lastRunId !== null);
    const [job] = await list(box);
    expect(Date.parse(job?.nextFireAt ?? '')).toBeGreaterThan(Date.now());
    expect(Date.parse(job?.lastFiredAt ?? '')).toBeGreaterThan(missed);
    await finish(box, String(job?.lastRunId));
    expect(await runsOf(box)).toMatchObject([{ trigger: 'schedule', status: 'completed', output: { n: 1 } }]);
  });

  test('whose box died between the start and the note of it starts nothing twice', async () => {
    const due = ago(60_000);
    const hasFired = (box: TestBox) => until(async () => (await list(box))[0]?.lastRunId !== null);
    const first = await restartDue(await open([LEAP]), 'report:0', due);
    await hasFired(first);
    const second = await restartDue(first, 'report:0', due);
    await hasFired(second);
    expect(await runsOf(second)).toHaveLength(1);
  });

  test('paused and due is not fired', async () => {
    const first = await open([MADRID, LEAP]);
    await call(first, 'PATCH /api/recurring-jobs/report:1', { isPaused: true });
    const second = await restartDue(first, 'report:1', ago(2_000));
    const box = await restartDue(second, 'report:0', ago(1_000));
    await until(async () => (await list(box))[0]?.lastRunId !== null);
    expect(await list(box)).toMatchObject([{ lastOutcome: expect.any(String) }, { lastRunId: null, isPaused: true }]);
    expect(await runsOf(box)).toHaveLength(1);
  });

  test('whose workflow refuses its input says so in the log, and waits for its next time', async () => {
    const first = await open([HOURLY], { serial: { key: () => undefined } });
    const box = await restartDue(first, 'report:0', ago(3 * 3_600_000));
    await until(() => box.logs.length > 0);
    expect(box.logs[0]).toMatchObject({
      level: 'error',
      job: 'report:0',
      error: { message: expect.stringContaining('serial.key') },
    });
    await until(async () => Date.parse((await list(box))[0]?.nextFireAt ?? '') > Date.now());
    expect(await runsOf(box)).toEqual([]);
    const refused = { code: 'workflow_input_invalid', message: expect.stringContaining('serial.key') };
    await until(async () => (await list(box))[0]?.lastOutcome !== null);
    expect(await list(box)).toMatchObject([{ lastRunId: null, lastOutcome: 'refused', lastError: refused }]);
    expect((await get(box, 'report:0')).body).toMatchObject({
      firings: [{ outcome: 'refused', error: refused }, { outcome: null }],
    });
  });
});

describe('a declared timer', () => {
  test('cannot be removed, only paused', async () => {
    expect(await call(await open(), 'DELETE /api/recurring-jobs/report:0')).toMatchObject({
      status: 409,
      body: { code: 'job_declared' },
    });
  });

  test('is listed page by page, and by its workflow', async () => {
    const box = await boxes.open({
      workflows: { a: { ...echo, schedules: [LEAP, LEAP] }, b: { ...echo, schedules: [LEAP] } },
    });
    const page = async (query: string) => {
      const { body } = await call<{ items: Job[]; nextCursor: string | null }>(box, `GET /api/recurring-jobs?${query}`);
      return { ids: body.items.map(({ id }) => id), next: body.nextCursor };
    };
    const first = await page('limit=2');
    expect(first.ids).toEqual(['a:0', 'a:1']);
    expect(await page(`limit=2&cursor=${first.next}`)).toEqual({ ids: ['b:0'], next: null });
    expect(await page('workflow=b')).toEqual({ ids: ['b:0'], next: null });
    expect((await call(box, 'GET /api/recurring-jobs?cursor=x')).body).toMatchObject({ code: 'invalid_cursor' });
  });

  test('fired by hand says why nothing began', async () => {
    const box = await open([LEAP], { serial: { key: () => undefined } });
    expect(await call(box, 'POST /api/recurring-jobs/report:0/run')).toMatchObject({
      status: 400,
      body: { code: 'workflow_input_invalid' },
    });
    expect(await list(box)).toMatchObject([{ lastOutcome: 'refused' }]);
  });
});

describe('after an edit', () => {
  const reload = (box: TestBox, report: TestWorkflow | Error) => box.reload(toProgram({ workflows: { report } }));

  test('new timers are armed, changed ones get their new time, and others are gone', async () => {
    const box = await open([MADRID, LEAP]);
    await call(box, 'PATCH /api/recurring-jobs/report:0', { isPaused: true });
    await reload(box, { ...echo, schedules: [{ ...MADRID, cron: '30 7 29 2 *' }] });
    expect(await list(box)).toMatchObject([{ id: 'report:0', cron: '30 7 29 2 *' }]);
    await reload(box, echo);
    expect(await list(box)).toEqual([]);
  });

  test('a pause stays with its timer when another is removed or put in front, or an older box comes between', async () => {
    const first = await open([MADRID, LEAP]);
    await call(first, 'PATCH /api/recurring-jobs/report:1', { isPaused: true });
    await reload(first, { ...echo, schedules: [LEAP] });
    expect(await list(first)).toMatchObject([{ cron: LEAP.cron, isPaused: true }]);
    await reload(first, { ...echo, schedules: [HOURLY, LEAP] });
    const pauses = async (box: TestBox) =>
      Object.fromEntries((await list(box)).map(({ cron, isPaused }) => [cron, isPaused]));
    expect(await pauses(first)).toEqual({ [LEAP.cron]: true, [HOURLY.cron]: false });
    const older = await first.restart({ workflows: { report: echo } });
    expect(await list(older)).toEqual([]);
    const newer = await older.restart({ workflows: { report: { ...echo, schedules: [HOURLY, LEAP] } } });
    expect(await pauses(newer)).toEqual({ [LEAP.cron]: true, [HOURLY.cron]: false });
  });

  test('a timer with a name keeps its pause when its time and its input change', async () => {
    const box = await open([{ ...LEAP, name: 'yearly' }]);
    await call(box, 'PATCH /api/recurring-jobs/report:yearly', { isPaused: true });
    await reload(box, { ...echo, schedules: [{ ...MADRID, name: 'yearly' }] });
    expect(await list(box)).toMatchObject([{ id: 'report:yearly', cron: MADRID.cron, isPaused: true }]);
  });

  test('that does not load, the timers stay, and a pause survives a restart on the broken file', async () => {
    const first = await open();
    await call(first, 'PATCH /api/recurring-jobs/report:0', { isPaused: true });
    await reload(first, new Error('broken'));
    expect(await list(first)).toMatchObject([{ isPaused: true }, { isPaused: false }]);
    const second = await first.restart({ workflows: { report: new Error('broken') } });
    expect(await list(second)).toMatchObject([{ isPaused: true }, { isPaused: false }]);
    const third = await second.restart({ workflows: { report: { ...echo, schedules: [MADRID, LEAP] } } });
    expect(await list(third)).toMatchObject([{ isPaused: true, nextFireAt: null }, { isPaused: false }]);
  });
});

describe('a schedule that cannot work', () => {
  test.each([
    [[{ cron: '0 9 * *' }], '"0 9 * *" must have five fields'],
    [[{ cron: '0 9 * * * *' }], 'must have five fields'],
    [[{ cron: '61 * * * *' }], '"61 * * * *" is not usable'],
    [[{ cron: 'a b c d e' }], 'is not usable'],
    [[{ cron: '0 0 30 2 *' }], '"0 0 30 2 *" never fires'],
    [[MADRID, { cron: '0 9 * * *', timeZone: 'Mars/Base' }], 'Mars/Base'],
    [[{}], 'must be an array of { cron, timeZone?, input?, name? }'],
    [[{ ...MADRID, name: '1' }], 'cannot have the name "1"'],
    [
      [
        { ...MADRID, name: 'a' },
        { ...LEAP, name: 'a' },
      ],
      'cannot have the name "a"',
    ],
    [[null], 'must be an array of { cron, timeZone?, input?, name? }'],
    ['0 9 * * *', 'must be an array of { cron, timeZone?, input?, name? }'],
  ])('%j is a problem of its workflow', async (schedules, message) => {
    const box = await open(schedules);
    expect(box.problems()).toMatchObject([
      { file: 'workflows/report.workflow.ts', message: expect.stringContaining(message) },
    ]);
    expect((await call(box, 'POST /api/workflows/report/start', {})).body.code).toBe('workflow_compile_failed');
    expect((await call(box, 'POST /api/workflows/plain/start', {})).status).toBe(202);
    expect(await list(box)).toEqual([]);
  });
});

test('a stored schedule no workflow declares is gone at boot', async () => {
  const first = await open();
  const stale = {
    id: 'gone:0',
    name: 'gone',
    cron: '* * * * *',
    timeZone: null,
    input: encode({}, 'input'),
    nextAt: 1,
  };
  await first.journal.schedules.reconcile([stale]);
  const box = await first.restart();
  expect((await list(box)).map(({ id }) => id)).toEqual(['report:0', 'report:1']);
});
