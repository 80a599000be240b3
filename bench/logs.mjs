// @ts-check
/**
 * Log records on their way to the relational store, of `ENTRIES` records in batches of 500:
 *   ingest  the store of the box, acknowledged records/s, beside `bare`: the same rows as one INSERT of as many values
 *   queue   pushed one by one, until all are acknowledged: what a busy box logs; and what one push costs who logs
 *   step    microseconds per step of a run that logs nothing, of time and of the processor, with records kept and without;
 *           where the machine is busy only the least processor time says anything
 * Medians of alternated rounds.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createLogQueue,
  createLogStore,
  openDatabase,
  openPg,
  openPglite,
  openSqliteJournal,
} from '../packages/runtime/dist/host.mjs';
import { createRunBox } from './_log-box.mjs';
import { findObstacle, listStores } from './_engine-stores.mjs';
import { median, round } from './_stats.mjs';

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string }} [options]  `only`: the stores with that in their name
 */
export async function run(print, { only = '' } = {}) {
  const stores = listStores(only).filter(({ name }) => name === 'pglite' || name === 'postgres');
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-logs-'));
  try {
    for (const store of stores) {
      const skipped = findObstacle(store);
      if (skipped) print({ bench: 'logs', store: store.name, skipped });
      else await benchStore(store, root, print);
    }
    print({ bench: 'logs.step', store: 'sqlite', ...(await measureSteps(root)) });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

// --- internal ---

const ENTRIES = Number(process.env.BENCH_LOG_ENTRIES ?? 20_000);
const STEPS = Number(process.env.BENCH_LOG_STEPS ?? 2_000);
const ROUNDS = 5;
const BATCH = 500;
/** What is pushed before it is waited for: below what the queue holds. */
const HELD = 5_000;

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {string} root
 * @param {(line: object) => void} print
 */
async function benchStore(store, root, print) {
  const { settings, place, close } = await store.open(root);
  const at = place('logs');
  const client = 'url' in at ? openPg(at.url) : openPglite({ dataDir: 'dataDir' in at ? at.dataDir : '' });
  const database = openDatabase(client);
  try {
    await database.ready;
    const logs = createLogStore(database.db);
    await appendAll(logs);
    const rates = { store: /** @type {number[]} */ ([]), bare: /** @type {number[]} */ ([]) };
    for (let n = 0; n < ROUNDS; n++) {
      rates.store.push(await perSecond(() => appendAll(logs)));
      rates.bare.push(await perSecond(() => insertAll(client)));
    }
    const [ours, bare] = [median(rates.store), median(rates.bare)];
    const say = (/** @type {string} */ bench, /** @type {object} */ figures) =>
      print({ bench: `logs.${bench}`, store: store.name, ...settings, entries: ENTRIES, ...figures });
    say('ingest', { recordsPerSecond: round(ours), bare: round(bare), ratio: round(ours / bare, 2) });
    say('queue', await measureQueue(logs));
  } finally {
    await database.close();
    await close();
  }
}

/** @param {ReturnType<typeof createLogStore>} logs */
async function measureQueue(logs) {
  const acknowledged = createCount();
  const queue = createLogQueue({
    store: {
      async append(/** @type {readonly any[]} */ entries) {
        const last = await logs.append(entries);
        acknowledged.add(entries.length);
        return last;
      },
    },
    log: { warn: (/** @type {string} */ message) => console.error(message) },
  });
  const entries = createEntries(ENTRIES);
  let pushing = 0;
  const start = performance.now();
  for (let n = 0; n < entries.length; n += HELD) {
    const began = performance.now();
    for (const entry of entries.slice(n, n + HELD)) queue.push(entry);
    pushing += performance.now() - began;
    await acknowledged.reach(Math.min(entries.length, n + HELD));
  }
  const seconds = (performance.now() - start) / 1_000;
  await queue.close();
  return { recordsPerSecond: round(ENTRIES / seconds), pushMicroseconds: round((pushing * 1_000) / ENTRIES, 2) };
}

function createCount() {
  let count = 0;
  let wake = () => {};
  return {
    add(/** @type {number} */ more) {
      count += more;
      wake();
    },
    /** @returns {Promise<void>} */
    reach: (/** @type {number} */ due) =>
      new Promise((resolve) => {
        wake = () => count >= due && resolve();
        wake();
      }),
  };
}

/** @param {string} root */
async function measureSteps(root) {
  const dataDir = join(root, 'steps');
  const database = openDatabase(openPglite({ dataDir }));
  await database.ready;
  const open = async (/** @type {boolean} */ keeps) => {
    const path = join(root, `steps-${keeps}.db`);
    const journal = await openSqliteJournal({ path });
    return createRunBox({ journal, db: database.db, keeps });
  };
  const boxes = { kept: await open(true), without: await open(false) };
  try {
    const wall = { kept: /** @type {number[]} */ ([]), without: /** @type {number[]} */ ([]) };
    const cpu = { kept: /** @type {number[]} */ ([]), without: /** @type {number[]} */ ([]) };
    for (let n = 0; n <= ROUNDS; n++)
      for (const name of /** @type {const} */ (['kept', 'without'])) {
        const before = process.cpuUsage();
        const took = await boxes[name].runSteps(STEPS);
        const { user, system } = process.cpuUsage(before);
        // The first one warms up.
        if (n > 0) wall[name].push((took * 1_000) / STEPS);
        if (n > 0) cpu[name].push((user + system) / STEPS);
      }
    const of = (/** @type {typeof wall} */ figures) => ({
      kept: round(median(figures.kept)),
      without: round(median(figures.without)),
    });
    return {
      steps: STEPS,
      wall: of(wall),
      cpu: of(cpu),
      leastCpu: { kept: round(Math.min(...cpu.kept)), without: round(Math.min(...cpu.without)) },
    };
  } finally {
    await boxes.kept.close();
    await boxes.without.close();
    await database.close();
  }
}

/** @param {() => Promise<void>} work */
async function perSecond(work) {
  const start = performance.now();
  await work();
  return ENTRIES / ((performance.now() - start) / 1_000);
}

/** @param {ReturnType<typeof createLogStore>} logs */
async function appendAll(logs) {
  for (const batch of toBatches(createEntries(ENTRIES))) await logs.append(batch);
}

/** @param {import('../packages/runtime/dist/host.mjs').StoreClient} client */
async function insertAll(client) {
  for (const batch of toBatches(createEntries(ENTRIES))) {
    const params = batch.flatMap(({ at, message, runId, name, step, fields }) => [
      at,
      20,
      message,
      runId,
      name,
      step,
      fields,
    ]);
    const rows = batch.map(
      (_, row) => `(${Array.from({ length: 7 }, (__, column) => `$${row * 7 + column + 1}`).join()})`,
    );
    await client.query(
      `insert into svc.logs (at, level, message, run_id, name, step, fields) values ${rows.join()}`,
      params,
    );
  }
}

/** @param {number} count */
function createEntries(count) {
  const runId = randomUUID();
  const at = new Date().toISOString();
  return Array.from({ length: count }, (_, n) => ({
    at,
    level: /** @type {const} */ ('info'),
    message: `Charged the card of customer ${n}.`,
    runId,
    sessionId: null,
    name: 'refund',
    step: 'charge',
    requestId: null,
    fields: JSON.stringify({ amount: n, currency: 'EUR', attempt: 1 }),
  }));
}

/**
 * @template T
 * @param {T[]} entries
 */
function toBatches(entries) {
  const count = Math.ceil(entries.length / BATCH);
  return Array.from({ length: count }, (_, n) => entries.slice(n * BATCH, (n + 1) * BATCH));
}
