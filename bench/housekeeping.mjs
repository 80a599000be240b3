// @ts-check
/**
 * What a box does beside its runs, on SQLite and Postgres, and timers on PGlite:
 *   retention   runs of 5 steps that are too old, deleted/s; idempotency keys, forgotten/s. Both take no more than half of the
 *               time. `bare`: the store alone, batches of the same size in a plain loop
 *   timers      1,000 that are due at once: seconds from that time to the last start, and runs too many; 1 and 4 replicas.
 *               `statements`: of the client of the server, per timer, with those of their runs
 *   callers     steps/s of 1,000 runs of 5 steps beside callers that wait for other runs, and statements/s of a box that has
 *               nothing but them to do
 *   kill        100 runs in a step at a kill -9: seconds from the next start of the process until each is in its step again. A
 *               box that others may run beside waits for the lease of the one that died
 * `BENCH_PARTS=timers,kill` measures these alone.
 */
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { startChild } from './_child.mjs';
import { benchStores, listStores } from './_engine-stores.mjs';
import { deleteBare } from './_housekeeping-bare.mjs';
import { median, round } from './_stats.mjs';
import { compileWorkflows } from './_workflows.mjs';

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string }} [options]  `only`: the stores with that in their name
 */
export async function run(print, { only = '' } = {}) {
  const stores = listStores(only).filter(({ name }) => MEASURED.has(name));
  await benchStores({ bench: 'housekeeping', stores, print }, async (root) => {
    const { synced } = await compileWorkflows(join(root, 'workspace'));
    return (store) => benchStore(store, synced, join(root, store.name.replace(' ', '-')), print);
  });
}

// --- internal ---

const ALL_PARTS = (process.env.BENCH_PARTS ?? 'retention,timers,callers,kill').split(',');
const MEASURED = new Set(['sqlite synced', 'pglite', 'postgres']);
const ROUNDS = 3;
const OLD = { runs: 4_000, records: 6, keys: 20_000 };
const STEPS = { runs: 1_000, count: 5 };
const TIMERS = 1_000;
const CALLERS = [1_000, 5_000, 20_000];
const HELD = 100;
/** From arming the timers to their time. */
const AHEAD_MS = 15_000;

/** @typedef {import('./_child.mjs').Child} Child */
/** @typedef {(name: string) => Child} Start  a box on the place of that name */

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {string} file  the compiled workflows
 * @param {string} dir
 * @param {(line: object) => void} print
 */
async function benchStore(store, file, dir, print) {
  mkdirSync(dir, { recursive: true });
  const { settings, place, close } = await store.open(dir);
  const say = (/** @type {string} */ bench, /** @type {object} */ figures) =>
    print({
      bench: `housekeeping.${bench}`,
      store: store.name,
      ...settings,
      ...figures,
      load: round(loadavg()[0] ?? 0, 1),
    });
  /** @type {Start} */
  const start = (name) =>
    startChild('_housekeeping-box.mjs', {
      place: place(name),
      file,
      rooms: join(dir, `${name}-rooms`),
      retentionEveryMs: 100,
    });
  // What the others compare with is the store alone, of which PGlite has none here.
  const parts = store.name === 'pglite' ? ALL_PARTS.filter((part) => part === 'timers') : ALL_PARTS;
  try {
    if (parts.includes('retention'))
      say('retention', await measureRetention(start, (name) => deleteBare(/** @type {any} */ (place(name)), OLD)));
    for (const replicas of store.name === 'postgres' ? [1, 4] : [1])
      if (parts.includes('timers')) say('timers', { replicas, ...(await measureTimers(start, replicas)) });
    if (parts.includes('callers')) await measureCallers(start, (figures) => say('callers', figures));
    if (parts.includes('kill')) say('kill', await measureKill(start));
  } finally {
    await close();
  }
}

/**
 * @param {Start} start
 * @param {(name: string) => Promise<{ runs: number, keys: number }>} deleteAll
 */
async function measureRetention(start, deleteAll) {
  /** @type {Record<'made' | 'runs' | 'bareRuns' | 'keys' | 'bareKeys', number[]>} */
  const seen = { made: [], runs: [], bareRuns: [], keys: [], bareKeys: [] };
  for (let turn = 0; turn < ROUNDS; turn++) {
    const bare = await deleteAll(`bare_${turn}`);
    seen.bareRuns.push(OLD.runs / bare.runs);
    seen.bareKeys.push(OLD.keys / bare.keys);
    await withChild(start(`keys_${turn}`), async (box) => {
      seen.keys.push(OLD.keys / (await box.ask('keys', OLD.keys)));
    });
    await withChild(start(`old_${turn}`), async (box) => {
      await box.ask('open');
      seen.made.push(OLD.runs / (await box.ask('steps', { runs: OLD.runs, count: 5 })).seconds);
      seen.runs.push(OLD.runs / (await box.ask('retain')));
      await box.ask('close');
    });
  }
  const [runs, bareRuns, keys, bareKeys] = [seen.runs, seen.bareRuns, seen.keys, seen.bareKeys].map(median);
  return {
    runs_deleted_per_s: round(runs ?? 0),
    bare_runs: round(bareRuns ?? 0),
    ratio_runs: round((runs ?? 0) / (bareRuns ?? 1), 2),
    runs_made_per_s: round(median(seen.made)),
    keys_purged_per_s: round(keys ?? 0),
    bare_keys: round(bareKeys ?? 0),
    ratio_keys: round((keys ?? 0) / (bareKeys ?? 1), 2),
  };
}

/**
 * @param {Start} start
 * @param {number} replicas
 */
async function measureTimers(start, replicas) {
  const boxes = Array.from({ length: replicas }, () => start(`timers_${replicas}`));
  const [first] = boxes;
  if (!first) throw new Error('There is no replica.');
  try {
    for (const box of boxes) await box.ask('open');
    const seconds = [];
    const processor = [];
    const statements = [];
    let doubles = 0;
    for (let turn = 0; turn < ROUNDS; turn++) {
      const nextAt = Date.now() + AHEAD_MS;
      await first.ask('arm', { round: turn, count: TIMERS, nextAt });
      if (Date.now() > nextAt) throw new Error('The timers were due before all of them were armed.');
      const before = await first.ask('statements');
      const { runs, last, cpu } = await first.ask('fired', { all: TIMERS * (turn + 1) + doubles, nextAt });
      statements.push((await first.ask('statements')) - before);
      seconds.push(last);
      processor.push(cpu);
      doubles += runs - TIMERS;
    }
    return {
      timers: TIMERS,
      last_start_s: round(median(seconds), 2),
      slowest_s: round(Math.max(...seconds), 2),
      cpu_of_one_s: round(median(processor), 2),
      ...(replicas === 1 && { statements: round(median(statements) / TIMERS, 2) }),
      doubles,
    };
  } finally {
    await Promise.all(boxes.map((box) => box.kill()));
  }
}

/**
 * @param {Start} start
 * @param {(figures: object) => void} say
 */
function measureCallers(start, say) {
  return withChild(start('callers'), async (box) => {
    await box.ask('open');
    await box.ask('steps', STEPS);
    for (const callers of CALLERS) {
      await box.ask('park', callers);
      /** @type {Record<'alone' | 'beside', { rates: number[], micros: number[] }>} */
      const seen = { alone: { rates: [], micros: [] }, beside: { rates: [], micros: [] } };
      const steps = STEPS.runs * STEPS.count;
      const idle = [];
      for (let turn = 0; turn < ROUNDS; turn++)
        for (const [name, count] of /** @type {const} */ ([
          ['alone', 0],
          ['beside', callers],
        ])) {
          await box.ask('callers', count);
          if (turn === 0) idle.push(await box.ask('idle', 5));
          const { seconds, cpu } = await box.ask('steps', STEPS);
          seen[name].rates.push(steps / seconds);
          seen[name].micros.push((cpu / steps) * 1_000_000);
        }
      const of = (/** @type {'alone' | 'beside'} */ name) => median(seen[name].rates);
      say({
        callers,
        steps_per_s: round(of('beside')),
        without_callers: round(of('alone')),
        ratio: round(of('beside') / of('alone'), 2),
        cpu_micros_per_step: round(median(seen.beside.micros)),
        cpu_micros_without: round(median(seen.alone.micros)),
        // Of the client of the server; SQLite is no server.
        idle_statements_per_s: idle.map((value) => round(value, 1))[1],
        idle_statements_without: idle.map((value) => round(value, 1))[0],
      });
    }
  });
}

/** @param {Start} start */
async function measureKill(start) {
  /** @type {number[]} */
  const seconds = [];
  /** @type {number[]} */
  const opening = [];
  let begunTwice = 0;
  for (let turn = 0; turn < ROUNDS; turn++) {
    await withChild(start(`kill_${turn}`), async (box) => {
      await box.ask('open');
      await box.ask('hold', HELD);
    });
    await withChild(start(`kill_${turn}`), async (box) => {
      const again = await box.ask('again', HELD);
      seconds.push(again.seconds);
      opening.push(again.opening);
      begunTwice += again.begun - HELD;
    });
  }
  return {
    runs: HELD,
    under_way_again_s: round(median(seconds), 2),
    of_it_opening_s: round(median(opening), 2),
    begun_twice: begunTwice,
  };
}

/**
 * Kills it in the end.
 * @template T
 * @param {Child} child
 * @param {(child: Child) => Promise<T>} work
 */
async function withChild(child, work) {
  try {
    return await work(child);
  } finally {
    await child.kill();
  }
}
