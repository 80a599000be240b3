// @ts-check
/**
 * The durable engine, through compiled workflow files and real stores, beside the bare store's own rate in the same run:
 *   a  one run of 100 sequential steps, steps/s            b  a run of one step, start to done, p50 ms
 *   c  1,000 runs of 5 steps at once, steps/s, peak RSS    d  ms per step of one run of 3,000 steps
 * `bare` is the same UPDATE + INSERT as one prepared transaction in a plain loop. Medians of alternated rounds.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { median, round } from './_stats.mjs';

const ROOT = new URL('..', import.meta.url).pathname;
const ROUNDS = 5;

/** @param {(line: object) => void} print */
export async function run(print) {
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-engine-'));
  try {
    for (const durability of ['synced', 'process']) await benchSqlite(root, durability, print);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

// --- internal ---

/**
 * @param {string} root
 * @param {string} durability
 * @param {(line: object) => void} print
 */
async function benchSqlite(root, durability, print) {
  const host = await import('../packages/runtime/dist/host.mjs');
  const dir = join(root, durability);
  const code = await loadWorkflows(dir, durability);
  const journal = await host.openSqliteJournal({ path: join(dir, 'journal.db') });
  const bench = await openEngine(host, journal, code);
  const bare = openBare(join(dir, 'bare.db'), durability);
  await bench.finish(await bench.start('steps', { count: 20 }));
  /** @type {Record<string, number[]>} */
  const seen = {};
  const note = (/** @type {string} */ name, /** @type {number} */ value) => (seen[name] ??= []).push(value);
  for (let turn = 0; turn < ROUNDS; turn++) {
    note('bare_a', 100 / (await timed(() => bare.steps(100))));
    note('a', 100 / (await timed(async () => bench.finish(await bench.start('steps', { count: 100 })))));
    for (let i = 0; i < 40; i++)
      note('b', (await timed(async () => bench.finish(await bench.start('steps', { count: 1 })))) * 1_000);
    note('bare_c', 5_000 / (await timed(() => bare.batches(1_000, 5))));
    note(
      'c',
      5_000 /
        (await timed(async () => {
          const runs = await Promise.all(Array.from({ length: 1_000 }, () => bench.start('steps', { count: 5 })));
          await Promise.all(runs.map(bench.finish));
        })),
    );
    note('d', ((await timed(async () => bench.finish(await bench.start('steps', { count: 3_000 })))) / 3_000) * 1_000);
  }
  const line = (/** @type {string} */ name) => round(median(seen[name] ?? []), name === 'b' || name === 'd' ? 3 : 0);
  const store = { store: 'sqlite', durability };
  print({
    bench: 'engine.a',
    ...store,
    steps_per_s: line('a'),
    bare: line('bare_a'),
    ratio: round(line('a') / line('bare_a'), 2),
  });
  print({ bench: 'engine.b', ...store, p50_ms: line('b') });
  print({
    bench: 'engine.c',
    ...store,
    steps_per_s: line('c'),
    bare: line('bare_c'),
    ratio: round(line('c') / line('bare_c'), 2),
    rss_mib: round(process.memoryUsage().rss / 2 ** 20),
  });
  print({ bench: 'engine.d', ...store, ms_per_step: line('d') });
  await bench.close();
  bare.close();
}

/**
 * Writes the workflow and compiles it as a build would.
 * @param {string} dir
 * @param {string} durability
 * @returns {Promise<Record<string, unknown>>}
 */
async function loadWorkflows(dir, durability) {
  mkdirSync(join(dir, 'workflows'), { recursive: true });
  const file = join(dir, 'workflows/steps.workflow.ts');
  writeFileSync(
    file,
    `export const durability = '${durability}';
export async function steps({ count }: { count: number }) {
  'use workflow';
  let sum = 0;
  for (let i = 0; i < count; i++) sum = await add(sum, 1);
  return sum;
}
async function add(a: number, b: number) {
  'use step';
  return a + b;
}
`,
  );
  const { svcPlugin } = await import('../packages/compiler/dist/index.mjs');
  const require = createRequire(join(ROOT, 'packages/compiler/package.json'));
  const { build } = await import(pathToFileURL(require.resolve('vite')).href);
  const runtime = (/** @type {string} */ name) => pathToFileURL(join(ROOT, `packages/runtime/dist/${name}.mjs`)).href;
  await build({
    root: dir,
    configFile: false,
    logLevel: 'silent',
    plugins: [svcPlugin({ root: dir })],
    build: {
      ssr: true,
      outDir: join(dir, 'out'),
      rollupOptions: {
        input: file,
        external: /^@svc\/runtime/,
        output: {
          entryFileNames: 'steps.mjs',
          paths: { '@svc/runtime': runtime('index'), '@svc/runtime/internal': runtime('internal') },
        },
      },
    },
  });
  return import(pathToFileURL(join(dir, 'out/steps.mjs')).href);
}

/**
 * @param {typeof import('../packages/runtime/dist/host.mjs')} host
 * @param {import('../packages/runtime/dist/host.mjs').Journal} journal
 * @param {Record<string, any>} code
 */
async function openEngine(host, journal, code) {
  host.installGuard();
  const body = { run: code.steps, codeHash: 'bench', durability: code.durability };
  const engine = await host.createEngine({
    journal,
    log: host.createLog({ level: 'silent', write() {} }),
    owner: `bench-${process.pid}`,
    exclusive: true,
    resolve: async () => body,
    ambient: /** @type {any} */ ({}),
    maxLive: 100_000,
  });
  await engine.arm();
  return {
    async start(/** @type {string} */ name, /** @type {object} */ input) {
      const started = await engine.start({ kind: 'workflow', name, trigger: 'api', input, body });
      if (started.outcome !== 'created') throw new Error(`The start was ${started.outcome}.`);
      return started.run;
    },
    finish: async (/** @type {{ runId: string }} */ { runId }) => {
      const row = await engine.wait(runId, 60_000);
      if (row?.status !== 'completed') throw new Error(`The run ended as ${row?.status}: ${row?.error}`);
    },
    async close() {
      await engine.close();
      await journal.close();
    },
  };
}

/**
 * The store without an engine: what a commit of one step costs, and of many at once.
 * @param {string} path
 * @param {string} durability
 */
function openBare(path, durability) {
  const require = createRequire(join(ROOT, 'packages/runtime/package.json'));
  // An optional dependency of the runtime: there is no type to import here.
  const Database = /** @type {any} */ (require(['better-sqlite3'].join('')));
  const db = new Database(path);
  db.exec(`pragma journal_mode = wal; pragma synchronous = ${durability === 'synced' ? 'full' : 'normal'};
    create table runs(id integer primary key, seq integer, status text) strict;
    create table events(run_id integer, seq integer, call integer, payload text, primary key (run_id, seq)) without rowid, strict;`);
  const create = db.prepare("insert into runs(seq, status) values (0, 'running')");
  const advance = db.prepare("update runs set seq = ? where id = ? and seq = ? and status = 'running'");
  const insert = db.prepare('insert into events values (?, ?, ?, ?)');
  const one = db.transaction((/** @type {number | bigint} */ id, /** @type {number} */ seq) => {
    advance.run(seq + 1, id, seq);
    insert.run(id, seq, seq, '1[1]');
  });
  const many = db.transaction((/** @type {(number | bigint)[]} */ ids, /** @type {number} */ seq) => {
    for (const id of ids) {
      advance.run(seq + 1, id, seq);
      insert.run(id, seq, seq, '1[1]');
    }
  });
  const createMany = db.transaction((/** @type {number} */ count) =>
    Array.from({ length: count }, () => create.run().lastInsertRowid),
  );
  return {
    async steps(/** @type {number} */ count) {
      const id = create.run().lastInsertRowid;
      for (let seq = 0; seq < count; seq++) one(id, seq);
    },
    async batches(/** @type {number} */ runs, /** @type {number} */ count) {
      const ids = createMany(runs);
      for (let seq = 0; seq < count; seq++) many(ids, seq);
    },
    close: () => db.close(),
  };
}

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}
