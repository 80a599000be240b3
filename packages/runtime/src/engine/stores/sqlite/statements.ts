import type { StoredRow } from '../sql/rows.ts';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';
import type { SqliteWriter } from './write.ts';
import type { Statements } from '../sql/statements.ts';
import { namesOfTables } from '../sql/tables.ts';

export function createSqliteStatements(db: SqliteDatabase, writer: SqliteWriter, clock: () => number): Statements {
  const prepared = new Map<string, SqliteStatement<StoredRow>>();

  function prepare(text: string): SqliteStatement<StoredRow> {
    const known = prepared.get(text);
    if (known) return known;
    const statement = db.prepare<StoredRow>(text);
    // Most texts are few; a list of parameters as long as the data makes a text of its own.
    if (prepared.size < MAX_PREPARED) prepared.set(text, statement);
    return statement;
  }

  return {
    tables: namesOfTables(),
    lock: '',
    frameCount: '(select coalesce(max(n), 0) from stream_chunks c where c.run_id = runs.run_id)',
    isAmong: (column) => `${column} in (select value from json_each(?))`,
    query: (text, params) => writer.alone(() => prepare(text).all(...params)),
    commit: async (statements) =>
      writer.transaction(() => {
        for (const [text, params] of statements) prepare(text).run(...params);
      }),
    now: async () => clock(),
  };
}

// --- internal ---

const MAX_PREPARED = 100;
