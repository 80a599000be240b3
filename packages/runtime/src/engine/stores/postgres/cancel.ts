import type { SqlClient } from '../../../stores/sql.ts';
import type { CancelResult } from '../../journal/ends.ts';
import type { RunRow, RunStatus } from '../../journal/run.ts';
import { isFinal } from '../../journal/run.ts';
import { isLockTimeout } from './errors.ts';
import { lockKey, promote } from './serial.ts';
import { IS_OPEN_OF_RUN, NOW, signalSets } from './sql.ts';
import { transact } from './transaction.ts';
import type { Transaction } from './transaction.ts';
import { FINAL_STATUSES, treeQuery } from '../sql/queries.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import type { Cancel } from '../sql/write.ts';

/**
 * Cancels in one transaction. It locks run after run, and a commit of many runs may meanwhile hold what it needs and need
 * what it holds. The database would detect that deadlock after a second, and abort either; so the cancel gives up its
 * locks early, and begins again.
 */
export async function cancelTree(sql: SqlClient, tables: Tables, cancel: Cancel): Promise<CancelResult | undefined> {
  for (const waitMs of LOCK_WAITS_MS) {
    try {
      return await transact(sql, async (tx) => {
        await tx.query(`set local lock_timeout = ${waitMs}`);
        return cancelInTransaction(tx, tables, cancel);
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }
  return transact(sql, (tx) => cancelInTransaction(tx, tables, cancel));
}

// --- internal ---

/** How long each try waits for a lock; the one after them waits as long as it takes. */
const LOCK_WAITS_MS = [25, 50, 50, 100, 100, 200, 200, 400];

async function cancelInTransaction(
  tx: Transaction,
  tables: Tables,
  { runId, error, newRunId }: Cancel,
): Promise<CancelResult | undefined> {
  const { runs, hooks, queue } = tables;
  const root = toStoredText(runId);
  const tree = (await tx.query<{ id: string }>(treeQuery(runs, '$1'), [root])).map((row) => row.id);
  await lockKeys(tx, tables, tree);
  const statuses = await lockRuns(tx, tables, tree);
  const status = statuses.get(root);
  if (status === undefined) return undefined;
  if (isFinal(status)) return { outcome: 'final', status };
  // Before any lock is passed on: a start below a cancelled run must not get one.
  await tx.query(`delete from ${queue} where parent_run_id = any($1::text[])`, [tree]);
  const ended = await tx.query<{ id: string; serial: string | null }>(
    `update ${runs} set status = 'cancelled', error = $2, epoch = epoch + 1, owner = null, lease_until = null,
      ended_at = ${NOW}
    where run_id = any($1::text[]) and status not in ${FINAL_STATUSES} returning run_id as id, serial_key as serial`,
    [tree, toStoredText(error)],
  );
  await tx.query(
    `with closed as (update ${hooks} set is_open = 0 where run_id = any($1::text[]) and ${IS_OPEN_OF_RUN})
    update ${runs} set ${signalSets('', '1', NOW)}
    where run_id = (select parent_run_id from ${runs} where run_id = $2) and status not in ${FINAL_STATUSES}`,
    [ended.map((row) => row.id), root],
  );
  const promoted: RunRow[] = [];
  for (const { serial } of ended) {
    const next = serial === null ? undefined : await promote(tx, tables, fromStoredText(serial), newRunId);
    if (next) promoted.push(next);
  }
  return { outcome: 'cancelled', cancelled: ended.map((row) => fromStoredText(row.id)), promoted };
}

/** In one order, as two cancels may meet. */
async function lockKeys(tx: Transaction, tables: Tables, tree: string[]): Promise<void> {
  const keys = `
    select distinct serial_key from ${tables.runs}
    where run_id = any($1::text[]) and serial_key is not null and status not in ${FINAL_STATUSES} order by serial_key`;
  await tx.query(`select ${lockKey(tables, 'serial_key')}::text from (${keys} offset 0) as keys`, [tree]);
}

/** Children before parents, as an end locks first its run and then the parent. */
async function lockRuns(tx: Transaction, { runs }: Tables, tree: string[]): Promise<Map<string, RunStatus>> {
  const rows = await tx.query<{ id: string; status: RunStatus }>(
    `select run_id as id, status from ${runs} where run_id = any($1::text[]) order by run_id desc for update`,
    [tree],
  );
  return new Map(rows.map((row) => [row.id, row.status]));
}
