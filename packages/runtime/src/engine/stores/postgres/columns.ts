import type { Append, RunPatch } from '../../journal/appends.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { PATCH_KEYS, RECORD_COLUMNS, RUN_COLUMNS, toStored, toStoredRecord } from '../sql/rows.ts';
import type { StoredValue } from '../sql/rows.ts';
import { toStoredText } from '../sql/text.ts';
import { endsIn } from '../sql/write.ts';

// What statements are given: rows, the meaning and the types of their columns, and lists of rows as one array per column.

export type ColumnType = 'text' | 'int4' | 'int8';
export type Column = readonly [name: string, type: ColumnType];

export const CREATE_KEYS = [
  'runId',
  'traceId',
  'kind',
  'name',
  'trigger',
  'codeHash',
  'sessionId',
  'parentRunId',
  'retryOf',
  'seed',
  'attributes',
  'startedBy',
  'input',
] as const satisfies readonly (keyof NewRun & keyof RunRow)[];

export const CREATE_COLUMNS: Column[] = [
  ...CREATE_KEYS.map((key): Column => [RUN_COLUMNS[key], 'text']),
  ['owner', 'text'],
  ['lease_ms', 'int8'],
];

export function toCreateRow(run: NewRun): StoredValue[] {
  return [...CREATE_KEYS.map((key) => toStored(run[key])), toStored(run.claim?.owner), run.claim?.leaseMs ?? null];
}

const INT8_KEYS: ReadonlySet<string> = new Set(['wakeAt', ...PATCH_KEYS.filter((key) => key.endsWith('Tokens'))]);

export const MOVE_COLUMNS: Column[] = [
  ['run_id', 'text'],
  ['epoch', 'int4'],
  ['seq', 'int4'],
  ['count', 'int4'],
  ['mask', 'int4'],
  ['signals', 'int4'],
  ...PATCH_KEYS.map((key): Column => [RUN_COLUMNS[key], INT8_KEYS.has(key) ? 'int8' : 'text']),
];

export function toMoveRow({ runId, epoch, seq, records, patch, signals }: Append): StoredValue[] {
  const counts = [epoch, seq, records.length, maskOf(patch), signals ?? null];
  return [toStoredText(runId), ...counts, ...PATCH_KEYS.map((key) => toStored(patch[key]))];
}

const RECORD_TYPES: Record<string, ColumnType> = {
  seq: 'int4',
  call: 'int4',
  attempt: 'int4',
  startedAt: 'int8',
  at: 'int8',
};

export const RECORD_TYPED = Object.entries(RECORD_COLUMNS).map(([key, column]): Column => [
  column,
  RECORD_TYPES[key] ?? 'text',
]);

export const EVENT_COLUMNS: Column[] = [['run_id', 'text'], ...RECORD_TYPED];

export function toRecordRows({ runId, seq, records }: Pick<Append, 'runId' | 'seq' | 'records'>): StoredValue[][] {
  const id = toStoredText(runId);
  return records.map((record, index) => [id, ...toStoredRecord(record, seq + index)]);
}

export const GIVEN_HOOKS: Column[] = [
  ['run_id', 'text'],
  ['token', 'text'],
  ['call', 'int4'],
  ['kind', 'text'],
  ['many', 'int4'],
  ['detail', 'text'],
  ['brief', 'text'],
  ['is_open', 'int4'],
  ['since', 'int4'],
];

export function toHookRows({ runId, hooks = [], patch, continueAs }: Append): StoredValue[][] {
  const isOpen = Number(!endsIn(patch) || continueAs !== undefined);
  // Named twice, the last word counts: a statement changes a row once.
  const last = new Map(hooks.map((hook) => [hook.token, hook]));
  return [...last.values()].map(({ token, call, kind, many, detail, brief, since }) => {
    const names = [toStoredText(runId), toStoredText(token)];
    return [...names, call, kind, Number(many), toStored(detail), toStored(brief), isOpen, since];
  });
}

// A bit for each column a patch names, in the order of `PATCH_KEYS`, and two for what follows from it.
export const RELEASES = 1 << PATCH_KEYS.length;
export const ENDS = RELEASES << 1;

export function maskOf(patch: RunPatch): number {
  let mask = 0;
  for (const [index, key] of PATCH_KEYS.entries()) if (patch[key] !== undefined) mask |= 1 << index;
  if (patch.release) mask |= RELEASES;
  if (endsIn(patch)) mask |= RELEASES | ENDS;
  return mask;
}

/**
 * The rows as a table, its parameters from the first `offset` on. A column that is null in every row is no parameter,
 * so columns no row uses cost nothing.
 */
export function toTable(columns: Column[], rows: StoredValue[][], offset: number): { text: string; params: unknown[] } {
  const params: StoredValue[][] = [];
  const arrays: string[] = [];
  const used: string[] = [];
  const selected = columns.map(([name, type], column) => {
    const values = rows.map((row) => row[column] as StoredValue);
    if (column > 0 && values.every((value) => value === null)) return `null::${type} as ${name}`;
    arrays.push(`$${offset + params.push(values)}::${type}[]`);
    used.push(name);
    return name;
  });
  const text = `(
    select ${selected.join(', ')} from unnest(${arrays.join(', ')}) as u (${used.join(', ')})) as given_rows`;
  return { text, params };
}

export function columnNames(columns: Column[]): string {
  return columns.map(([name]) => name).join(', ');
}
