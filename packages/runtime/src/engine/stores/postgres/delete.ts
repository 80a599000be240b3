import type { SqlClient } from '../../../stores/sql.ts';
import { FINAL_STATUSES, forgetKeysQuery } from '../sql/queries.ts';
import { tablesOfRun } from '../sql/tables.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';

export async function deleteFinalRuns(
  sql: SqlClient,
  tables: Tables,
  { runIds, skipsLocked = false }: { runIds: string[]; skipsLocked?: boolean },
): Promise<string[]> {
  const { runs } = tables;
  const lock = skipsLocked ? 'for update skip locked' : 'for update';
  // Arrays, which the planner finds in an index however many it takes them for.
  const gone = '(array(select id from final))';
  const rest = tablesOfRun(tables).map(
    (table, index) => `rest${index} as (delete from ${table} where run_id = any${gone})`,
  );
  const rows = await sql.query<{ id: string }>(
    `with final as materialized (
      select run_id as id, trigger_id from ${runs}
      where run_id = any($1::text[]) and status in ${FINAL_STATUSES} ${lock}),
    ${rest.join(', ')},
    freed as (${forgetKeysQuery(tables, STARTS)})
    delete from ${runs} where run_id = any${gone} returning run_id as id`,
    [runIds.map(toStoredText)],
  );
  return rows.map(({ id }) => fromStoredText(id));
}

// --- internal ---

const STARTS = `= any(array(
  select id from final union all select trigger_id from final where trigger_id is not null))`;
