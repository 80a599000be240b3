import { sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { RagFilter, RagHit } from '../engine/rag-calls.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { rowsOf, tableOf, typeOf } from './chunk-table.ts';
import type { ChunkTable } from './chunk-table.ts';

export interface ChunkSearch {
  query: string;
  /** Of the query. Undefined: the words alone are looked for. */
  vector: readonly number[] | undefined;
  /** Whether the words are looked for too. */
  byWords: boolean;
  topK: number;
  filter: RagFilter | undefined;
  /** Words that stand in many chunks, the most frequent first: they are not looked for beside one that does not. */
  common: readonly string[];
}

/**
 * Finds chunks by the nearness of their vectors and by the words of the query, in one statement. Each gives a ranking; a chunk
 * is worth 1 / (60 + rank) in each it is in, and the sum is shown as a part of what the first of all rankings would have.
 */
export async function searchChunks(db: Drizzle, table: ChunkTable, search: ChunkSearch): Promise<RagHit[]> {
  return (await rowsOf<HitRow>(db, toStatement(table, search))).map(toHit);
}

/** The statement, for measurements beside it. */
export function toStatement(table: ChunkTable, { query, vector, byWords, topK, filter, common }: ChunkSearch): SQL {
  const name = tableOf(table);
  const most = Math.max(topK * 4, CANDIDATES);
  const where = toConditions(filter);
  const rankings = Number(vector !== undefined) + Number(byWords);
  return sql`with ${vector ? toNear({ name, where, most }, sql`${toText(vector)}::${typeOf(table)}`) : NONE_NEAR},
    ${byWords ? toMatched({ name, where, most }, query, common) : NONE_MATCHED},
    fused as (
      select coalesce(near.id, matched.id) as id, near.rank as vector_rank, matched.rank as text_rank, near.distance,
        (coalesce(1.0 / (${RRF} + near.rank), 0) + coalesce(1.0 / (${RRF} + matched.rank), 0))::float8 as score
      from near full join matched on matched.id = near.id
      order by score desc, near.distance nulls last, id limit ${topK})
    select c.document_id as "documentId", c.title, c.chunk, c.text, c.metadata, c.headings, c.start_at as start,
      c.end_at as "end", c.line, c.page, vector_rank::int as "vectorRank", text_rank::int as "textRank",
      1 - nullif(distance, 'NaN')::float8 as similarity, score * ${RRF + 1} / ${rankings} as score
    from fused join ${name} c using (id)
    order by fused.score desc, fused.distance nulls last, id`;
}

// --- internal ---

interface Ranking {
  name: SQL;
  where: SQL;
  most: number;
}

const NONE_NEAR = sql`near as (select null::bigint as id, null::float8 as distance, null::bigint as rank where false)`;
const NONE_MATCHED = sql`matched as (select null::bigint as id, null::bigint as rank where false)`;

function toNear({ name, where, most }: Ranking, asked: SQL): SQL {
  return sql`settings as materialized (
      select set_config('hnsw.ef_search', ${String(Math.min(1_000, most))}, true),
        set_config('hnsw.iterative_scan', 'strict_order', true)),
    near as materialized (
      select id, distance, row_number() over (order by distance, id) as rank from (
        select id, embedding <=> ${asked} as distance from ${name}
        where (select count(*) from settings) > 0 and ${where}
        order by distance limit ${most}) as nearest)`;
}

function toMatched({ name, where, most }: Ranking, query: string, common: readonly string[]): SQL {
  return sql`lexemes as materialized (
      select lexeme, array_position(string_to_array(${common.join('\n')}, E'\n'), lexeme) as place
      from unnest(to_tsvector('simple', ${query})) limit ${MOST_WORDS}),
    asked as materialized (
      select string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery as words
      from lexemes
      where place is null
        or place = (select max(place) from lexemes having count(*) = count(place))),
    matched as materialized (
      select id, row_number() over (order by weight desc, id) as rank from (
        select id, ts_rank(words, (select words from asked), 1) as weight from ${name}
        where words @@ (select words from asked) and ${where}
        order by weight desc, id limit ${most}) as best)`;
}

/** What rankings are fused with, as those who found it chose it. */
const RRF = 60;
/** Of each ranking, at least. */
const CANDIDATES = 60;
/** Different words of a query that are looked for. */
const MOST_WORDS = 64;

interface HitRow extends Omit<RagHit, 'place' | 'rerankScore'> {
  headings: string[];
  start: number;
  end: number;
  line: number;
  page: number | null;
}

function toHit({ headings, start, end, line, page, score, similarity, ...hit }: HitRow): RagHit {
  const shown = { similarity: similarity === null ? null : Number(similarity), score: Number(score) };
  return { ...hit, ...shown, rerankScore: null, place: { headings, start, end, line, page } };
}

export function toText(vector: readonly number[]): string {
  return `[${vector.join()}]`;
}

/** Each by what the index over metadata is asked. A list has each of its values. */
function toConditions(filter: RagFilter = {}): SQL {
  const all = Object.entries(filter).map(([key, wanted]) => {
    const values = typeof wanted === 'object' ? wanted.in : [wanted];
    const ways = values.flatMap((value) => [{ [key]: value }, { [key]: [value] }]);
    return sql`(${sql.join(
      ways.map((way) => sql`metadata @> ${JSON.stringify(way)}::jsonb`),
      sql` or `,
    )})`;
  });
  return all.length === 0 ? sql`true` : sql.join(all, sql` and `);
}
