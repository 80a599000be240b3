import type { Chunk, ChunkList, ChunkStore } from '../../journal/chunks.ts';
import { STREAM_END } from '../../values/stream-ref.ts';
import { decodeText } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

/** The reading half; each adapter writes in its own way. */
export function createChunkReader({ tables, query }: Statements): Pick<ChunkStore, 'read' | 'list' | 'findFrame'> {
  const text = `
    select n, namespace, payload from ${tables.chunks}
    where run_id = ? and namespace = ? and n > ? order by n limit ?`;
  const ofStream = `from ${tables.chunks} where run_id = ? and namespace = ?`;
  return {
    async read(runId, namespace, { after, limit }) {
      const rows = await query(text, [toStoredText(runId), toStoredText(namespace), after, limit]);
      return rows.map((row) => decodeText(row) as unknown as Chunk);
    },
    async list(runId, most) {
      const rows = await query(
        `select namespace as "namespace", max(n) as "last", sum(case when payload = '${STREAM_END}' then 0 else 1 end) as "count",
          max(case when payload = '${STREAM_END}' then 1 else 0 end) as "ends"
        from (select n, namespace, payload from ${tables.chunks} where run_id = ? order by n desc limit ?) as newest
        group by namespace order by min(n) limit ${MOST_STREAMS}`,
        [toStoredText(runId), most],
      );
      return rows.map((row): ChunkList => {
        const { namespace, last, count, ends } = decodeText(row);
        return { namespace: namespace as string, last: Number(last), count: Number(count), isClosed: Number(ends) > 0 };
      });
    },
    async findFrame(runId, namespace, index) {
      if (index === 0) return { after: 0, skip: 0 };
      const stream = [toStoredText(runId), toStoredText(namespace)];
      const [order, offset] = index > 0 ? ['asc', index] : ['desc', -index - 1];
      const [frame] = await query(
        `select n ${ofStream} and payload <> '${STREAM_END}' order by n ${order} limit 1 offset ?`,
        [...stream, offset],
      );
      if (frame) return { after: Number(frame.n) - 1, skip: 0 };
      if (index < 0) return { after: 0, skip: 0 };
      const [all] = await query(
        `select count(*) as "count", coalesce(max(n), 0) as "last" ${ofStream} and payload <> '${STREAM_END}'`,
        stream,
      );
      return { after: Number(all?.last), skip: index - Number(all?.count) };
    },
  };
}

// --- internal ---

const MOST_STREAMS = 1_000;
