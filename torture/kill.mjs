// @ts-check
/**
 * Kills processes with SIGKILL while they run workflows, again and again, then lets one finish and counts.
 *   node torture/kill.mjs [--loops 50] [--runs 20] [--steps 10] [--workers 1] [--store sqlite|postgres]
 * Postgres: SVC_TEST_DATABASE_URL. Prints one JSON line; exits 1 when a promise was broken.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { openJournal } from './store.mjs';

/**
 * @typedef {object} KillOptions
 * @property {number} loops   how often the workers are killed
 * @property {number} runs    started in all, spread over the loops
 * @property {number} steps   of each run
 * @property {number} workers at once; more than one needs a server
 * @property {import('./store.mjs').StoreSettings | undefined} [store]
 */

/**
 * @param {KillOptions} options
 * @returns {Promise<{ runs: number, kills: number, marks: number, repeated: number, problems: string[], seconds: number }>}
 */
export async function runKills(options) {
  const dir = mkdtempSync(join(tmpdir(), 'svc-torture-'));
  const marks = join(dir, 'marks.txt');
  writeFileSync(marks, '');
  const store = options.store ?? { store: 'sqlite', path: join(dir, 'journal.db') };
  const started = performance.now();
  /** @type {string[]} */
  const acknowledged = [];
  try {
    const perLoop = Math.ceil(options.runs / options.loops);
    for (let loop = 0; loop < options.loops; loop++) {
      const workers = await Promise.all(
        Array.from({ length: options.workers }, () => startWorker(store, marks, acknowledged)),
      );
      const missing = Math.min(perLoop, options.runs - loop * perLoop);
      for (let i = 0; i < missing; i++) workers[i % workers.length]?.start(options.steps);
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 120));
      await Promise.all(workers.map((worker) => worker.kill()));
    }
    const problems = await finish(store, marks, acknowledged, options.steps);
    const lines = readFileSync(marks, 'utf8').split('\n').filter(Boolean);
    const { size } = new Set(lines);
    return {
      runs: acknowledged.length,
      kills: options.loops * options.workers,
      marks: size,
      repeated: lines.length - size,
      problems,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

// --- internal ---

/**
 * @param {import('./store.mjs').StoreSettings} store
 * @param {string} marks
 * @param {string[]} acknowledged
 */
async function startWorker(store, marks, acknowledged) {
  const file = new URL('worker.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [file, JSON.stringify(store), marks], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {}); // killed while it was written to
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const ready = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) =>
      line === 'ready' ? resolve(undefined) : acknowledged.push(line),
    );
  });
  await Promise.race([ready, exited.then(() => Promise.reject(new Error('A worker ended by itself.')))]);
  return {
    start: (/** @type {number} */ steps) => child.stdin.write(`${steps}\n`),
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * Lets one worker finish everything, then checks every promise.
 * @param {import('./store.mjs').StoreSettings} store
 * @param {string} marks
 * @param {string[]} acknowledged
 * @param {number} steps
 */
async function finish(store, marks, acknowledged, steps) {
  const worker = await startWorker(store, marks, []);
  const { journal } = await openJournal(store);
  try {
    const deadline = performance.now() + 120_000;
    for (;;) {
      const open = (await Promise.all(acknowledged.map((runId) => journal.getRun(runId)))).filter(
        (run) => run && run.endedAt === null,
      );
      if (open.length === 0) break;
      if (performance.now() > deadline) return [`${open.length} runs did not end in two minutes.`];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const seen = new Set(readFileSync(marks, 'utf8').split('\n'));
    const checked = await Promise.all(acknowledged.map((runId) => checkRun(journal, runId, steps, seen)));
    return checked.flat();
  } finally {
    await worker.kill();
    await journal.close();
  }
}

/**
 * @param {import('../packages/runtime/dist/host.mjs').Journal} journal
 * @param {string} runId
 * @param {number} steps
 * @param {Set<string>} seen
 */
async function checkRun(journal, runId, steps, seen) {
  const run = await journal.getRun(runId);
  if (!run) return [`${runId}: an acknowledged run is gone.`];
  const records = await journal.getRecords(runId);
  const answers = records.filter(({ event, kind }) => event === 'done' && kind === 'step');
  const expected = (steps * (steps - 1)) / 2;
  return [
    run.status === 'completed' ? '' : `${runId}: ended as ${run.status}: ${run.error}`,
    run.output === `1[${expected}]` ? '' : `${runId}: answered ${run.output}, not ${expected}.`,
    records.every(({ seq }, index) => seq === index) ? '' : `${runId}: the journal is not dense.`,
    new Set(answers.map(({ call }) => call)).size === answers.length ? '' : `${runId}: a step is recorded twice.`,
    answers.length === steps ? '' : `${runId}: ${answers.length} steps are recorded, not ${steps}.`,
    answers.every(({ call }) => seen.has(`${runId}:${call}:mark`)) ? '' : `${runId}: a recorded step left no mark.`,
  ].filter(Boolean);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: {
      loops: { type: 'string', default: '50' },
      runs: { type: 'string', default: '20' },
      steps: { type: 'string', default: '10' },
      workers: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
    },
  });
  const url = process.env.SVC_TEST_DATABASE_URL ?? '';
  /** @type {KillOptions['store']} */
  const store = values.store === 'postgres' ? { store: 'postgres', url, schema: `torture_${process.pid}` } : undefined;
  const { loops, runs, steps, workers } = values;
  const result = await runKills({
    loops: Number(loops),
    runs: Number(runs),
    steps: Number(steps),
    workers: Number(workers),
    store,
  });
  console.log(JSON.stringify({ torture: 'kill', store: values.store, workers: Number(workers), ...result }));
  process.exitCode = result.problems.length > 0 ? 1 : 0;
}
