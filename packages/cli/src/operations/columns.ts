import { formatAgo, formatDuration, formatWhen } from '../terminal/format.ts';
import type { Style } from '../terminal/style.ts';
import type { Column } from '../terminal/table.ts';
import type { OperationSpec } from './spec.ts';
import type { Schema } from '../payload/schema.ts';
import { listMembers } from './spec.ts';
import type { Row } from './row.ts';
import { isRecord } from '../is-record.ts';
import { createShortener } from './short-id.ts';

export interface ListOptions {
  named: readonly string[] | undefined;
  rows: readonly Row[];
  now: number;
  /** Ids are not shortened: a program reads them. */
  isWhole: boolean;
}

/**
 * The columns of a list: those that are named, else the first plain members of its items. `started:ago` is the member in
 * a form of those below; `title=member` gives another title.
 */
export function listColumns(spec: OperationSpec, { named, rows, now, isWhole }: ListOptions): Column<Row>[] {
  const columns = named ?? pickPlain(spec.output.properties?.items?.items ?? {});
  return columns.map((column) => toColumn(column, { rows, now, isWhole }));
}

/** Green for what went well, red for what did not, yellow for what is under way or waits. */
export function paintState(text: string, state: string, style: Style): string {
  if (GOOD.includes(state)) return style.green(text);
  if (BAD.includes(state)) return style.red(text);
  return OPEN.includes(state) ? style.yellow(text) : style.dim(text);
}

/** A cell of a table: `-` for nothing. */
export function formatCell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// --- internal ---

const GOOD = ['completed', 'approved', 'active', 'ready', 'ok', 'published'];
const BAD = ['failed', 'blocked', 'rejected', 'refused', 'revoked', 'expired', 'degraded'];
const OPEN = ['stale', 'running', 'waiting', 'pending'];

type Format = (value: unknown, row: Row, now: number) => string;

const FORMATS: Record<string, Format | undefined> = {
  ago: (value, _, now) => formatAgo(value as string | null, now),
  when: (value, _, now) => formatWhen(value as string | null, now),
  duration: (_, row, now) => formatDuration(row.startedAt as string | null, row.endedAt as string | null, now),
  json: (value) => (value === undefined ? '-' : JSON.stringify(value)),
  names: (value) => (Array.isArray(value) ? value.join(',') || '-' : formatCell(value)),
  fields: (value) => (Array.isArray(value) ? value.map(({ name }) => name).join(',') || '-' : formatCell(value)),
  actor: (value) => formatCell(isRecord(value) ? (value.name ?? value.id) : value),
  target: (value) => (isRecord(value) ? Object.values(value).map(String).join(' ') || '-' : formatCell(value)),
};

/** How far these may be cut when there is no room. */
const SHRINKS: Record<string, number | undefined> = {
  name: 14,
  text: 10,
  long: 30,
  json: 12,
  names: 10,
  actor: 10,
  target: 12,
};
/** Ids: on a terminal as much of them as is needed. */
const ID_FORMS = ['id', 'spare'];
/** Bold: what a row is about. */
const BOLD = ['name', 'what'];

function toColumn(text: string, { rows, now, isWhole }: Omit<ListOptions, 'named'>): Column<Row> {
  const [, title = '', member = title, form = ''] = /^(\w+)(?:=([\w.]+))?(?::(\w+))?$/.exec(text) ?? [];
  const format = FORMATS[form] ?? ((value: unknown) => formatCell(value));
  const read = (row: Row) =>
    member.split('.').reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), row);
  const shown =
    isWhole || !ID_FORMS.includes(form) ? undefined : createShortener(rows.flatMap((row) => toId(read(row))));
  const column: Column<Row> = {
    title,
    cell: (row) => (shown ? toId(read(row)).map(shown)[0] : undefined) ?? format(read(row), row, now),
    shrinks: SHRINKS[form] ?? false,
    // Who did what to what is of more use than the id of the record.
    ...(form === 'spare' ? { yieldsTo: 'target' } : {}),
  };
  if (BOLD.includes(form)) return { ...column, paint: (cell, _, style) => style.bold(cell) };
  if (form === 'state') return { ...column, paint: (cell, row, style) => paintState(cell, String(read(row)), style) };
  if (form === 'level') return { ...column, paint: (cell, row, style) => paintLevel(cell, String(read(row)), style) };
  return column;
}

function toId(value: unknown): string[] {
  return typeof value === 'string' && value !== '' ? [value] : [];
}

export function paintLevel(text: string, level: string, style: Style): string {
  if (level === 'error') return style.red(text);
  if (level === 'warn') return style.yellow(text);
  return level === 'debug' ? style.dim(text) : style.green(text);
}

const SHOWN = 6;

function pickPlain(item: Schema): string[] {
  const plain = Object.entries(listMembers(item)).filter(([, schema]) => schema.type !== 'object');
  return plain.slice(0, SHOWN).map(([name, schema]) => (schema.format === 'date-time' ? `${name}:ago` : name));
}
