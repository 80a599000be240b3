/** The first version of the journal's tables. It never changes: `schema.ts` has what came after. */
export const FIRST_SCHEMA = `
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
    seed text,
    signals integer not null,
    trigger_id text,
    serial_key text,
    attributes text,
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
  ) without rowid;
  -- A run that can be taken is in one of these two; a finished one is in neither, so they stay as small as the work.
  create index runs_held on runs (lease_until) where owner is not null;
  create index runs_free on runs (status, wake_at, run_id)
    where owner is null and status in ('queued', 'running', 'waiting');
  create index runs_by_name on runs (name, run_id);
  create index runs_by_session on runs (session_id, run_id) where session_id is not null;
  create index runs_by_parent on runs (parent_run_id, run_id) where parent_run_id is not null;
  create unique index runs_by_trigger on runs (trigger_id) where trigger_id is not null;
  -- The lock itself: a second unfinished run of a key cannot be stored.
  create unique index runs_serial on runs (serial_key)
    where serial_key is not null and status not in ('completed', 'failed', 'cancelled');

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

  create table hooks (
    token text not null,
    run_id text not null,
    call integer not null,
    kind text not null,
    many integer not null,
    detail text,
    is_open integer not null,
    created_at integer not null,
    primary key (run_id, token)
  ) without rowid;
  create unique index hooks_open on hooks (token) where is_open = 1;
  create index hooks_by_token on hooks (token, created_at);
  create index hooks_by_time on hooks (is_open, created_at);

  create table hook_events (
    run_id text not null,
    token text not null,
    n integer not null,
    payload text not null,
    at integer not null,
    primary key (run_id, token, n)
  ) without rowid;

  create table serial_queue (
    queue_no integer primary key autoincrement,
    trigger_id text not null unique,
    serial_key text not null,
    kind text not null,
    name text not null,
    trigger text not null,
    code_hash text,
    session_id text,
    parent_run_id text,
    retry_of text,
    seed text,
    input text not null,
    records text,
    created_at integer not null
  );
  create index serial_queue_by_key on serial_queue (serial_key, queue_no);
  create index serial_queue_by_parent on serial_queue (parent_run_id) where parent_run_id is not null;

  -- A start is a run, or a queued start by its trigger's id.
  create table idempotency_keys (
    key text not null primary key,
    digest text not null,
    start_id text not null,
    created_at integer not null
  ) without rowid;
  create index idempotency_keys_by_start on idempotency_keys (start_id);
  create index idempotency_keys_by_time on idempotency_keys (created_at);

  create table schedules (
    id text not null primary key,
    name text not null,
    cron text not null,
    time_zone text,
    input text not null,
    next_at integer not null,
    is_paused integer not null,
    last_at integer,
    last_run_id text
  ) without rowid;

  create table stream_chunks (
    run_id text not null,
    n integer not null,
    namespace text not null,
    payload text not null,
    primary key (run_id, n)
  ) without rowid;

  create table outbox (
    id integer primary key autoincrement,
    topic text not null,
    payload text not null
  );
`;
