import type { SqlClient } from '../../../stores/sql.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { tablesOfRun } from '../sql/tables.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

export async function deleteFinalRun(sql: SqlClient, tables: Tables, runId: string): Promise<boolean> {
  const { runs, keys } = tables;
  const rest = tablesOfRun(tables).map(
    (table, index) => `rest${index} as (delete from ${table} where run_id in (select run_id from gone))`,
  );
  const rows = await sql.query(
    `with gone as (
      delete from ${runs} where run_id = $1 and status in ${FINAL_STATUSES} returning run_id, trigger_id),
    ${rest.join(', ')},
    freed as (delete from ${keys} where start_id in (select run_id from gone union select trigger_id from gone))
    select run_id from gone`,
    [toStoredText(runId)],
  );
  return rows.length > 0;
}
