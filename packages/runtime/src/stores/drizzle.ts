import { PgDialect } from 'drizzle-orm/pg-core';
import { PgProxyTransaction, PgRemoteDatabase, PgRemoteSession } from 'drizzle-orm/pg-proxy';
import type { RemoteCallback } from 'drizzle-orm/pg-proxy';
import { createTableRelationsHelpers, extractTablesRelationalConfig, fillPlaceholders, sql } from 'drizzle-orm';
import type { RelationalSchemaConfig, SQL, TablesRelationalConfig } from 'drizzle-orm';
import type { SqlSession, StoreClient } from './client.ts';
import type { QueryOptions } from './sql.ts';
import { isDue, leaveMark, markedBy, takeBack } from './write-mark.ts';
import type { Marking, WriteMark } from './write-mark.ts';

/** A drizzle database over a store's client. `execute` answers the rows. */
export type Drizzle = PgRemoteDatabase;

/**
 * One drizzle driver for both homes. The drivers drizzle ships import PGlite or `pg` when they are loaded; this one
 * needs neither, and a transaction is the client's own.
 * @param ready queries wait for it, and reject as it does
 */
export function createDrizzle(client: StoreClient, ready: Promise<void>): Drizzle {
  return open({ client, ready, tables: undefined });
}

/**
 * The same store, with the tables and relations among these exports under `query`. They may be of another copy of
 * drizzle-orm: drizzle knows its things by a mark they carry, not by their class.
 */
export function withTables(db: Drizzle, exports: Record<string, unknown>): Drizzle {
  const { client, ready } = (db._.session as StoreSession).store;
  const { tables, tableNamesMap } = extractTablesRelationalConfig(exports, createTableRelationsHelpers);
  return open({ client, ready, tables: { fullSchema: exports, schema: tables, tableNamesMap } });
}

/**
 * The same store, in which the first change is committed with the mark there is as it is made.
 * @param current the mark of the call that is under way. Undefined: it has none
 */
export function withMarks(db: Drizzle, current: () => WriteMark | undefined): Drizzle {
  return open({ ...(db._.session as StoreSession).store, current });
}

/** Answers the rows. Each placeholder of the statement has its value in `given`. */
export type Prepared<Row> = (db: Drizzle, given: Record<string, unknown>) => Promise<Row[]>;

/**
 * A statement that is sent often: its text is made once, and a server keeps it parsed. It is committed by itself; within a
 * transaction use `tx.execute`.
 * @param options `timeoutMs`: as a client takes it
 */
export function prepare<Row>(statement: SQL, options: Pick<QueryOptions, 'timeoutMs'> = {}): Prepared<Row> {
  const { sql: text, params } = new PgDialect().sqlToQuery(statement);
  return async (db, given) => {
    const { client, ready } = (db._.session as StoreSession).store;
    await ready;
    return client.query<Row>(text, fillPlaceholders(params, given), { ...options, prepared: true });
  };
}

// --- internal ---

type NoSchema = Record<string, never>;
type Tables = RelationalSchemaConfig<TablesRelationalConfig> | undefined;

interface Store {
  client: StoreClient;
  ready: Promise<void>;
  tables: Tables;
  current?: () => WriteMark | undefined;
}

function open(store: Store): Drizzle {
  const dialect = new PgDialect();
  return new PgRemoteDatabase(
    dialect,
    new StoreSession(dialect, store),
    store.tables as RelationalSchemaConfig<NoSchema>,
  );
}
type Work<T> = (tx: StoreTransaction) => Promise<T>;
type TransactionConfig = Parameters<PgProxyTransaction<NoSchema, NoSchema>['setTransaction']>[0];

class StoreSession extends PgRemoteSession<NoSchema, NoSchema> {
  readonly store: Store;
  readonly #dialect: PgDialect;

  constructor(dialect: PgDialect, store: Store) {
    super(toMarking(store), dialect, store.tables as RelationalSchemaConfig<NoSchema>);
    this.store = store;
    this.#dialect = dialect;
  }

  override async transaction<T>(work: Work<T>, config?: TransactionConfig): Promise<T> {
    const { client, ready, tables, current } = this.store;
    await ready;
    const mark = current?.();
    const run = (marking?: Marking) =>
      client.transaction(async (session) => {
        const inner = new PgRemoteSession<NoSchema, NoSchema>(toCallback(session, marking), this.#dialect, undefined);
        const tx = new StoreTransaction({ dialect: this.#dialect, session: inner, tables, marking });
        if (config && Object.keys(config).length > 0) await tx.setTransaction(config);
        return work(tx);
      });
    return mark ? markedBy(mark, run) : run();
  }
}

interface Inside {
  dialect: PgDialect;
  session: PgRemoteSession<NoSchema, NoSchema>;
  tables: Tables;
  marking: Marking | undefined;
}

class StoreTransaction extends PgProxyTransaction<NoSchema, NoSchema> {
  readonly #inside: Inside;

  constructor(inside: Inside, nestedIndex = 0) {
    super(inside.dialect, inside.session, inside.tables as RelationalSchemaConfig<NoSchema>, nestedIndex);
    this.#inside = inside;
  }

  /** A transaction in a transaction is a savepoint. */
  override async transaction<T>(work: Work<T>): Promise<T> {
    const name = sql.identifier(`savepoint_${this.nestedIndex + 1}`);
    const nested = new StoreTransaction(this.#inside, this.nestedIndex + 1);
    await this.execute(sql`savepoint ${name}`);
    const { marking } = this.#inside;
    const before = marking?.hasLeft ?? false;
    try {
      const result = await work(nested);
      await this.execute(sql`release savepoint ${name}`);
      return result;
    } catch (error) {
      await this.execute(sql`rollback to savepoint ${name}`);
      if (marking) takeBack(marking, before);
      throw error;
    }
  }
}

/** Outside of a transaction: the statement and its mark are one. */
function toMarking({ client, ready, current }: Store): RemoteCallback {
  const plain = toCallback(client);
  return async (text, params, method) => {
    await ready;
    const mark = current?.();
    if (!mark || !isDue(mark, text)) return plain(text, params, method);
    return markedBy(mark, (marking) =>
      client.transaction((session) => toCallback(session, marking)(text, params, method)),
    );
  };
}

function toCallback(session: SqlSession, marking?: Marking): RemoteCallback {
  return async (text, params, method) => {
    // `all` is drizzle's word for rows as arrays.
    const rows = method === 'all' ? await session.queryArrays(text, params) : await session.query(text, params);
    if (marking && isDue(marking.mark, text)) await leaveMark(session, marking);
    return { rows };
  };
}
