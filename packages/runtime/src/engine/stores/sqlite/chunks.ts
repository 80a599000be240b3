import type { NewChunk } from '../../journal.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import type { SqliteDatabase } from './driver.ts';
import { toStoredText } from '../sql/text.ts';

/** The chunks of a run's streams. To be called in a transaction. */
export interface SqliteChunks {
  /** Answers the last number. */
  insert(runId: string, chunks: NewChunk[]): number;
  /** The same for a run the epoch holds. Undefined: fenced or final. */
  write(runId: string, epoch: number, chunks: NewChunk[]): number | undefined;
}

export function createSqliteChunks(db: SqliteDatabase): SqliteChunks {
  const held = db.prepare(`select 1 from runs where run_id = ? and epoch = ? and status not in ${FINAL_STATUSES}`);
  const last = db.prepare<{ n: number | null }>('select max(n) as n from stream_chunks where run_id = ?');
  const insertOne = db.prepare('insert into stream_chunks (run_id, n, namespace, payload) values (?, ?, ?, ?)');

  function insert(runId: string, chunks: NewChunk[]): number {
    const id = toStoredText(runId);
    let n = last.get(id)?.n ?? 0;
    for (const { namespace, payload } of chunks) insertOne.run(id, ++n, toStoredText(namespace), toStoredText(payload));
    return n;
  }

  return {
    insert,
    write: (runId, epoch, chunks) => (held.get(toStoredText(runId), epoch) ? insert(runId, chunks) : undefined),
  };
}
