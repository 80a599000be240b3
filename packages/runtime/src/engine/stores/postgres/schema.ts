import type { SqlClient } from '../../../stores/sql.ts';
import { newerJournal } from '../sql/schema-version.ts';

/** Brings the journal's schema to that version. Of two processes that boot together one migrates, the other waits. */
export async function migratePostgres(
  sql: SqlClient,
  schema: string,
  newest: number = POSTGRES_VERSION,
): Promise<void> {
  await sql.transaction(async (tx) => {
    // Held until the transaction ends. PGlite is one session, where a session lock excludes nothing.
    await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`journal:${schema}`]);
    await tx.exec(`
      create schema if not exists ${schema};
      create table if not exists ${schema}.schema_version (version int4 not null);
    `);
    const [stored] = await tx.query<{ version: number }>(`select version from ${schema}.schema_version`);
    const version = stored?.version ?? 0;
    if (version > newest) throw newerJournal(`in the schema "${schema}"`, version, newest);
    if (version === newest) return;
    for (const migration of MIGRATIONS.slice(version, newest)) await tx.exec(migration(schema));
    await tx.exec(`
      delete from ${schema}.schema_version;
      insert into ${schema}.schema_version values (${newest});
    `);
  });
}

// Ids compare byte by byte ("C"), as they do in the code. `fillfactor` leaves room for a run's next version on its own
// page, and no index names a column that every append or renewal changes: such updates then touch no index at all.
const MIGRATIONS = [
  (schema: string): string => `
  create table if not exists ${schema}.runs (
    run_id text collate "C" not null primary key,
    trace_id text not null,
    kind text not null,
    name text not null,
    trigger text not null,
    status text not null,
    seq int4 not null,
    epoch int4 not null,
    owner text,
    lease_until int8,
    wake_at int8,
    waiting_for text,
    code_hash text,
    session_id text,
    parent_run_id text collate "C",
    retry_of text,
    seed text,
    signals int4 not null,
    trigger_id text collate "C",
    serial_key text collate "C",
    attributes text,
    -- The number of the last chunk of its streams.
    chunk_count int4 not null default 0,
    input text not null,
    output text,
    error text,
    input_tokens int8 not null,
    output_tokens int8 not null,
    cache_read_tokens int8 not null,
    cache_write_tokens int8 not null,
    total_tokens int8 not null,
    created_at int8 not null,
    started_at int8,
    ended_at int8
  ) with (fillfactor = 60);
  create index if not exists runs_held on ${schema}.runs (owner) where owner is not null;
  create index if not exists runs_free on ${schema}.runs (status, wake_at, run_id)
    where owner is null and status in ('queued', 'running', 'waiting');
  create index if not exists runs_by_name on ${schema}.runs (name, run_id);
  create index if not exists runs_by_session on ${schema}.runs (session_id, run_id) where session_id is not null;
  create index if not exists runs_by_parent on ${schema}.runs (parent_run_id, run_id) where parent_run_id is not null;
  create unique index if not exists runs_by_trigger on ${schema}.runs (trigger_id) where trigger_id is not null;
  -- The lock itself: a second unfinished run of a key cannot be stored.
  create unique index if not exists runs_serial on ${schema}.runs (serial_key)
    where serial_key is not null and status not in ('completed', 'failed', 'cancelled');

  create table if not exists ${schema}.run_events (
    run_id text collate "C" not null,
    seq int4 not null,
    call int4 not null,
    kind text not null,
    event text not null,
    step_id text not null,
    digest text not null,
    record_id text not null,
    attempt int4 not null,
    input text,
    output text,
    error text,
    tokens text,
    started_at int8 not null,
    at int8 not null,
    primary key (run_id, seq)
  );

  create table if not exists ${schema}.hooks (
    token text collate "C" not null,
    run_id text collate "C" not null,
    call int4 not null,
    kind text not null,
    many int2 not null,
    detail text,
    is_open int2 not null,
    created_at int8 not null,
    primary key (run_id, token)
  );
  create unique index if not exists hooks_open on ${schema}.hooks (token) where is_open = 1;
  create index if not exists hooks_by_token on ${schema}.hooks (token, created_at);
  create index if not exists hooks_by_time on ${schema}.hooks (is_open, created_at);

  create table if not exists ${schema}.hook_events (
    run_id text collate "C" not null,
    token text collate "C" not null,
    n int4 not null,
    payload text not null,
    at int8 not null,
    primary key (run_id, token, n)
  );

  create table if not exists ${schema}.serial_queue (
    queue_no int8 generated always as identity primary key,
    trigger_id text collate "C" not null unique,
    serial_key text collate "C" not null,
    kind text not null,
    name text not null,
    trigger text not null,
    code_hash text,
    session_id text,
    parent_run_id text collate "C",
    retry_of text,
    seed text,
    input text not null,
    records text,
    created_at int8 not null
  );
  create index if not exists serial_queue_by_key on ${schema}.serial_queue (serial_key, queue_no);
  create index if not exists serial_queue_by_parent on ${schema}.serial_queue (parent_run_id)
    where parent_run_id is not null;

  -- A start is a run, or a queued start by its trigger's id.
  create table if not exists ${schema}.idempotency_keys (
    key text collate "C" not null primary key,
    digest text not null,
    start_id text collate "C" not null,
    created_at int8 not null
  );
  create index if not exists idempotency_keys_by_start on ${schema}.idempotency_keys (start_id);
  create index if not exists idempotency_keys_by_time on ${schema}.idempotency_keys (created_at);

  create table if not exists ${schema}.schedules (
    id text collate "C" not null primary key,
    name text not null,
    cron text not null,
    time_zone text,
    input text not null,
    next_at int8 not null,
    is_paused int2 not null,
    last_at int8,
    last_run_id text
  );

  create table if not exists ${schema}.stream_chunks (
    run_id text collate "C" not null,
    n int4 not null,
    namespace text not null,
    payload text not null,
    primary key (run_id, n)
  );

  create table if not exists ${schema}.outbox (
    id int8 generated always as identity primary key,
    topic text not null,
    payload text not null
  );
  `,
  (schema: string): string => `
  alter table ${schema}.runs
    add column if not exists crash_count int4 not null default 0,
    add column if not exists crash_seq int4,
    add column if not exists mark text,
    add column if not exists mark_epoch int4;
  `,
  (schema: string): string => `
  alter table ${schema}.hooks add column if not exists verdict text collate "C";
  alter table ${schema}.hook_events
    add column if not exists idempotency_key text collate "C",
    add column if not exists idempotency_digest text;

  -- What an approval was decided is in its payload; from here on its hook says so too.
  update ${schema}.hooks set verdict = (
    select case
        when e.payload like '1[{"decision":1,"by":2,"note":2,"input":2,"timedOut":3},%,null,true]' then 'expired'
        when e.payload like '1[{"decision":1,%"timedOut":_},"approve",%'
          or e.payload like '1[{"decision":1,%"timedOut":__},"approve",%'
          or e.payload like '1[{"decision":1,%"timedOut":___},"approve",%' then 'approved'
        else 'rejected' end
    from ${schema}.hook_events e where e.run_id = hooks.run_id and e.token = hooks.token and e.n = 0)
  where kind = 'approval';

  create index if not exists hooks_by_verdict on ${schema}.hooks (kind, verdict, created_at, run_id, token) where verdict is not null;
  create index if not exists approvals_by_time on ${schema}.hooks (created_at, run_id, token) where kind = 'approval';
  create index if not exists approvals_pending on ${schema}.hooks (created_at, run_id, token)
    where kind = 'approval' and is_open = 1 and verdict is null;
  create index if not exists approvals_closed on ${schema}.hooks (created_at, run_id, token)
    where kind = 'approval' and is_open = 0 and verdict is null;
  create index if not exists hook_events_by_key on ${schema}.hook_events (run_id, token, idempotency_key)
    where idempotency_key is not null;

  -- Lists of runs. What most runs are (begun over the API, completed, without marks) is in none of them, so that a run costs
  -- no more to write.
  create index if not exists runs_by_state on ${schema}.runs (status, run_id)
    where status in ('waiting', 'blocked', 'failed', 'cancelled');
  create index if not exists runs_by_cause on ${schema}.runs (trigger, run_id) where trigger <> 'api';
  create index if not exists runs_of_agents on ${schema}.runs (run_id) where kind = 'agent';
  create index if not exists runs_by_retry on ${schema}.runs (retry_of, run_id) where retry_of is not null;
  create index if not exists runs_marked on ${schema}.runs (run_id) where attributes is not null;

  alter table ${schema}.schedules
    alter column cron drop not null,
    alter column next_at drop not null,
    add column if not exists origin text not null default 'declared',
    add column if not exists digest text not null default '',
    add column if not exists created_at int8 not null default 0,
    add column if not exists last_trigger_id text collate "C",
    add column if not exists last_error text;
  create index if not exists schedules_due on ${schema}.schedules (next_at) where is_paused = 0;

  create table if not exists ${schema}.schedule_firings (
    firing_no int8 generated always as identity primary key,
    id text collate "C" not null,
    at int8 not null,
    run_id text collate "C",
    trigger_id text collate "C",
    error text
  );
  create index if not exists schedule_firings_by_id on ${schema}.schedule_firings (id, firing_no);
  `,
  (schema: string): string => `
  alter table ${schema}.serial_queue add column if not exists attributes text;
  `,
  (schema: string): string => `
  drop table if exists ${schema}.outbox;
  drop index if exists ${schema}.hooks_by_time;
  `,
  (schema: string): string => `
  alter table ${schema}.hooks add column if not exists since int4 not null default 0;
  `,
  (schema: string): string => `
  -- What retention deletes.
  create index if not exists runs_by_end on ${schema}.runs (ended_at, run_id) where ended_at is not null;
  `,
  (schema: string): string => `
  alter table ${schema}.schedules add column if not exists taken_until int8;
  `,
  (schema: string): string => `
  alter table ${schema}.schedules add column if not exists gone_at int8;
  `,
];

/** The schema this build works on. */
export const POSTGRES_VERSION: number = MIGRATIONS.length;
