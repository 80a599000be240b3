import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, setupBoxes, until } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { toCaseLine } from '../../dashboard/src/screens/run/lines.ts';
import { defineDeepAgent } from '../../runtime/src/definitions/definition.ts';
import { makeProject, readDocument } from './_setup.ts';
import { runCli } from './_run.ts';

const boxes = setupBoxes();
const open = boxes.share({
  agents: { desk: defineDeepAgent({ name: 'desk', instructions: 'Answer.' }) },
  workflows: { alternates: { run: () => (looks += 1) % 2 } },
});
let looks = 0;
let box: TestBox;
let url: string;
let cwd: string;

const addCase = async (name: string, input: string, expected: string): Promise<string> => {
  const target = { kind: 'agent', name: 'desk' };
  return (await call<{ id: string }>(box, 'POST /api/evals/cases', { name, target, input, expected })).body.id;
};

beforeAll(async () => {
  box = await open();
  url = await box.listen();
  const good = await addCase('greets', 'say:Hello.', 'Hello.');
  const bad = await addCase('is <brief> & "kind"', 'say:No.', 'Yes.');
  const stuck = await addCase('hangs', 'hang', 'never');
  const target = { kind: 'workflow', name: 'alternates' };
  const odd = { name: 'alternates', target, input: {}, expected: 1 };
  const apart = (await call<{ id: string }>(box, 'POST /api/evals/cases', odd)).body.id;
  const suites = { good: [good], apart: [apart], mixed: [good, bad], stuck: [stuck] };
  for (const [name, cases] of Object.entries(suites)) await call(box, 'POST /api/evals/suites', { name, cases });
});

beforeEach(async () => {
  cwd = await makeProject(url);
});

describe('svc eval', () => {
  it('launches a suite, follows it and prints its matrix', async () => {
    const { exitCode, stdout } = await runCli(['eval', 'good', '--samples', '2'], { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('good  passed  eval run ');
    // Each with the runs behind it.
    const [, tokens, runs = ''] = /^greets\t2\/2\t1\t1\t(\d+)\t(.*)$/m.exec(stdout) ?? [];
    expect(Number(tokens)).toBeGreaterThan(0);
    const ids = runs.split(',');
    expect(new Set(ids).size).toBe(2);
    for (const id of ids)
      expect((await call(box, `GET /api/runs/${id}`)).body).toMatchObject({ name: 'desk', trigger: 'eval' });
    expect(stdout).toContain('2 of 2 pass, score 1, ');
    expect(stdout).toContain('gate passRate: 1 of 1');
  });

  it('shows how far the samples of a case lie apart', async () => {
    const { stdout } = await runCli(['eval', 'apart', '--samples', '4'], { cwd });
    // Of 0, 0, 1 and 1.
    expect(stdout).toMatch(/^alternates\t2\/4\t0\.5 ±0\.5\t0\.5 ±0\.5\t/m);
  });

  it('ends with 1 below the gate, and says why', async () => {
    const { exitCode, stdout } = await runCli(['eval', 'mixed', '--junit', 'evals.xml'], { cwd });
    expect(exitCode).toBe(1);
    expect(stdout).toContain('mixed  below its gates');
    expect(stdout).toContain('exact: Expected "Yes.", got "No.".');
    const xml = readFileSync(join(cwd, 'evals.xml'), 'utf8');
    expect(xml).toContain('<testsuite name="mixed" tests="2" failures="1" errors="0"');
    expect(xml).toMatch(
      /<testcase name="greets" classname="agent\.desk"[^>]*><system-out>svc runs get [\da-f-]{36}<\/system-out>/,
    );
    expect(xml).toContain('name="is &lt;brief&gt; &amp; &quot;kind&quot;"');
    expect(xml).toContain('exact 0.000: Expected "Yes.", got "No.".');
  });

  it('prints the run as one document with --json', async () => {
    const result = await runCli(['eval', 'mixed', '--json'], { cwd });
    expect(result.exitCode).toBe(1);
    expect(readDocument(result)).toMatchObject({
      run: { suite: 'mixed', passed: false, cases: [{}, {}], nextCursor: null },
    });
  });

  it('lists suites, shows a run and compares it with the one before', async () => {
    const { stdout: list } = await runCli(['eval', 'list'], { cwd });
    expect(list).toMatch(/^mixed\tcompleted\tno\t0\.5\t/m);
    const { body } = await call<{ items: { id: string }[] }>(box, 'GET /api/evals/runs?suite=mixed');
    const id = body.items[0]?.id ?? '';
    expect((await runCli(['eval', 'get', id], { cwd })).stdout).toContain('mixed  below its gates');
    const all = readDocument(await runCli(['eval', 'get', id, '--limit', '1', '--all', '--json'], { cwd }));
    expect(all).toMatchObject({ run: { id, cases: [{}, {}], nextCursor: null } });
    const compared = await runCli(['eval', 'compare', id], { cwd });
    expect(compared).toMatchObject({ exitCode: 0 });
    expect(compared.stdout).toMatch(/^same\tgreets\t1\t1\t/m);
  });

  it('starts and leaves with --detach, and cancels', async () => {
    const { run: started } = readDocument(await runCli(['eval', 'stuck', '--detach', '--json'], { cwd })) as {
      run: { id: string };
    };
    expect(started).toMatchObject({ status: 'running' });
    const { id } = started;
    await until(
      async () => (await call<{ items: unknown[] }>(box, `GET /api/runs?parent=${id}`)).body.items.length === 1,
    );
    const cancelled = await runCli(['eval', 'cancel', id, '--yes', '--json'], { cwd });
    expect(cancelled.exitCode).toBe(0);
    expect(readDocument(cancelled)).toMatchObject({ run: { id, status: 'cancelled' } });
    expect((await runCli(['eval', 'get', id], { cwd })).stdout).toContain('stuck  cancelled');
  });

  it('makes a case of a run with svc pull run --promote eval', async () => {
    const { body } = await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?name=desk&status=completed');
    const runId = body.items[0]?.runId ?? '';
    // The line that the page of a run copies, with more.
    const [, ...line] = toCaseLine({ runId }).split(' ');
    const result = await runCli([...line, '--tags', 'smoke,recorded', '--json'], { cwd });
    expect(result.exitCode).toBe(0);
    const { caseId, file } = readDocument(result);
    expect(file).toBeNull();
    expect((await call(box, `GET /api/evals/cases/${String(caseId)}`)).body).toMatchObject({
      fromRunId: runId,
      target: { kind: 'agent', name: 'desk' },
      tags: ['smoke', 'recorded'],
    });
  });

  it.each([
    [['eval', 'nothing'], 'There is no eval suite "nothing".'],
    [['eval'], 'suite'],
    [['eval', 'good', '--samples', 'many'], '--samples does not take "many".'],
    [['eval', 'good', '--prompt', 'x'], '--prompt does not take "x".'],
    [['eval', 'good', '--detach', '--junit', 'x.xml'], '--junit needs the end of the run.'],
  ])('%s is refused', async (argv, message) => {
    const { exitCode, stderr } = await runCli(argv, { cwd });
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
