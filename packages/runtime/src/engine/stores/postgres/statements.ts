import type { SqlClient } from '../../../stores/sql.ts';
import { NOW } from './sql.ts';
import { transact } from './transaction.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Statements } from '../sql/statements.ts';
import type { Tables } from '../sql/tables.ts';

export function createPostgresStatements(sql: SqlClient, tables: Tables): Statements {
  return {
    tables,
    lock: 'for update skip locked',
    frameCount: 'chunk_count',
    isAmong: (column) => `${column} = any (array(select jsonb_array_elements_text(?::jsonb)))`,
    query: (text, params) => sql.query<StoredRow>(toNumbered(text), params),
    commit: (statements) =>
      transact(sql, async (tx) => {
        for (const [text, params] of statements) await tx.query(toNumbered(text), params);
      }),
    async now() {
      const [row] = await sql.query<{ now: number }>(`select ${NOW} as now`);
      if (!row) throw new Error('The database did not answer its time.');
      return row.now;
    },
  };
}

/** With `$1`, `$2` … for each `?`; none of the texts has a `?` of another meaning. */
export function toNumbered(text: string): string {
  let n = 0;
  return text.replaceAll('?', () => `$${++n}`);
}
