import type { SqlClient } from '../../../stores/sql.ts';
import type { CancelResult } from '../../journal/ends.ts';
import type { RunRow } from '../../journal/run.ts';
import { isFinal } from '../../journal/run.ts';
import { planCancel, STANDING_SELECT } from '../sql/cancelling.ts';
import type { Standing } from '../sql/cancelling.ts';
import { isLockTimeout } from './errors.ts';
import { lockKey } from './serial.ts';
import type { PostgresSerial } from './serial.ts';
import { IS_OPEN_OF_RUN, NOW, signalSets } from './sql.ts';
import { retryClient, transact } from './transaction.ts';
import type { Transaction } from './transaction.ts';
import { FINAL_STATUSES, IS_ABANDONED, treeQuery } from '../sql/queries.ts';
import { decodeText } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import type { Cancel } from '../sql/write.ts';

/**
 * Cancels in one transaction. It locks run after run, and a commit of many runs may meanwhile hold what it needs and need
 * what it holds. The database would detect that deadlock after a second, and abort either; so the cancel gives up its
 * locks early, and begins again.
 */
export async function cancelTree(
  sql: SqlClient,
  parts: CancelParts,
  cancel: Cancel,
  rounds: number = LATE_ROUNDS,
): Promise<CancelResult | undefined> {
  const result = await cancelKnown(sql, parts, cancel);
  if (result?.outcome !== 'cancelled' || rounds === 0) return result;
  const { error, newRunId, how } = cancel;
  const below = { error, newRunId, ...(how?.graceOf ? { how: { graceOf: how.graceOf } } : {}) };
  // Nothing of what was seen before the commit says that there is no more; what comes after it finds its parent ended.
  // Where the database is lost here, the cancel has happened all the same.
  for (const runId of await findLate(sql, parts.tables, result.cancelled).catch(() => [])) {
    const late = await cancelTree(sql, parts, { ...below, runId }, rounds - 1).catch(() => undefined);
    if (late?.outcome !== 'cancelled') continue;
    result.cancelled.push(...late.cancelled);
    result.cleaning.push(...late.cleaning);
    result.promoted.push(...late.promoted);
  }
  return result;
}

// --- internal ---

/** A run that starts itself again and again is followed so far: each round catches up with it or does not, by chance. */
const LATE_ROUNDS = 100;

/** The runs that were started below those that are cancelled after the tree was read, and before the commit. */
async function findLate(sql: SqlClient, { runs }: Tables, cancelled: string[]): Promise<string[]> {
  if (cancelled.length === 0) return [];
  const late = await retryClient(sql).query<{ id: string }>(
    `select run_id as id from ${runs}
    where parent_run_id = any($1::text[]) and status not in ${FINAL_STATUSES} and cancel is null and not ${IS_ABANDONED}`,
    [cancelled.map(toStoredText)],
  );
  return late.map((row) => fromStoredText(row.id));
}

async function cancelKnown(sql: SqlClient, parts: CancelParts, cancel: Cancel): Promise<CancelResult | undefined> {
  for (const waitMs of LOCK_WAITS_MS) {
    try {
      return await transact(sql, async (tx) => {
        await tx.query(`set local lock_timeout = ${waitMs}`);
        return cancelInTransaction(tx, parts, cancel);
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }
  return transact(sql, (tx) => cancelInTransaction(tx, parts, cancel));
}

interface CancelParts {
  tables: Tables;
  serial: PostgresSerial;
}

/** How long each try waits for a lock; the one after them waits as long as it takes. */
const LOCK_WAITS_MS = [25, 50, 50, 100, 100, 200, 200, 400];

async function cancelInTransaction(
  tx: Transaction,
  { tables, serial: locks }: CancelParts,
  cancel: Cancel,
): Promise<CancelResult | undefined> {
  const { runs, hooks, queue } = tables;
  const { runId, newRunId } = cancel;
  const root = toStoredText(runId);
  const tree = (await tx.query<{ id: string }>(treeQuery(runs, '$1'), [root])).map((row) => row.id);
  await lockKeys(tx, tables, tree);
  const standings = await lockRuns(tx, tables, tree);
  const found = standings.find((run) => run.runId === runId);
  if (found === undefined) return undefined;
  if (isFinal(found.status)) return { outcome: 'final', status: found.status };
  const now = standings.at(-1)?.now ?? found.now;
  const { ending, cleaning, untouched } = planCancel(standings, cancel, now);
  const cleans = new Set(cleaning.map((run) => toStoredText(run.runId)));
  const over = tree.filter((id) => !untouched.has(fromStoredText(id)));
  if (cleaning.length > 0)
    await tx.query(
      `update ${runs} as r set cancel = g.cancel, deadline = g.deadline, paused_at = null, ${signalSets('r.', '1', NOW)}
      from unnest($1::text[], $2::text[], $3::int8[]) as g (id, cancel, deadline) where r.run_id = g.id`,
      [[...cleans], cleaning.map((run) => toStoredText(run.cancel)), cleaning.map((run) => run.deadline)],
    );
  // Before any lock is passed on: a start below a cancelled run must not get one.
  await tx.query(`delete from ${queue} where parent_run_id = any($1::text[]) and not ${IS_ABANDONED}`, [over]);
  const ended = await tx.query<{ id: string; serial: string | null }>(
    `update ${runs} as r set status = g.status, error = g.error, epoch = epoch + 1, owner = null, lease_until = null,
      ended_at = $4::int8
    from unnest($1::text[], $2::text[], $3::text[]) as g (id, status, error)
    where r.run_id = g.id and r.status not in ${FINAL_STATUSES} returning r.run_id as id, serial_key as serial`,
    [
      ending.map((run) => toStoredText(run.runId)),
      ending.map((run) => run.status),
      ending.map((run) => toStoredText(run.error)),
      now,
    ],
  );
  await tx.query(
    `with closed as (update ${hooks} set is_open = 0 where run_id = any($1::text[]) and ${IS_OPEN_OF_RUN})
    update ${runs} set ${signalSets('', '1', NOW)}
    where run_id = (select parent_run_id from ${runs} where run_id = $2) and status not in ${FINAL_STATUSES}`,
    [ended.map((row) => row.id), cleans.has(root) ? null : root],
  );
  const promoted: RunRow[] = [];
  for (const { serial } of ended) {
    const next = serial === null ? undefined : await locks.promote(tx, fromStoredText(serial), newRunId);
    if (next) promoted.push(next);
  }
  const cancelled = ended.map((row) => fromStoredText(row.id));
  return { outcome: 'cancelled', cancelled, cleaning: cleaning.map((run) => run.runId), promoted };
}

/** In one order, as two cancels may meet. */
async function lockKeys(tx: Transaction, tables: Tables, tree: string[]): Promise<void> {
  const keys = `
    select distinct serial_key from ${tables.runs}
    where run_id = any($1::text[]) and serial_key is not null and status not in ${FINAL_STATUSES} order by serial_key`;
  await tx.query(`select ${lockKey(tables, 'serial_key')}::text from (${keys} offset 0) as keys`, [tree]);
}

/** Children before parents, as an end locks first its run and then the parent. */
async function lockRuns(tx: Transaction, { runs }: Tables, tree: string[]): Promise<(Standing & { now: number })[]> {
  const rows = await tx.query<StoredRow>(
    // The time of the last row is read when all are locked.
    `with locked as (select ${STANDING_SELECT} from ${runs} where run_id = any($1::text[]) order by run_id desc for update)
    select *, ${NOW} as now from locked`,
    [tree],
  );
  return rows.map((row) => decodeText(row) as unknown as Standing & { now: number });
}
