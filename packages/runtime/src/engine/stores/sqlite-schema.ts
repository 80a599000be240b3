import { newerJournal } from './schema-version.ts';
import type { SqliteDatabase } from './sqlite-open.ts';

/** Brings a database to the newest schema. Two processes may do so at once; one of them waits. */
export function migrateSqlite(db: SqliteDatabase, path: string): void {
  if (readVersion(db) === MIGRATIONS.length) return;
  db.transaction(() => {
    // Read again under the write lock: another process may have migrated meanwhile.
    const version = readVersion(db);
    if (version > MIGRATIONS.length) throw newerJournal(`"${path}"`, version, MIGRATIONS.length);
    for (const migration of MIGRATIONS.slice(version)) db.exec(migration);
    db.exec(`pragma user_version = ${MIGRATIONS.length}`);
  });
}

// --- internal ---

/** The n-th entry leads from `user_version` n to n + 1. A shipped entry never changes. */
const MIGRATIONS = [
  `
  create table runs (
    run_id text not null primary key,
    trace_id text not null,
    kind text not null,
    name text not null,
    trigger text not null,
    status text not null,
    seq integer not null,
    epoch integer not null,
    owner text,
    lease_until integer,
    wake_at integer,
    waiting_for text,
    code_hash text,
    session_id text,
    parent_run_id text,
    retry_of text,
    input text not null,
    output text,
    error text,
    input_tokens integer not null,
    output_tokens integer not null,
    cache_read_tokens integer not null,
    cache_write_tokens integer not null,
    total_tokens integer not null,
    created_at integer not null,
    started_at integer,
    ended_at integer
  );
  -- A run that can be taken is in one of these two; a finished one is in neither, so they stay as small as the work.
  create index runs_held on runs (lease_until) where owner is not null;
  create index runs_free on runs (status, wake_at, run_id)
    where owner is null and status in ('queued', 'running', 'waiting');
  create index runs_by_name on runs (name, run_id);
  create index runs_by_session on runs (session_id, run_id) where session_id is not null;

  create table run_events (
    run_id text not null,
    seq integer not null,
    call integer not null,
    kind text not null,
    event text not null,
    step_id text not null,
    digest text not null,
    record_id text not null,
    attempt integer not null,
    input text,
    output text,
    error text,
    tokens text,
    started_at integer not null,
    at integer not null,
    primary key (run_id, seq)
  ) without rowid;
  `,
];

function readVersion(db: SqliteDatabase): number {
  return db.prepare<{ user_version: number }>('pragma user_version').get()?.user_version ?? 0;
}
