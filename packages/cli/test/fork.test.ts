import { describe, expect, it } from 'vitest';
import { readDocument, runAgainst, startBox } from './_setup.ts';

const RUN = '0192f3b4-7a10-7abc-8def-0123456789ab';
const MADE = '0192f3b4-7a10-7abc-8def-0123456789ff';
const preview = (as: string, ends = false) => ({
  runId: RUN,
  as,
  step: '1',
  name: 'charge',
  taken: { steps: 1, totalTokens: 40 },
  again: [
    { name: 'charge', kind: 'step', isEffect: true, steps: ['1'], count: 1, done: 1, totalTokens: 0 },
    { name: 'model', kind: 'model', isEffect: true, steps: ['2', '3'], count: 2, done: 2, totalTokens: 1200 },
    { name: 'sleep', kind: 'sleep', isEffect: false, steps: ['4'], count: 1, done: 1, totalTokens: 0 },
  ],
  againTokens: 1200,
  heldHooks: [{ step: '5', by: 'source' }],
  ends,
  etag: 'seen',
});
const receipt = { workflowName: 'order', status: 'started', runId: MADE, worldRunId: 'w', trigger: 't' };

const open = (as = 'fork', ends = false) =>
  startBox({
    [`GET /api/runs/${RUN}/fork`]: { body: preview(as, ends) },
    [`POST /api/runs/${RUN}/${as}`]: { status: 202, body: receipt },
  });

describe('svc runs fork', () => {
  it('shows what is executed again, and makes nothing without a yes', async () => {
    const box = await open();
    const result = await runAgainst(box, ['runs', 'fork', RUN, '--from', 'charge'], { tty: true, stdin: ['n'] });
    expect(result.exitCode).toBe(1);
    expect((await runAgainst(box, ['runs', 'fork', RUN, '--from', '1'])).stderr).toContain('Add --yes.');
    expect(result.stderr).toContain(
      `Takes 1 step of run ${RUN} as recorded (40 tokens), and goes on from step 1, charge.`,
    );
    expect(result.stderr).toContain('  model   model, 2 calls, done 2 times already, 1200 tokens');
    expect(result.stderr).toContain('  sleep   sleep, 1 call\n');
    expect(result.stderr).toContain('The token of the hook of step 5 is still that of the run: the fork fails there');
    expect(box.seen.map(({ line }) => line)).toEqual([
      `GET /api/runs/${RUN}/fork?from=charge&as=fork`,
      `GET /api/runs/${RUN}/fork?from=1&as=fork`,
    ]);
  });

  it('does exactly what it has shown', async () => {
    const box = await open();
    const args = ['runs', 'fork', RUN, '--from', '1', '--args', '[{"cents":5}]', '--yes'];
    const result = await runAgainst(box, [...args, '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, ...receipt });
    expect(box.seen[1]).toMatchObject({
      line: `POST /api/runs/${RUN}/fork`,
      body: JSON.stringify({ from: '1', etag: 'seen', args: [{ cents: 5 }] }),
    });
    expect((await runAgainst(box, args)).stdout).toBe(`Started run ${MADE}\n`);
  });

  it('with --dry-run only answers the preview', async () => {
    const box = await open();
    const result = await runAgainst(box, ['runs', 'fork', RUN, '--from', '1', '--dry-run', '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, ...preview('fork') });
    expect(box.seen).toHaveLength(1);
  });
});

describe('svc runs rewind', () => {
  it('says that the run is cancelled', async () => {
    const box = await open('rewind', true);
    const result = await runAgainst(box, ['runs', 'rewind', RUN, '--from', '1', '--dry-run']);
    expect(result.stdout).toContain(
      'The run is open: it is cancelled, with what it started, and without its clean-up.',
    );
    await runAgainst(box, ['runs', 'rewind', RUN, '--from', '1', '--yes']);
    expect(box.seen.at(-1)?.line).toBe(`POST /api/runs/${RUN}/rewind`);
  });
});
