// @ts-check
import { connect } from './_engine-stores.mjs';

/**
 * What one would write for one's own application.
 * @param {{ url: string, table: string, embeddings: string }} options
 */
export async function createHand({ url, table, embeddings }) {
  const client = await connect(url);
  await client.query('set hnsw.ef_search = 60');
  await client.query("set hnsw.iterative_scan = 'strict_order'");
  const embed = async (/** @type {string} */ query) => {
    const answer = await fetch(`${embeddings}/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'bench/words', input: [query] }),
    });
    return JSON.stringify(/** @type {any} */ (await answer.json()).data[0].embedding);
  };
  return {
    /** @param {string} query @param {Pick<import('./rag.mjs').Kind, 'mode' | 'filter'>} kind @returns {Promise<string[]>} */
    async search(query, { mode, filter }) {
      const vector = mode === 'text' ? null : await embed(query);
      const words = mode === 'vector' ? null : query.split(' ').join(' | ');
      const { rows } = await client.query(toSql(table, mode, filter !== undefined), [
        ...(mode === 'text' ? [] : [vector]),
        ...(mode === 'vector' ? [] : [words]),
        ...(filter ? [JSON.stringify(filter)] : []),
      ]);
      return rows.map((/** @type {{ document_id: string }} */ row) => row.document_id);
    },
    embed,
    close: () => client.end(),
  };
}

// --- internal ---

/** @param {string} table @param {import('./rag.mjs').Kind['mode']} mode @param {boolean} hasFilter */
function toSql(table, mode, hasFilter) {
  let used = 0;
  const vector = mode === 'text' ? undefined : `$${(used += 1)}::vector`;
  const words = mode === 'vector' ? undefined : `$${(used += 1)}::tsquery`;
  const where = hasFilter ? `metadata @> $${(used += 1)}::jsonb` : 'true';
  const near = vector
    ? `select id, distance, row_number() over (order by distance, id) as rank from (
        select id, embedding <=> ${vector} as distance from ${table} where ${where} order by embedding <=> ${vector} limit 60) n`
    : 'select null::bigint as id, null::float8 as distance, null::bigint as rank where false';
  const matched = words
    ? `select id, row_number() over (order by weight desc, id) as rank from (
        select id, ts_rank(words, ${words}, 1) as weight from ${table} where words @@ ${words} and ${where}
        order by weight desc, id limit 60) m`
    : 'select null::bigint as id, null::bigint as rank where false';
  return `with near as materialized (${near}), matched as materialized (${matched}),
    fused as (
      select coalesce(near.id, matched.id) as id, distance,
        coalesce(1.0 / (60 + near.rank), 0) + coalesce(1.0 / (60 + matched.rank), 0) as score
      from near full join matched on matched.id = near.id order by score desc, distance nulls last, id limit 5)
    select c.document_id, c.title, c.chunk, c.text, c.metadata, c.headings, c.start_at, c.end_at, c.line, c.page,
      distance, score from fused join ${table} c using (id) order by score desc, distance nulls last, id`;
}
