import { describe, expect, it } from 'vitest';
import { eventually, linesOf, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();

const POISON = `
import { existsSync } from 'node:fs';

export async function poison(input: { how: 'kill' | 'wait'; gate?: string }) {
  'use workflow';
  return await act(input.how, input.gate);
}

async function act(how: string, gate = '') {
  'use step';
  if (how === 'kill') process.kill(process.pid, 'SIGKILL');
  while (!existsSync(gate)) await new Promise((resolve) => setTimeout(resolve, 50));
  return 'waited';
}
`;

const texts = (file: string) => linesOf(file).map((line) => line.split(' ')[1]);

async function kill(box: Box): Promise<void> {
  const { signal } = await box.stop('SIGKILL');
  expect(signal).toBe('SIGKILL');
}

/** Kills the box while a step waits, starts it again and lets the step go on. */
async function killInStep(workspace: Workspace, env: Record<string, string> = {}): Promise<void> {
  const [log, gate] = [workspace.path('log.txt'), workspace.path('gate')];
  const first = await workspace.boot({ env });
  const { runId } = await first.start('gated', { log, gate });
  await eventually(() => texts(log).includes('waiting'));
  await kill(first);
  expect(texts(log)).toEqual(['first', 'second', 'waiting']);

  const second = await workspace.boot({ env });
  const ready = performance.now();
  await eventually(() => texts(log).length === 4);
  expect(performance.now() - ready).toBeLessThan(1_000);
  workspace.write('gate', '');
  const run = await second.finish(runId);
  expect(run).toMatchObject({ status: 'completed', output: ['first', 'second', 'last'] });
  // Recorded steps did not run again; the one that was cut off did, under the same key.
  expect(texts(log)).toEqual(['first', 'second', 'waiting', 'waiting', 'last']);
  const keys = linesOf(log).map((line) => line.split(' ')[0]);
  expect(keys[3]).toBe(keys[2]);
  expect(new Set(keys).size).toBe(4);
  await second.stop();
}

describe('a step that kills its process', () => {
  it.each([
    ['SQLite', {}],
    ['PGlite', { SVC_SQLITE_DRIVER: 'none' }],
  ])(
    'ends its run in a process of its own, and the box stays: journal on %s',
    async (_, env) => {
      const workspace = await rig.workspace({ 'workflows/poison.workflow.ts': POISON });
      const first = await workspace.boot({ env });
      const { runId: gatedId } = await first.start('poison', { how: 'wait', gate: workspace.path('gate') });
      const { runId } = await first.start('poison', { how: 'kill' });
      expect((await first.ended).signal).toBe('SIGKILL');
      // Takes it up again, and dies again: from then on it is known what may do that.
      expect((await workspace.dev({ env }).ended).signal).toBe('SIGKILL');
      const last = await workspace.boot({ env });
      const run = await last.finish(runId);
      expect(run).toMatchObject({ status: 'failed', error: { code: 'run_poisoned' } });
      expect(run.error?.message).toContain('poison.workflow.ts#act');
      workspace.write('gate', '');
      expect(await last.finish(gatedId)).toMatchObject({ status: 'completed', output: 'waited' });
      expect(await last.stop()).toMatchObject({ code: 0 });
    },
    // Several processes begin one after the other, each as slow as the machine is.
    240_000,
  );
});

describe('kill -9', () => {
  it('in the middle of a step: the run goes on within a second of the restart, and no recorded step runs again', async () => {
    await killInStep(await rig.workspace());
  });

  it('the same with the journal on PGlite', async () => {
    await killInStep(await rig.workspace(), { SVC_SQLITE_DRIVER: 'none' });
  });

  it.each([
    ['that stays in memory', 2_500],
    ['that is kept on disk alone', 6_000],
  ])('in the middle of a sleep %s: it ends on time', async (_, ms) => {
    const workspace = await rig.workspace();
    const log = workspace.path('log.txt');
    const first = await workspace.boot();
    const began = Date.now();
    const { runId } = await first.start('nap', { log, ms });
    await eventually(async () => (await first.run(runId)).status === 'waiting');
    await kill(first);
    const second = await workspace.boot();
    const due = Math.max(began + ms, Date.now());
    await eventually(() => texts(log).includes('after'), { within: 15_000 });
    const ended = Date.now();
    expect(ended).toBeGreaterThanOrEqual(began + ms);
    expect(ended).toBeLessThan(due + 2_000);
    expect((await second.finish(runId)).status).toBe('completed');
    expect(texts(log)).toEqual(['before', 'after']);
    await second.stop();
  });

  it('a sleep that was over while the box was down ends at the restart', async () => {
    const workspace = await rig.workspace();
    const log = workspace.path('log.txt');
    const first = await workspace.boot();
    const began = Date.now();
    const { runId } = await first.start('nap', { log, ms: 1_000 });
    await eventually(async () => (await first.run(runId)).status === 'waiting');
    await kill(first);
    await eventually(() => Date.now() > began + 1_000);
    const second = await workspace.boot();
    const ready = performance.now();
    await eventually(() => texts(log).includes('after'));
    expect(performance.now() - ready).toBeLessThan(1_000);
    expect((await second.finish(runId)).status).toBe('completed');
    await second.stop();
  });

  it('five times at random over ten runs of five steps: all complete, each effect under one key', async () => {
    const workspace = await rig.workspace();
    const log = workspace.path('log.txt');
    const runIds: string[] = [];
    for (let round = 1; round <= 5; round++) {
      const box = await workspace.boot();
      for (const name of [`run${round}a`, `run${round}b`]) runIds.push((await box.start('five', { log, name })).runId);
      const before = linesOf(log).length;
      const more = 1 + Math.floor(Math.random() * 6);
      await eventually(() => linesOf(log).length >= before + more);
      await kill(box);
    }
    const box = await workspace.boot();
    const runs = await Promise.all(runIds.map((runId) => box.finish(runId)));
    expect(runs.map(({ status }) => status)).toEqual(runIds.map(() => 'completed'));
    const effects = linesOf(log);
    const keyed = new Map(effects.map((line) => line.split(' ') as [string, string]));
    expect(keyed.size).toBe(50);
    const expected = runs.flatMap(({ output }) => [1, 2, 3, 4, 5].map((step) => `${String(output)}-${step}`));
    expect([...keyed.values()].sort()).toEqual(expected.sort());
    // Only a step that was cut off between its effect and its record runs twice: at most one per run and kill.
    expect(effects.length).toBeLessThanOrEqual(50 + 5 * 2 * 5);
    await box.stop();
  });
});
