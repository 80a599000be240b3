import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '../../../runtime/src/errors.ts';
import { toStoreError } from '../../../runtime/src/stores/client.ts';
import type { SqlSession } from '../../../runtime/src/stores/client.ts';
import { openPg } from '../../../runtime/src/stores/pg.ts';
import { PlaneError } from '../errors.ts';
import { toMembers } from './db.ts';
import type { Db, Queries, TransactionOptions } from './db.ts';
import { databaseNewer, LEAST_KNOWN, MIGRATIONS, requireKnown } from './migrations.ts';
import { sql, toText } from './sql.ts';
import type { Sql } from './sql.ts';
import { storeFull } from './sqlite.ts';

/** A PostgreSQL database, which several control planes may use at once. Throws `store_unavailable`, `database_newer`. */
export async function openPostgres(url: string): Promise<Db> {
  const client = openPg(url);
  const inside = new AsyncLocalStorage<true>();
  const outside = <T>(work: () => Promise<T>): Promise<T> => {
    if (inside.getStore()) throw new Error('A transaction asks over its own session.');
    return work();
  };
  const own = toQueries(client);
  const once = <T>(work: (tx: Queries) => Promise<T>, { isClaim = false }: TransactionOptions): Promise<T> =>
    client.transaction(async (session) => {
      if (!isClaim) await session.query('set transaction isolation level serializable');
      return inside.run(true, () => work(toQueries(session)));
    });
  try {
    await client.ready;
    await migrate(client.transaction.bind(client));
  } catch (error) {
    await client.close();
    throw toOwnError(toStoreError(error));
  }
  const withOwnErrors = <T>(work: () => Promise<T>): Promise<T> =>
    outside(work).catch(async (error: unknown) => {
      if (isOtherSchema(error) && (await countMigrations(own).catch(() => 0)) > MIGRATIONS.length)
        throw databaseNewer();
      throw toOwnError(error);
    });
  return {
    dialect: 'postgres',
    all: (query) => withOwnErrors(() => own.all(query)),
    get: (query) => withOwnErrors(() => own.get(query)),
    run: (query) => withOwnErrors(() => own.run(query)),
    transaction: (work, options = {}) => withOwnErrors(() => retryConflicts(() => once(work, options))),
    close: () => client.close().finally(() => inside.disable()),
  };
}

// --- internal ---

const MOST_TRIES = 12;
/** Two transactions of which one has to come after the other: a serialization failure, a deadlock. */
const CONFLICTS = new Set(['40001', '40P01']);
/** A network that has lost the server says nothing: whoever asks is not let wait for it. */
const ANSWER_MS = 10_000;
/** One number for all control planes on a database. */
const MIGRATION_LOCK = 7_305_190;

/** What a statement meets whose table, column or constraint is another one than this version knows. */
const OTHER_SCHEMA = new Set(['42P01', '42703', '42804', '42883', '42P10', '23502', '23514']);

function isOtherSchema(error: unknown): boolean {
  return OTHER_SCHEMA.has(String((error as { code?: unknown }).code));
}

async function countMigrations(queries: Queries): Promise<number> {
  const row = await queries.get<{ done: number | null }>(sql`select max(number) as done from plane_migrations`);
  return row?.done ?? 0;
}

async function readLeast(queries: Queries, number: number): Promise<number | null> {
  const row = await queries.get<{ least: number | null }>(
    sql`select least from plane_migrations where number = ${number}`,
  );
  return row?.least ?? null;
}

function toQueries(session: Pick<SqlSession, 'query'>): Queries {
  const ask = async (query: Sql) =>
    (await session.query(
      toText(query, (at) => `$${at}`),
      [...query.values],
      { timeoutMs: ANSWER_MS },
    )) as object[];
  return {
    all: async <Row>(query: Sql) => (await ask(query)).map((row) => toMembers<Row>(row)),
    get: async <Row>(query: Sql) => {
      const [row] = await ask(query);
      return row && toMembers<Row>(row);
    },
    // The client answers rows alone: one for each that was changed.
    run: async (query) =>
      (await ask({ texts: [...query.texts.slice(0, -1), `${query.texts.at(-1)} returning 1`], values: query.values }))
        .length,
  };
}

/** In words of the control plane, for who asks it. */
function toOwnError(error: unknown): unknown {
  if (!(error instanceof BoxError)) return error;
  if (error.code === 'store_full') return storeFull(error);
  if (error.code !== 'store_unavailable') return error;
  return new PlaneError(
    'store_unavailable',
    'The database of the control plane cannot be reached. Try again in a moment.',
    {
      cause: error,
      headers: { 'retry-after': '1' },
    },
  );
}

async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= MOST_TRIES || !CONFLICTS.has(String((error as { code?: unknown }).code))) throw error;
      await sleep(Math.random() * 5 * tries);
    }
  }
}

async function migrate(transaction: <T>(work: (tx: SqlSession) => Promise<T>) => Promise<T>): Promise<void> {
  await transaction(async (session) => {
    const queries = toQueries(session);
    await session.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await session.query(
      'create table if not exists plane_migrations (number integer primary key, applied_at bigint not null)',
    );
    const done = await countMigrations(queries);
    if (done > MIGRATIONS.length) requireKnown({ done, least: await readLeast(queries, done) });
    for (const [at, text] of MIGRATIONS.entries()) {
      if (at < done) continue;
      for (const statement of text.split(';')) if (statement.trim() !== '') await session.query(statement);
      await queries.run(sql`insert into plane_migrations (number, applied_at) values (${at + 1}, ${Date.now()})`);
    }
    if (done < MIGRATIONS.length)
      await queries.run(sql`update plane_migrations set least = ${LEAST_KNOWN} where number = ${MIGRATIONS.length}`);
  });
}
