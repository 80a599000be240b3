import type { Append } from '../../journal/appends.ts';
import type { RunRow } from '../../journal/run.ts';
import { handOver, insertNext, toContinued, toNextRun } from '../sql/chain.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import { NOW } from './sql.ts';
import { toNumbered } from './statements.ts';
import type { Transaction } from './transaction.ts';

/** Children before parents, as an end locks first its run and then the parent. */
export async function lockChildren(tx: Transaction, { runs }: Tables, runId: string): Promise<void> {
  await tx.query(
    `select 1 from ${runs} where parent_run_id = $1 and status not in ${FINAL_STATUSES}
    order by run_id desc for update`,
    [toStoredText(runId)],
  );
}

/** Makes the next run of the chain of a run that has just ended. */
export async function continueRun(tx: Transaction, tables: Tables, entry: Append): Promise<RunRow> {
  const continued = toContinued(entry);
  for (const [text, params] of handOver(tables, continued)) await tx.query(toNumbered(text), params);
  const [row] = await tx.query<StoredRow & { now: number }>(
    `select ${RUN_SELECT}, ${NOW} as now from ${tables.runs} where run_id = $1`,
    [toStoredText(entry.runId)],
  );
  const { now, ...old } = row as StoredRow & { now: number };
  const next = toNextRun(toRunRow(old), continued, now);
  const [insert, values] = insertNext(tables, next, continued);
  await tx.query(toNumbered(insert), values);
  return next;
}
