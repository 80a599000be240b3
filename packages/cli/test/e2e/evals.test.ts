import { expect, it } from 'vitest';
import { eventually, useRig } from './_setup.ts';
import type { Box } from './_setup.ts';

const rig = useRig();
const CASES = 200;

interface EvalRun {
  id: string;
  status: string;
  passed: boolean;
  summary: { results: number; passed: number };
}

async function ask<T>(box: Box, path: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {};
  return (await box.fetch(`/api/evals/${path}`, init)).json() as Promise<T>;
}

/** All runs below one. */
async function listBelow(
  box: Box,
  runId: string,
): Promise<{ runId: string; input: { messages: { content: string }[] } }[]> {
  const found = [];
  for (let cursor = ''; ;) {
    const answer = await box.fetch(`/api/runs?parent=${runId}&limit=200${cursor}`);
    const page = (await answer.json()) as { items: Awaited<ReturnType<typeof listBelow>>; nextCursor: string | null };
    found.push(...page.items);
    if (page.nextCursor === null) return found;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

it('a suite of 200 cases whose box is killed half way goes on in the next one, and no case is run twice', async () => {
  const workspace = await rig.workspace();
  const first = await workspace.boot();
  for (let from = 0; from < CASES; from += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        ask(first, 'cases', {
          name: `case ${from + index}`,
          target: { kind: 'agent', name: 'echo' },
          input: `say:answer ${from + index}`,
          expected: `answer ${from + index}`,
          tags: ['all'],
        }),
      ),
    );
  // Of these one does not give what is expected, which the gate of one suite takes and that of the other does not.
  const few = { target: { kind: 'agent', name: 'echo' }, tags: ['few'] };
  await ask(first, 'cases', { ...few, name: 'right', input: 'say:yes', expected: 'yes' });
  await ask(first, 'cases', { ...few, name: 'wrong', input: 'say:yes', expected: 'no' });
  const lenient = { name: 'all', tags: ['all', 'few'], concurrency: 8, gates: { passRate: 0.99 } };
  await ask(first, 'suites', lenient);
  await ask(first, 'suites', { name: 'few', tags: ['few'], samples: 20, concurrency: 1 });
  const launch = async (suite: string) => {
    const { code, stdout } = await workspace.svc('eval', suite, '--detach', '--idempotency-key', suite, '--json');
    expect(code).toBe(0);
    return (JSON.parse(stdout) as { run: EvalRun }).run.id;
  };
  const [id, fewId] = [await launch('all'), await launch('few')];
  await eventually(async () => (await ask<EvalRun>(first, `runs/${id}?limit=1`)).summary.results >= 60, {
    within: 60_000,
  });
  const before = await ask<EvalRun>(first, `runs/${id}?limit=1`);
  expect([before.status, (await ask<EvalRun>(first, `runs/${fewId}?limit=1`)).status]).toEqual(['running', 'running']);
  expect((await first.stop('SIGKILL')).signal).toBe('SIGKILL');

  const second = await workspace.boot();
  const ended = async () => {
    const run = await ask<EvalRun>(second, `runs/${id}?limit=1&wait=5`);
    return run.status !== 'running' && run;
  };
  const run = await eventually(ended, { within: 60_000 });
  const results = { results: CASES + 2, passed: CASES + 1 };
  expect(run).toMatchObject({ status: 'completed', passed: true, summary: results });

  // One run a case: those that were under way are gone on with, and not started again.
  const below = await listBelow(second, id);
  expect(below).toHaveLength(CASES + 2);
  // Two are asked the same.
  expect(new Set(below.map(({ input }) => input.messages[0]?.content)).size).toBe(CASES + 1);
  // The model was asked again by at most those that were under way.
  const asked = rig
    .model()
    .requests.filter(({ messages }) => String(messages.at(-1)?.content).startsWith('say:answer '));
  expect(asked.length).toBeLessThanOrEqual(CASES + 8);

  // Whoever follows them under their keys is given the same runs, and the exit code of their gates.
  const follow = async (suite: string) => {
    const argv = ['--idempotency-key', suite, '--junit', `${suite}.xml`, '--json'];
    const { code, stdout } = await workspace.svc('eval', suite, ...argv);
    const xml = workspace.read(`${suite}.xml`);
    return { code, id: (JSON.parse(stdout) as { run: EvalRun }).run.id, xml, tests: xml.match(/<testcase .*/g) ?? [] };
  };
  const all = await follow('all');
  expect([all.code, all.id]).toEqual([0, id]);
  expect(all.xml).toContain(`<testsuite name="all" tests="${CASES + 2}" failures="1" errors="0"`);
  expect(all.xml).toContain(`<property name="evalRunId" value="${id}"/>`);
  const names = all.tests.map((line) => /name="([^"]*)"/.exec(line)?.[1]);
  expect(new Set(names)).toEqual(new Set([...Array.from({ length: CASES }, (_, n) => `case ${n}`), 'right', 'wrong']));
  expect(names).toHaveLength(CASES + 2);
  expect(all.tests.filter((line) => line.includes('<failure'))).toEqual([expect.stringContaining('name="wrong"')]);
  const strict = await follow('few');
  expect([strict.code, strict.id]).toEqual([1, fewId]);
  expect(strict.xml).toContain('<testsuite name="few" tests="2" failures="1" errors="0"');
  expect(strict.xml).toContain('Expected "no", got "yes".');
}, 240_000);
