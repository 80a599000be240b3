import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow } from '../../journal/run.ts';
import { RECORD_COLUMNS, RUN_COLUMNS, RUN_SELECT, toRunRow, toStored, toStoredRecord } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { insertInto } from '../sql/statements.ts';
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './driver.ts';
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
  const insertRun = prepareInsert(db);
  const insertRecord = db.prepare(insertInto('run_events', ['run_id', ...Object.values(RECORD_COLUMNS)]));
  const select = db.prepare<StoredRow>(`select ${RUN_SELECT} from runs where run_id = ?`);
  return {
    find(runId) {
      const row = select.get(toStoredText(runId));
      return row && toRunRow(row);
    },
    insert: insertRun,
    insertRecords(runId, seq, records) {
      const id = toStoredText(runId);
      for (const [index, record] of records.entries()) insertRecord.run(id, ...toStoredRecord(record, seq + index));
    },
  };
}

// --- internal ---

const KEYS = Object.keys(RUN_COLUMNS) as (keyof RunRow)[];

interface Insert {
  statement: SqliteStatement;
  keys: (keyof RunRow)[];
}

/** A statement per set of columns that have a value: most rows have a third of them, and each parameter takes time to bind. */
function prepareInsert(db: SqliteDatabase): (run: RunRow) => boolean {
  const inserts = new Map<string, Insert>();
  let last: Insert | undefined;

  function prepareFor(run: RunRow): Insert {
    const keys = KEYS.filter((key) => run[key] !== null);
    const columns = keys.map((key) => RUN_COLUMNS[key]);
    const text = `${insertInto('runs', columns)} on conflict (run_id) do nothing`;
    const known = inserts.get(text) ?? { statement: db.prepare(text), keys };
    inserts.set(text, known);
    return known;
  }

  return (run) => {
    // Runs that start together are much alike.
    if (!last || !hasJust(run, last.keys)) last = prepareFor(run);
    const values: SqliteValue[] = [];
    for (const key of last.keys) values.push(toStored(run[key]));
    return Number(last.statement.run(...values).changes) === 1;
  };
}

/** Whether these are the keys that have a value, in the order of `KEYS`. */
function hasJust(run: RunRow, keys: (keyof RunRow)[]): boolean {
  let count = 0;
  for (const key of KEYS) if (run[key] !== null && keys[count++] !== key) return false;
  return count === keys.length;
}
