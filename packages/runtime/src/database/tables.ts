import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { invalidCursor } from '../errors.ts';
import { parseCursor, toCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { OF_PROJECT } from '../stores/reading/relations.ts';

export const Table = z.object({
  schema: z.string(),
  name: z.string(),
  kind: z.enum(['table', 'view', 'materialized-view']),
  rows: z.int().nullable().describe('About how many; null: the database has not looked yet, as of a new table'),
  columns: z.array(
    z.object({
      name: z.string(),
      type: z.string().describe('As Postgres calls it'),
      isNullable: z.boolean(),
      isKey: z.boolean().describe('It is of the primary key'),
    }),
  ),
});
export type Table = z.infer<typeof Table>;

/** In the order of schemas and names. Throws `invalid_cursor`. */
export async function listTables(
  db: Drizzle,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ items: Table[]; nextCursor: string | null }> {
  const after =
    cursor === undefined
      ? sql``
      : sql`and (space.nspname::text, relation.relname::text) > (${sql.join(readPlace(cursor), sql`, `)})`;
  const rows = await readTables(
    db,
    sql`${after} order by space.nspname::text, relation.relname::text limit ${limit + 1}`,
  );
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last ? toCursor(last.schema, last.name) : null };
}

/** Undefined: the project has no such table. */
export async function findTable(db: Drizzle, schema: string, name: string): Promise<Table | undefined> {
  const [table] = await readTables(db, sql`and space.nspname = ${schema} and relation.relname = ${name}`);
  return table;
}

// --- internal ---

const KINDS: Record<string, Table['kind']> = { r: 'table', p: 'table', v: 'view', m: 'materialized-view' };

function readPlace(cursor: string) {
  const place = parseCursor(
    cursor,
    (found): found is [string, string] => found.length === 2 && found.every((part) => typeof part === 'string'),
  );
  if (place.some((part) => part.includes('\0'))) throw invalidCursor(cursor);
  return place.map((part) => sql`${part}`);
}

interface Row {
  schema: string;
  name: string;
  kind: string;
  rows: number;
  columns: Table['columns'];
}

async function readTables(db: Drizzle, which: ReturnType<typeof sql>): Promise<Table[]> {
  const rows = (await db.execute(sql`
    select space.nspname::text as schema, relation.relname::text as name, relation.relkind::text as kind,
      relation.reltuples::int8 as rows,
      (select coalesce(json_agg(json_build_object(
          'name', field.attname,
          'type', format_type(field.atttypid, field.atttypmod),
          'isNullable', not field.attnotnull,
          'isKey', coalesce(field.attnum = any (key.indkey::int2[]), false)) order by field.attnum), '[]')
        from pg_catalog.pg_attribute field
        where field.attrelid = relation.oid and field.attnum > 0 and not field.attisdropped) as columns
    from pg_catalog.pg_class relation
    join pg_catalog.pg_namespace space on space.oid = relation.relnamespace
    left join pg_catalog.pg_index key on key.indrelid = relation.oid and key.indisprimary
    where ${sql.raw(OF_PROJECT)} ${which}`)) as unknown as Row[];
  return rows.map(({ kind, rows: about, ...table }) => ({
    ...table,
    kind: KINDS[kind] ?? 'table',
    rows: about < 0 || kind === 'v' ? null : about,
  }));
}
