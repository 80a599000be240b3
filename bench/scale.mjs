// @ts-check
/**
 * The journal on PostgreSQL as it grows, in a database of its own on the server of `SVC_TEST_DATABASE_URL`:
 *   growth     bytes on disk, bytes of WAL and commits of a run and of a step, from runs of 5 and of 25 steps
 *   replicas   steps/s of 1, 2, 4 and 8 processes with 500 runs of 5 steps each, on one server
 *   fill       bytes of a finished run, its row and its indexes, among `BENCH_RUNS` of them (1,000,000) and 100,000 parked
 *   read       milliseconds of what boxes and people ask of it then, beside the same on an empty journal
 *   live       a run of one step, start to end, ms, and steps/s of 1,000 runs of 5 steps, full and empty
 *   retention  finished runs of 6 records deleted/s, the oldest first, and the commits it takes
 * `BENCH_PARTS=growth,replicas` measures these alone.
 */
import { join } from 'node:path';
import * as host from '../packages/runtime/dist/host.mjs';
import { startChild, timed } from './_child.mjs';
import { benchStores, connect, listStores } from './_engine-stores.mjs';
import { median, quantile, round } from './_stats.mjs';
import { compileWorkflows } from './_workflows.mjs';

const PARTS = (process.env.BENCH_PARTS ?? 'growth,replicas,grown').split(',');
const RUNS = Number(process.env.BENCH_RUNS ?? 1_000_000);
const PARKED = 100_000;
const REPLICAS = [1, 2, 4, 8];
const ROUNDS = 7;
const OLD = 20_000;
const RECORDS = 6;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** @typedef {Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>} Place */
/** @typedef {(bench: string, figures: object) => void} Say */

/** @param {(line: object) => void} print */
export async function run(print) {
  await benchStores({ bench: 'scale', stores: listStores('postgres'), print }, async (root) => {
    const { synced: file } = await compileWorkflows(join(root, 'workspace'));
    return (store) => benchStore(store, { root, file }, print);
  });
}

// --- internal ---

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {{ root: string, file: string }} at  the compiled workflows
 * @param {(line: object) => void} print
 */
async function benchStore(store, { root, file }, print) {
  const { place, close, settings } = await store.open(root);
  const placeOf = (/** @type {string} */ name) => /** @type {Place} */ (place(name));
  /** @type {Say} */
  const say = (bench, figures) => print({ bench: `scale.${bench}`, ...settings, ...figures });
  try {
    if (PARTS.includes('growth')) await measureGrowth(placeOf('growth'), file, say);
    if (PARTS.includes('replicas'))
      for (const count of REPLICAS) await measureReplicas(placeOf(`replicas_${count}`), { file, count }, say);
    if (PARTS.includes('grown')) await measureGrown({ full: placeOf('grown'), empty: placeOf('fresh'), file }, say);
  } finally {
    await close();
  }
}

/**
 * @param {Place} place
 * @param {string} file
 * @param {Say} say
 */
async function measureGrowth(place, file, say) {
  const engine = startChild('_engine-child.mjs', { place, file });
  const client = await connect(place.url);
  const runs = 1_000;
  const measure = async (/** @type {number} */ count) => {
    const before = await readSizes(client, place);
    await engine.ask('many', { runs, count });
    const after = await readSizes(client, place);
    return {
      disk: (after.disk - before.disk) / runs,
      wal: (after.wal - before.wal) / runs,
      commits: (after.commits - before.commits) / runs,
    };
  };
  try {
    await engine.ask('open');
    const few = await measure(5);
    const many = await measure(25);
    const ofStep = (/** @type {'disk' | 'wal' | 'commits'} */ what) => (many[what] - few[what]) / 20;
    say('growth', {
      bytes_per_step: round(ofStep('disk')),
      bytes_per_run: round(few.disk - 5 * ofStep('disk')),
      wal_bytes_per_step: round(ofStep('wal')),
      wal_bytes_per_run: round(few.wal - 5 * ofStep('wal')),
      // Of a thousand runs at once, which share commits.
      commits_per_step: round(ofStep('commits'), 3),
      commits_per_run: round(few.commits - 5 * ofStep('commits'), 3),
    });
    await engine.ask('close');
  } finally {
    await engine.kill();
    await client.end();
  }
}

/**
 * @param {Awaited<ReturnType<typeof connect>>} client
 * @param {Place} place
 */
async function readSizes(client, { schema }) {
  // What a process has counted is seen by others a second later.
  await client.query('select pg_stat_force_next_flush()');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { rows } = await client.query(`
    select pg_total_relation_size('${schema}.runs') + pg_total_relation_size('${schema}.run_events') as disk,
      pg_current_wal_lsn() - '0/0'::pg_lsn as wal,
      (select xact_commit from pg_stat_database where datname = current_database()) as commits`);
  const [row] = rows;
  return { disk: Number(row.disk), wal: Number(row.wal), commits: Number(row.commits) };
}

/**
 * @param {Place} place
 * @param {{ file: string, count: number }} how
 * @param {Say} say
 */
async function measureReplicas(place, { file, count }, say) {
  const work = { runs: 500, count: 5 };
  const replicas = Array.from({ length: count }, () => startChild('_engine-child.mjs', { place, file }));
  try {
    for (const replica of replicas) await replica.ask('open');
    const rates = [];
    for (let n = 0; n < ROUNDS; n++) {
      const seconds = await timed(() => Promise.all(replicas.map((replica) => replica.ask('many', work))));
      rates.push((count * work.runs * work.count) / seconds);
    }
    say('replicas', { replicas: count, steps_per_s: round(median(rates)) });
    await Promise.all(replicas.map((replica) => replica.ask('close')));
  } finally {
    await Promise.all(replicas.map((replica) => replica.kill()));
  }
}

/**
 * @param {{ full: Place, empty: Place, file: string }} places
 * @param {Say} say
 */
async function measureGrown({ full, empty, file }, say) {
  const client = await connect(full.url);
  // Where a figure fails, the database is dropped below it.
  client.on('error', () => {});
  const journals = { full: await openJournal(full), empty: await openJournal(empty) };
  try {
    const seconds = await timed(() => fill(client, full.schema));
    const { rows } = await client.query(`
      select pg_table_size('${full.schema}.runs') as rows, pg_indexes_size('${full.schema}.runs') as indexes`);
    const [size] = rows;
    const all = RUNS + PARKED;
    say('fill', {
      runs: RUNS,
      parked: PARKED,
      seconds: round(seconds),
      bytes_per_run: round(Number(size.rows) / all),
      index_bytes_per_run: round(Number(size.indexes) / all),
      mib: round((Number(size.rows) + Number(size.indexes)) / 2 ** 20),
    });
    for (const [what, ask] of Object.entries(QUESTIONS))
      say('read', {
        what,
        full_ms: await measureAsk(journals.full, ask),
        empty_ms: await measureAsk(journals.empty, ask),
      });
    for (const [name, place] of Object.entries({ full, empty }))
      say('live', { journal: name, ...(await measureLive(place, file)) });
    await measureRetention(journals.full.journal, say);
  } finally {
    for (const { close } of Object.values(journals)) await close();
    await client.end();
  }
}

/** @param {Place} place */
async function openJournal({ url, schema }) {
  const sql = host.openPg(url);
  await sql.ready;
  const journal = await host.openPostgresJournal({ sql, schema });
  return {
    journal,
    async close() {
      await journal.close();
      await sql.close();
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof host.openPostgresJournal>>} Journal */

/**
 * Runs of the last 30 days, in the order in which they were made; one in fifty has failed, one in ten has an attribute. The
 * oldest have their records.
 * @param {Awaited<ReturnType<typeof connect>>} client
 * @param {string} schema
 */
async function fill(client, schema) {
  const first = Date.now() - 30 * DAY_MS;
  const apart = Math.floor((29 * DAY_MS) / (RUNS + PARKED));
  const AT_ONCE = 500_000;
  const id = (/** @type {string} */ n) => {
    const hex = `lpad(to_hex($1::int8 + ${n} * ${apart}), 12, '0')`;
    return `substr(${hex}, 1, 8) || '-' || substr(${hex}, 9, 4) || '-7000-8000-' || lpad(to_hex(${n}), 12, '0')`;
  };
  const columns = `run_id, trace_id, kind, name, trigger, status, seq, epoch, signals, code_hash, input, output, attributes,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens, created_at, started_at, ended_at, wake_at,
    waiting_for`;
  const values = (/** @type {string} */ status, /** @type {string} */ ended) => `${id('n')}, md5(n::text), 'workflow',
    'name-' || (n % 100), 'api', ${status}, ${RECORDS}, 1, 0, 'code', '2[{"order":1},"A-' || n || '"]', '2["done"]',
    case when n % 10 = 0 then '{"order":"A-' || n || '"}' end, 0, 0, 0, 0, 0, $1::int8 + n * ${apart},
    $1::int8 + n * ${apart}, ${ended}`;
  const finished = values("case when n % 50 = 0 then 'failed' else 'completed' end", `$1::int8 + n * ${apart} + 500`);
  const parked = values("'waiting'", 'null');
  for (let from = 1; from <= RUNS; from += AT_ONCE)
    await client.query(
      `insert into ${schema}.runs (${columns}) select ${finished}, null, null from generate_series($2::int8, $3::int8) as n`,
      [first, from, Math.min(RUNS, from + AT_ONCE - 1)],
    );
  await client.query(
    `insert into ${schema}.runs (${columns})
     select ${parked}, $1::int8 + ${365 * DAY_MS}, '{"type":"sleep"}' from generate_series($2::int8, $3::int8) as n`,
    [first, RUNS + 1, RUNS + PARKED],
  );
  await client.query(
    `insert into ${schema}.run_events (run_id, seq, call, kind, event, step_id, digest, record_id, attempt, input, output, started_at, at)
     select ${id('n')}, seq, seq, 'step', 'succeeded', 'step//steps//add', md5(seq::text), md5(n || ' ' || seq), 1, '2[1]', '1', $1, $1
     from generate_series(1, $2::int8) as n, generate_series(0, ${RECORDS - 1}) as seq`,
    [first, Math.min(OLD, RUNS)],
  );
  await client.query(`vacuum analyze ${schema}.runs`);
  await client.query(`vacuum analyze ${schema}.run_events`);
}

const PAGE = { limit: 51 };

/** @type {Record<string, (journal: Journal) => Promise<unknown>>} */
const QUESTIONS = {
  'look of a worker': (journal) => journal.look('bench'),
  'claim, nothing is due': (journal) => journal.claim({ owner: 'bench', leaseMs: 30_000, limit: 100 }),
  'the newest page': (journal) => journal.listBriefRuns({}, PAGE),
  'a page of a name': (journal) => journal.listBriefRuns({ name: 'name-7' }, PAGE),
  'a page of failed ones': (journal) => journal.listBriefRuns({ status: 'failed' }, PAGE),
  'a page of failed ones of a name': (journal) => journal.listBriefRuns({ status: 'failed', name: 'name-50' }, PAGE),
  'a page of waiting ones': (journal) => journal.listBriefRuns({ status: 'waiting' }, PAGE),
  'one by an attribute': (journal) => journal.listBriefRuns({ attribute: { name: 'order', value: 'A-500' } }, PAGE),
  'none by an attribute': (journal) => journal.listBriefRuns({ attribute: { name: 'order', value: 'none' } }, PAGE),
  'a page of a day': (journal) =>
    journal.listBriefRuns({ from: Date.now() - 10 * DAY_MS, to: Date.now() - 9 * DAY_MS }, PAGE),
  'runs of a day, counted by hour': (journal) =>
    journal.tallyRuns({ from: Date.now() - 10 * DAY_MS, to: Date.now() - 9 * DAY_MS }, DAY_MS / 24),
  'the next 200 to delete': (journal) => journal.listEnded(Date.now() - 29 * DAY_MS, { limit: 200 }),
};

/**
 * @param {{ journal: Journal }} of
 * @param {(journal: Journal) => Promise<unknown>} ask
 */
async function measureAsk({ journal }, ask) {
  await ask(journal);
  const times = [];
  for (let n = 0; n < ROUNDS; n++) times.push((await timed(() => ask(journal))) * 1_000);
  return round(median(times), 2);
}

/**
 * @param {Place} place
 * @param {string} file
 */
async function measureLive(place, file) {
  const engine = startChild('_engine-child.mjs', { place, file });
  try {
    await engine.ask('open');
    const each = (await engine.ask('each', 200)).map((/** @type {number} */ seconds) => seconds * 1_000);
    const rates = [];
    for (let n = 0; n < ROUNDS; n++) rates.push(5_000 / (await engine.ask('many', { runs: 1_000, count: 5 })));
    await engine.ask('close');
    return {
      p50_ms: round(median(each), 2),
      p95_ms: round(quantile(each, 0.95), 2),
      steps_per_s: round(median(rates)),
    };
  } finally {
    await engine.kill();
  }
}

/**
 * @param {Journal} journal
 * @param {Say} say
 */
async function measureRetention(journal, say) {
  const before = Date.now() - DAY_MS;
  let deleted = 0;
  let batches = 0;
  const seconds = await timed(async () => {
    while (deleted < Math.min(OLD, RUNS)) {
      const ended = await journal.listEnded(before, { limit: 200 });
      deleted += (await journal.deleteRuns(ended.map(({ runId }) => runId))).length;
      batches += 1;
    }
  });
  say('retention', {
    runs_per_s: round(deleted / seconds),
    records_per_s: round((deleted * RECORDS) / seconds),
    batches,
  });
}
