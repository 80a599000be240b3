import type { SqlClient } from '../../../stores/sql.ts';
import type { NewChunk } from '../../journal/chunks.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

export interface ChunkWrite {
  runId: string;
  epoch: number | null;
  chunks: NewChunk[];
}

/**
 * Writes the frames of several runs, each of which occurs once, in one commit. Answers the last number of each; undefined:
 * fenced or final.
 */
export function createChunkWriter(
  sql: SqlClient,
  tables: Tables,
): (writes: ChunkWrite[]) => Promise<(number | undefined | Error)[]> {
  const many = chunksQuery(tables, true);
  const one = chunksQuery(tables, false);
  const write = async (text: string, writes: ChunkWrite[]): Promise<Map<string, number>> => {
    const rows = await sql.query<{ id: string; last: number }>(text, toParams(writes));
    return new Map(rows.map(({ id, last }) => [id, last]));
  };
  return async (writes) => {
    const last = writes.length > 1 ? await write(many, writes) : new Map<string, number>();
    // What is left is fenced, or locked by a commit: to wait for that while holding others could be half of a deadlock.
    const answers = writes.map(async (given): Promise<number | undefined> => {
      const id = toStoredText(given.runId);
      return last.get(id) ?? (await write(one, [given])).get(id);
    });
    return (await Promise.allSettled(answers)).map((each) =>
      each.status === 'fulfilled' ? each.value : (each.reason as Error),
    );
  };
}

// --- internal ---

/** The number is the run's own count and not the highest there is: a statement that waits for the run's row would not see what was written meanwhile. */
function chunksQuery({ runs, chunks }: Tables, skipsLocked: boolean): string {
  return `
    with given as (select * from unnest($1::text[], $2::int4[], $3::int4[]) as given (id, epoch, count)),
    free as (
      select r.run_id from ${runs} r, given where r.run_id = given.id and r.epoch = coalesce(given.epoch, r.epoch)
        and r.status not in ${FINAL_STATUSES} for update of r ${skipsLocked ? 'skip locked' : ''}),
    held as (
      update ${runs} r set chunk_count = chunk_count + given.count from given
      where r.run_id = given.id and r.run_id in (select run_id from free)
        and r.epoch = coalesce(given.epoch, r.epoch) and r.status not in ${FINAL_STATUSES}
      returning r.run_id, r.chunk_count as last),
    written as (
      insert into ${chunks} (run_id, n, namespace, payload)
      select held.run_id, last - back, namespace, payload
      from held, unnest($4::text[], $5::int4[], $6::text[], $7::text[]) as frame (of, back, namespace, payload)
      where frame.of = held.run_id)
    select run_id as id, last from held`;
}

function toParams(writes: ChunkWrite[]): unknown[] {
  const frames = writes.flatMap(({ runId, chunks }) =>
    chunks.map((chunk, index) => ({ ...chunk, id: toStoredText(runId), back: chunks.length - 1 - index })),
  );
  return [
    writes.map(({ runId }) => toStoredText(runId)),
    writes.map(({ epoch }) => epoch),
    writes.map(({ chunks }) => chunks.length),
    frames.map(({ id }) => id),
    frames.map(({ back }) => back),
    frames.map(({ namespace }) => toStoredText(namespace)),
    frames.map(({ payload }) => toStoredText(payload)),
  ];
}
