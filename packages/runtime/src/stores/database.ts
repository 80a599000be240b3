import { readMigrationFiles } from 'drizzle-orm/migrator';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { BoxError } from '../errors.ts';
import type { SqlSession, StoreClient } from './client.ts';
import { createDrizzle } from './drizzle.ts';
import type { Drizzle } from './drizzle.ts';
import { getPackageFile } from './package-file.ts';

/** The relational store of a box. */
export interface Database<C extends StoreClient = StoreClient> {
  readonly db: Drizzle;
  /** Without drizzle, and without waiting for the migrations. */
  readonly client: C;
  /** Resolves once the store is open and migrated. Queries through `db` wait for it and reject as it does. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** Answers at once; opening and migrating go on behind it. */
export function openDatabase<C extends StoreClient>(client: C): Database<C> {
  const ready = client.ready.then(() => migrate(client));
  ready.catch(() => {}); // every query rejects with it
  return {
    db: createDrizzle(client, ready),
    client,
    ready,
    close: () => client.close(),
  };
}

/**
 * Brings the box's own tables up to date, in one transaction: all of it or nothing. Two boots at once take turns.
 * Refuses (`database_newer`) a database that carries migrations this build does not know.
 */
export async function migrate(client: StoreClient, migrationsFolder = getPackageFile('migrations')): Promise<void> {
  const migrations = readMigrationFiles({ migrationsFolder });
  await client.transaction(async (tx) => {
    await tx.exec(NO_TIMEOUT);
    await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.migrations]);
    const applied = await readApplied(tx);
    const known = new Set(migrations.map(({ hash }) => hash));
    const unknown = applied.filter((hash) => !known.has(hash));
    if (unknown.length > 0) throw databaseNewer(unknown.length);
    const done = new Set(applied);
    const pending = migrations.filter(({ hash }) => !done.has(hash));
    if (pending.length === 0) return;
    await enableVector(tx);
    await tx.exec(CREATE_TABLE);
    for (const { sql, hash } of pending) {
      await tx.exec(sql.join(';\n'));
      await tx.query('insert into svc.migrations (hash) values ($1)', [hash]);
    }
  });
}

/** For a migration: it may wait for another box that migrates, and build an index over all there is. */
export const NO_TIMEOUT = 'set local statement_timeout = 0';

// --- internal ---

const CREATE_TABLE = `
  create schema if not exists svc;
  create table if not exists svc.migrations (
    id integer generated always as identity primary key,
    hash text not null unique,
    applied_at timestamptz not null default now()
  )`;

async function readApplied(tx: SqlSession): Promise<string[]> {
  const [table] = await tx.query<{ found: boolean }>(`select to_regclass('svc.migrations') is not null as found`);
  if (!table?.found) return [];
  const rows = await tx.query<{ hash: string }>('select hash from svc.migrations order by id');
  return rows.map(({ hash }) => hash);
}

async function enableVector(tx: SqlSession): Promise<void> {
  try {
    await tx.exec('create extension if not exists vector');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The extension "vector" is not available in this database: ${reason}. Install pgvector on the server, or run "create extension vector" there as an administrator. Nothing was changed.`;
    throw new BoxError('vector_unavailable', message, { cause: error });
  }
}

function databaseNewer(count: number): BoxError {
  const migrations = count === 1 ? '1 migration' : `${count} migrations`;
  const message = `The database carries ${migrations} this build does not know: a newer build has used it. Run that build or a later one, or use another database.`;
  return new BoxError('database_newer', message, { details: { unknown: count } });
}
