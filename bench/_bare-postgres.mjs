// @ts-check
import { connect } from './_engine-stores.mjs';

/**
 * @typedef {import('./_floor.mjs').Bare} Bare
 * @typedef {import('./_floor.mjs').Write} Write
 * @typedef {(text: string, params?: unknown[], name?: string) => Promise<{ writes: number }[]>} Query  named: prepared
 */

/**
 * One connection to a server.
 * @param {{ url: string, schema: string }} place
 * @returns {Promise<Bare>}
 */
export async function openBarePostgres({ url, schema }) {
  const client = await connect(url);
  await client.query(`create schema ${schema}; set search_path to ${schema}`);
  return createBare(
    async (text, values, name) => (await client.query({ text, values, name })).rows,
    () => client.end(),
  );
}

/**
 * The client that dev has; it keeps nothing prepared.
 * @param {{ dataDir: string }} place
 * @returns {Promise<Bare>}
 */
export async function openBarePglite({ dataDir }) {
  const host = await import('../packages/runtime/dist/host.mjs');
  const client = host.openPglite({ dataDir });
  await client.ready;
  return createBare(
    (text, params) => client.query(text, params),
    () => client.close(),
  );
}

// --- internal ---

const TABLES = [
  'create table runs(id int8 primary key, seq int4, status text) with (fillfactor = 60)',
  'create table events(run_id int8, seq int4, call int4, payload text, primary key (run_id, seq))',
];

/** Each is one statement, and so one transaction. */
const ONE = {
  create: "insert into runs select $1::int8, $2::int4, 'running' where $3::text is not null returning 1 as writes",
  step: `with moved as (
      update runs set seq = $2::int4 + 1 where id = $1::int8 and seq = $2 and status = 'running' returning id)
    insert into events select id, $2, $2, $3::text from moved returning 1 as writes`,
  end: `update runs set status = 'completed'
    where id = $1::int8 and seq = $2::int4 and status = 'running' and $3::text is not null returning 1 as writes`,
};

// Never prepared by name: with arrays, the plan that fits every call is a bad one.
const MANY = `
  with created as (insert into runs select unnest($1::int8[]), 0, 'running' returning id),
  moves as (select * from unnest($2::int8[], $3::int4[], $4::text[]) as m(id, seq, payload)),
  moved as (update runs r set seq = m.seq + 1 from moves m
    where r.id = m.id and r.seq = m.seq and r.status = 'running' returning m.id, m.seq, m.payload),
  written as (insert into events select id, seq, seq, payload from moved returning 1),
  ended as (update runs r set status = 'completed' from unnest($5::int8[], $6::int4[]) as e(id, seq)
    where r.id = e.id and r.seq = e.seq and r.status = 'running' returning r.id)
  select ((select count(*) from created) + (select count(*) from written) + (select count(*) from ended))::int4 as writes`;

/**
 * @param {Query} query
 * @param {Bare['close']} close
 * @returns {Promise<Bare>}
 */
async function createBare(query, close) {
  for (const table of TABLES) await query(table);
  return {
    async commit(writes) {
      const [first] = writes;
      const [row] = await (writes.length === 1 && first ? writeOne(query, first) : query(MANY, toArrays(writes)));
      if (row?.writes !== writes.length)
        throw new Error(`Of ${writes.length} writes ${row?.writes ?? 0} hit something.`);
    },
    close,
  };
}

/**
 * @param {Query} query
 * @param {Write} write
 */
function writeOne(query, { type, id, seq, payload }) {
  return query(ONE[type], [id, seq, payload], type);
}

/** @param {Write[]} writes */
function toArrays(writes) {
  const of = (/** @type {Write['type']} */ wanted) => writes.filter(({ type }) => type === wanted);
  const [creates, steps, ends] = [of('create'), of('step'), of('end')];
  const ids = (/** @type {Write[]} */ list) => list.map(({ id }) => id);
  const seqs = (/** @type {Write[]} */ list) => list.map(({ seq }) => seq);
  return [ids(creates), ids(steps), seqs(steps), steps.map(({ payload }) => payload), ids(ends), seqs(ends)];
}
