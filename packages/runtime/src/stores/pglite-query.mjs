// @ts-check
// Beside the worker, and plain JavaScript as it is.
import { protocol } from '@electric-sql/pglite';

/**
 * @typedef {import('@electric-sql/pglite').PGlite} PGlite
 * @typedef {{ text: string, params: unknown[], rowMode: 'object' | 'array', prepared?: boolean | undefined }} Query
 * @typedef {{ name: string, uses: number }} Named
 * @typedef {{ types: number[], named?: Named | undefined }} Known what is known of a text: the types of its parameters
 *
 * @typedef {object} Queries
 * @property {(query: Query) => Promise<unknown[]>} run
 * @property {() => Promise<void>} forget Tables, types or settings may have changed: nothing that is known of a text holds.
 */

/**
 * Statements of one embedded database. `PGlite.query` sends a statement in six messages, each a call of its own into the database,
 * and has each planned. Here the types of the parameters are asked for once for each text, and everything is one message; a text
 * that is said to come again and again stays prepared. By that a statement takes half of the time, and one that stays prepared a
 * tenth.
 * @param {PGlite} pg
 * @param {Record<number, (text: string) => unknown>} parsers of values, before those of PGlite
 * @returns {Queries}
 */
export function createQueries(pg, parsers) {
  const all = { ...pg.parsers, ...parsers };
  /** The texts that were used last, the latest at the end. @type {Map<string, Known>} */
  const known = new Map();
  let names = 0;

  const send = (/** @type {Uint8Array[]} */ parts) => pg.execProtocolStream(concat(parts), { syncToFs: false });
  const closeAll = (/** @type {Iterable<Known>} */ dropped) => {
    const closed = [...dropped].flatMap(({ named }) => (named ? [close({ type: 'S', name: named.name })] : []));
    return closed.length === 0 ? undefined : send([...closed, sync()]);
  };

  /** @param {Query} query */
  const learn = async ({ text, prepared }) => {
    const named = prepared ? { name: `svc_query_${++names}`, uses: 0 } : undefined;
    const name = named?.name ?? '';
    const messages = await send([parse({ text, name }), describe({ type: 'S', name }), sync()]);
    const types = /** @type {any} */ (messages.find((message) => message.name === 'parameterDescription'))?.dataTypeIDs;
    const entry = { types: types ?? [], named };
    if (text.length <= LONGEST) known.set(text, entry);
    const [oldest] = known;
    if (known.size > MOST && oldest) {
      known.delete(oldest[0]);
      await closeAll([oldest[1]]);
    }
    return entry;
  };

  /** @param {Query} query */
  const find = async (query) => {
    const found = known.get(query.text);
    if (!found) return { entry: await learn(query), isNew: true };
    known.delete(query.text);
    const isWorn = found.named && ++found.named.uses >= USES;
    // One that was not to stay prepared the first time, or has a plan for tables as they were.
    if (isWorn || (query.prepared && !found.named)) {
      await closeAll([found]);
      return { entry: await learn(query), isNew: true };
    }
    known.set(query.text, found);
    return { entry: found, isNew: false };
  };

  /** @param {Query} query */
  const runOnce = async (query) => {
    const { entry, isNew } = await find(query);
    const statement = entry.named?.name ?? '';
    const values = query.params.map((value, index) => toText(pg, entry.types[index], value));
    // The unnamed statement is the one that was parsed last.
    const parts = isNew || entry.named ? [] : [parse({ text: query.text, name: '' })];
    const messages = await send([...parts, bind({ statement, values }), describe({ type: 'P' }), execute({}), sync()]);
    if (!pg.isInTransaction()) await pg.syncToFs();
    return toRows(messages, query.rowMode, all);
  };

  const forget = async () => {
    const dropped = [...known.values()];
    known.clear();
    await closeAll(dropped);
  };

  return {
    async run(query) {
      if (!PLAIN.test(query.text)) {
        // Of what else a statement may change nothing is known.
        await forget();
        const { rows } = await pg.query(query.text, query.params, { rowMode: query.rowMode, parsers });
        return rows;
      }
      const wasInTransaction = pg.isInTransaction();
      try {
        return await runOnce(query);
      } catch (error) {
        // A transaction is lost with its first error. Outside of one a failed statement has done nothing.
        if (!STALE.has(/** @type {{ code?: string }} */ (error).code ?? '') || wasInTransaction) throw error;
        await forget();
        return runOnce(query);
      }
    },
    forget,
  };
}

// --- internal ---

const { parse, describe, bind, execute, sync, close } = protocol.serialize;

/** Texts that are known at once, and the most characters of one. */
const MOST = 300;
const LONGEST = 50_000;

/** A prepared statement is planned again after so many: nothing else tells this database that its tables have grown. */
const USES = 300;

/** What reads and writes rows, and changes nothing else. */
const PLAIN = /^\s*(?:select|insert|update|delete|with)\b/i;

/** A prepared statement is gone, or answers other columns than it did. */
const STALE = new Set(['26000', '0A000']);

/** @param {Uint8Array[]} parts */
function concat(parts) {
  return new Uint8Array(Buffer.concat(parts));
}

/**
 * As PGlite writes it.
 * @param {PGlite} pg
 * @param {number | undefined} type
 * @param {any} value
 */
function toText(pg, type, value) {
  if (value === null || value === undefined) return null;
  const serialize = pg.serializers[type ?? 0];
  return serialize ? serialize(value) : value.toString();
}

/**
 * @param {any[]} messages
 * @param {'object' | 'array'} rowMode
 * @param {Record<number | string, (text: string, type?: number) => unknown>} parsers
 */
function toRows(messages, rowMode, parsers) {
  /** @type {{ name: string, dataTypeID: number }[]} */
  let fields = [];
  const rows = [];
  for (const message of messages) {
    if (message.name === 'rowDescription') fields = message.fields;
    if (message.name !== 'dataRow') continue;
    const values = message.fields.map((/** @type {string | null} */ text, /** @type {number} */ index) => {
      const type = fields[index]?.dataTypeID ?? 0;
      const parser = text === null ? undefined : parsers[type];
      return parser ? parser(/** @type {string} */ (text), type) : text;
    });
    rows.push(
      rowMode === 'array' ? values : Object.fromEntries(fields.map(({ name }, index) => [name, values[index]])),
    );
  }
  return rows;
}
