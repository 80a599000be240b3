// @ts-check
/** A box as it is deployed, of this checkout or of another one: one agent, one workflow, and callers with an API key. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readConfig, serve } from './_child.mjs';

/** @typedef {{ root: string, provider: string, place: import('./_engine-stores.mjs').Place }} BoxConfig */
const { root, provider, place } = /** @type {BoxConfig} */ (readConfig());
/** @param {string} path */
const load = (path) => import(pathToFileURL(join(root, 'packages/runtime', path)).href);
const host = await load('dist/host.mjs');
const { defineDeepAgent } = await load('dist/index.mjs');
const require = createRequire(join(root, 'packages/runtime/package.json'));
const { H3 } = await import(pathToFileURL(require.resolve('h3')).href);

const TOKEN = 'the-token-of-the-operator';
const agent = defineDeepAgent({ name: 'helper', model: 'm', instructions: 'Help.' });
const workflows = [
  { name: 'echo', file: 'w.ts', exportName: 'run', steps: [], hasInputSchema: false, hasOutputSchema: false },
];
const manifest = { version: 1, agents: [{ name: 'helper', file: 'a.ts' }], workflows };
const MODULES = { 'a.ts': { default: agent }, 'w.ts': { run: async (/** @type {unknown} */ input) => input } };

const isServer = place.type === 'postgres';
const database = host.openDatabase(
  isServer ? host.openPg(place.url) : host.openPglite({ dataDir: `${/** @type {any} */ (place).path}.pg` }),
);
await database.ready;
const journal = await (isServer
  ? host.openPostgresJournal({ sql: database.client, schema: place.schema })
  : host.openSqliteJournal({ path: /** @type {any} */ (place).path }));
const box = await host.createBox({
  host: 'image',
  strategy: host.operatorToken(TOKEN),
  slug: 'bench',
  log: host.createLog({ level: 'silent', write() {} }),
  journal,
  exclusive: !isServer,
  db: database.db,
  provider: {
    environment: { baseUrl: provider, apiKey: 'none' },
    store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
    egress: { allowLoopback: true, allowed: [] },
  },
  defaultModel: () => undefined,
  loadProgram: async () => ({
    manifest,
    load: async (/** @type {keyof typeof MODULES} */ file) => ({ exports: MODULES[file], hash: 'h' }),
  }),
  probes: {},
  services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
});
await box.gate.check();

const operator = { authorization: `Bearer ${TOKEN}` };
/** @param {object} more @returns {Promise<{ authorization: string } | undefined>} a build that knows no such key has none */
async function makeKey(more) {
  const body = JSON.stringify({ name: 'bench', grants: { agents: 'all', workflows: 'all' }, ...more });
  const headers = { ...operator, 'content-type': 'application/json' };
  const answer = await box.request('/api/keys', { method: 'POST', headers, body });
  const { value } = /** @type {any} */ (await answer.json());
  return value && { authorization: `Bearer ${value}` };
}
const LIMITS = { requestsPerMinute: 1_000_000, concurrentTurns: 1_000, tokensPerDay: 1e12, tokensPerMonth: 1e12 };
const key = await makeKey({});
const callers = { operator, key, limited: (await makeKey({ limits: LIMITS })) ?? key };

const PATHS = { operator: '/api/discovery', key: '/api/workflows/echo/schema', limited: '/api/workflows/echo/schema' };
const bare = new H3();
for (const [path, headers] of [
  [PATHS.operator, operator],
  [PATHS.key, callers.key],
]) {
  const text = await (await box.request(path, { headers })).text();
  bare.get(path, () => new Response(text, { headers: { 'content-type': 'application/json' } }));
}

serve({
  open: async () => (await host.listen(box.app, { port: 0, host: '127.0.0.1' })).url,
  callers: () => callers,
  /** Microseconds of the processor per request, without a socket, that it takes more than a bare route with the same answer. */
  async door({ of, count }) {
    const headers = callers[/** @type {'key'} */ (of)] ?? {};
    const path = PATHS[/** @type {'key'} */ (of)];
    const micros = [];
    for (const app of [bare, box.app]) {
      const started = cpu();
      for (let n = 0; n < count; n++) await (await app.request(path, { headers })).text();
      micros.push((cpu() - started) / count);
    }
    return /** @type {number} */ (micros[1]) - /** @type {number} */ (micros[0]);
  },
  cpu,
});

/** Microseconds of the processor so far. */
function cpu() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
