// @ts-check
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import * as host from '../packages/runtime/dist/host.mjs';
import { readConfig, serve, timed } from './_child.mjs';
import { listKeys } from './_housekeeping-bare.mjs';
import { openSqlite } from './_sqlite.mjs';

// A box on one store with the compiled workflows. Times are seconds.

/** @typedef {import('./_engine-stores.mjs').Place} Place */
/** `retentionEveryMs`: default, as a box of users has it. @type {{ place: Place, file: string, rooms: string, retentionEveryMs?: number }} */
const { place, file, rooms, retentionEveryMs } = readConfig();
const resolving = createRequire(new URL('../packages/runtime/package.json', import.meta.url));
host.installGuard();
const code = await import(pathToFileURL(file).href);
let isRetained = false;
let statements = 0;
/** @type {Awaited<ReturnType<typeof openBox>>} */
let bench;
/** @type {AbortController[]} */
let waiting = [];
/** @type {string[]} */
let parked = [];

serve({
  async open() {
    bench = await openBox();
  },
  /** Runs of `count` steps at once, over when it answers; with the seconds of processor that this process took. */
  async steps(/** @type {{ runs: number, count: number }} */ { runs, count }) {
    const before = process.cpuUsage();
    const seconds = await timed(async () => {
      const started = await startAll('steps', runs, { count });
      for (const row of await Promise.all(started.map((runId) => bench.box.engine.wait(runId, TIMEOUT_MS))))
        if (row?.status !== 'completed') throw new Error(`A run ended as ${row?.status}.`);
    });
    const { user, system } = process.cpuUsage(before);
    return { seconds, cpu: (user + system) / 1_000_000 };
  },
  /** Has the box delete all runs that are over. */
  retain: () =>
    timed(async () => {
      isRetained = true;
      await until(async () => (await bench.journal.listRuns({ status: 'completed' }, { limit: 1 })).length === 0);
      isRetained = false;
    }),
  /** Has a journal that has just been opened forget so many keys of two days ago: it begins with its first look. */
  async keys(/** @type {number} */ count) {
    const { journal, fillKeys, hasKeys, close } = await openJournal();
    await fillKeys(listKeys(count), Date.now() - 2 * 24 * 60 * 60 * 1_000);
    const seconds = await timed(async () => {
      await journal.look('bench');
      await until(async () => !(await hasKeys()));
    });
    await close();
    return seconds;
  },
  /** Timers that fire once, all at the same time. */
  async arm(/** @type {{ round: number, count: number, nextAt: number }} */ { round, count, nextAt }) {
    const one = { name: 'fire', cron: null, timeZone: null, input: '2{}', nextAt, digest: 'bench' };
    for (let from = 0; from < count; from += ARMED_AT_ONCE)
      await Promise.all(
        Array.from({ length: ARMED_AT_ONCE }, (_, n) =>
          bench.journal.schedules.make({ ...one, id: `fire@${round}-${from + n}` }),
        ),
      );
  },
  /** What the timers of one time have begun, half a second after there was as much in all as is given: doubles would be in it. */
  async fired(/** @type {{ all: number, nextAt: number }} */ { all, nextAt }) {
    await wait(nextAt - Date.now());
    const before = process.cpuUsage();
    await until(async () => (await countRuns('fire')) >= all, 100);
    const { user, system } = process.cpuUsage(before);
    await wait(500);
    const rows = await bench.journal.listRuns({ name: 'fire' }, { limit: 2 * all });
    const times = rows.map(({ createdAt }) => createdAt).filter((at) => at >= nextAt - 1_000);
    return { runs: times.length, last: (Math.max(...times) - nextAt) / 1_000, cpu: (user + system) / 1_000_000 };
  },
  /** Parks so many runs more. */
  async park(/** @type {number} */ runs) {
    while (parked.length < runs)
      parked.push(...(await startAll('nap', Math.min(1_000, runs - parked.length), { ms: 3_600_000 })));
    await until(async () => (await countRuns('nap', 'waiting')) === runs, 500);
  },
  /** Lets so many callers wait, each for a parked run of its own. */
  async callers(/** @type {number} */ count) {
    for (const caller of waiting) caller.abort();
    waiting = parked.slice(0, count).map((runId) => {
      const caller = new AbortController();
      void bench.box.engine.wait(runId, TIMEOUT_MS, caller.signal);
      return caller;
    });
    // Until what each of them looks at first is over.
    for (let before = Number.NEGATIVE_INFINITY; statements - before > 20;) {
      before = statements;
      await wait(2_000);
    }
  },
  /** Statements a second while nothing else goes on. */
  async idle(/** @type {number} */ seconds) {
    const before = statements;
    await wait(seconds * 1_000);
    return (statements - before) / seconds;
  },
  statements: () => statements,
  async hold(/** @type {number} */ runs) {
    await startAll('hold', runs, {});
    await until(async () => begun() === runs);
  },
  /** From the first line of code until all runs are under way again, and how long of that the box took to open. */
  async again(/** @type {number} */ runs) {
    let opening = 0;
    const seconds = await timed(async () => {
      opening = await timed(async () => (bench = await openBox()));
      await until(async () => begun() >= runs);
    });
    return { seconds, opening, begun: begun() };
  },
  /** Serves the box, and a route that reads a body and answers as a start does. */
  async listen() {
    const { H3 } = await import(pathToFileURL(resolving.resolve('h3')).href);
    const answer = JSON.stringify({ runId: randomUUID(), status: 'queued' });
    const bare = new H3().post('/start', async (/** @type {any} */ event) => {
      await event.req.json();
      return new Response(answer, { status: 202, headers: { 'content-type': 'application/json' } });
    });
    const [served, beside] = await Promise.all(
      [bench.box.app, bare].map((app) => host.listen(app, { port: 0, host: '127.0.0.1' })),
    );
    return { url: served?.url, bareUrl: `${beside?.url}/start` };
  },
  /** Until so many runs of steps are completed. */
  ended: (/** @type {number} */ count) => until(async () => (await countRuns('steps', 'completed')) >= count),
  /** When a run has ended. */
  endOf: async (/** @type {string} */ runId) => (await bench.box.engine.wait(runId, TIMEOUT_MS))?.endedAt,
  async close() {
    await bench.box.close();
    await bench.close();
  },
});

// --- internal ---

const TIMEOUT_MS = 600_000;
const ARMED_AT_ONCE = 50;

const COUNTED = new Set(['query', 'queryArrays', 'exec', 'transaction']);

function begun() {
  return /** @type {{ benchBegun?: number }} */ (globalThis).benchBegun ?? 0;
}

/**
 * @param {string} name
 * @param {'waiting' | 'completed'} [status]
 */
async function countRuns(name, status) {
  const tallies = await bench.journal.tallyRuns({ name, ...(status && { status }) }, 24 * 60 * 60 * 1_000);
  return tallies.reduce((sum, { count }) => sum + count, 0);
}

/**
 * @param {string} name
 * @param {number} runs
 * @param {object} input
 */
async function startAll(name, runs, input) {
  const started = await Promise.all(
    Array.from({ length: runs }, () => bench.box.engine.start({ kind: 'workflow', name, trigger: 'api', input })),
  );
  return started.map((one) => {
    if (one.outcome !== 'created') throw new Error(`A start was ${one.outcome}.`);
    return one.run.runId;
  });
}

async function openBox() {
  const opened = await openJournal();
  const client = place.type === 'sqlite' ? host.openPglite({ dataDir: rooms }) : opened.sql;
  if (!client) throw new Error('There is no relational store.');
  await client.ready;
  const { db } = host.openDatabase(client);
  const names = ['steps', 'nap', 'fire', 'hold'];
  const entry = { file: 'w.ts', steps: [], hasInputSchema: false, hasOutputSchema: false };
  const manifest = { version: 1, agents: [], workflows: names.map((name) => ({ ...entry, name, exportName: name })) };
  const box = await host.createBox({
    host: 'image',
    strategy: host.operatorToken('the-token-of-the-operator'),
    slug: 'bench',
    log: host.createLog({ level: 'error', write: (line) => void process.stderr.write(`${line}\n`) }),
    journal: opened.journal,
    exclusive: place.type !== 'postgres',
    db,
    provider: {
      environment: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'none' },
      store: /** @type {any} */ ({ read: async () => undefined, write: async () => {}, remove: async () => {} }),
      egress: { allowLoopback: true, allowed: [] },
    },
    defaultModel: () => undefined,
    // Runs that are over are too old at once, when they are to be.
    retention: () => (isRetained ? { runDays: 1 / 86_400_000 } : {}),
    ...(retentionEveryMs !== undefined && { retentionEveryMs }),
    loadProgram: async () => /** @type {any} */ ({ manifest, load: async () => ({ exports: code, hash: 'bench' }) }),
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
  });
  await box.gate.check();
  return { ...opened, box };
}

async function openJournal() {
  if (place.type === 'sqlite') {
    const journal = await host.openSqliteJournal({ path: place.path });
    const db = openSqlite(place.path);
    const insert = db.prepare("insert into idempotency_keys (key, digest, start_id, created_at) values (?, '', ?, ?)");
    const first = db.prepare('select 1 from idempotency_keys limit 1');
    return {
      journal,
      sql: undefined,
      fillKeys: async (/** @type {string[]} */ keys, /** @type {number} */ at) =>
        db.transaction(() => keys.forEach((key) => insert.run(key, key, at)))(),
      hasKeys: async () => first.get() !== undefined,
      async close() {
        db.close();
        await journal.close();
      },
    };
  }
  const client = place.type === 'pglite' ? host.openPglite({ dataDir: place.dataDir }) : host.openPg(place.url);
  await client.ready;
  const sql = countStatements(client);
  const schema = place.type === 'pglite' ? 'journal' : place.schema;
  const journal = await host.openPostgresJournal({ sql, schema });
  const keys = `${schema}.idempotency_keys`;
  return {
    journal,
    sql,
    fillKeys: (/** @type {string[]} */ all, /** @type {number} */ at) =>
      client.query(
        `insert into ${keys} (key, digest, start_id, created_at) select k, '', k, $2::int8 from unnest($1::text[]) k`,
        [all, at],
      ),
    hasKeys: async () => (await client.query(`select 1 from ${keys} limit 1`)).length > 0,
    async close() {
      await journal.close();
      await client.close();
    },
  };
}

/**
 * The client, with its statements counted; a transaction counts as one.
 * @template {object} C
 * @param {C} client
 * @returns {C}
 */
function countStatements(client) {
  return new Proxy(client, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (/** @type {unknown[]} */ ...args) => {
        if (COUNTED.has(String(key))) statements += 1;
        return Reflect.apply(value, target, args);
      };
    },
  });
}

/**
 * @param {() => Promise<boolean>} condition
 * @param {number} [everyMs]
 */
async function until(condition, everyMs = 10) {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('It took too long.');
    await wait(everyMs);
  }
}
