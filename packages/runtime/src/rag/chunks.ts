import { sql } from 'drizzle-orm';
import { invalidCursor } from '../errors.ts';
import { parseIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { rowsOf, tableOf } from './chunk-table.ts';
import type { Chunk, Place } from './schemas.ts';
import type { IndexRow } from './store.ts';

type ChunksPage = { documentId: string; cursor: string | undefined; limit: number };

/** Chunks of a document that answer, in their order. */
export async function readChunks(
  db: Drizzle,
  index: Pick<IndexRow, 'id'>,
  { documentId, cursor, limit }: ChunksPage,
): Promise<Chunk[]> {
  const after = cursor === undefined ? -1 : Number(parseIdCursor(cursor));
  if (cursor !== undefined && !(Number.isSafeInteger(after) && after >= 0 && after < 2 ** 31))
    throw invalidCursor(cursor);
  const rows = await rowsOf<{ chunk: number; text: string } & Place>(
    db,
    sql`select chunk, text, headings, start_at as start, end_at as "end", line, page from ${tableOf({ indexId: index.id })}
      where document_id = ${documentId} and chunk > ${after} order by chunk limit ${limit}`,
  );
  return rows.map(({ chunk, text, ...place }) => ({ chunk, text, place }));
}
