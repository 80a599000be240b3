import type { Append, NewRun } from '../../journal.ts';
import { CREATE_KEYS, ENDS, EVENT_COLUMNS, PATCH_COLUMNS, RECORD_TYPED, RELEASES } from './columns.ts';
import { columnNames, endsIn, maskOf } from './columns.ts';
import type { ColumnType } from './columns.ts';
import { CREATE_INTO, createdValues, IS_OPEN_OF_RUN, NOW, signalSets } from './sql.ts';
import type { Query } from './sql.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { toStored, toStoredRecord } from '../sql/rows.ts';
import type { StoredValue } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

// What `commitQuery` does, for one run and as a statement with plain parameters: planning it takes the database a
// fraction of the time.

export function createQuery({ runs }: Tables, run: NewRun): Query {
  const { params, add } = createParamList();
  const given = CREATE_KEYS.map((key) => add(toStored(run[key]), 'text'));
  const owner = add(toStored(run.claim?.owner), 'text');
  const leaseMs = add(run.claim?.leaseMs ?? null, 'int8');
  const text = `
    insert into ${runs} (${CREATE_INTO})
    select ${given.join(', ')}, ${createdValues(owner, leaseMs)} from (select ${NOW} as now) as given
    on conflict do nothing returning run_id as id, created_at as now`;
  return { text, params, prepared: true };
}

/** Whether `appendQuery` takes the append. */
export function isSmall({ records, hooks }: Append): boolean {
  return records.length <= MAX_RECORDS && !hooks?.length;
}

export function appendQuery(tables: Tables, entry: Append): Query {
  const { params, add } = createParamList();
  const { records, patch } = entry;
  const parts = [`moved as (${moveOne(tables, entry, add)})`];
  if (endsIn(patch)) parts.push(...endParts(tables));
  const rows = records.map((record, index) =>
    toStoredRecord(record, entry.seq + index)
      .map((value, column) => add(value, RECORD_TYPED[column]?.[1] ?? 'text'))
      .join(', '),
  );
  const result =
    rows.length > 0
      ? `insert into ${tables.events} (${columnNames(EVENT_COLUMNS)}) ${fromMoved(rows)}
        returning run_id as id, (select now from moved) as now`
      : 'select id, now from moved';
  return { text: `with ${parts.join(', ')} ${result}`, params, prepared: rows.length <= 1 };
}

// --- internal ---

const MAX_RECORDS = 16;

type Add = (value: StoredValue, type: ColumnType) => string;

function createParamList(): { params: unknown[]; add: Add } {
  const params: unknown[] = [];
  return { params, add: (value, type) => `$${params.push(value)}::${type}` };
}

function moveOne({ runs }: Tables, entry: Append, add: Add): string {
  const { epoch, seq, records, patch, signals } = entry;
  const runId = add(toStoredText(entry.runId), 'text');
  const sets = PATCH_COLUMNS.flatMap(([key, column, type]) => {
    if (patch[key] === undefined) return [];
    const value = add(toStored(patch[key]), type);
    if (key !== 'wakeAt' || signals === undefined) return [`${column} = ${value}`];
    return [`${column} = case when signals > ${add(signals, 'int4')} then ${NOW} else ${value} end`];
  });
  const mask = maskOf(patch);
  if (mask & RELEASES) sets.push('owner = null', 'lease_until = null');
  if (mask & ENDS) sets.push(`ended_at = ${NOW}`);
  sets.push(`seq = ${add(seq + records.length, 'int4')}`);
  return `
    update ${runs} set ${sets.join(', ')}
    where run_id = ${runId} and seq = ${add(seq, 'int4')} and epoch = ${add(epoch, 'int4')}
      and status not in ${FINAL_STATUSES}
    returning run_id as id, ${mask & ENDS ? 'ended_at' : NOW} as now, parent_run_id as parent`;
}

function endParts({ runs, hooks }: Tables): string[] {
  return [
    `signalled as (
      update ${runs} set ${signalSets('', '1', '(select now from moved)')}
      where run_id = (select parent from moved) and status not in ${FINAL_STATUSES})`,
    `closed as (update ${hooks} set is_open = 0 where run_id = (select id from moved) and ${IS_OPEN_OF_RUN})`,
  ];
}

/** The rows, each behind the id of the run that moved; none when nothing moved. */
function fromMoved([row = '', ...more]: string[]): string {
  if (more.length === 0) return `select id, ${row} from moved`;
  return `select id, r.* from moved, (values (${[row, ...more].join('), (')})) as r`;
}
