import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { failure, makeProject, readDocument, runAgainst, startBox, UTF8 } from './_setup.ts';

const ids = [1, 2, 3].map((n) => `0192f3b4-7a10-7abc-8def-0123456789a${n}`);
const item = (index: number, outcome: string, stop: object | null = null) => ({
  runId: ids[index],
  kind: 'workflow',
  name: 'order',
  status: 'waiting',
  records: 3,
  outcome,
  codeHash: 'a',
  newestCodeHash: 'b',
  createdAt: '2026-01-01T00:00:00.000Z',
  movedAt: null,
  stop,
});
const counts = (more: object) => [
  { kind: 'workflow', name: 'order', runs: 1, safe: 0, moved: 0, stops: 0, busy: 0, unchecked: 0, ...more },
];
const STOP = {
  code: 'code_changed',
  message:
    'Call 0 of this run was recorded as "a#charge"; the code now calls "a#bill" at workflows/order.workflow.ts:3.',
  call: 0,
  recorded: 'a#charge',
  called: 'a#bill',
  at: 'workflows/order.workflow.ts:3',
};
const GONE = { ...STOP, code: 'workflow_not_found', message: 'There is no workflow "order".', at: null };

describe('svc upgrade', () => {
  it('shows what fits by workflow and each place that does not, and ends with 1', async () => {
    const box = await startBox({
      'GET /api/upgrade': {
        body: {
          items: [item(0, 'safe'), item(1, 'stops', STOP), item(2, 'stops', GONE)],
          counts: counts({ runs: 3, safe: 1, stops: 2 }),
          nextCursor: null,
        },
      },
    });
    const cwd = await makeProject(box.url);
    writeFileSync(join(cwd, 'workflows/order.workflow.ts'), 'one\ntwo\nthree\nfour\n');
    const result = await runCli(['upgrade', '--check'], { cwd, env: UTF8 });
    expect(result.exitCode).toBe(1);
    expect(result.stdout).toBe(
      [
        'order\t3\t1\t2\t0',
        '',
        `workflows/order.workflow.ts:3:1 code_changed: Run ${ids[1]} of order: ${STOP.message}`,
        '  1 | one',
        '  2 | two',
        '> 3 | three',
        '    | ^',
        '  4 | four',
        '  5 |',
        '',
        `Run ${ids[2]} of order: ${GONE.message}`,
        '',
      ].join('\n'),
    );
    expect(result.stderr).toContain('nothing breaks as long as they are not moved');
  });

  it('reads page after page as one answer, and ends with 0 where nothing stops', async () => {
    let asked = 0;
    const box = await startBox({
      'GET /api/upgrade': {
        get body() {
          const index = asked++;
          const nextCursor = index === 0 ? ids[0] : null;
          return { items: [item(index, 'safe')], counts: counts({ safe: 1 }), nextCursor };
        },
      },
    });
    const result = await runAgainst(box, ['upgrade', '--name', 'order', '--json']);
    expect(result.exitCode).toBe(0);
    expect(readDocument(result)).toMatchObject({
      items: [{ runId: ids[0] }, { runId: ids[1] }],
      counts: [{ name: 'order', runs: 2, safe: 2 }],
      nextCursor: null,
    });
    expect(box.seen.map(({ line }) => line)).toEqual([
      'GET /api/upgrade?name=order',
      `GET /api/upgrade?name=order&cursor=${ids[0]}`,
    ]);
  });

  it('moves those that fit, and says what stays', async () => {
    const box = await startBox({
      'POST /api/upgrade': {
        body: {
          items: [item(0, 'moved'), item(1, 'stops', GONE)],
          counts: counts({ runs: 2, safe: 1, moved: 1, stops: 1 }),
          nextCursor: null,
        },
      },
    });
    const result = await runAgainst(box, ['upgrade', '--apply', '--run', String(ids[0])]);
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^order\t2\t1\t0\t1\t0\n/) });
    expect(box.seen.at(-1)).toMatchObject({ line: 'POST /api/upgrade', body: JSON.stringify({ run: ids[0] }) });
  });

  it('says when there is nothing to move, and takes one of its flags', async () => {
    const box = await startBox({ 'GET /api/upgrade': { body: { items: [], counts: [], nextCursor: null } } });
    expect(await runAgainst(box, ['upgrade'])).toMatchObject({
      exitCode: 0,
      stdout: 'Every open run has the newest code.\n',
    });
    const ended = await runAgainst(box, ['upgrade', '--run', String(ids[0])]);
    expect(ended).toMatchObject({ exitCode: 0, stdout: 'The run is not open.\n' });
    const both = await runAgainst(box, ['upgrade', '--check', '--apply']);
    expect(both).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Leave one of them out.') });
  });

  it('fails for a name that nothing has', async () => {
    const message = 'There is no workflow or agent "ordr", and no open run of one.';
    const box = await startBox({ 'GET /api/upgrade': failure(404, 'workflow_not_found', message) });
    const result = await runAgainst(box, ['upgrade', '--name', 'ordr']);
    expect(result.exitCode).not.toBe(0);
    expect(result.stderr).toContain(message);
  });
});
