import { sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { Cut } from './cutting/cut.ts';
import { sqlStateOf } from './errors.ts';
import type { Metadata } from './schemas.ts';

type Db = Pick<Drizzle, 'execute'>;

/** The chunks of an index, with their vectors, lie in a table of its own: the number of a vector's numbers is part of its type. */
export interface ChunkTable {
  indexId: string;
  dimension: number;
}

/** What has been cut of a document and is to answer for it. Its vectors are known. */
export interface NewChunk extends Cut {
  /** Of its vector. */
  key: string;
}

export interface ChunkOwner {
  documentId: string;
  title: string | null;
  metadata: Metadata;
}

/** Numbers of a vector. More than `vector` indexes are kept in half the bits. */
export const MOST_DIMENSIONS = 4_000;

export function nameOf(indexId: string): string {
  return `rag_chunks_${indexId.replaceAll('-', '')}`;
}

export function tableOf({ indexId }: Pick<ChunkTable, 'indexId'>): SQL {
  return sql`svc.${sql.identifier(nameOf(indexId))}`;
}

/** `vector(1536)`, or `halfvec(3072)` where it has more numbers than an index of `vector` takes. */
export function typeOf({ dimension }: Pick<ChunkTable, 'dimension'>): SQL {
  return sql.raw(`${kindOf(dimension)}(${Number(dimension)})`);
}

/** Makes the table with its indexes. Throws `vector_unavailable`. In a transaction. */
export async function makeChunkTable(tx: Db, table: ChunkTable): Promise<void> {
  await enableVector(tx);
  const name = tableOf(table);
  const base = nameOf(table.indexId);
  const indexOf = (what: string) => sql.identifier(`${base}_${what}`);
  await tx.execute(sql`create table ${name} (
    id bigint generated always as identity primary key,
    document_id text not null,
    chunk integer not null,
    title text,
    metadata jsonb not null,
    headings jsonb not null,
    start_at integer not null,
    end_at integer not null,
    line integer not null,
    page integer,
    text text not null,
    key text not null,
    words tsvector not null,
    embedding ${typeOf(table)} not null
  )`);
  const operators = sql.raw(`${kindOf(table.dimension)}_cosine_ops`);
  await tx.execute(sql`create index ${indexOf('near')} on ${name} using hnsw (embedding ${operators})`);
  await tx.execute(sql`create index ${indexOf('words')} on ${name} using gin (words)`);
  await tx.execute(sql`create index ${indexOf('metadata')} on ${name} using gin (metadata jsonb_path_ops)`);
  await tx.execute(sql`create index ${indexOf('document')} on ${name} (document_id, chunk)`);
  await tx.execute(sql`create index ${indexOf('key')} on ${name} (key)`);
}

export async function dropChunkTable(tx: Db, table: Pick<ChunkTable, 'indexId'>): Promise<void> {
  await tx.execute(sql`drop table if exists ${tableOf(table)}`);
}

/** Names of the tables whose index is no more. */
export async function listLeftTables(db: Db): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    // One statement sees a table and the row of its index, or neither: they are made together.
    sql`select relname as name from pg_class c
      where relnamespace = 'svc'::regnamespace and relkind = 'r' and relname ~ '^rag_chunks_[0-9a-f]{32}$'
        and not exists (
          select 1 from svc.rag_indexes i where 'rag_chunks_' || replace(i.id::text, '-', '') = c.relname)`,
  );
  return rows.map(({ name }) => name);
}

/** Drops such a table. False: someone reads it, for longer than others may be kept waiting. */
export async function dropUnused(db: Pick<Drizzle, 'transaction'>, name: string): Promise<boolean> {
  try {
    await db.transaction(async (tx) => {
      await tx.execute(sql`set local lock_timeout = ${sql.raw(String(WAIT_MS))}`);
      await tx.execute(sql`drop table if exists svc.${sql.identifier(name)}`);
    });
    return true;
  } catch (error) {
    if (sqlStateOf(error) === LOCK_TIMEOUT) return false;
    throw error;
  }
}

/** What answers for the document from now on, in place of what did. False: a vector is gone that was there. In a transaction. */
export async function replaceChunks(
  tx: Db,
  table: ChunkTable,
  owner: ChunkOwner,
  chunks: readonly NewChunk[],
): Promise<boolean> {
  await removeChunks(tx, table, owner.documentId);
  for (let from = 0; from < chunks.length; from += ROWS) {
    const rows = chunks.slice(from, from + ROWS).map(({ text, headings, start, end, line, page, key }, index) => {
      const place = { start_at: start, end_at: end, line, page };
      const head = [owner.title, ...headings].filter(Boolean).join(' ');
      return { chunk: from + index, headings, ...place, text, key, head };
    });
    const [written] = await rowsOf<{ count: number }>(
      tx,
      sql`with written as (
        insert into ${tableOf(table)}
          (document_id, chunk, title, metadata, headings, start_at, end_at, line, page, text, key, words, embedding)
        select ${owner.documentId}::text, c.chunk, ${owner.title}::text, ${JSON.stringify(owner.metadata)}::jsonb, c.headings,
          c.start_at, c.end_at, c.line, c.page, c.text, c.key,
          to_tsvector('simple', c.head || ' ' || c.text), v.embedding::${typeOf(table)}
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as c (
          chunk integer, headings jsonb, start_at integer, end_at integer, line integer, page integer,
          text text, key text, head text)
        join svc.rag_vectors v on v.key = c.key
        order by c.chunk
        returning 1)
      select count(*)::int as count from written`,
    );
    if (written?.count !== rows.length) return false;
  }
  return true;
}

export async function removeChunks(tx: Db, table: Pick<ChunkTable, 'indexId'>, documentId: string): Promise<void> {
  await tx.execute(sql`delete from ${tableOf(table)} where document_id = ${documentId}`);
}

/** Sees to the extension. Throws `vector_unavailable`. */
export async function enableVector(tx: Db): Promise<void> {
  try {
    await tx.execute(sql`create extension if not exists vector`);
  } catch (error) {
    const state = sqlStateOf(error);
    if (state === undefined || !REFUSALS.has(state)) throw error;
    throw vectorUnavailable(
      'create extension vector;',
      'it is not installed, or the role of the box may not create it',
      error,
    );
  }
  const [found] = await rowsOf<{ version: string }>(
    tx,
    sql`select extversion as version from pg_extension where extname = 'vector'`,
  );
  const [major = 0, minor = 0] = (found?.version ?? '').split('.').map(Number);
  if (major > OLDEST[0] || minor >= OLDEST[1]) return;
  throw vectorUnavailable('alter extension vector update;', `its version is ${found?.version}, and 0.8 is needed`);
}

export async function rowsOf<Row>(db: Db, statement: SQL): Promise<Row[]> {
  return (await db.execute(statement)) as unknown as Row[];
}

// --- internal ---

/** The most numbers an index of `vector` takes. */
const MOST_IN_VECTOR = 2_000;
/** Milliseconds that dropping a table waits, and others wait behind it. */
const WAIT_MS = 500;
const LOCK_TIMEOUT = '55P03';
/** Rows of one statement. */
const ROWS = 250;
/** Where searches with a filter go on until they have enough. */
const OLDEST = [0, 8] as const;

function kindOf(dimension: number): 'vector' | 'halfvec' {
  return dimension > MOST_IN_VECTOR ? 'halfvec' : 'vector';
}

/** No file of it, no such feature, no right to. */
const REFUSALS = new Set(['58P01', '0A000', '42501', '42704']);

function vectorUnavailable(run: string, reason: string, cause?: unknown): BoxError {
  return new BoxError(
    'vector_unavailable',
    `The extension "vector" is not available in this database: ${reason}. Install pgvector 0.8 or later on the server and run there, as an administrator: ${run}`,
    { details: { sql: run }, cause },
  );
}
