import type { Append, NewRun, RunPatch, RunRow } from '../journal.ts';
import { isFinal } from '../journal.ts';
import { FINAL_STATUSES } from './queries.ts';
import { PATCH_KEYS, RECORD_COLUMNS, RUN_COLUMNS, toStored, toStoredRecord } from './rows.ts';
import type { StoredValue } from './rows.ts';
import { toStoredText } from './text.ts';

/** The tables' names, with their schema. */
export interface Tables {
  runs: string;
  events: string;
}

export interface Query {
  text: string;
  params: unknown[];
  /** The text is one of few. A prepared statement over arrays would soon get a plan that is good for no batch. */
  prepared: boolean;
}

/** The store's clock, in milliseconds. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::int8';

/**
 * One statement that creates and appends, or does one of both. Its rows are the runs it wrote to: `id`, `now`.
 * Each run may occur once.
 */
export function commitQuery(tables: Tables, runs: NewRun[], entries: Append[]): Query {
  const creates = runs.length > 0;
  const appends = entries.length > 0;
  const parts = [`given as (select ${NOW} as now)`];
  const results: string[] = [];
  if (creates) {
    parts.push(...createParts(tables));
    results.push('select run_id as id, (select now from given) as now from created');
  }
  if (appends) {
    parts.push(...appendParts(tables, creates ? CREATE_COLUMNS.length : 0));
    results.push('select run_id as id, (select now from given) as now from moved');
  }
  const text = `with ${parts.join(', ')} ${results.join(' union all ')}`;
  return {
    text,
    params: [...(creates ? createParams(runs) : []), ...(appends ? appendParams(entries) : [])],
    prepared: false,
  };
}

/** The same for one run, as a statement with plain parameters: planning it takes the database a fraction of the time. */
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

/** As `createQuery`. */
export function appendQuery({ runs, events }: Tables, entry: Append): Query {
  const { params, add } = createParamList();
  const { epoch, seq, records, patch } = entry;
  const runId = add(toStoredText(entry.runId), 'text');
  const sets = PATCH_COLUMNS.flatMap(([key, column, type]) =>
    patch[key] === undefined ? [] : [`${column} = ${add(toStored(patch[key]), type)}`],
  );
  const mask = maskOf(patch);
  if (mask & RELEASES) sets.push('owner = null', 'lease_until = null');
  if (mask & ENDS) sets.push(`ended_at = ${NOW}`);
  sets.push(`seq = ${add(seq + records.length, 'int4')}`);
  const moved = `
    update ${runs} set ${sets.join(', ')}
    where run_id = ${runId} and seq = ${add(seq, 'int4')} and epoch = ${add(epoch, 'int4')}
      and status not in ${FINAL_STATUSES}
    returning run_id as id, ${mask & ENDS ? 'ended_at' : NOW} as now`;
  if (records.length === 0) return { text: moved, params, prepared: true };
  const [row = '', ...more] = records.map((record, index) =>
    toStoredRecord(record, seq + index)
      .map((value, column) => add(value, RECORD_TYPED[column]?.[1] ?? 'text'))
      .join(', '),
  );
  const rows =
    more.length === 0
      ? `select id, ${row} from moved`
      : `select id, r.* from moved, (values (${[row, ...more].join('), (')})) as r`;
  const text = `
    with moved as (${moved})
    insert into ${events} (${columnNames(EVENT_COLUMNS)}) ${rows}
    returning run_id as id, (select now from moved) as now`;
  return { text, params, prepared: more.length === 0 };
}

/** How the runs of refused appends stand. Parameters: run ids, first positions, numbers of records. */
export function standingQuery({ runs, events }: Tables): string {
  return `
    with wanted as (select * from unnest($1::text[], $2::int4[], $3::int4[]) as wanted (id, start, count))
    select run_id as "runId", status, epoch, seq, output, error, ${NOW} as now,
      (select json_agg(e.record_id order by e.seq) from ${events} e
        where e.run_id = wanted.id and e.seq >= start and e.seq < start + count) as "recordIds"
    from wanted join ${runs} on run_id = id`;
}

// --- internal ---

const CREATE_KEYS = [
  'runId',
  'traceId',
  'kind',
  'name',
  'trigger',
  'codeHash',
  'sessionId',
  'parentRunId',
  'retryOf',
  'input',
] as const satisfies readonly (keyof NewRun & keyof RunRow)[];

/** One parameter: the values of one column, a row each. Null: null in every row. */
type ColumnParam = StoredValue[] | null;

type Column = readonly [name: string, type: 'text' | 'int4' | 'int8'];

const CREATE_COLUMNS: Column[] = [
  ...CREATE_KEYS.map((key): Column => [RUN_COLUMNS[key], 'text']),
  ['owner', 'text'],
  ['lease_ms', 'int8'],
];

/** The columns of a new run, in the order `createdValues` continues `CREATE_KEYS`. */
const CREATE_INTO = [
  ...CREATE_KEYS.map((key) => RUN_COLUMNS[key]),
  'owner, lease_until, status, seq, epoch, created_at, started_at',
  'input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens',
].join(', ');

const INT8_KEYS: ReadonlySet<string> = new Set(['wakeAt', ...PATCH_KEYS.filter((key) => key.endsWith('Tokens'))]);

const PATCH_COLUMNS = PATCH_KEYS.map((key) => [key, RUN_COLUMNS[key], INT8_KEYS.has(key) ? 'int8' : 'text'] as const);

const MOVE_COLUMNS: Column[] = [
  ['run_id', 'text'],
  ['epoch', 'int4'],
  ['seq', 'int4'],
  ['count', 'int4'],
  ['mask', 'int4'],
  ...PATCH_COLUMNS.map(([, column, type]): Column => [column, type]),
];

const RECORD_TYPES: Record<string, Column[1]> = {
  seq: 'int4',
  call: 'int4',
  attempt: 'int4',
  startedAt: 'int8',
  at: 'int8',
};

const RECORD_TYPED = Object.entries(RECORD_COLUMNS).map(([key, column]): Column => [
  column,
  RECORD_TYPES[key] ?? 'text',
]);

const EVENT_COLUMNS: Column[] = [['run_id', 'text'], ...RECORD_TYPED];

// A bit for each column a patch names, in the order of `PATCH_KEYS`, and two for what follows from it.
const RELEASES = 1 << PATCH_KEYS.length;
const ENDS = RELEASES << 1;

function maskOf(patch: RunPatch): number {
  let mask = 0;
  for (const [index, key] of PATCH_KEYS.entries()) if (patch[key] !== undefined) mask |= 1 << index;
  if (patch.release) mask |= RELEASES;
  if (patch.status !== undefined && isFinal(patch.status)) mask |= RELEASES | ENDS;
  return mask;
}

function createParams(runs: NewRun[]): ColumnParam[] {
  return toColumns(
    runs.map((run) => [
      ...CREATE_KEYS.map((key) => toStored(run[key])),
      toStored(run.claim?.owner),
      run.claim?.leaseMs ?? null,
    ]),
    CREATE_COLUMNS.length,
  );
}

function appendParams(entries: Append[]): ColumnParam[] {
  const moves = entries.map((entry) => [
    toStoredText(entry.runId),
    entry.epoch,
    entry.seq,
    entry.records.length,
    maskOf(entry.patch),
    ...PATCH_KEYS.map((key) => toStored(entry.patch[key])),
  ]);
  const records = entries.flatMap((entry) => {
    const runId = toStoredText(entry.runId);
    return entry.records.map((record, index) => [runId, ...toStoredRecord(record, entry.seq + index)]);
  });
  return [...toColumns(moves, MOVE_COLUMNS.length), ...toColumns(records, EVENT_COLUMNS.length)];
}

/** `unnest` fills a column that is null as a whole with nulls, so columns no row uses cost nothing. */
function toColumns(rows: StoredValue[][], width: number): ColumnParam[] {
  return Array.from({ length: width }, (_, column) => {
    const values = rows.map((row) => row[column] as StoredValue);
    return values.some((value) => value !== null) ? values : null;
  });
}

function unnest(columns: Column[], offset: number): string {
  const arrays = columns.map(([, type], index) => `$${offset + index + 1}::${type}[]`);
  return `unnest(${arrays.join(', ')}) as given_rows (${columnNames(columns)})`;
}

function columnNames(columns: Column[]): string {
  return columns.map(([name]) => name).join(', ');
}

function createParamList(): { params: unknown[]; add(value: StoredValue, type: Column[1]): string } {
  const params: unknown[] = [];
  return { params, add: (value, type) => `$${params.push(value)}::${type}` };
}

function createParts({ runs }: Tables): string[] {
  return [
    `created as (
      insert into ${runs} (${CREATE_INTO})
      select ${CREATE_KEYS.map((key) => RUN_COLUMNS[key]).join(', ')}, ${createdValues('owner', 'lease_ms')}
      from given, ${unnest(CREATE_COLUMNS, 0)}
      on conflict do nothing returning run_id)`,
  ];
}

/** What `createdRun` says, in SQL. */
function createdValues(owner: string, leaseMs: string): string {
  const free = `${owner} is null`;
  return `
    ${owner}, now + ${leaseMs}, case when ${free} then 'queued' else 'running' end, 0,
    case when ${free} then 0 else 1 end, now, case when ${free} then null else now end, 0, 0, 0, 0, 0`;
}

/** A column of `runs r` that changes where the mask of `moves` has the bit. */
function when(bit: number, value: string, column: string): string {
  return `${column} = case when moves.mask & ${bit} <> 0 then ${value} else r.${column} end`;
}

function appendParts({ runs, events }: Tables, offset: number): string[] {
  const patches = PATCH_COLUMNS.map(([, column], index) => when(1 << index, `moves.${column}`, column));
  const columns = columnNames(EVENT_COLUMNS);
  return [
    `moves as (select * from ${unnest(MOVE_COLUMNS, offset)})`,
    `moved as (
      update ${runs} r set seq = r.seq + moves.count, ${patches.join(', ')},
        ${when(RELEASES, 'null', 'owner')}, ${when(RELEASES, 'null', 'lease_until')},
        ${when(ENDS, '(select now from given)', 'ended_at')}
      from moves
      where r.run_id = moves.run_id and r.seq = moves.seq and r.epoch = moves.epoch and r.status not in ${FINAL_STATUSES}
      returning r.run_id)`,
    `written as (
      insert into ${events} (${columns})
      select ${columns} from ${unnest(EVENT_COLUMNS, offset + MOVE_COLUMNS.length)}
      where run_id in (select run_id from moved))`,
  ];
}
