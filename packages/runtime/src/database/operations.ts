import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, ShortListPage, StorableText, withoutUndefined } from '../operations/inputs.ts';
import { MOST_BYTES, MOST_ROWS } from '../stores/reading/reader.ts';
import type { ProjectDatabase } from './database.ts';
import { parseFilters } from './filters.ts';
import { Table } from './tables.ts';

const operation = operationsOf<{ database: ProjectDatabase }>();

const READ = { tag: 'database', kind: 'read', permission: 'database:read', copilot: 'yes' } as const;
const REFUSALS = [
  'query_failed',
  'query_timeout',
  'query_too_large',
  'too_many_queries',
  'query_login_unavailable',
] as const;

const Columns = z.array(z.object({ name: z.string(), type: z.string().describe('As Postgres calls it') }));
const Rows = z
  .array(z.array(z.unknown()))
  .describe('Each row in the order of the columns; numbers that JSON cannot hold, and times, are text');

export const listTables = operation({
  ...READ,
  id: 'database.tables',
  summary: 'List the tables and views of the project with their columns and about how many rows they have',
  route: 'GET /api/database/tables',
  cli: 'db tables',
  errors: ['invalid_cursor'],
  input: z.strictObject({ ...ShortListPage }),
  output: z.object({ items: z.array(Table), nextCursor: z.string().nullable() }),
  handle: ({ database }, { limit, cursor }) => database.tables(withoutUndefined({ limit, cursor })),
});

export const readRows = operation({
  ...READ,
  id: 'database.rows',
  summary: 'Read the rows of a table, sorted and filtered, a page at a time',
  route: 'GET /api/database/tables/:schema/:table/rows',
  errors: ['table_not_found', 'invalid_cursor', ...REFUSALS],
  input: z.strictObject({
    schema: z.string().describe('The Postgres schema, `public` as a rule'),
    table: z.string().describe('The table or view'),
    sort: z.string().optional().describe('The column to sort by. Default: the primary key'),
    order: z.enum(['asc', 'desc']).default('asc'),
    filter: z
      .string()
      .max(20_000)
      .optional()
      .describe(
        'A JSON array of up to 10 conditions that all hold: [{"column":"tag","is":"eq","value":"red"}]. `is`: eq, ne, lt, lte, gt, gte, contains, null, not-null',
      ),
    ...Page,
  }),
  output: z.object({ columns: Columns, rows: Rows, nextCursor: z.string().nullable() }),
  handle: ({ database }, { schema, table, filter, ...page }) =>
    database.rows({ schema, table, filters: parseFilters(filter), ...withoutUndefined(page) }),
});

export const queryDatabase = operation({
  ...READ,
  id: 'database.query',
  summary: `Run one statement that reads the tables of the project: up to ${MOST_ROWS} rows and ${MOST_BYTES / 1024 / 1024} MiB`,
  route: 'POST /api/database/query',
  cli: 'db query',
  errors: [...REFUSALS],
  input: z.strictObject({
    sql: StorableText.min(1).max(100_000).describe('One SELECT, WITH … SELECT, VALUES, TABLE or EXPLAIN'),
  }),
  output: z.object({
    columns: Columns,
    rows: Rows,
    cut: z.enum(['rows', 'size']).nullable().describe('What the answer was cut off by; null: this is all'),
    durationMs: z.int(),
  }),
  handle: ({ database }, { sql }) => database.query(sql),
});
