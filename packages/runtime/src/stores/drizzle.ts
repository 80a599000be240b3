import { PgDialect } from 'drizzle-orm/pg-core';
import { PgProxyTransaction, PgRemoteDatabase, PgRemoteSession } from 'drizzle-orm/pg-proxy';
import type { RemoteCallback } from 'drizzle-orm/pg-proxy';
import { sql } from 'drizzle-orm';
import type { SqlSession, StoreClient } from './client.ts';

/** A drizzle database over a store's client. `execute` answers the rows. */
export type Drizzle = PgRemoteDatabase;

/**
 * One drizzle driver for both homes. The drivers drizzle ships import PGlite or `pg` when they are loaded; this one
 * needs neither, and a transaction is the client's own.
 * @param ready queries wait for it, and reject as it does
 */
export function createDrizzle(client: StoreClient, ready: Promise<void>): Drizzle {
  const dialect = new PgDialect();
  return new PgRemoteDatabase(dialect, new StoreSession(dialect, client, ready), undefined);
}

// --- internal ---

type NoSchema = Record<string, never>;
type Work<T> = (tx: StoreTransaction) => Promise<T>;
type TransactionConfig = Parameters<PgProxyTransaction<NoSchema, NoSchema>['setTransaction']>[0];

class StoreSession extends PgRemoteSession<NoSchema, NoSchema> {
  readonly #client: StoreClient;
  readonly #dialect: PgDialect;
  readonly #ready: Promise<void>;

  constructor(dialect: PgDialect, client: StoreClient, ready: Promise<void>) {
    super(toCallback(client, ready), dialect, undefined);
    this.#client = client;
    this.#dialect = dialect;
    this.#ready = ready;
  }

  override async transaction<T>(work: Work<T>, config?: TransactionConfig): Promise<T> {
    await this.#ready;
    return this.#client.transaction(async (session) => {
      const inner = new PgRemoteSession<NoSchema, NoSchema>(toCallback(session), this.#dialect, undefined);
      const tx = new StoreTransaction(this.#dialect, inner);
      if (config && Object.keys(config).length > 0) await tx.setTransaction(config);
      return work(tx);
    });
  }
}

class StoreTransaction extends PgProxyTransaction<NoSchema, NoSchema> {
  readonly #dialect: PgDialect;
  readonly #session: PgRemoteSession<NoSchema, NoSchema>;

  constructor(dialect: PgDialect, session: PgRemoteSession<NoSchema, NoSchema>, nestedIndex = 0) {
    super(dialect, session, undefined, nestedIndex);
    this.#dialect = dialect;
    this.#session = session;
  }

  /** A transaction in a transaction is a savepoint. */
  override async transaction<T>(work: Work<T>): Promise<T> {
    const name = sql.identifier(`savepoint_${this.nestedIndex + 1}`);
    const nested = new StoreTransaction(this.#dialect, this.#session, this.nestedIndex + 1);
    await this.execute(sql`savepoint ${name}`);
    try {
      const result = await work(nested);
      await this.execute(sql`release savepoint ${name}`);
      return result;
    } catch (error) {
      await this.execute(sql`rollback to savepoint ${name}`);
      throw error;
    }
  }
}

function toCallback(session: SqlSession, ready?: Promise<void>): RemoteCallback {
  return async (text, params, method) => {
    if (ready) await ready;
    // `all` is drizzle's word for rows as arrays.
    return { rows: method === 'all' ? await session.queryArrays(text, params) : await session.query(text, params) };
  };
}
