// @ts-check
import { createHash } from 'node:crypto';
import { openSqlite as openDatabase } from './_sqlite.mjs';
import { timed } from './_child.mjs';
import { connect } from './_engine-stores.mjs';

// What housekeeping deletes, deleted by the store alone, as fast as it can: batches of the same size, a commit each.

const RUNS_AT_ONCE = 200;
const KEYS_AT_ONCE = 500;

/** @param {number} count */
export function listKeys(count) {
  return Array.from({ length: count }, (_, n) => createHash('sha1').update(`${n}`).digest('hex'));
}

/**
 * Seconds that it takes to delete so many runs with so many records each, and so many keys.
 * @param {Exclude<import('./_engine-stores.mjs').Place, { type: 'pglite' }>} place  of an empty database
 * @param {{ runs: number, records: number, keys: number }} counts
 */
export async function deleteBare(place, counts) {
  const { run, fill, close } = await (place.type === 'sqlite' ? openSqlite(place) : openPostgres(place));
  try {
    await fill(counts);
    return {
      runs: await timed(async () => {
        for (let from = 0; from < counts.runs; from += RUNS_AT_ONCE)
          await run([
            [`delete from events where run_id >= ${from} and run_id < ${from + RUNS_AT_ONCE}`],
            [`delete from runs where id >= ${from} and id < ${from + RUNS_AT_ONCE}`],
          ]);
      }),
      keys: await timed(async () => {
        const oldest = `select key from keys order by created_at limit ${KEYS_AT_ONCE}`;
        for (let from = 0; from < counts.keys; from += KEYS_AT_ONCE)
          await run([[`delete from keys where key in (${oldest})`]]);
      }),
    };
  } finally {
    await close();
  }
}

// --- internal ---

const TABLES = `
  create table runs(id integer primary key, status text);
  create table events(run_id integer, seq integer, payload text, primary key (run_id, seq));
  create table keys(key text primary key, created_at integer);
  create index keys_by_time on keys (created_at);`;

/** @param {Extract<import('./_engine-stores.mjs').Place, { type: 'sqlite' }>} place */
async function openSqlite({ path }) {
  const db = openDatabase(path);
  db.exec(`pragma journal_mode = wal; pragma synchronous = full; ${TABLES}`);
  const all = (/** @type {string[][]} */ texts) =>
    db.transaction(() => texts.forEach(([text = '']) => db.prepare(text).run()))();
  return {
    run: all,
    fill(/** @type {{ runs: number, records: number, keys: number }} */ { runs, records, keys }) {
      const insertRun = db.prepare("insert into runs values (?, 'completed')");
      const insertEvent = db.prepare("insert into events values (?, ?, '1')");
      const insertKey = db.prepare('insert into keys values (?, ?)');
      db.transaction(() => {
        for (let id = 0; id < runs; id++) {
          insertRun.run(id);
          for (let seq = 0; seq < records; seq++) insertEvent.run(id, seq);
        }
        listKeys(keys).forEach((key, n) => insertKey.run(key, n));
      })();
    },
    close: () => db.close(),
  };
}

/** @param {Extract<import('./_engine-stores.mjs').Place, { type: 'postgres' }>} place */
async function openPostgres({ url, schema }) {
  const client = await connect(url);
  await client.query(`create schema ${schema}; set search_path to ${schema}; ${TABLES}`);
  return {
    run: (/** @type {string[][]} */ texts) => client.query(`begin; ${texts.join('; ')}; commit`),
    async fill(/** @type {{ runs: number, records: number, keys: number }} */ { runs, records, keys }) {
      await client.query("insert into runs select n, 'completed' from generate_series(0, $1::int4 - 1) n", [runs]);
      await client.query(
        "insert into events select n, s, '1' from generate_series(0, $1::int4 - 1) n, generate_series(1, $2::int4) s",
        [runs, records],
      );
      await client.query('insert into keys select k, n from unnest($1::text[]) with ordinality as k(k, n)', [
        listKeys(keys),
      ]);
      await client.query('analyze');
    },
    close: () => client.end(),
  };
}
