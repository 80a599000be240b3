import { onTestFinished } from 'vitest';
import type { SqlClient } from '../../../stores/sql.ts';
import type { JournalPlace } from '../contract/place.ts';
import { wrapJournal } from '../wrap.ts';
import type { Around } from '../wrap.ts';
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
        await empty(sql(), place);
        idle.push(place);
      },
    };
  };
}

/**
 * Places of tests that only open them, sometimes twice. Each is emptied after its test for a later one on the same database, unless
 * something may still write to it: a journal that is open or still answers, or the code of a test that did not pass.
 */
export function createReusedPlaces(sql: () => SqlClient): () => Pick<JournalPlace, 'open'> {
  return () => {
    const idle = idlePlaces.get(sql()) ?? [];
    idlePlaces.set(sql(), idle);
    const place = idle.pop() ?? createPlace(sql());
    let isOver = false;
    let opened = 0;
    const calls = new Set<Promise<unknown>>();
    onTestFinished(async ({ task }) => {
      isOver = true;
      if (task.result?.state !== 'pass' || opened > 0) return;
      // An engine that was closed, or killed, does not wait for a claim it has begun.
      const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(true), PATIENCE_MS));
      if (await Promise.race([late, Promise.allSettled(calls).then(() => false)])) return;
      await empty(sql(), place);
      idle.push(place);
    });
    const answer: Around = (_, call) => {
      if (isOver) return new Promise(() => {});
      const answered = call();
      calls.add(answered);
      const forget = () => calls.delete(answered);
      answered.then(forget, forget);
      return answered;
    };
    return {
      async open() {
        opened++;
        const journal = wrapJournal(await place.open(), answer);
        let isOpen = true;
        const close = async (): Promise<void> => {
          await journal.close();
          if (isOpen) opened--;
          isOpen = false;
        };
        return { ...journal, close };
      },
    };
  };
}

// --- internal ---

const idlePlaces = new WeakMap<SqlClient, ReturnType<typeof createPlace>[]>();

/** For calls that are still under way. */
const PATIENCE_MS = 2_000;

const schemas = (function* names(): Generator<string, never> {
  for (let n = 1; ; n++) yield `journal_${n}`;
})();

const empty = (sql: SqlClient, { schema }: { schema: string }): Promise<void> =>
  sql.exec(`
  do $$
  declare one record;
  begin
    for one in select tablename from pg_tables where schemaname = '${schema}' and tablename <> 'schema_version' loop
      execute format('delete from ${schema}.%I', one.tablename);
    end loop;
    for one in select sequencename from pg_sequences where schemaname = '${schema}' loop
      execute format('alter sequence ${schema}.%I restart', one.sequencename);
    end loop;
  end $$`);
