// @ts-check
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import * as host from '../packages/runtime/dist/host.mjs';
import { readConfig, serve, timed } from './_child.mjs';

// The engine over one store, in a process that has nothing but the runtime. Times are seconds.

host.installGuard();
/** @type {{ place: import('./_engine-stores.mjs').Place, file: string }} */
const { place, file } = readConfig();
const code = await import(pathToFileURL(file).href);
/** @type {Awaited<ReturnType<typeof openEngine>>} */
let bench;

serve({
  /** Opens, and runs everything once or a few times. */
  async open() {
    bench = await openEngine();
    await bench.engine.arm();
    await runMany(1, 20);
  },
  one: (/** @type {number} */ count) => timed(() => runMany(1, count)),
  many: (/** @type {{ runs: number, count: number }} */ { runs, count }) => timed(() => runMany(runs, count)),
  async each(/** @type {number} */ times) {
    const seen = [];
    for (let i = 0; i < times; i++) seen.push(await timed(() => runMany(1, 1)));
    return seen;
  },
  memory: () => ({ rss: process.memoryUsage().rss / 2 ** 20, peak: readPeak() }),
  /** Starts runs that sleep, and answers their ids once they are nowhere but on disk. */
  async park(/** @type {{ runs: number, ms: number }} */ { runs, ms }) {
    bench = await openEngine();
    await bench.engine.arm();
    const started = await Promise.all(Array.from({ length: runs }, () => start('nap', { ms })));
    await until(async () => {
      const waiting = await bench.journal.listRuns({ status: 'waiting' }, { limit: runs });
      return waiting.length === runs && waiting.every(({ owner }) => owner === null);
    });
    return started.map(({ runId }) => runId);
  },
  /** From opening the store until all of the runs are done. */
  async resume(/** @type {string[]} */ runIds) {
    let opening = 0;
    const seconds = await timed(async () => {
      opening = await timed(async () => (bench = await openEngine()));
      await bench.engine.arm();
      await Promise.all(runIds.map((runId) => bench.engine.wait(runId, TIMEOUT_MS)));
    });
    const { length } = await bench.journal.listRuns({ status: 'completed' }, { limit: runIds.length });
    if (length !== runIds.length) throw new Error(`Of ${runIds.length} parked runs ${length} were completed.`);
    return { seconds, opening };
  },
  async close() {
    await bench.engine.close();
    await bench.close();
  },
});

// --- internal ---

const TIMEOUT_MS = 60_000;

/**
 * Starts runs at once and waits for the end of all.
 * @param {number} runs
 * @param {number} count
 */
async function runMany(runs, count) {
  const started = await Promise.all(Array.from({ length: runs }, () => start('steps', { count })));
  await Promise.all(
    started.map(async ({ runId }) => {
      const row = await bench.engine.wait(runId, TIMEOUT_MS);
      if (row?.status !== 'completed') throw new Error(`The run ended as ${row?.status}: ${row?.error}`);
    }),
  );
}

/**
 * @param {string} name
 * @param {object} input
 */
async function start(name, input) {
  const started = await bench.engine.start({ kind: 'workflow', name, trigger: 'api', input });
  if (started.outcome !== 'created') throw new Error(`The start was ${started.outcome}.`);
  return started.run;
}

async function openEngine() {
  const { journal, close } = await openJournal();
  const engine = await host.createEngine({
    journal,
    log: host.createLog({ level: 'silent', write() {} }),
    owner: `bench-${process.pid}`,
    exclusive: place.type !== 'postgres',
    resolve: async ({ name }) => ({ run: code[name], codeHash: 'bench', durability: code.durability }),
    ambient: /** @type {any} */ ({}),
  });
  return { engine, journal, close };
}

async function openJournal() {
  if (place.type === 'sqlite') {
    const journal = await host.openSqliteJournal({ path: place.path });
    return { journal, close: () => journal.close() };
  }
  const sql = place.type === 'pglite' ? host.openPglite({ dataDir: place.dataDir }) : host.openPg(place.url);
  await sql.ready;
  const journal = await host.openPostgresJournal({ sql, ...('schema' in place ? { schema: place.schema } : {}) });
  return {
    journal,
    async close() {
      await journal.close();
      await sql.close();
    },
  };
}

/** @param {() => Promise<boolean>} condition */
async function until(condition) {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('The runs were not parked in time.');
    await wait(20);
  }
}

/** The most of this process that was in memory, in MiB. */
function readPeak() {
  // Where it can be had: `maxRSS` begins with what the parent had when it made this process.
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1_024;
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kibibytes) / 1_024;
}
