import { sql } from 'drizzle-orm';
import { BoxError, invalidCursor } from '../errors.ts';
import { parseCursor, toCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { ReadAnswer, Reader } from '../stores/reading/reader.ts';
import type { Filter } from './filters.ts';
import { toRowsStatement } from './rows-statement.ts';
import type { RowsPlace } from './rows-statement.ts';
import { findTable, listTables } from './tables.ts';
import type { Table } from './tables.ts';
import { parseJson, toValue } from './values.ts';

export interface RowsRequest {
  schema: string;
  table: string;
  sort?: string;
  order: 'asc' | 'desc';
  filters: readonly Filter[];
  limit: number;
  cursor?: string;
}

export interface Result {
  columns: { name: string; type: string }[];
  rows: unknown[][];
}

/** The tables of the project, for people who look at them. */
export interface ProjectDatabase {
  /** Throws `invalid_cursor`. */
  tables(page: { limit: number; cursor?: string }): Promise<{ items: Table[]; nextCursor: string | null }>;
  /** Throws `table_not_found`, `invalid_request` for a column there is not, `invalid_cursor`, and as a reader does. */
  rows(request: RowsRequest): Promise<Result & { nextCursor: string | null }>;
  /** Throws as a reader does. */
  query(statement: string): Promise<Result & { cut: ReadAnswer['cut']; durationMs: number }>;
}

export function createProjectDatabase({ db, reader }: { db: Drizzle; reader: Reader | undefined }): ProjectDatabase {
  const getReader = (): Reader => {
    if (reader) return reader;
    throw new BoxError('query_login_unavailable', 'This box was opened without a store that queries can read over.');
  };
  const toResult = async ({ columns, rows }: ReadAnswer): Promise<Result> => {
    const names = await readTypeNames(
      db,
      columns.map(({ typeId }) => typeId),
    );
    return {
      columns: columns.map(({ name, typeId }) => ({ name, type: names.get(typeId) ?? 'unknown' })),
      rows: rows.map((row) => row.map((text, n) => toValue(columns[n]?.typeId ?? 0, text))),
    };
  };
  return {
    tables: (page) => listTables(db, page),
    async rows({ schema, table: name, ...request }) {
      const table = await findTable(db, schema, name);
      if (!table) throw tableNotFound(schema, name);
      const place = request.cursor === undefined ? undefined : readPlace(request.cursor);
      const statement = toRowsStatement(table, { ...request, ...(place ? { place } : {}) });
      const answer = await getReader().read(statement.text, { rows: request.limit });
      const last = answer.cut === null ? undefined : answer.rows.at(-1);
      // Behind the columns of the table: what the order goes by.
      const shown = {
        ...answer,
        columns: answer.columns.slice(0, table.columns.length),
        rows: answer.rows.map((row) => row.slice(0, table.columns.length)),
      };
      return {
        ...(await toResult(shown)),
        nextCursor: last ? toCursor(JSON.stringify(statement.placeBehind(last, answer.rows.length))) : null,
      };
    },
    async query(statement) {
      const start = performance.now();
      const answer = await getReader().read(statement);
      const durationMs = Math.round(performance.now() - start);
      return { ...(await toResult(answer)), cut: answer.cut, durationMs };
    },
  };
}

// --- internal ---

function tableNotFound(schema: string, name: string): BoxError {
  const message = `The project has no table "${schema}.${name}". GET /api/database/tables lists those it has.`;
  return new BoxError('table_not_found', message);
}

function readPlace(cursor: string): RowsPlace {
  const [text] = parseCursor(cursor, (found): found is [string] => found.length === 1 && typeof found[0] === 'string');
  const place = parseJson(text);
  const isPlace =
    Array.isArray(place) &&
    place.every(
      (part) => part === null || (typeof part === 'string' && !part.includes('\0')) || Number.isSafeInteger(part),
    );
  if (!isPlace) throw invalidCursor(cursor);
  return place as RowsPlace;
}

async function readTypeNames(db: Drizzle, ids: readonly number[]): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const known = [...new Set(ids)].join(', ');
  const rows = (await db.execute(
    sql.raw(`select oid::int8 as id, format_type(oid, null) as name from pg_catalog.pg_type where oid in (${known})`),
  )) as unknown as { id: number; name: string }[];
  return new Map(rows.map(({ id, name }) => [id, name]));
}
