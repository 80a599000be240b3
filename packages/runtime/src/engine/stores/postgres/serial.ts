import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { recordsQuery } from './batch.ts';
import { NOW } from './sql.ts';
import { toNumbered } from './statements.ts';
import type { Transaction } from './transaction.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { holderQuery, QUEUE_COLUMNS, QUEUE_SELECT, toPromoted, toQueueValues } from '../sql/queue.ts';
import { RUN_COLUMNS, toRunRow, toStored } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { insertInto } from '../sql/statements.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

// The locks of serial runs and the starts that wait for them. A transaction that may give a lock to a start takes the
// key's advisory lock first, and holds it until its transaction ends: so the queue is in the order of its commits.

/** An expression that takes the advisory lock of a serial key until the transaction ends. */
export function lockKey({ queue }: Tables, key: string): string {
  return `pg_advisory_xact_lock(hashtextextended('${queue}:' || ${key}, 0))`;
}

export async function findHolder(tx: Transaction, tables: Tables, key: string): Promise<RunRow | undefined> {
  const [row] = await tx.query<StoredRow>(toNumbered(holderQuery(tables)), [toStoredText(key)]);
  return row && toRunRow(row);
}

/** The first queued start becomes a run, if the lock is free. The caller has locked the key. */
export async function promote(
  tx: Transaction,
  tables: Tables,
  key: string,
  newRunId: () => string,
): Promise<RunRow | undefined> {
  const { runs, queue } = tables;
  const [first] = await tx.query<StoredRow>(
    // A start that is being removed at this moment is passed over.
    `delete from ${queue} where queue_no = (
        select queue_no from ${queue} where serial_key = $1 order by queue_no limit 1 for update skip locked)
      and not exists (select 1 from ${runs} where serial_key = $1 and status not in ${FINAL_STATUSES})
    returning ${QUEUE_SELECT}, ${NOW} as now`,
    [toStoredText(key)],
  );
  if (!first) return undefined;
  const { now, ...queued } = first;
  const { run, records } = toPromoted(queued, newRunId(), Number(now));
  await insertRun(tx, tables, run, records);
  return run;
}

export async function enqueue(tx: Transaction, { queue }: Tables, run: NewRun, now: number): Promise<void> {
  await tx.query(toNumbered(insertInto(queue, Object.values(QUEUE_COLUMNS))), toQueueValues(run, now));
}

/** Inserts a run that does not exist, and its first records. */
export async function insertRun(
  tx: Transaction,
  tables: Tables,
  run: RunRow,
  records: JournalRecord[] = [],
): Promise<void> {
  const keys = Object.keys(RUN_COLUMNS) as (keyof RunRow)[];
  await tx.query(
    toNumbered(insertInto(tables.runs, Object.values(RUN_COLUMNS))),
    keys.map((key) => toStored(run[key])),
  );
  if (records.length === 0) return;
  const { text, params } = recordsQuery(tables, { runId: run.runId, seq: 0, records });
  await tx.query(text, params);
}
