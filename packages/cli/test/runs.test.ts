import { describe, expect, it } from 'vitest';
import { failure, readDocument, readError, runAgainst, startBox, UTF8 } from './_setup.ts';

const COUNTS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, totalTokens: 0 };
const NONE = {
  sessionId: null,
  parentRunId: null,
  retryOf: null,
  input: null,
  output: null,
  error: null,
  waitingFor: null,
};

function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1000).toISOString();
}

function createRun(fields: object) {
  return {
    ...NONE,
    ...COUNTS,
    runId: '0192f3b4-7a10-7abc-8def-0123456789ab',
    traceId: '0192f3b47a107abc8def0123456789ab',
    kind: 'workflow',
    name: 'greet',
    trigger: 'api',
    status: 'completed',
    createdAt: ago(90),
    startedAt: ago(90),
    endedAt: ago(88.5),
    ...fields,
  };
}

describe('svc runs list', () => {
  it('answers the page', async () => {
    const items = [createRun({})];
    const box = await startBox({ 'GET /api/runs': { body: { items, nextCursor: 'c2' } } });
    const result = await runAgainst(box, ['runs', 'list', '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, items, nextCursor: 'c2' });
  });

  it('sends the filters that were given and no other', async () => {
    const box = await startBox({ 'GET /api/runs': { body: { items: [], nextCursor: null } } });
    await runAgainst(box, ['runs', 'list']);
    await runAgainst(box, [
      'runs',
      'list',
      '--name',
      'a&b',
      '--status=failed',
      '--kind',
      'agent',
      '--limit',
      '2',
      '--cursor',
      'x=',
    ]);
    expect(box.seen.map(({ line }) => line)).toEqual([
      'GET /api/runs',
      'GET /api/runs?name=a%26b&kind=agent&status=failed&limit=2&cursor=x%3D',
    ]);
  });

  it('prints one line per run, tabs between the cells, when piped', async () => {
    const items = [
      createRun({ totalTokens: 42 }),
      createRun({ name: 'bad\u001B[31m\tname\n', status: 'queued', startedAt: null, endedAt: null }),
    ];
    const box = await startBox({ 'GET /api/runs': { body: { items, nextCursor: 'c2' } } });
    const { stdout, stderr } = await runAgainst(box, ['runs', 'list']);
    expect(stdout.split('\n')).toEqual([
      `${items[0]?.runId}\tworkflow\tgreet\tcompleted\t1m ago\t1.5s\t42`,
      `${items[1]?.runId}\tworkflow\tbad name\tqueued\t-\t-\t0`,
      '',
    ]);
    expect(stderr).toContain('--cursor c2');
  });

  it('cuts the table to the terminal, and never what it shows of an id', async () => {
    const items = [createRun({ name: 'a-workflow-with-quite-a-long-name' })];
    const box = await startBox({ 'GET /api/runs': { body: { items, nextCursor: null } } });
    for (const columns of [120, 100, 80, 60]) {
      const { stdout } = await runAgainst(box, ['runs', 'list'], {
        tty: true,
        columns,
        env: { ...UTF8, NO_COLOR: '1' },
      });
      const lines = stdout.trimEnd().split('\n');
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
      expect(lines[1]?.split(' ')[0]).toBe(items[0]?.runId.slice(0, 13));
    }
  });

  it.each([
    ['--limit', '0'],
    ['--limit', '201'],
    ['--limit', 'ten'],
    ['--status', 'broken'],
    ['--kind', 'job'],
    ['--name', ''],
  ])('refuses %s "%s"', async (flag, value) => {
    const box = await startBox({});
    const result = await runAgainst(box, ['runs', 'list', flag, value, '--json']);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({ code: 'generic', message: expect.stringContaining(flag) });
    expect(box.seen).toEqual([]);
  });
});

describe('svc runs get', () => {
  it('says on one line what the run waits for', async () => {
    const waitingFor = {
      type: 'approval',
      step: 'await approval',
      title: 'Ship it?',
      until: '2026-01-31T12:00:00.000Z',
    };
    const box = await startBox({ 'GET /api/runs/r1': { body: createRun({ status: 'waiting', waitingFor }) } });
    const { stdout } = await runAgainst(box, ['runs', 'get', 'r1']);
    expect(stdout).toContain(
      '\n  waits     approval, step await approval, title Ship it?, until 2026-01-31T12:00:00.000Z\n',
    );
  });

  it('answers the run', async () => {
    const run = createRun({ output: { id: 1 } });
    const box = await startBox({ [`GET /api/runs/${run.runId}`]: { body: run } });
    expect(readDocument(await runAgainst(box, ['runs', 'get', run.runId, '--json']))).toEqual({
      schema_version: 1,
      run,
    });
  });

  it('prints a card with input and output', async () => {
    const run = createRun({
      input: { name: 'Ada' },
      output: 'line 1\nline 2',
      inputTokens: 30,
      outputTokens: 12,
      totalTokens: 42,
      cost: 0.0125,
    });
    const box = await startBox({ [`GET /api/runs/${run.runId}`]: { body: run } });
    const { stdout } = await runAgainst(box, ['runs', 'get', run.runId]);
    expect(stdout).toContain('greet  completed\n');
    expect(stdout).toContain('  tokens    42 (in 30, out 12)\n  cost      0.0125\n');
    expect(stdout).toContain('\ninput\n{\n  "name": "Ada"\n}\n\noutput\nline 1\nline 2\n');
    expect(stdout).not.toContain('session');
  });

  it.each([
    [0, '  cost      0\n'],
    [0.00000015, '  cost      0.00000015\n'],
    [1_234.5, '  cost      1234.5\n'],
  ])('says that %s is what its models cost', async (cost, line) => {
    const run = createRun({ totalTokens: 42, cost });
    const box = await startBox({ [`GET /api/runs/${run.runId}`]: { body: run } });
    expect((await runAgainst(box, ['runs', 'get', run.runId])).stdout).toContain(line);
  });

  it('has no line of a cost where none of its models had a price', async () => {
    const run = createRun({ totalTokens: 42 });
    const box = await startBox({ [`GET /api/runs/${run.runId}`]: { body: run } });
    expect((await runAgainst(box, ['runs', 'get', run.runId])).stdout).not.toContain('cost');
  });

  it('prints the error of a failed run', async () => {
    const run = createRun({
      status: 'failed',
      error: { code: 'step_failed', message: 'No card.', stack: 'Error: No card.\n    at pay' },
    });
    const box = await startBox({ [`GET /api/runs/${run.runId}`]: { body: run } });
    const { stdout } = await runAgainst(box, ['runs', 'get', run.runId]);
    expect(stdout).toContain('\nerror\nstep_failed: No card.\nError: No card.\n    at pay\n');
  });

  it('exits 4 for an unknown run', async () => {
    const box = await startBox({ 'GET /api/runs/x': failure(404, 'run_not_found', 'There is no run "x".') });
    const result = await runAgainst(box, ['runs', 'get', 'x', '--json']);
    expect(result.exitCode).toBe(4);
    expect(readError(result)).toMatchObject({
      code: 'run_not_found',
      suggestion: expect.stringContaining('svc runs list'),
    });
  });
});
