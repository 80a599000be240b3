// @ts-check
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Where a database of a store is.
 * @typedef {{ type: 'sqlite', path: string, durability: string }
 *   | { type: 'pglite', dataDir: string }
 *   | { type: 'postgres', url: string, schema: string }} Place
 *
 * @typedef {object} Store
 * @property {string} name
 * @property {'synced' | 'process'} durability  what the workflows ask for
 * @property {(dir: string) => Promise<Opened>} open
 *
 * @typedef {object} Opened
 * @property {object} [settings]  what the figures are to be read with
 * @property {(name: string) => Place} place  of an empty database; one per name
 * @property {() => Promise<void>} close
 */

/**
 * The stores whose name has `only` in it.
 * @param {string} only
 * @returns {Store[]}
 */
export function listStores(only) {
  const names = STORES.map(({ name }) => name);
  const stores = STORES.filter(({ name }) => name.includes(only));
  if (stores.length === 0) throw new Error(`There is no store "${only}". There are: ${names.join(', ')}.`);
  return stores;
}

/**
 * Why the store cannot be measured here.
 * @param {Store} store
 */
export function findObstacle({ name }) {
  if (name === 'postgres' && !process.env.SVC_TEST_DATABASE_URL) return 'SVC_TEST_DATABASE_URL is not set';
  return undefined;
}

/**
 * Measures the stores in a folder that is removed afterwards. What cannot be measured here prints why.
 * @param {{ bench: string, stores: Store[], print: (line: object) => void }} what
 * @param {(root: string) => Promise<(store: Store) => Promise<void>> | ((store: Store) => Promise<void>)} begin
 */
export async function benchStores({ bench, stores, print }, begin) {
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), `svc-bench-${bench}-`));
  try {
    const measure = await begin(root);
    for (const store of stores) {
      const skipped = findObstacle(store);
      if (skipped) print({ bench, store: store.name, skipped });
      else await measure(store);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

// --- internal ---

/** @type {Store[]} */
const STORES = [
  openFiles('sqlite synced', 'synced', (dir, name) => {
    return { type: 'sqlite', path: join(dir, `${name}.db`), durability: 'synced' };
  }),
  openFiles('sqlite process', 'process', (dir, name) => {
    return { type: 'sqlite', path: join(dir, `${name}.db`), durability: 'process' };
  }),
  openFiles('pglite', 'process', (dir, name) => ({ type: 'pglite', dataDir: join(dir, name) })),
  { name: 'postgres', durability: 'synced', open: openServer },
];

/**
 * @param {string} name
 * @param {Store['durability']} durability
 * @param {(dir: string, name: string) => Place} place
 * @returns {Store}
 */
function openFiles(name, durability, place) {
  return { name, durability, open: async (dir) => ({ place: (each) => place(dir, each), close: async () => {} }) };
}

/**
 * One connection of the `pg` that the runtime has.
 * @param {string} url
 */
export async function connect(url) {
  const { Client } = createRequire(new URL('../packages/runtime/package.json', import.meta.url))('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/**
 * A database of its own on the server of `SVC_TEST_DATABASE_URL`, dropped at the end.
 * @returns {Promise<Opened>}
 */
export async function openServer() {
  const server = process.env.SVC_TEST_DATABASE_URL ?? '';
  const admin = await connect(server);
  const name = `svc_bench_${process.pid}_${Date.now()}`;
  await admin.query(`create database ${name}`);
  const show = async (/** @type {string} */ setting) => (await admin.query(`show ${setting}`)).rows[0][setting];
  return {
    settings: { fsync: await show('fsync'), synchronous_commit: await show('synchronous_commit') },
    place: (schema) => ({ type: 'postgres', url: new URL(`/${name}`, server).href, schema }),
    async close() {
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
