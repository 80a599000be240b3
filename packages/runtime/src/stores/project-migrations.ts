import { ADVISORY_LOCKS, REFRESH_CATALOG } from './advisory-locks.ts';
import { BoxError } from '../errors.ts';
import type { SqlSession, StoreClient } from './client.ts';
import { NO_TIMEOUT } from './database.ts';

/** A migration of the project's own tables, as a file of `.svc/migrations` holds it. */
export interface ProjectMigration {
  /** The file's name without `.sql`: `0000_first`. */
  name: string;
  sql: string;
  /** SHA-256 of the file. */
  hash: string;
}

export interface AppliedMigration {
  name: string;
  hash: string;
}

export interface ApplyOptions {
  /** Called with each one before its transaction is committed; what it throws rolls the migration back. */
  onApply?(migration: ProjectMigration): void;
  /** Called with each one that is committed. */
  onApplied?(migration: ProjectMigration): void;
}

/**
 * Applies what the database has not got yet, in the order given, each in a transaction of its own: all of it or nothing.
 * Two at once take turns, and each migration is applied once. Refuses a database that carries
 * others (`database_newer`), a file that was edited after it was applied (`migration_changed`) and one that the database
 * refuses (`migration_failed`).
 */
export async function applyProjectMigrations(
  client: StoreClient,
  migrations: readonly ProjectMigration[],
  options: ApplyOptions = {},
): Promise<void> {
  for (;;) {
    const applied = await applyNext(client, migrations, options);
    if (!applied) return;
    options.onApplied?.(applied);
  }
}

/** What the database has, in the order it was applied. */
export async function listAppliedMigrations(client: SqlSession): Promise<AppliedMigration[]> {
  const [table] = await client.query<{ found: boolean }>(
    `select to_regclass('svc.project_migrations') is not null as found`,
  );
  if (!table?.found) return [];
  return client.query<AppliedMigration>('select name, hash from svc.project_migrations order by id');
}

/** Those the database has not got. Throws as applying them would, before anything is done. */
export function findPendingMigrations(
  migrations: readonly ProjectMigration[],
  applied: readonly AppliedMigration[],
): ProjectMigration[] {
  const files = new Map(migrations.map((migration) => [migration.name, migration]));
  const unknown = applied.filter(({ name }) => !files.has(name)).map(({ name }) => name);
  if (unknown.length > 0) throw projectNewer(unknown);
  const edited = applied.find(({ name, hash }) => files.get(name)?.hash !== hash);
  if (edited) throw migrationChanged(edited.name);
  const done = new Set(applied.map(({ name }) => name));
  return migrations.filter(({ name }) => !done.has(name));
}

// --- internal ---

/** Any fixed number will do; every version of the box must use this one. */

// Beside `svc.migrations` and as that one no table of the box's schema: it is there before any migration is.
const CREATE_TABLE = `
  create schema if not exists svc;
  create table if not exists svc.project_migrations (
    id integer generated always as identity primary key,
    name text not null unique,
    hash text not null,
    applied_at timestamptz not null default now()
  )`;

/** The first that is pending, looked for again under the lock: another box may have applied it meanwhile. */
function applyNext(
  client: StoreClient,
  migrations: readonly ProjectMigration[],
  { onApply }: ApplyOptions,
): Promise<ProjectMigration | undefined> {
  return client.transaction(async (tx) => {
    await tx.exec(NO_TIMEOUT);
    await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.projectMigrations]);
    await tx.query(REFRESH_CATALOG);
    const [next] = findPendingMigrations(migrations, await listAppliedMigrations(tx));
    if (!next) return undefined;
    await tx.exec(CREATE_TABLE);
    await run(tx, next);
    await tx.query('insert into svc.project_migrations (name, hash) values ($1, $2)', [next.name, next.hash]);
    onApply?.(next);
    return next;
  });
}

/** One statement at a time, as drizzle-kit separates them: the error can name the one that fails. */
async function run(tx: SqlSession, { name, sql }: ProjectMigration): Promise<void> {
  for (const part of sql.split('--> statement-breakpoint')) {
    const statement = part.trim();
    if (statement === '') continue;
    await tx.exec(statement).catch((error: unknown) => {
      throw migrationFailed(name, statement, error);
    });
  }
}

function migrationFailed(name: string, statement: string, error: unknown): unknown {
  if (error instanceof BoxError) return error;
  const { message, code, detail } = error as { message?: string; code?: string; detail?: string };
  const reason = [message ?? String(error), detail].filter(Boolean).join(' ');
  const text = `The migration "${name}" cannot be applied: ${reason.replace(/\.?$/, '.')} Nothing of it was kept.`;
  return new BoxError('migration_failed', text, {
    cause: error,
    details: { migration: name, statement, ...(code ? { sqlState: code } : {}) },
  });
}

function projectNewer(unknown: string[]): BoxError {
  const names = unknown.map((name) => `"${name}"`).join(', ');
  const what = unknown.length === 1 ? 'the migration' : 'the migrations';
  const text = `The database carries ${what} ${names} of this project, which this build does not hold: a newer build, or another branch, has used it. Run that one or a later one, or use another database.`;
  return new BoxError('database_newer', text, { details: { migrations: unknown } });
}

function migrationChanged(name: string): BoxError {
  const text = `The migration "${name}" was edited after it was applied to this database. Bring "${name}.sql" back as it was, and write the change as a migration of its own.`;
  return new BoxError('migration_changed', text, { details: { migration: name } });
}
