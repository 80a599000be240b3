import type { Chunk, ChunkStore } from '../../journal/chunks.ts';
import { decodeText } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

/** The reading half; each adapter writes in its own way. */
export function createChunkReader({ tables, query }: Statements): Pick<ChunkStore, 'read'> {
  const text = `
    select n, namespace, payload from ${tables.chunks}
    where run_id = ? and namespace = ? and n > ? order by n limit ?`;
  return {
    async read(runId, namespace, { after, limit }) {
      const rows = await query(text, [toStoredText(runId), toStoredText(namespace), after, limit]);
      return rows.map((row) => decodeText(row) as unknown as Chunk);
    },
  };
}
