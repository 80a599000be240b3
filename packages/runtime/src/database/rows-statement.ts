import { BoxError, invalidCursor } from '../errors.ts';
import { quote } from '../stores/reading/role.ts';
import { COMPARISONS } from './filters.ts';
import type { Filter } from './filters.ts';
import type { Table } from './tables.ts';

/** Behind which row a page begins: what the order goes by, as text; of a table without a key, how many rows were before. */
export type RowsPlace = (string | null)[] | [rows: number];

export interface RowsQuery {
  sort?: string;
  order: 'asc' | 'desc';
  filters: readonly Filter[];
  place?: RowsPlace;
}

export interface RowsStatement {
  /** Selects all columns, then as text those that the order goes by. */
  text: string;
  /** The place behind the last row of a page. */
  placeBehind(last: readonly (string | null)[], rows: number): RowsPlace;
}

/** Throws `invalid_request` for a column the table has not, and `invalid_cursor` for a place in another order. */
export function toRowsStatement(table: Table, { sort, order, filters, place }: RowsQuery): RowsStatement {
  const find = (name: string): Column => {
    const column = table.columns.find((each) => each.name === name);
    if (column) return column;
    const message = `"${table.schema}.${table.name}" has no column "${name}". It has ${table.columns.map((each) => each.name).join(', ')}.`;
    throw new BoxError('invalid_request', message);
  };
  const sorted = sort === undefined ? undefined : find(sort);
  const keys = table.columns.filter((column) => column.isKey);
  const terms: Term[] = [
    ...(sorted ? [{ column: sorted, order }] : []),
    ...keys.filter((key) => key !== sorted).map((column): Term => ({ column, order: sorted ? 'asc' : order })),
  ];
  const hasKey = keys.length > 0;
  const conditions = filters.map((filter) => toCondition(find(filter.column), filter));
  const before = hasKey ? 0 : readOffset(place);
  if (hasKey && place) conditions.push(`(${behind(terms, readValues(place, terms))})`);
  const fields = [
    ...table.columns.map(toField),
    ...(hasKey ? terms.map(({ column }) => `${toField(column)}::text`) : []),
  ];
  const text = [
    `select ${fields.join(', ') || '1'} from ${quote(table.schema)}.${quote(table.name)} box_row`,
    conditions.length > 0 && `where ${conditions.join(' and ')}`,
    terms.length > 0 &&
      `order by ${terms.map((term) => `${toField(term.column)} ${term.order} nulls last`).join(', ')}`,
    before > 0 && `offset ${before}`,
  ].filter(Boolean);
  return {
    text: text.join(' '),
    placeBehind: (last, rows) => (hasKey ? last.slice(table.columns.length) : [before + rows]),
  };
}

// --- internal ---

type Column = Table['columns'][number];

interface Term {
  column: Column;
  order: 'asc' | 'desc';
}

/** A page far into a table without a key is read through all rows before it. */
const MOST_BEFORE = 100_000;

function toCondition(field: Column, filter: Filter): string {
  const column = toField(field);
  if (!('value' in filter)) return `${column} is ${filter.is === 'null' ? '' : 'not '}null`;
  const { is, value } = filter;
  const text = quoteText(value);
  if (is === 'contains') return `strpos(lower(${column}::text), lower(${text})) > 0`;
  return `${column} ${COMPARISONS[is]} ${text}::${toPlainType(field.type)}`;
}

/** Empty values come last in either direction. */
function behind([term, ...rest]: readonly Term[], [value = null, ...values]: readonly (string | null)[]): string {
  if (!term) return 'false';
  const column = toField(term.column);
  const next = rest.length > 0 ? behind(rest, values) : 'false';
  if (value === null) return `${column} is null and (${next})`;
  const at = `${quoteText(value)}::${toPlainType(term.column.type)}`;
  const sign = term.order === 'asc' ? '>' : '<';
  return `${column} ${sign} ${at} or ${column} is null or (${column} = ${at} and (${next}))`;
}

function readOffset(place: RowsPlace | undefined): number {
  const [rows = 0] = place ?? [];
  if (place && (place.length !== 1 || typeof rows !== 'number' || rows < 0)) throw invalidCursor('cursor');
  if (Number(rows) <= MOST_BEFORE) return Number(rows);
  const message = `A table without a primary key is paged through for ${MOST_BEFORE} rows. Filter it, or sort it in a query.`;
  throw new BoxError('invalid_request', message);
}

function readValues(place: RowsPlace, terms: readonly Term[]): (string | null)[] {
  const values = place.filter((part): part is string | null => typeof part !== 'number');
  if (values.length !== terms.length || place.length !== terms.length) throw invalidCursor('cursor');
  return values;
}

/** A length would cut a longer value off, so that it compares as another: `character(3)` is `bpchar`. */
function toPlainType(type: string): string {
  const plain = type.replace(/\(\d+(,-?\d+)?\)/, '');
  if (/^character( |\[|$)(?!varying)/.test(plain)) return plain.replace('character', 'bpchar');
  return /^bit(\[|$)/.test(plain) ? plain.replace('bit', '"bit"') : plain;
}

/** With the table before it: in an order, a bare name is that of what is selected. */
function toField({ name }: Column): string {
  return `box_row.${quote(name)}`;
}

/** `standard_conforming_strings` is on where this runs. */
function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
