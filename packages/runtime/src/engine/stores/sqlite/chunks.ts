import type { NewChunk } from '../../journal/chunks.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import type { SqliteDatabase } from './driver.ts';
import { toStoredText } from '../sql/text.ts';

/** Answers the last number. Undefined: fenced or final. To be called in a transaction. */
export function prepareChunks(
  db: SqliteDatabase,
): (runId: string, epoch: number | null, chunks: NewChunk[]) => number | undefined {
  const held = db.prepare(
    `select 1 from runs where run_id = ? and epoch = coalesce(?, epoch) and status not in ${FINAL_STATUSES}`,
  );
  const last = db.prepare<{ n: number | null }>('select max(n) as n from stream_chunks where run_id = ?');
  const insert = db.prepare('insert into stream_chunks (run_id, n, namespace, payload) values (?, ?, ?, ?)');
  return (runId, epoch, chunks) => {
    const id = toStoredText(runId);
    if (!held.get(id, epoch)) return undefined;
    let n = last.get(id)?.n ?? 0;
    for (const { namespace, payload } of chunks) insert.run(id, ++n, toStoredText(namespace), toStoredText(payload));
    return n;
  };
}
