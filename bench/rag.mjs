// @ts-check
/**
 * Searches of a collection of `CHUNKS` chunks on Postgres, one at a time and without a socket, beside the same by hand: the same server of
 * vectors is asked, and the same SQL, over one connection. Milliseconds of `SEARCHES` different queries, alternated.
 *   search   hybrid, of words that are in some chunks
 *   vector, text   by one of the two alone
 *   common   hybrid, of four such and of four that are in many chunks, which the box leaves out and the SQL by hand does not
 *   filter   hybrid, among one chunk of a hundred
 * Texts are made of `WORDS` words, the n-th of which comes 1/n as often as the first, as in a language.
 */
import {
  createBox,
  createLog,
  openDatabase,
  openPg,
  openPostgresJournal,
  operatorToken,
} from '../packages/runtime/dist/host.mjs';
import { DIMENSION, startEmbeddings, toVector } from './_embeddings.mjs';
import { connect, findObstacle, listStores } from './_engine-stores.mjs';
import { quantile, round } from './_stats.mjs';

/** @param {(line: object) => void} print */
export async function run(print) {
  const [store] = listStores('postgres');
  const skipped = store && findObstacle(store);
  if (!store || skipped) return print({ bench: 'rag', skipped });
  const { settings, place, close } = await store.open('');
  const at = /** @type {Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>} */ (place('rag'));
  const embeddings = await startEmbeddings();
  const opened = await openBox(at, embeddings.url);
  try {
    const table = await opened.fill();
    print({ bench: 'rag.fill', chunks: CHUNKS, dimension: DIMENSION, ...table.took });
    const hand = await createHand({ url: at.url, table: table.name, embeddings: embeddings.url });
    for (const kind of KINDS) {
      const ours = /** @type {number[]} */ ([]);
      const byHand = /** @type {number[]} */ ([]);
      for (let n = -WARM; n < SEARCHES; n++) {
        const query = kind.queryOf(n + WARM);
        const before = performance.now();
        const found = await opened.search(query, kind);
        const between = performance.now();
        const same = await hand.search(query, kind);
        const after = performance.now();
        if (!kind.isFewer && found.join() !== same.join()) throw new Error(`"${query}" found ${found} and ${same}.`);
        if (n < 0) continue;
        ours.push(between - before);
        byHand.push(after - between);
      }
      print({ bench: `rag.${kind.name}`, ...settings, chunks: CHUNKS, searches: SEARCHES, ...compare(ours, byHand) });
    }
    await hand.close();
  } finally {
    await opened.close();
    embeddings.close();
    await close();
  }
}

// --- internal ---

const CHUNKS = Number(process.env.BENCH_RAG_CHUNKS ?? 100_000);
const SEARCHES = Number(process.env.BENCH_RAG_SEARCHES ?? 200);
const WARM = 20;
const WORDS = 20_000;
const TOKEN = 'bench-operator-token-0123456789';

/**
 * @typedef {object} Kind
 * @property {string} name
 * @property {'hybrid' | 'vector' | 'text'} mode
 * @property {(n: number) => string} queryOf
 * @property {object} [filter]
 * @property {boolean} [isFewer]  the box looks for fewer of its words than it has, so it may find others
 */
/** @type {(n: number, from: number, to: number) => string} */
const wordsOf = (n, from, to) =>
  Array.from({ length: 4 }, (_, k) => `w${from + ((n * 7919 + k * 104_729) % (to - from))}`).join(' ');
/** @type {Kind[]} */
const KINDS = [
  { name: 'search', mode: 'hybrid', queryOf: (n) => wordsOf(n, 500, WORDS) },
  { name: 'vector', mode: 'vector', queryOf: (n) => wordsOf(n, 500, WORDS) },
  { name: 'text', mode: 'text', queryOf: (n) => wordsOf(n, 500, WORDS) },
  { name: 'common', mode: 'hybrid', isFewer: true, queryOf: (n) => `${wordsOf(n, 0, 5)} ${wordsOf(n, 500, WORDS)}` },
  { name: 'filter', mode: 'hybrid', queryOf: (n) => wordsOf(n, 500, WORDS), filter: { shard: 7 } },
];

/** @param {number[]} ours @param {number[]} byHand */
function compare(ours, byHand) {
  const [p50, p95] = [quantile(ours, 0.5), quantile(ours, 0.95)];
  const hand = { p50: quantile(byHand, 0.5), p95: quantile(byHand, 0.95) };
  return {
    p50: round(p50, 2),
    p95: round(p95, 2),
    byHand: { p50: round(hand.p50, 2), p95: round(hand.p95, 2) },
    ratio: { p50: round(p50 / hand.p50, 2), p95: round(p95 / hand.p95, 2) },
  };
}

/** @param {Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>} at @param {string} embeddings */
async function openBox(at, embeddings) {
  const database = openDatabase(openPg(at.url));
  const journal = await openPostgresJournal({ sql: database.client, schema: at.schema });
  const box = await createBox({
    host: 'image',
    strategy: operatorToken(TOKEN),
    slug: 'bench',
    log: createLog({ level: 'silent', write() {} }),
    journal,
    exclusive: false,
    db: database.db,
    provider: {
      environment: { baseUrl: embeddings, apiKey: 'none' },
      store: /** @type {any} */ ({ read: async () => undefined, write: async () => {}, remove: async () => {} }),
      egress: { allowLoopback: true, allowed: [] },
    },
    defaultModel: () => undefined,
    embeddingModel: () => 'bench/words',
    loadProgram: async () =>
      /** @type {any} */ ({
        manifest: { version: 1, agents: [], workflows: [] },
        load: async () => ({ exports: {}, hash: 'h' }),
      }),
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
  });
  await box.gate.check();
  const post = async (/** @type {string} */ path, /** @type {object} */ body) => {
    const answer = await box.request(`/api/rag/collections${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return /** @type {Promise<any>} */ (answer.json());
  };
  return {
    async fill() {
      await post('', { name: 'bench' });
      return fill(at.url);
    },
    /** @param {string} query @param {Kind} kind @returns {Promise<string[]>} */
    async search(query, { mode, filter }) {
      const { items } = await post('/bench/search', { query, mode, ...(filter ? { filter } : {}) });
      return items.map((/** @type {{ documentId: string }} */ { documentId }) => documentId);
    },
    async close() {
      await box.close();
      await journal.close();
      await database.close();
    },
  };
}

/**
 * Chunks, as an ingest would have left them. Its HNSW index is made over all at once, which is what makes this minutes and not an
 * hour.
 * @param {string} url
 */
async function fill(url) {
  const client = await connect(url);
  const [{ relname: name }] = (
    await client.query("select relname from pg_class where relname like 'rag\\_chunks\\_%' and relkind = 'r'")
  ).rows;
  const began = performance.now();
  await client.query(`drop index svc.${name}_near`);
  for (let from = 0; from < CHUNKS; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, CHUNKS - from) }, (_, n) => toRow(from + n));
    await client.query(
      `insert into svc.${name} (document_id, chunk, metadata, headings, start_at, end_at, line, text, key, words, embedding)
        select r.id, 0, r.metadata, '[]', 0, length(r.text), 1, r.text, r.id, to_tsvector('simple', r.text), r.embedding::vector
        from jsonb_to_recordset($1) as r (id text, metadata jsonb, text text, embedding text)`,
      [JSON.stringify(rows)],
    );
  }
  const filled = performance.now();
  await client.query("set maintenance_work_mem = '512MB'");
  await client.query(`create index ${name}_near on svc.${name} using hnsw (embedding vector_cosine_ops)`);
  await client.query(`vacuum analyze svc.${name}`);
  const ended = performance.now();
  await client.end();
  return {
    name: `svc.${name}`,
    took: { fillSeconds: round((filled - began) / 1_000, 1), indexSeconds: round((ended - filled) / 1_000, 1) },
  };
}

const BATCH = 1_000;

/** @param {number} n */
function toRow(n) {
  const random = createRandom(n + 1);
  const words = Array.from({ length: 60 }, () => `w${Math.floor(WORDS ** random()) - 1}`);
  const text = words.join(' ');
  return { id: `d${n}`, metadata: { shard: n % 100 }, text, embedding: `[${toVector(text)}]` };
}

/** The same for the same seed. @param {number} seed */
function createRandom(seed) {
  let state = Math.imul(seed, 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * What one would write for one's own application.
 * @param {{ url: string, table: string, embeddings: string }} options
 */
async function createHand({ url, table, embeddings }) {
  const client = await connect(url);
  await client.query('set hnsw.ef_search = 60');
  await client.query("set hnsw.iterative_scan = 'strict_order'");
  const embed = async (/** @type {string} */ query) => {
    const answer = await fetch(`${embeddings}/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'bench/words', input: [query] }),
    });
    return JSON.stringify(/** @type {any} */ (await answer.json()).data[0].embedding);
  };
  return {
    /** @param {string} query @param {Kind} kind @returns {Promise<string[]>} */
    async search(query, { mode, filter }) {
      const vector = mode === 'text' ? null : await embed(query);
      const words = mode === 'vector' ? null : query.split(' ').join(' | ');
      const { rows } = await client.query(toSql(table, mode, filter !== undefined), [
        ...(mode === 'text' ? [] : [vector]),
        ...(mode === 'vector' ? [] : [words]),
        ...(filter ? [JSON.stringify(filter)] : []),
      ]);
      return rows.map((/** @type {{ document_id: string }} */ row) => row.document_id);
    },
    close: () => client.end(),
  };
}

/** @param {string} table @param {Kind['mode']} mode @param {boolean} hasFilter */
function toSql(table, mode, hasFilter) {
  let used = 0;
  const vector = mode === 'text' ? undefined : `$${(used += 1)}::vector`;
  const words = mode === 'vector' ? undefined : `$${(used += 1)}::tsquery`;
  const where = hasFilter ? `metadata @> $${(used += 1)}::jsonb` : 'true';
  const near = vector
    ? `select id, distance, row_number() over (order by distance, id) as rank from (
        select id, embedding <=> ${vector} as distance from ${table} where ${where} order by embedding <=> ${vector} limit 60) n`
    : 'select null::bigint as id, null::float8 as distance, null::bigint as rank where false';
  const matched = words
    ? `select id, row_number() over (order by weight desc, id) as rank from (
        select id, ts_rank(words, ${words}, 1) as weight from ${table} where words @@ ${words} and ${where}
        order by weight desc, id limit 60) m`
    : 'select null::bigint as id, null::bigint as rank where false';
  return `with near as materialized (${near}), matched as materialized (${matched}),
    fused as (
      select coalesce(near.id, matched.id) as id, distance,
        coalesce(1.0 / (60 + near.rank), 0) + coalesce(1.0 / (60 + matched.rank), 0) as score
      from near full join matched on matched.id = near.id order by score desc, distance nulls last, id limit 5)
    select c.* from fused join ${table} c using (id) order by score desc, distance nulls last, id`;
}
