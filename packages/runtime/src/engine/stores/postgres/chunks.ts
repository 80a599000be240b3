import type { SqlClient } from '../../../stores/sql.ts';
import type { NewChunk } from '../../journal/chunks.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

/** Answers the last number. Undefined: fenced or final. */
export async function writeChunks(
  sql: SqlClient,
  { runs, chunks }: Tables,
  held: { runId: string; epoch: number },
  given: NewChunk[],
): Promise<number | undefined> {
  // The run's own count and not the highest number there is: a statement that waits for the run's row would not see
  // what was written meanwhile.
  const [row] = await sql.query<{ last: number }>(
    `with held as (
      update ${runs} set chunk_count = chunk_count + $3::int4
      where run_id = $1::text and epoch = $2::int4 and status not in ${FINAL_STATUSES}
      returning run_id, chunk_count as last),
    written as (
      insert into ${chunks} (run_id, n, namespace, payload)
      select run_id, last - back, namespace, payload
      from held, unnest($4::int4[], $5::text[], $6::text[]) as given (back, namespace, payload))
    select last from held`,
    [
      toStoredText(held.runId),
      held.epoch,
      given.length,
      given.map((_, index) => given.length - 1 - index),
      given.map((chunk) => toStoredText(chunk.namespace)),
      given.map((chunk) => toStoredText(chunk.payload)),
    ],
  );
  return row?.last;
}
