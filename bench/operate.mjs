// @ts-check
/**
 * The operate plane of a deployed box, on Postgres:
 *   door    microseconds the one door (credential, permission, schema, visibility) costs a request, beside a bare h3
 *           route with the same answer
 *   runs    milliseconds of a page of the runs list among `RUNS` runs, by filter, and the plan of two of them
 *   events  what is told of `TOLD` runs to `STREAMS` open streams: events delivered/s, and how late they are
 */
import { Agent, request } from 'node:http';
import { startChild, timed } from './_child.mjs';
import { benchStores, listStores } from './_engine-stores.mjs';
import { median, quantile, round } from './_stats.mjs';

const TOKEN = 'the-token-of-the-operator';
const ROUNDS = 7;
const REQUESTS = 4_000;
const RUNS = Number(process.env.BENCH_RUNS ?? 1_000_000);
const STREAMS = Number(process.env.BENCH_STREAMS ?? 500);
const TOLD = 200;

/** @param {(line: object) => void} print */
export async function run(print) {
  await benchStores({ bench: 'operate', stores: listStores('postgres'), print }, (root) => {
    return (store) => benchStore(store, root, print);
  });
}

// --- internal ---

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {string} root
 * @param {(line: object) => void} print
 */
async function benchStore(store, root, print) {
  const { place, close, settings } = await store.open(root);
  const box = startChild('_operate-box.mjs', { place: place('operate'), token: TOKEN });
  try {
    const url = await box.ask('open');
    await measureDoor(box, print);
    await measureEvents(url, print);
    await measureRuns(box, url, { print, settings });
  } finally {
    await box.kill();
    await close();
  }
}

const HEADERS = { authorization: `Bearer ${TOKEN}` };

/**
 * @param {import('./_child.mjs').Child} box
 * @param {(line: object) => void} print
 */
async function measureDoor(box, print) {
  /** @type {Record<'bare' | 'box' | 'refused', number[]>} */
  const micros = { bare: [], box: [], refused: [] };
  await box.ask('door', { of: 'box', count: REQUESTS });
  for (let n = 0; n < ROUNDS; n++)
    for (const of of /** @type {const} */ (['bare', 'box', 'refused']))
      micros[of].push(await box.ask('door', { of, count: REQUESTS }));
  print({
    bench: 'operate.door',
    bareMicros: round(median(micros.bare), 1),
    boxMicros: round(median(micros.box), 1),
    addedMicros: round(median(micros.box) - median(micros.bare), 1),
    refusedInputMicros: round(median(micros.refused), 1),
  });
}

/**
 * @param {import('./_child.mjs').Child} box
 * @param {string} url
 * @param {{ print: (line: object) => void, settings: object | undefined }} to
 */
async function measureRuns(box, url, { print, settings }) {
  const fillSeconds = await timed(() => box.ask('fill', { count: RUNS }));
  const agent = new Agent({ keepAlive: true });
  const day = 24 * 60 * 60 * 1_000;
  const time = (/** @type {number} */ daysAgo) => new Date(Date.now() - daysAgo * day).toISOString();
  const filters = {
    'no filter': '',
    name: 'name=name-7',
    status: 'status=failed',
    'name and status': 'name=name-50&status=failed',
    'a name with no failure': 'name=name-7&status=failed',
    'a day': `from=${time(20)}&to=${time(19)}`,
    'a name in a day': `name=name-7&from=${time(20)}&to=${time(19)}`,
    kind: 'kind=agent',
    trigger: 'trigger=schedule',
    mark: 'attribute=orderId:A-1',
    'far down': 'cursor=01900000-0000-7000-8000-000000000000',
  };
  for (const [name, query] of Object.entries(filters)) {
    const millis = [];
    for (let n = 0; n < 20; n++) {
      const started = performance.now();
      await get(`${url}/api/runs?limit=50&${query}`, agent);
      millis.push(performance.now() - started);
    }
    print({
      bench: 'operate.runs',
      runs: RUNS,
      filter: name,
      p50Ms: round(median(millis), 1),
      maxMs: round(Math.max(...millis), 1),
    });
  }
  const stats = [];
  for (let n = 0; n < 5; n++) stats.push((await timed(() => get(`${url}/api/runs/stats`, agent))) * 1_000);
  print({ bench: 'operate.stats', runs: RUNS, of: 'the last day by the hour', p50Ms: round(median(stats), 1) });
  const plans = {
    name: "name = 'name-7'",
    status: "status = 'failed' and status in ('waiting', 'blocked', 'failed', 'cancelled')",
  };
  for (const [name, where] of Object.entries(plans))
    print({ bench: 'operate.plan', filter: name, plan: await box.ask('plan', { where }) });
  print({ bench: 'operate.fill', runs: RUNS, seconds: round(fillSeconds, 1), ...settings });
  agent.destroy();
}

/**
 * @param {string} url
 * @param {(line: object) => void} print
 */
async function measureEvents(url, print) {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  /** @type {number[]} */
  const late = [];
  let events = 0;
  let ends = 0;
  /** @type {() => void} */
  let onEnd = () => {};
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, index) =>
      openStream(`${url}/api/events`, agent, (type, at) => {
        events += 1;
        // Two streams in a hundred are timed: reading the clock of all of them would be what is measured.
        if (index % 50 === 0) late.push(Date.now() - at);
        if (type !== 'run.ended') return;
        ends += 1;
        if (ends === TOLD * STREAMS) onEnd();
      }),
    ),
  );
  const told = new Promise((resolve) => (onEnd = () => resolve(undefined)));
  const timeout = setTimeout(onEnd, 60_000);
  const seconds = await timed(async () => {
    for (let n = 0; n < TOLD; n++) await post(`${url}/api/workflows/echo/start`, agent);
    await told;
  });
  clearTimeout(timeout);
  print({
    bench: 'operate.events',
    streams: STREAMS,
    runs: TOLD,
    deliveredShare: round(ends / (TOLD * STREAMS), 4),
    eventsPerSecond: round(events / seconds),
    lateP50Ms: median(late),
    lateP95Ms: quantile(late, 0.95),
  });
  for (const stream of streams) stream.destroy();
  agent.destroy();
}

/**
 * @param {string} url
 * @param {Agent} agent
 * @param {(type: string, at: number) => void} onEvent
 * @returns {Promise<import('node:http').ClientRequest>}
 */
function openStream(url, agent, onEvent) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers: HEADERS }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`A stream is refused: ${response.statusCode}.`));
      resolve(asked);
      let rest = '';
      response.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        const frames = (rest + text).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const [, type, at] = /^event: (.+)\ndata: .*"at":"([^"]+)"/m.exec(frame) ?? [];
          if (type && at) onEvent(type, Date.parse(at));
        }
      });
      response.on('error', () => {});
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** @param {string} url @param {Agent} agent */
function get(url, agent) {
  return send(url, { agent, headers: HEADERS }, undefined);
}

/** @param {string} url @param {Agent} agent */
function post(url, agent) {
  return send(url, { agent, method: 'POST', headers: { ...HEADERS, 'content-type': 'application/json' } }, '{}');
}

/**
 * @param {string} url
 * @param {import('node:http').RequestOptions} options
 * @param {string | undefined} body
 */
function send(url, options, body) {
  return new Promise((resolve, reject) => {
    const asked = request(url, options, (response) => {
      response.resume().on('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve(undefined);
        else reject(new Error(`${url} answers ${response.statusCode}.`));
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
