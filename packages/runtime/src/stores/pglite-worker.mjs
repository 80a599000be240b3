// @ts-check
// Plain JavaScript, so that Node 20 can start it as a worker from the sources as well as from the build.
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { createQueries } from './pglite-query.mjs';
import { unpackTemplate } from './pglite-template.mjs';

/**
 * @typedef {{ dataDir: string, template: string | undefined }} WorkerData
 * @typedef {{ id: number } & ({ op: 'query' } & import('./pglite-query.mjs').Query
 *   | { op: 'exec', text: string } | { op: 'wire', bytes: Uint8Array, most: number | undefined } | { op: 'close' })} Call
 */

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

// Half the memory of the defaults (128 MB of buffers, 100 connections), and no slower on a development database.
const MEMORY = ['shared_buffers=16MB', 'max_connections=5', 'wal_buffers=256kB'];
const WIRE_CHUNK = 64 * 1024;

/** @param {string} text */
const asText = (text) => text;
/** @param {string} text */
const asInt8 = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);

// Parsers cannot cross the thread boundary, so they are fixed here: date and time types, their arrays and numeric[]
// stay text, as drizzle's columns expect. They are no option of `create`: PGlite overwrites parsers of array types at start.
const PARSERS = {
  20: asInt8,
  ...Object.fromEntries([1082, 1114, 1184, 1186, 1115, 1182, 1185, 1187, 1231].map((oid) => [oid, asText])),
};

const opened = open(/** @type {WorkerData} */ (workerData));
// One message after the other: a transaction on the other side relies on the order of arrival.
let tail = opened.then(
  () => port.postMessage({ opened: true }),
  (error) => port.postMessage({ failed: toPlainError(error) }),
);
port.on('message', (/** @type {Call} */ call) => {
  tail = tail.then(() => answer(call));
});

// --- internal ---

/** @param {WorkerData} data */
async function open({ dataDir, template }) {
  if (template) unpackTemplate(template, dataDir);
  const startParams = [...PGlite.defaultStartParams, ...MEMORY.flatMap((setting) => ['-c', setting])];
  const pg = await PGlite.create({ dataDir, extensions: { vector }, startParams });
  return { pg, queries: createQueries(pg, PARSERS) };
}

/** @param {Call} call */
async function answer(call) {
  try {
    const database = await opened;
    port.postMessage({ id: call.id, value: await run(database, call) });
    if (call.op === 'close') port.close();
  } catch (error) {
    // The database ended its own process or hit a trap: nothing it holds in memory is to be trusted. The folder is
    // sound, and the other side opens it again.
    if (!(error instanceof Error) || error.name === 'RuntimeError') process.exit(1);
    port.postMessage({ id: call.id, error: toPlainError(error) });
  }
}

/** Changes nothing that is known of statements, as the end of a transaction that has changed tables, and is undone, does. */
const PASSING = /^(?:begin|commit)$/;

/**
 * @param {Awaited<ReturnType<typeof open>>} database
 * @param {Call} call
 */
async function run({ pg, queries }, call) {
  if (call.op === 'query') return queries.run(call);
  if (call.op === 'close') return pg.close();
  const isPassing = call.op === 'exec' && PASSING.test(call.text);
  try {
    return call.op === 'wire' ? await runWire(pg, call) : (await pg.exec(call.text)).at(-1)?.command;
  } finally {
    if (!isPassing) await queries.forget();
  }
}

/**
 * Runs messages of the Postgres wire protocol; the answer goes back in chunks, the transaction state at the end.
 * @param {PGlite} pg
 * @param {{ id: number, bytes: Uint8Array, most: number | undefined }} call
 */
async function runWire(pg, { id, bytes, most = Infinity }) {
  /** @type {Uint8Array[]} */
  let chunks = [];
  let size = 0;
  let total = 0;
  const flush = () => {
    const chunk = new Uint8Array(Buffer.concat(chunks));
    chunks = [];
    size = 0;
    if (chunk.length > 0) port.postMessage({ id, chunk }, [chunk.buffer]);
  };
  await pg.execProtocolRawStream(bytes, {
    onRawData: (view) => {
      const kept = view.subarray(0, Math.max(0, most - total));
      total += view.length;
      if (kept.length === 0) return;
      chunks.push(kept.slice()); // a view into the database's own memory
      size += kept.length;
      if (size >= WIRE_CHUNK) flush();
    },
  });
  flush();
  return { inTransaction: pg.isInTransaction(), isCut: total > most };
}

/**
 * Errors lose their own fields on the way through a port.
 * @param {unknown} error
 */
function toPlainError(error) {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, severity, detail, hint, position, where, schema, table, column, dataType, constraint, routine } =
    /** @type {Error & Record<string, string | undefined>} */ (error);
  const fields = {
    code,
    severity,
    detail,
    hint,
    position,
    where,
    schema,
    table,
    column,
    dataType,
    constraint,
    routine,
  };
  return { message: error.message, stack: error.stack, fields };
}
