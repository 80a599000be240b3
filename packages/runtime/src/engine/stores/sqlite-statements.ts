import type { StoredRow } from './rows.ts';
import type { SqliteDatabase, SqliteStatement } from './sqlite-open.ts';
import type { SqliteWriter } from './sqlite-write.ts';
import type { Statements } from './statements.ts';
import { namesOfTables } from './tables.ts';

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
    query: async (text, params) => prepare(text).all(...params),
    commit: async (statements) =>
      writer.transaction(() => {
        for (const [text, params] of statements) prepare(text).run(...params);
      }),
    now: async () => clock(),
  };
}

// --- internal ---

const MAX_PREPARED = 100;
