// @ts-check
/**
 * Runs that are started over HTTP, on a deployed box, beside the same calls to a bare h3 route of the same process that reads the
 * body and answers as much:
 *   many  `RUNS` runs of 5 steps by `CALLERS` callers: from the first call to the end of the last run, steps/s and calls/s
 *   one   a run of one step, one after the other: from the call to the end of the run, which the box notes, ms
 */
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { startChild } from './_child.mjs';
import { benchStores, listStores } from './_engine-stores.mjs';
import { median, quantile, round } from './_stats.mjs';
import { compileWorkflows } from './_workflows.mjs';

const STORES = ['sqlite synced', 'postgres'];
const ROUNDS = 5;
const RUNS = 1_000;
const STEPS = 5;
const CALLERS = 64;
const SINGLES = 200;

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string | undefined }} options
 */
export async function run(print, { only = '' }) {
  const stores = listStores(only).filter(({ name }) => STORES.includes(name));
  await benchStores({ bench: 'starts', stores, print }, async (root) => {
    const { synced } = await compileWorkflows(join(root, 'workspace'));
    return (store) => measure(store, { root, file: synced, print });
  });
}

// --- internal ---

const HEADERS = { authorization: 'Bearer the-token-of-the-operator', 'content-type': 'application/json' };

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {{ root: string, file: string, print: (line: object) => void }} how
 */
async function measure(store, { root, file, print }) {
  const { place, close } = await store.open(root);
  const box = startChild('_housekeeping-box.mjs', { place: place('starts'), file, rooms: join(root, 'rooms') });
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  try {
    await box.ask('open');
    const { url, bareUrl } = await box.ask('listen');
    const start = (/** @type {number} */ count) => post(`${url}/api/workflows/steps/start`, { count }, agent);
    const bare = () => post(bareUrl, { count: STEPS }, agent);
    /** @type {Record<'calls' | 'bare' | 'runs', number[]>} */
    const seconds = { calls: [], bare: [], runs: [] };
    // The first round compiles.
    for (let n = 0; n <= ROUNDS; n++) {
      const called = await callAll(bare);
      const began = performance.now();
      const started = await callAll(() => start(STEPS));
      await box.ask('ended', RUNS * (n + 1));
      if (n === 0) continue;
      seconds.bare.push(called);
      seconds.calls.push(started);
      seconds.runs.push((performance.now() - began) / 1_000);
    }
    const [calls, baseline, runs] = [seconds.calls, seconds.bare, seconds.runs].map((times) => RUNS / median(times));
    print({
      bench: 'starts.many',
      store: store.name,
      steps_per_s: round(STEPS * (runs ?? 0), 0),
      calls_per_s: round(calls ?? 0, 0),
      bare_calls_per_s: round(baseline ?? 0, 0),
      runs_to_bare_calls: round((runs ?? 0) / (baseline ?? 1), 2),
    });
    const millis = [];
    for (let n = 0; n < SINGLES; n++) {
      const began = Date.now();
      const before = performance.now();
      const { runId } = JSON.parse(await start(1));
      const answered = performance.now() - before;
      millis.push(Math.max(answered, (await box.ask('endOf', runId)) - began));
    }
    print({
      bench: 'starts.one',
      store: store.name,
      p50_ms: round(median(millis), 1),
      p95_ms: round(quantile(millis, 0.95), 1),
    });
  } finally {
    agent.destroy();
    await box.kill();
    await close();
  }
}

/**
 * Seconds that the calls take.
 * @param {() => Promise<unknown>} call
 */
async function callAll(call) {
  let left = RUNS;
  const began = performance.now();
  const caller = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return (performance.now() - began) / 1_000;
}

/**
 * @param {string} url
 * @param {object} value
 * @param {Agent} agent
 * @returns {Promise<string>}
 */
function post(url, value, agent) {
  const body = JSON.stringify(value);
  return new Promise((resolve, reject) => {
    const headers = { ...HEADERS, 'content-length': body.length };
    const outgoing = request(url, { agent, method: 'POST', headers }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (part) => (text += part));
      incoming.on('error', reject);
      incoming.on('end', () =>
        incoming.statusCode === 202
          ? resolve(text)
          : reject(new Error(`A start was answered ${incoming.statusCode} ${text}`)),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
