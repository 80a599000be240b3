import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { RunRow } from '../src/engine/journal/run.ts';
import { decode } from '../src/engine/serialize.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';

const WORKER = fileURLToPath(new URL('fixtures/poison-worker.mjs', import.meta.url));

test('a step that kills its process ends its run, once it has done so five times alone; the runs beside it complete', async () => {
  const path = makePlace();
  const lives = [await live(path, ['long', 'long', 'long', 'kill']), await live(path)];
  expect(lives.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
  // From the third on it kills processes of its own.
  const last = await live(path);
  expect(last).toMatchObject({ code: 0, signal: null });
  expect(lives.flatMap(({ lines }) => lines.filter((line) => line === 'kill here'))).toHaveLength(2);
  expect(last.lines.filter((line) => line === 'kill here')).toEqual([]);
  expect(last.lines.filter((line) => line === 'kill apart').length).toBeGreaterThanOrEqual(5);

  const runs = await readRuns(path);
  const poisoned = runs.find(({ name }) => name === 'kill');
  expect(poisoned).toMatchObject({ status: 'failed', crashCount: 5, seq: 0, owner: null });
  const error = decode(poisoned?.error ?? '') as Error;
  expect(error).toMatchObject({ code: 'run_poisoned' });
  expect(error.message).toBe(
    'A process that had this run alone died 5 times while it ran the step "workflows/poison.workflow.ts#kill". ' +
      'Correct the code, then retry the run.',
  );
  const others = runs.filter(({ name }) => name === 'long');
  expect(others.map(({ status, crashCount }) => [status, crashCount])).toEqual(
    Array.from({ length: 3 }, () => ['completed', 0]),
  );
}, 120_000);

test('kills from outside convict no run, and all go on at once after each', async () => {
  const path = makePlace();
  const names = Array.from({ length: 40 }, () => 'long');
  for (let round = 0; round < 6; round += 1) {
    const { process: child, lines, over } = begin(path, round === 0 ? names : []);
    // Each of them has begun: no run waits for another.
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(40);
    child.kill('SIGKILL');
    await over;
  }
  expect(await live(path)).toMatchObject({ code: 0 });
  const runs = await readRuns(path);
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(runs).toHaveLength(40);
}, 120_000);

test('a step that hangs, or holds its event loop, holds up no other suspect, and can be cancelled', async () => {
  const path = makePlace();
  const names = ['hang', 'spin', 'long', 'long', 'hang'];
  for (const given of [names, []]) {
    const { process: child, lines, over } = begin(path, given);
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(5);
    child.kill('SIGKILL');
    await over;
  }
  const last = await live(path);
  expect(last).toMatchObject({ code: 0 });
  const runs = await readRuns(path);
  const endOf = (name: string) => new Set(runs.filter((run) => run.name === name).map(({ status }) => status));
  expect([endOf('long'), endOf('hang'), endOf('spin')]).toEqual([
    new Set(['completed']),
    new Set(['cancelled']),
    new Set(['cancelled']),
  ]);
}, 120_000);

// --- internal ---

interface Life {
  code: number | null;
  signal: NodeJS.Signals | null;
  lines: string[];
}

function makePlace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-poison-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'journal.db');
}

/** One process of the box, and what it and those it begins say. */
function begin(path: string, names: readonly string[] = []) {
  const child = spawn(process.execPath, [WORKER, path, ...names], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')));
  return { process: child as ChildProcess, lines, over: once(child, 'close') };
}

/** One process, until it dies or has nothing left to do. */
async function live(path: string, names: readonly string[] = []): Promise<Life> {
  const { process: child, lines, over } = begin(path, names);
  await over;
  return { code: child.exitCode, signal: child.signalCode, lines };
}

async function readRuns(path: string): Promise<RunRow[]> {
  const journal = await openSqliteJournal({ path });
  onTestFinished(() => journal.close());
  return journal.listRuns({}, { limit: 200 });
}
