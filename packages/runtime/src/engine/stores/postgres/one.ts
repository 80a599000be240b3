import type { Append } from '../../journal/appends.ts';
import type { NewRun } from '../../journal/starts.ts';
import { CREATE_COLUMNS, maskOf, MOVE_COLUMNS, RECORD_TYPED, toCreateRow, toMoveRow } from './columns.ts';
import type { Column, ColumnType } from './columns.ts';
import { closeHooks, createRuns, insertRecords, moveRuns, signalParent } from './parts.ts';
import { lockKey } from './serial.ts';
import { NOW } from './sql.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import type { Query } from './sql.ts';
import { toStoredRecord } from '../sql/rows.ts';
import type { StoredValue } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import { endsIn } from '../sql/write.ts';

// What `commitQuery` does, for one run and as a statement with plain parameters: planning it takes the database a
// fraction of the time.

export function createQuery(tables: Tables, run: NewRun): Query {
  const { params, nameRow } = createParamList();
  const name = nameRow(CREATE_COLUMNS, toCreateRow(run));
  return { text: createRuns(tables, { from: `(select ${NOW} as now) as given`, name }), params, prepared: true };
}

/** What `entersQuery` does, for one run. */
export function enterQuery(tables: Tables, run: NewRun): Query {
  const { params, add, nameRow } = createParamList();
  const name = nameRow(CREATE_COLUMNS, toCreateRow(run));
  const key = add(toStoredText(run.serial?.key ?? ''), 'text');
  const isTaken = `select 1 from ${tables.runs} where serial_key = ${key} and status not in ${FINAL_STATUSES}`;
  const isAwaited = `select 1 from ${tables.queue} where serial_key = ${key}`;
  const from = `given where is_mine and not exists (${isTaken}) and not exists (${isAwaited})`;
  const text = `
    with given as materialized (
      select ${NOW} as now, ${lockKey(tables, key, 'pg_try_advisory_xact_lock')} as is_mine)
    ${createRuns(tables, { from, name, lock: key })}`;
  return { text, params, prepared: true };
}

/** Whether `appendQuery` takes the append. */
export function isSmall({ records, hooks }: Append): boolean {
  return records.length <= MAX_RECORDS && !hooks?.length;
}

export function appendQuery(tables: Tables, entry: Append): Query {
  const { params, add, nameRow } = createParamList();
  const { records, patch, continueAs } = entry;
  const name = nameRow(MOVE_COLUMNS, toMoveRow(entry));
  const parts = [`moved as (${moveRuns(tables, { bits: maskOf(patch), now: NOW, name })})`];
  // What a run that continues leaves goes to the next of its chain.
  if (endsIn(patch) && !continueAs)
    parts.push(`closed as (${closeHooks(tables)})`, `signalled as (${signalParent(tables)})`);
  const rows = records.map((record, index) => {
    const values = toStoredRecord(record, entry.seq + index);
    return values.map((value, column) => add(value, RECORD_TYPED[column]?.[1] ?? 'text')).join(', ');
  });
  const result =
    rows.length > 0
      ? `${insertRecords(tables, selectOfMoved(rows))} returning run_id as id, (select now from moved) as now`
      : 'select id, now from moved';
  return { text: `with ${parts.join(', ')} ${result}`, params, prepared: rows.length <= 1 };
}

// --- internal ---

const MAX_RECORDS = 16;

interface ParamList {
  params: unknown[];
  add(value: StoredValue, type: ColumnType): string;
  /** Names the values of a row by their columns. One that is not named is no parameter. */
  nameRow(columns: Column[], row: StoredValue[]): (column: string) => string;
}

function createParamList(): ParamList {
  const params: unknown[] = [];
  const add = (value: StoredValue, type: ColumnType): string => `$${params.push(value)}::${type}`;
  const nameRow: ParamList['nameRow'] = (columns, row) => {
    const names = new Map<string, string>();
    return (column) => {
      const known = names.get(column);
      if (known) return known;
      const index = columns.findIndex(([name]) => name === column);
      const name = add(row[index] ?? null, columns[index]?.[1] ?? 'text');
      names.set(column, name);
      return name;
    };
  };
  return { params, add, nameRow };
}

/** The rows, each behind the id of the run that moved; none when nothing moved. */
function selectOfMoved([row = '', ...more]: string[]): string {
  if (more.length === 0) return `select id, ${row} from moved`;
  return `select id, r.* from moved, (values (${[row, ...more].join('), (')})) as r`;
}
