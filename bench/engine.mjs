// @ts-check
/**
 * The durable engine, through compiled workflow files and real stores, one process per store with nothing else in it:
 *   a  one run of 100 sequential steps, steps/s            b  a run of one step, start to done, ms
 *   c  1,000 runs of 5 steps at once, steps/s, peak RSS    d  ms per step of one run of 3,000 steps, and of one of 300
 *   e  500 parked runs whose time has come, after kill -9: seconds from opening the store until all are done
 * `bare`: the same UPDATE + INSERT as one prepared transaction in a plain loop, of one run or of all runs at once.
 * `floor`: an engine of 60 lines (`_floor.mjs`) with group commit over the same statements. Medians of alternated rounds.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startChild } from './_child.mjs';
import { benchStores, listStores } from './_engine-stores.mjs';
import { median, quantile, round } from './_stats.mjs';
import { compileWorkflows } from './_workflows.mjs';

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string }} [options]  `only`: the stores with that in their name
 */
export async function run(print, { only = '' } = {}) {
  await benchStores({ bench: 'engine', stores: listStores(only), print }, async (root) => {
    const files = await compileWorkflows(join(root, 'workspace'));
    return (store) => benchStore(store, files[store.durability], join(root, store.name.replace(' ', '-')), print);
  });
}

// --- internal ---

const ROUNDS = 5;
const RUNS_OF_A = 8;
const WARM_UP = 10;
const MANY = { runs: 1_000, count: 5 };
const STEPS = MANY.runs * MANY.count;
/** Longer than the engine keeps a sleeping run in memory; the first still sleeps when the last begins. */
const NAPS = { runs: 500, ms: 10_000 };

/** @typedef {{ place: import('./_engine-stores.mjs').Place, file: string }} Config */

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
    print({ bench: `engine.${bench}`, store: store.name, ...settings, ...figures });
  const config = (/** @type {string} */ name) => ({ place: place(name), file });
  try {
    // They sleep while the rest is measured.
    const parked = await parkRuns(config);
    const { a, b, c, d } = await measureRates(config('engine'), config('bare'));
    say('a', a);
    say('b', b);
    say('c', { ...c, ...(await measureMemory(config('memory'))) });
    say('d', d);
    say('e', await measureResume(parked));
  } finally {
    await close();
  }
}

/**
 * @param {Config} engineConfig
 * @param {Config} bareConfig
 */
async function measureRates(engineConfig, bareConfig) {
  const engine = startChild('_engine-child.mjs', engineConfig);
  const bare = startChild('_bare-child.mjs', bareConfig);
  try {
    await engine.ask('open');
    // A process that has just begun compiles its code as it goes; a box runs for days.
    for (let turn = 0; turn < WARM_UP; turn++)
      for (const [child, what] of /** @type {const} */ ([
        [engine, 'one'],
        [bare, 'bareOne'],
        [bare, 'floorOne'],
      ]))
        await child.ask(what, 100);
    /** @type {Record<'a' | 'bareA' | 'floorA' | 'b' | 'c' | 'bareC' | 'floorC' | 'd' | 'd300', number[]>} */
    const seen = { a: [], bareA: [], floorA: [], b: [], c: [], bareC: [], floorC: [], d: [], d300: [] };
    for (let turn = 0; turn < ROUNDS; turn++) {
      // A run of 100 steps is over in milliseconds: one of them says little.
      for (let nth = 0; nth < RUNS_OF_A; nth++) {
        seen.a.push(100 / (await engine.ask('one', 100)));
        seen.bareA.push(100 / (await bare.ask('bareOne', 100)));
        seen.floorA.push(100 / (await bare.ask('floorOne', 100)));
      }
      for (const seconds of await engine.ask('each', 40)) seen.b.push(seconds * 1_000);
      seen.c.push(STEPS / (await engine.ask('many', MANY)));
      seen.bareC.push(STEPS / (await bare.ask('bareMany', MANY)));
      seen.floorC.push(STEPS / (await bare.ask('floorMany', MANY)));
      seen.d300.push(((await engine.ask('one', 300)) / 300) * 1_000);
      seen.d.push(((await engine.ask('one', 3_000)) / 3_000) * 1_000);
    }
    await Promise.all([engine.ask('close'), bare.ask('close')]);
    const { b, d, d300 } = seen;
    return {
      a: toRates(seen.a, seen.bareA, seen.floorA),
      b: { p50_ms: round(median(b), 3), p95_ms: round(quantile(b, 0.95), 3) },
      c: toRates(seen.c, seen.bareC, seen.floorC),
      d: { ms_per_step: round(median(d), 3), ms_per_step_of_300: round(median(d300), 3) },
    };
  } finally {
    await Promise.all([engine.kill(), bare.kill()]);
  }
}

/**
 * @param {number[]} engine
 * @param {number[]} bare
 * @param {number[]} floor
 */
function toRates(engine, bare, floor) {
  const [ours, alone, least] = [median(engine), median(bare), median(floor)];
  return {
    steps_per_s: round(ours),
    bare: round(alone),
    ratio_to_bare: round(ours / alone, 2),
    floor: round(least),
    ratio_to_floor: round(ours / least, 2),
  };
}

/**
 * Of a process that does nothing else.
 * @param {Config} config
 */
async function measureMemory(config) {
  const child = startChild('_engine-child.mjs', config);
  try {
    await child.ask('open');
    const idle = await child.ask('memory');
    await child.ask('many', MANY);
    const after = await child.ask('memory');
    return { idle_rss_mib: round(idle.rss), peak_rss_mib: round(after.peak) };
  } finally {
    await child.kill();
  }
}

/**
 * A database per round, each with its parked runs and no process that has it.
 * @param {(name: string) => Config} config
 */
async function parkRuns(config) {
  const parked = [];
  for (let turn = 0; turn < ROUNDS; turn++) {
    const at = config(`parked_${turn}`);
    const child = startChild('_engine-child.mjs', at);
    try {
      const runIds = await child.ask('park', NAPS);
      parked.push({ config: at, runIds, dueAt: performance.now() + NAPS.ms });
    } finally {
      await child.kill();
    }
  }
  return parked;
}

/** @param {Awaited<ReturnType<typeof parkRuns>>} parked */
async function measureResume(parked) {
  const seconds = [];
  const opening = [];
  for (const { config, runIds, dueAt } of parked) {
    await wait(Math.max(0, dueAt - performance.now()));
    const child = startChild('_engine-child.mjs', config);
    try {
      const answer = await child.ask('resume', runIds);
      seconds.push(answer.seconds);
      opening.push(answer.opening);
    } finally {
      await child.kill();
    }
  }
  return { seconds: round(median(seconds), 3), opening: round(median(opening), 3) };
}
