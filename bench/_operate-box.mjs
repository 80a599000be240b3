// @ts-check
/**
 * A box on Postgres with one short workflow, and beside it a bare h3 app that answers what the box answers to one of
 * its operations.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import {
  createBox,
  createLog,
  listen,
  openDatabase,
  openPg,
  openPostgresJournal,
  operatorToken,
} from '../packages/runtime/dist/host.mjs';
import { readConfig, serve } from './_child.mjs';

/** @typedef {{ place: Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>, token: string }} BoxConfig */
const { place, token } = /** @type {BoxConfig} */ (readConfig());
const require = createRequire(new URL('../packages/runtime/package.json', import.meta.url));
const { H3 } = await import(pathToFileURL(require.resolve('h3')).href);

const workflows = [
  { name: 'echo', file: 'w.ts', exportName: 'run', steps: [], hasInputSchema: false, hasOutputSchema: false },
];
const manifest = { version: 1, agents: [], workflows };
const exports = { run: async (/** @type {unknown} */ input) => input };

const database = openDatabase(openPg(place.url));
const journal = await openPostgresJournal({ sql: database.client, schema: place.schema });
const box = await createBox({
  host: 'image',
  strategy: operatorToken(token),
  slug: 'bench',
  log: createLog({ level: 'silent', write() {} }),
  journal,
  exclusive: false,
  db: database.db,
  provider: {
    environment: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'none' },
    store: /** @type {any} */ ({ read: async () => undefined, write: async () => {}, remove: async () => {} }),
    egress: { allowLoopback: true, allowed: [] },
  },
  defaultModel: () => undefined,
  loadProgram: async () => /** @type {any} */ ({ manifest, load: async () => ({ exports, hash: 'h' }) }),
  probes: {},
  services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
});
await box.gate.check();
const headers = { authorization: `Bearer ${token}` };
const text = await (await box.request('/api/discovery', { headers })).text();
const bare = new H3().get(
  '/api/discovery',
  () => new Response(text, { headers: { 'content-type': 'application/json' } }),
);

serve({
  open: async () => (await listen(box.app, { port: 0, host: '127.0.0.1' })).url,
  /** Microseconds per request, without a socket. */
  async door({ of, count }) {
    const app = of === 'bare' ? bare : box.app;
    const path = of === 'refused' ? '/api/keys?limit=0' : '/api/discovery';
    const started = performance.now();
    for (let n = 0; n < count; n++) await (await app.request(path, { headers })).text();
    return ((performance.now() - started) * 1_000) / count;
  },
  /** As many runs that are over, over a month, of 100 workflows. */
  async fill({ count }) {
    const values = `
      lpad(to_hex($1::int8 + n * 2592), 12, '0'), 't', 'workflow', 'name-' || (n % 100), 'api',
      case when n % 50 = 0 then 'failed' else 'completed' end, 3, 1, 0, '1[{}]', 0, 0, 0, 0, 0, $1::int8 + n * 2592, $1::int8 + n * 2592`;
    const columns = `run_id, trace_id, kind, name, trigger, status, seq, epoch, signals, input, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, total_tokens, created_at, ended_at`;
    const runs = `${place.schema}.runs`;
    // Ids as the box makes them: the time in front.
    const id = `substr(lpad(to_hex($1::int8 + n * 2592), 12, '0'), 1, 8) || '-' || substr(lpad(to_hex($1::int8 + n * 2592), 12, '0'), 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0')`;
    const first = Date.now() - 30 * 24 * 60 * 60 * 1_000;
    await database.client.query(
      `insert into ${runs} (${columns}) select ${values.replace(/lpad\(to_hex\(\$1::int8 \+ n \* 2592\), 12, '0'\)/, id)} from generate_series(1, $2::int8) as n`,
      [first, count],
    );
    await database.client.exec(`analyze ${runs}`);
    return first;
  },
  async plan({ where }) {
    const rows = /** @type {any[]} */ (
      await database.client.query(
        `explain (analyze, costs off, timing off, summary off) select * from ${place.schema}.runs where ${where} order by run_id desc limit 51`,
      )
    );
    return rows.map((row) => row['QUERY PLAN']);
  },
  rss: () => process.memoryUsage().rss / 1_048_576,
});
