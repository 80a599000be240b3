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
  await ask(first, 'suites', { name: 'all', tags: ['all'], concurrency: 8 });
  const { id } = await ask<EvalRun>(first, 'suites/all/run', {});
  await eventually(async () => (await ask<EvalRun>(first, `runs/${id}?limit=1`)).summary.results >= 60, {
    within: 60_000,
  });
  const before = await ask<EvalRun>(first, `runs/${id}?limit=1`);
  expect(before.status).toBe('running');
  expect((await first.stop('SIGKILL')).signal).toBe('SIGKILL');

  const second = await workspace.boot();
  const ended = async () => {
    const run = await ask<EvalRun>(second, `runs/${id}?limit=1&wait=5`);
    return run.status !== 'running' && run;
  };
  const run = await eventually(ended, { within: 60_000 });
  expect(run).toMatchObject({ status: 'completed', passed: true, summary: { results: CASES, passed: CASES } });

  // One run a case: those that were under way are gone on with, and not begun anew.
  const below = await listBelow(second, id);
  expect(below).toHaveLength(CASES);
  expect(new Set(below.map(({ input }) => input.messages[0]?.content)).size).toBe(CASES);
  // The model was asked again by at most those that were under way.
  const asked = rig
    .model()
    .requests.filter(({ messages }) => String(messages.at(-1)?.content).startsWith('say:answer '));
  expect(asked.length).toBeLessThanOrEqual(CASES + 8);
}, 150_000);
