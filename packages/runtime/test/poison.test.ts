import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { decode } from '../src/engine/serialize.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';

const WORKER = fileURLToPath(new URL('fixtures/poison-worker.mjs', import.meta.url));

test('a step that kills its process five times, marked, ends its run as failed; its neighbours complete', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-poison-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'journal.db');
  const lives = [work(path, 'start')];
  while (lives.at(-1)?.signal === 'SIGKILL' && lives.length < 12) lives.push(work(path));
  expect(lives.at(-1)).toMatchObject({ status: 0, signal: null, stderr: '' });
  // The first death made it a suspect; the five after it were marked and count.
  expect(lives.filter(({ stdout }) => stdout.includes('kill'))).toHaveLength(6);

  const journal = await openSqliteJournal({ path });
  onTestFinished(() => journal.close());
  const runs = await journal.listRuns({}, { limit: 10 });
  const poisoned = runs.find(({ name }) => name === 'poison');
  expect(poisoned).toMatchObject({ status: 'failed', crashCount: 5, seq: 0, owner: null });
  const error = decode(poisoned?.error ?? '') as Error;
  expect(error).toMatchObject({ code: 'run_poisoned' });
  expect(error.message).toBe(
    'The process died 5 times while this run ran the step "workflows/poison.workflow.ts#kill". ' +
      'Correct the code, then retry the run.',
  );
  const good = runs.filter(({ name }) => name === 'good');
  expect(good.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  for (const run of good) {
    const records = await journal.getRecords(run.runId);
    expect(records.map(({ event }) => event)).toEqual(['done', 'done']);
    expect(run.crashCount).toBeLessThanOrEqual(1);
  }
}, 120_000);

// --- internal ---

interface Life {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** One process, until it dies or has nothing left to do. */
function work(path: string, mode = ''): Life {
  return spawnSync(process.execPath, [WORKER, path, mode], { encoding: 'utf8', timeout: 30_000 });
}
