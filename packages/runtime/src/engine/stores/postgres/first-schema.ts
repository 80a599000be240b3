// Ids compare byte by byte ("C"), as they do in the code. `fillfactor` leaves room for a run's next version on its own
// page, and no index names a column that every append or renewal changes: such updates then touch no index at all.

/** The first version of the journal's tables. A shipped one never changes: `schema.ts` has what came after. */
export function createTables(schema: string): string {
  return [runs, records, hooks, starts, schedules, messages].map((tables) => tables(schema)).join('\n');
}

// --- internal ---

function runs(schema: string): string {
  return `
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
  `;
}

function records(schema: string): string {
  return `
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
  `;
}

function hooks(schema: string): string {
  return `
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
  `;
}

/** What is not a run yet, or is asked for once more. */
function starts(schema: string): string {
  return `
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
  `;
}

function schedules(schema: string): string {
  return `
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
  `;
}

/** What runs write for others to read. */
function messages(schema: string): string {
  return `
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
  `;
}
