// @ts-check
/** A box with one agent, as it is deployed (Postgres) or in dev (SQLite, and PGlite). */
import { readFileSync } from 'node:fs';
import {
  createBox,
  createLog,
  listen,
  openDatabase,
  openPg,
  openPglite,
  openServerJournal,
  openSqliteJournal,
} from '../packages/runtime/dist/host.mjs';
import { defineDeepAgent, defineTool } from '../packages/runtime/dist/index.mjs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { readConfig, serve } from './_child.mjs';

/** @typedef {{ provider: string, place: import('./_engine-stores.mjs').Place }} BoxConfig */
const { provider, place } = /** @type {BoxConfig} */ (readConfig());
const require = createRequire(new URL('../packages/runtime/package.json', import.meta.url));
const { z } = await import(pathToFileURL(require.resolve('zod')).href);

// As the server is sent them: of a transaction its begin and its commit, too.
let statements = 0;
/** @type {{ Client: { prototype: { query: Function } } }} */
const { Client } = require(/** @type {string} */ ('pg'));
const { query } = Client.prototype;
Client.prototype.query = function (/** @type {any[]} */ ...given) {
  statements += 1;
  return query.apply(this, given);
};

const look = defineTool({
  description: 'Looks at something.',
  inputSchema: z.object({ at: z.string() }),
  execute: () => 'seen',
});
const agent = defineDeepAgent({ name: 'helper', model: 'm', instructions: 'Help.', tools: { look } });
const manifest = { version: 1, agents: [{ name: 'helper', file: 'a.ts' }], workflows: [] };

// Beside SQLite the relational store of dev.
const database = openDatabase(
  place.type === 'postgres' ? openPg(place.url) : openPglite({ dataDir: `${/** @type {any} */ (place).path}.pg` }),
);
await database.ready;
const journal = await (place.type === 'postgres'
  ? openServerJournal(place.url, { schema: place.schema })
  : openSqliteJournal({ path: /** @type {any} */ (place).path }));
const box = await createBox({
  host: 'dev',
  slug: 'bench',
  log: createLog({ level: 'silent', write() {} }),
  journal,
  exclusive: place.type !== 'postgres',
  db: database.db,
  provider: {
    environment: { baseUrl: provider, apiKey: 'none' },
    store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
    egress: { allowLoopback: true, allowed: [] },
  },
  defaultModel: () => undefined,
  loadProgram: async () =>
    /** @type {any} */ ({ manifest, load: async () => ({ exports: { default: agent }, hash: 'h' }) }),
  probes: {},
  services: () => ({ database: { url: null }, storage: null, agent: { url: '' } }),
});
await box.gate.check();

serve({
  open: async () => (await listen(box.app, { port: 0, host: '127.0.0.1' })).url,
  /** Microseconds of the processor so far. */
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  /** Sent to PostgreSQL so far. */
  statements: () => statements,
  rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024,
});
