import { FINAL_STATUSES, forgetKeysQuery } from '../sql/queries.ts';
import type { SqliteDatabase } from './driver.ts';
import { namesOfTables, tablesOfRun } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

/** To be called in a transaction. Answers whether the run was final and is gone. */
export function prepareDelete(db: SqliteDatabase): (runId: string) => boolean {
  const run = db.prepare<{ trigger: string | null }>(
    `delete from runs where run_id = ? and status in ${FINAL_STATUSES} returning trigger_id as trigger`,
  );
  const rest = tablesOfRun(namesOfTables()).map((table) => db.prepare(`delete from ${table} where run_id = ?`));
  const keys = db.prepare(forgetKeysQuery(namesOfTables(), 'in (?, ?)'));
  return (runId) => {
    const id = toStoredText(runId);
    const deleted = run.get(id);
    if (!deleted) return false;
    for (const statement of rest) statement.run(id);
    keys.run(id, deleted.trigger, id, deleted.trigger);
    return true;
  };
}
