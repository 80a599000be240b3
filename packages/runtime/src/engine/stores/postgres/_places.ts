import { onTestFinished } from 'vitest';
import type { SqlClient } from '../../../stores/sql.ts';
import type { JournalPlace } from '../contract/place.ts';
import type { Journal } from '../../journal.ts';
import { openPostgresJournal } from './journal.ts';
import { migratePostgres } from './migrate.ts';

// Where the contract of the journal is tried on PostgreSQL.

/** A schema of its own. */
export function createPlace(sql: SqlClient): JournalPlace & { schema: string } {
  const schema = schemas.next().value;
  return {
    schema,
    open: () => openPostgresJournal({ sql, schema }),
    migrate: (version) => migratePostgres(sql, schema, { newest: version }),
    change: (statement) => sql.exec(statement(`${schema}.`)),
    async count(table) {
      const [row] = await sql.query<{ n: number }>(`select count(*)::int4 as n from ${schema}.${table}`);
      return row?.n ?? 0;
    },
    remove: () => sql.exec(`drop schema ${schema} cascade`),
  };
}

/** Places that are emptied for the next test: to make a schema and drop it again takes longer than most tests. */
export function createPlaces(sql: () => SqlClient): () => Promise<JournalPlace> {
  const idle: ReturnType<typeof createPlace>[] = [];
  return async () => {
    const used = idle.pop();
    const place = used ?? createPlace(sql());
    return {
      ...place,
      async migrate(version) {
        if (used) await place.remove();
        await place.migrate(version);
      },
      async remove() {
        await sql().exec(toEmpty(place.schema));
        idle.push(place);
      },
    };
  };
}

/**
 * Places of tests that only open them, sometimes twice. Each is emptied after its test for a later one, unless a journal of it is
 * still open then: something may still write to it.
 */
export function createOpenedPlaces(sql: () => SqlClient): () => Pick<JournalPlace, 'open'> {
  const idle: ReturnType<typeof createPlace>[] = [];
  return () => {
    const place = idle.pop() ?? createPlace(sql());
    const open = new Set<Journal>();
    onTestFinished(async () => {
      if (open.size > 0) return;
      await sql().exec(toEmpty(place.schema));
      idle.push(place);
    });
    return {
      async open() {
        const journal = await place.open();
        open.add(journal);
        const close = async (): Promise<void> => {
          await journal.close();
          open.delete(journal);
        };
        return { ...journal, close };
      },
    };
  };
}

// --- internal ---

const schemas = (function* names(): Generator<string, never> {
  for (let n = 1; ; n++) yield `journal_${n}`;
})();

const toEmpty = (schema: string) => `
  do $$
  declare one record;
  begin
    for one in select tablename from pg_tables where schemaname = '${schema}' and tablename <> 'schema_version' loop
      execute format('delete from ${schema}.%I', one.tablename);
    end loop;
    for one in select sequencename from pg_sequences where schemaname = '${schema}' loop
      execute format('alter sequence ${schema}.%I restart', one.sequencename);
    end loop;
  end $$`;
