// @ts-check
import {
  createBox,
  createLog,
  openDatabase,
  openPg,
  openPostgresJournal,
  operatorToken,
} from '../packages/runtime/dist/host.mjs';
import { svc } from '../packages/runtime/dist/index.mjs';
import { createStep } from '../packages/runtime/dist/internal.mjs';
import { toVector } from './_embeddings.mjs';
import { connect } from './_engine-stores.mjs';
import { round } from './_stats.mjs';

export const CHUNKS = Number(process.env.BENCH_RAG_CHUNKS ?? 100_000);
export const WORDS = 20_000;

/** @typedef {Pick<import('./rag.mjs').Kind, 'mode' | 'filter'>} How */

/**
 * A box on Postgres with one collection, and what searches it.
 * @param {Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>} at
 * @param {string} embeddings
 */
export async function openRagBox(at, embeddings) {
  const database = openDatabase(openPg(at.url));
  const journal = await openPostgresJournal({ sql: database.client, schema: at.schema });
  let work = async () => {};
  const step = createStep('workflows/measure.workflow.ts#measure', async () => work());
  const workflow = { name: 'measure', file: 'measure.workflow.ts', exportName: 'run' };
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
    embeddingModel: () => MODEL,
    loadProgram: async () =>
      /** @type {any} */ ({
        manifest: {
          version: 1,
          agents: [],
          workflows: [{ ...workflow, steps: [], hasInputSchema: false, hasOutputSchema: false }],
        },
        load: async () => ({ exports: { run: async () => step() }, hash: 'h' }),
      }),
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
  });
  await box.gate.check();
  const send = async (/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) => {
    const answer = await box.request(path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return /** @type {Promise<any>} */ (answer.json());
  };
  return {
    async fill() {
      await send('/api/rag/collections', { name: 'bench' });
      return fill(at.url);
    },
    /**
     * Works in a step, as the code of a workspace does.
     * @param {() => Promise<void>} given
     */
    async inStep(given) {
      work = given;
      const { runId } = await send('/api/workflows/measure/start', {});
      for (;;) {
        const { status, error } = await send(`/api/runs/${runId}`);
        if (status === 'completed') return;
        if (status === 'failed') throw new Error(error.message);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
    /** By a request, without a socket. @param {string} query @param {How} how @returns {Promise<string[]>} */
    async request(query, { mode, filter }) {
      const { items } = await send('/api/rag/collections/bench/search', { query, mode, ...(filter ? { filter } : {}) });
      return items.map(idOf);
    },
    /** In a step. @param {string} query @param {How} how @returns {Promise<string[]>} */
    async search(query, { mode, filter }) {
      return (await svc.rag.search('bench', query, { mode, filter: /** @type {any} */ (filter) })).map(idOf);
    },
    /** In a step. @param {string} query */
    embed: (query) => svc.ai.embed({ model: MODEL, input: [query] }),
    async close() {
      await box.close();
      await journal.close();
      await database.close();
    },
  };
}

// --- internal ---

const TOKEN = 'bench-operator-token-0123456789';
const MODEL = 'bench/words';
const BATCH = 1_000;

const idOf = (/** @type {{ documentId: string }} */ { documentId }) => documentId;

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
