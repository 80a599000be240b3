import type { Append, AppendResult, Durability, NewRun, RunPatch, RunRow } from '../journal.ts';
import { isFinal } from '../journal.ts';
import { FINAL_STATUSES } from './queries.ts';
import {
  createdRun,
  PATCH_KEYS,
  RECORD_COLUMNS,
  RUN_COLUMNS,
  RUN_SELECT,
  toRunRow,
  toStored,
  toStoredRecord,
} from './rows.ts';
import type { StoredRow } from './rows.ts';
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-open.ts';
import { fromStoredText, toStoredText } from './text.ts';
import { judgeRefusal, toStanding } from './verdict.ts';
import type { Write, Written } from './write.ts';

export interface SqliteWriter {
  /** One transaction for all. */
  commit(writes: Write[]): Written[];
  /** Runs `work` in a transaction of its own that need not survive power loss. */
  transaction<T>(work: () => T): T;
}

export function createSqliteWriter(db: SqliteDatabase, clock: () => number): SqliteWriter {
  const create = prepareCreate(db);
  const append = prepareAppend(db);
  const transaction = prepareTransaction(db);
  return {
    commit: (writes) =>
      transaction(writes.some(isSynced) ? 'synced' : 'process', () => {
        const now = clock();
        return writes.map((write) => (write.type === 'create' ? create(write.run, now) : append(write.entry, now)));
      }),
    transaction: (work) => transaction('process', work),
  };
}

// --- internal ---

const SYNCHRONOUS = { synced: 'full', process: 'normal' } as const satisfies Record<Durability, string>;

function isSynced(write: Write): boolean {
  return (write.type === 'create' ? write.run : write.entry).durability === 'synced';
}

function prepareTransaction(db: SqliteDatabase): <T>(durability: Durability, work: () => T) => T {
  let current: Durability | undefined;
  return (durability, work) => {
    // Inside a transaction the pragma has no effect. A synced commit makes every commit before it durable too.
    if (durability !== current) db.exec(`pragma synchronous = ${SYNCHRONOUS[durability]}`);
    current = durability;
    return db.transaction(work);
  };
}

function prepareCreate(db: SqliteDatabase): (run: NewRun, now: number) => RunRow {
  const keys = Object.keys(RUN_COLUMNS) as (keyof RunRow)[];
  const columns = Object.values(RUN_COLUMNS);
  const insert = db.prepare(
    `insert into runs (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')}) on conflict do nothing`,
  );
  const select = db.prepare<StoredRow>(`select ${RUN_SELECT} from runs where run_id = ?`);
  return (run, now) => {
    const row = createdRun(run, now);
    if (insert.run(...keys.map((key) => toStored(row[key]))).changes) return row;
    return toRunRow(select.get(toStoredText(run.runId)) as StoredRow);
  };
}

function prepareAppend(db: SqliteDatabase): (entry: Append, now: number) => AppendResult {
  const advance = prepareAdvance(db);
  const judge = prepareJudge(db);
  const columns = ['run_id', ...Object.values(RECORD_COLUMNS)];
  const insert = db.prepare(
    `insert into run_events (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  );
  return (entry, now) => {
    const runId = toStoredText(entry.runId);
    if (!advance(runId, entry, now)) return judge(runId, entry, now);
    for (const [index, record] of entry.records.entries())
      insert.run(runId, ...toStoredRecord(record, entry.seq + index));
    return { outcome: 'appended', at: now };
  };
}

/** The conditional half of an append. A statement per set of patched columns: a column not named is an index not touched. */
function prepareAdvance(db: SqliteDatabase): (runId: string, entry: Append, now: number) => boolean {
  const statements = new Map<string, SqliteStatement>();
  return (runId, { epoch, seq, records, patch }, now) => {
    const { columns, values } = toAssignments(patch, now);
    const key = columns.join();
    let statement = statements.get(key);
    if (!statement) {
      const sets = ['seq', ...columns].map((column) => `${column} = ?`).join(', ');
      statement = db.prepare(
        `update runs set ${sets} where run_id = ? and seq = ? and epoch = ? and status not in ${FINAL_STATUSES}`,
      );
      statements.set(key, statement);
    }
    return Number(statement.run(seq + records.length, ...values, runId, seq, epoch).changes) === 1;
  };
}

function toAssignments(patch: RunPatch, now: number): { columns: string[]; values: SqliteValue[] } {
  const columns: string[] = [];
  const values: SqliteValue[] = [];
  const assign = (key: keyof RunRow, value: SqliteValue): void => {
    columns.push(RUN_COLUMNS[key]);
    values.push(value);
  };
  for (const key of PATCH_KEYS) if (patch[key] !== undefined) assign(key, toStored(patch[key]));
  const ends = patch.status !== undefined && isFinal(patch.status);
  if (ends) assign('endedAt', now);
  if (ends || patch.release) {
    assign('owner', null);
    assign('leaseUntil', null);
  }
  return { columns, values };
}

function prepareJudge(db: SqliteDatabase): (runId: string, entry: Append, now: number) => AppendResult {
  const selectRun = db.prepare<StoredRow>('select status, epoch, seq, output, error from runs where run_id = ?');
  const selectIds = db.prepare<{ record_id: string }>(
    'select record_id from run_events where run_id = ? and seq >= ? order by seq limit ?',
  );
  return (runId, entry, now) => {
    const run = selectRun.get(runId);
    const rows = selectIds.all(runId, entry.seq, entry.records.length);
    const recordIds = rows.map((row) => fromStoredText(row.record_id));
    return judgeRefusal(entry, run && toStanding(run, recordIds), now);
  };
}
