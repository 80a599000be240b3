import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow } from '../../journal/run.ts';
import { RECORD_COLUMNS, RUN_COLUMNS, RUN_SELECT, toRunRow, toStored, toStoredRecord } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { insertInto } from '../sql/statements.ts';
import type { SqliteDatabase } from './driver.ts';
import { toStoredText } from '../sql/text.ts';

/** Rows of runs and their records. To be called in a transaction. */
export interface SqliteRuns {
  find(runId: string): RunRow | undefined;
  /** False: there is a run of this id. */
  insert(run: RunRow): boolean;
  /** The records take the positions from `seq` on. */
  insertRecords(runId: string, seq: number, records: JournalRecord[]): void;
}

export function createSqliteRuns(db: SqliteDatabase): SqliteRuns {
  const keys = Object.keys(RUN_COLUMNS) as (keyof RunRow)[];
  const insertRun = db.prepare(`${insertInto('runs', Object.values(RUN_COLUMNS))} on conflict (run_id) do nothing`);
  const insertRecord = db.prepare(insertInto('run_events', ['run_id', ...Object.values(RECORD_COLUMNS)]));
  const select = db.prepare<StoredRow>(`select ${RUN_SELECT} from runs where run_id = ?`);
  return {
    find(runId) {
      const row = select.get(toStoredText(runId));
      return row && toRunRow(row);
    },
    insert: (run) => Number(insertRun.run(...keys.map((key) => toStored(run[key]))).changes) === 1,
    insertRecords(runId, seq, records) {
      const id = toStoredText(runId);
      for (const [index, record] of records.entries()) insertRecord.run(id, ...toStoredRecord(record, seq + index));
    },
  };
}
