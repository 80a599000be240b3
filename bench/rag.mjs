// @ts-check
/**
 * Searches of a collection of `CHUNKS` chunks on Postgres, one at a time, beside the same by hand: the same server of vectors is
 * asked, and SQL that answers the same, over one connection. Milliseconds of `SEARCHES` different queries; each is searched by
 * all three, in an order that turns.
 *   step      `svc.rag.search` in a step, and its ratio to `byHand`
 *   request   POST /api/rag/collections/:name/search without a socket: also who asks, what is asked, and the answer as JSON
 * of
 *   search   hybrid, of words that are in some chunks
 *   vector, text   by one of the two alone
 *   common   hybrid, of four such and of four that are in many chunks, which the box leaves out and the SQL by hand does not
 *   filter   hybrid, among one chunk of a hundred
 *   embed    no search: the vector of the query alone, which all but `text` have in them
 * Texts are made of `WORDS` words, the n-th of which comes 1/n as often as the first, as in a language.
 */
import { DIMENSION, startEmbeddings } from './_embeddings.mjs';
import { findObstacle, listStores } from './_engine-stores.mjs';
import { CHUNKS, openRagBox, WORDS } from './_rag-box.mjs';
import { createHand } from './_rag-hand.mjs';
import { quantile, round } from './_stats.mjs';

/** @param {(line: object) => void} print */
export async function run(print) {
  const [store] = listStores('postgres');
  const skipped = store && findObstacle(store);
  if (!store || skipped) return print({ bench: 'rag', skipped });
  const { settings, place, close } = await store.open('');
  const at = /** @type {Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>} */ (place('rag'));
  const embeddings = await startEmbeddings();
  const box = await openRagBox(at, embeddings.url);
  try {
    const table = await box.fill();
    print({ bench: 'rag.fill', chunks: CHUNKS, dimension: DIMENSION, ...table.took });
    const hand = await createHand({ url: at.url, table: table.name, embeddings: embeddings.url });
    await box.inStep(() => measure({ box, hand }, (line) => print({ ...line, ...settings })));
    await hand.close();
  } finally {
    await box.close();
    embeddings.close();
    await close();
  }
}

/**
 * Measures what is filled. In a step.
 * @param {{ box: Awaited<ReturnType<typeof openRagBox>>, hand: Awaited<ReturnType<typeof createHand>> }} ways
 * @param {(line: object) => void} print
 */
export async function measure({ box, hand }, print) {
  for (const kind of KINDS) {
    const { step, request, byHand } = await compare(kind, {
      step: (query) => box.search(query, kind),
      request: (query) => box.request(query, kind),
      byHand: (query) => hand.search(query, kind),
    });
    const ratios = { step: divide(step, byHand), request: divide(request, byHand) };
    print({ bench: `rag.${kind.name}`, chunks: CHUNKS, searches: SEARCHES, step, request, byHand, ratios });
  }
  const queries = { name: 'embed', isFewer: true, queryOf: (/** @type {number} */ n) => wordsOf(n, 500, WORDS) };
  const { step, byHand } = await compare(queries, {
    step: async (query) => void (await box.embed(query)),
    byHand: async (query) => void (await hand.embed(query)),
  });
  print({ bench: 'rag.embed', calls: SEARCHES, step, byHand });
}

// --- internal ---

const SEARCHES = Number(process.env.BENCH_RAG_SEARCHES ?? 200);
const WARM = 20;

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

/** @typedef {{ p50: number, p95: number }} Took */

/**
 * Each query by each way; whoever comes second finds what it reads in memory, so they take turns at that.
 * @template {string} W
 * @param {Pick<Kind, 'name' | 'queryOf' | 'isFewer'>} kind
 * @param {Record<W, (query: string) => Promise<string[] | void>>} ways
 * @returns {Promise<Record<W, Took>>}
 */
async function compare({ name, queryOf, isFewer }, ways) {
  const all = /** @type {[W, (query: string) => Promise<string[] | void>][]} */ (Object.entries(ways));
  const took = /** @type {Record<W, number[]>} */ (
    Object.fromEntries(all.map(([way]) => [way, /** @type {number[]} */ ([])]))
  );
  for (let n = -WARM; n < SEARCHES; n++) {
    const query = queryOf(n + WARM);
    const found = new Set();
    for (let turn = 0; turn < all.length; turn++) {
      const [way, search] = /** @type {typeof all[0]} */ (all[(n + WARM + turn) % all.length]);
      const before = performance.now();
      found.add(String(await search(query)));
      if (n >= 0) took[way].push(performance.now() - before);
    }
    if (!isFewer && found.size > 1) throw new Error(`"${query}" of ${name} found ${[...found].join(' and ')}.`);
  }
  return /** @type {Record<W, Took>} */ (
    Object.fromEntries(
      all.map(([way]) => [way, { p50: round(quantile(took[way], 0.5), 2), p95: round(quantile(took[way], 0.95), 2) }]),
    )
  );
}

/** @param {Took} one @param {Took} other @returns {Took} */
function divide(one, other) {
  return { p50: round(one.p50 / other.p50, 2), p95: round(one.p95 / other.p95, 2) };
}
