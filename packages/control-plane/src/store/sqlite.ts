import { AsyncLocalStorage } from 'node:async_hooks';
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findSqlite } from '../../../runtime/src/engine/stores/sqlite/driver.ts';
import type { SqliteDatabase } from '../../../runtime/src/engine/stores/sqlite/driver.ts';
import { acquireLock } from '../../../runtime/src/stores/lock.ts';
import { notFound, PlaneError } from '../errors.ts';
import { toMembers } from './db.ts';
import type { Db, Queries } from './db.ts';
import { holdFolder } from './hold.ts';
import { LEAST_KNOWN, MIGRATIONS, requireKnown } from './migrations.ts';
import { sql, toText } from './sql.ts';
import type { Sql } from './sql.ts';

export const SQLITE_FILE = 'plane.db';

export interface SqliteOptions {
  /** Opened beside a control plane that has the folder, to read alone or to write a little. Default: no one else has it. */
  beside?: 'read' | 'write' | undefined;
}

/**
 * One file in `folder`, which no other process opens as its own meanwhile. Throws `already_running`, `database_newer`; beside
 * another `not_found` where there is nothing, and to write `database_older`.
 */
export async function openSqlite(folder: string, { beside }: SqliteOptions = {}): Promise<Db> {
  if (beside && !existsSync(join(folder, SQLITE_FILE))) throw notFound(`database of a control plane in "${folder}"`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeFolder(folder);
  const lock = beside ? undefined : await acquireLock(join(folder, 'plane.lock'));
  let letGo = (): void => {};
  try {
    const { opener, reasons } = await findSqlite();
    if (!opener)
      throw new PlaneError(
        'store_unavailable',
        `No SQLite opens on this machine. ${reasons.join(' ')} Set PLANE_DATABASE_URL, or use Node 24.`,
      );
    const umask = process.umask(0o077);
    try {
      if (!beside) letGo = holdFolder(opener, folder);
      const native = opener.open(join(folder, SQLITE_FILE));
      native.exec(
        'pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = 5000',
      );
      if (!beside) migrate(native);
      if (beside === 'write') requireMigrated(native);
      const release = () => {
        letGo();
        lock?.release();
      };
      return toDb(native, { begin: beside === 'read' ? 'begin' : 'begin immediate', release });
    } finally {
      process.umask(umask);
    }
  } catch (error) {
    letGo();
    lock?.release();
    throw error;
  }
}

// --- internal ---

/** A volume may be someone else's folder, whose mode is theirs to change: it is taken where others than its group see nothing. */
function closeFolder(folder: string): void {
  try {
    chmodSync(folder, 0o700);
  } catch (error) {
    if ((statSync(folder).mode & 0o007) !== 0) throw error;
  }
}

function toDb(native: SqliteDatabase, { begin, release }: { begin: string; release(): void }): Db {
  const inside = new AsyncLocalStorage<true>();
  const statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>();
  const prepare = (query: Sql) => {
    const text = toText(query, () => '?');
    let statement = statements.get(text);
    if (!statement) statements.set(text, (statement = native.prepare(text)));
    return statement;
  };
  const queries: Queries = {
    all: async <Row>(query: Sql) =>
      prepare(query)
        .all(...query.values)
        .map((row) => toMembers<Row>(row as object)),
    get: async <Row>(query: Sql) => {
      const row = prepare(query).get(...query.values) as object | undefined;
      return row && toMembers<Row>(row);
    },
    run: async (query) => Number(prepare(query).run(...query.values).changes),
  };
  // There is one connection: what is asked beside a transaction would be part of it.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (inside.getStore()) throw new Error('A transaction asks over its own session.');
    const mine = last.then(work).catch((error: unknown) => {
      throw toOwnError(error);
    });
    last = mine.catch(() => {});
    return mine;
  };
  return {
    dialect: 'sqlite',
    all: (query) => inTurn(() => queries.all(query)),
    get: (query) => inTurn(() => queries.get(query)),
    run: (query) => inTurn(() => queries.run(query)),
    transaction: (work) =>
      inTurn(async () => {
        native.exec(begin);
        try {
          const result = await inside.run(true, () => work(queries));
          native.exec('commit');
          return result;
        } catch (error) {
          try {
            native.exec('rollback');
          } catch {
            // SQLite has rolled back by itself, as it does when the disk is full.
          }
          throw error;
        }
      }),
    async close() {
      await last;
      inside.disable();
      native.close();
      release();
    },
  };
}

/** In words of the control plane, for who asks it. */
function toOwnError(error: unknown): unknown {
  return error instanceof Error && /database or disk is full/i.test(error.message) ? storeFull(error) : error;
}

function countMigrations(native: SqliteDatabase): number {
  const [row] = native.prepare<{ done: number | null }>('select max(number) as done from plane_migrations').all();
  const done = row?.done ?? 0;
  if (done <= MIGRATIONS.length) return done;
  const [newest] = native
    .prepare<{ least: number | null }>('select least from plane_migrations where number = ?')
    .all(done);
  requireKnown({ done, least: newest?.least ?? null });
  return done;
}

/** What runs beside changes no table under it. */
function requireMigrated(native: SqliteDatabase): void {
  if (countMigrations(native) < MIGRATIONS.length)
    throw new PlaneError(
      'database_older',
      'The database was written by an earlier version of the control plane. Start this one on it once, then try again.',
    );
}

function migrate(native: SqliteDatabase): void {
  native.transaction(() => {
    native.exec('create table if not exists plane_migrations (number integer primary key, applied_at bigint not null)');
    const done = countMigrations(native);
    for (const [at, text] of MIGRATIONS.entries()) {
      if (at < done) continue;
      native.exec(text);
      const insert = sql`insert into plane_migrations (number, applied_at) values (${at + 1}, ${Date.now()})`;
      native.prepare(toText(insert, () => '?')).run(...insert.values);
    }
    if (done < MIGRATIONS.length)
      native.prepare('update plane_migrations set least = ? where number = ?').run(LEAST_KNOWN, MIGRATIONS.length);
  });
}

/** The disk under either store has no room: what reads goes on. */
export function storeFull(cause: Error): PlaneError {
  const message =
    'The disk of the control plane is full, so nothing new can be stored. Its administrator has to free some space there.';
  return new PlaneError('store_unavailable', message, { cause, headers: { 'retry-after': '60' } });
}
