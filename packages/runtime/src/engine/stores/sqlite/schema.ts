import { newerJournal } from '../sql/schema-version.ts';
import type { SqliteDatabase } from './driver.ts';
import { FIRST_SCHEMA } from './first-schema.ts';

/** Brings a database to the schema of that version. Two processes may do so at once; one of them waits. */
export function migrateSqlite(db: SqliteDatabase, path: string, newest: number = SQLITE_VERSION): void {
  if (readVersion(db) === newest) return;
  db.transaction(() => {
    // Read again under the write lock: another process may have migrated meanwhile.
    const version = readVersion(db);
    if (version > newest) throw newerJournal(`"${path}"`, version, newest);
    for (const migration of MIGRATIONS.slice(version, newest)) db.exec(migration);
    db.exec(`pragma user_version = ${newest}`);
  });
}

/** The attributes of a row of runs. Of a number with a fraction there is no text that JavaScript writes, too. */
function pairsOf(row: string, from = ''): string {
  const value = `case type when 'true' then type when 'false' then type when 'real' then '#' else atom end`;
  return `
    select substr(key || ':' || ${value}, 1, 200), ${row}.run_id from ${from}json_each(${row}.attributes)
      where key not in ('svc.asked_by', 'svc.charged_to')`;
}

/** The n-th entry leads from `user_version` n to n + 1. A shipped entry never changes. */
const MIGRATIONS = [
  FIRST_SCHEMA,
  `
  alter table runs add column crash_count integer not null default 0;
  alter table runs add column crash_seq integer;
  alter table runs add column mark text;
  alter table runs add column mark_epoch integer;
  `,
  `
  alter table hooks add column verdict text;
  alter table hook_events add column idempotency_key text;
  alter table hook_events add column idempotency_digest text;

  -- What an approval was decided is in its payload; from here on its hook says so too.
  update hooks set verdict = (
    select case
        when e.payload like '1[{"decision":1,"by":2,"note":2,"input":2,"timedOut":3},%,null,true]' then 'expired'
        when e.payload like '1[{"decision":1,%"timedOut":_},"approve",%'
          or e.payload like '1[{"decision":1,%"timedOut":__},"approve",%'
          or e.payload like '1[{"decision":1,%"timedOut":___},"approve",%' then 'approved'
        else 'rejected' end
    from hook_events e where e.run_id = hooks.run_id and e.token = hooks.token and e.n = 0)
  where kind = 'approval';

  create index hooks_by_verdict on hooks (kind, verdict, created_at, run_id, token) where verdict is not null;
  create index approvals_by_time on hooks (created_at, run_id, token) where kind = 'approval';
  create index approvals_pending on hooks (created_at, run_id, token)
    where kind = 'approval' and is_open = 1 and verdict is null;
  create index approvals_closed on hooks (created_at, run_id, token)
    where kind = 'approval' and is_open = 0 and verdict is null;
  create index hook_events_by_key on hook_events (run_id, token, idempotency_key)
    where idempotency_key is not null;

  -- Lists of runs. What most runs are (begun over the API, completed, without marks) is in none of them, so that a run costs
  -- no more to write.
  create index runs_by_state on runs (status, run_id)
    where status in ('waiting', 'blocked', 'failed', 'cancelled');
  create index runs_by_cause on runs (trigger, run_id) where trigger <> 'api';
  create index runs_of_agents on runs (run_id) where kind = 'agent';
  create index runs_by_retry on runs (retry_of, run_id) where retry_of is not null;
  create index runs_marked on runs (run_id) where attributes is not null;

  create table timers (
    id text not null primary key,
    name text not null,
    cron text,
    time_zone text,
    input text not null,
    next_at integer,
    is_paused integer not null,
    origin text not null,
    digest text not null,
    created_at integer not null,
    last_at integer,
    last_run_id text,
    last_trigger_id text,
    last_error text
  ) without rowid;
  insert into timers (id, name, cron, time_zone, input, next_at, is_paused, origin, digest, created_at, last_at, last_run_id)
    select id, name, cron, time_zone, input, next_at, is_paused, 'declared', '', 0, last_at, last_run_id from schedules;
  drop table schedules;
  alter table timers rename to schedules;
  create index schedules_due on schedules (next_at) where is_paused = 0;

  create table schedule_firings (
    firing_no integer primary key autoincrement,
    id text not null,
    at integer not null,
    run_id text,
    trigger_id text,
    error text
  );
  create index schedule_firings_by_id on schedule_firings (id, firing_no);
  `,
  `
  alter table serial_queue add column attributes text;
  `,
  `
  drop table outbox;
  drop index hooks_by_time;
  `,
  `
  alter table hooks add column since integer not null default 0;
  `,
  `
  -- What retention deletes.
  create index runs_by_end on runs (ended_at, run_id) where ended_at is not null;
  `,
  `
  alter table schedules add column taken_until integer;
  `,
  `
  alter table schedules add column gone_at integer;
  `,
  `
  alter table runs add column continued_from text;
  alter table runs add column continued_to text;
  alter table runs add column chain_id text;
  -- The last run of each chain.
  create unique index runs_chain_end on runs (chain_id) where chain_id is not null and continued_to is null;
  -- The run changes as it continues, the token stays.
  drop index hook_events_by_key;
  create index hook_events_by_key on hook_events (token, idempotency_key) where idempotency_key is not null;
  `,
  `
  create table replicas (
    owner text not null primary key,
    lease_until integer not null,
    codes text not null
  ) without rowid;
  `,
  `
  -- A lock has places: a second unfinished run of one cannot be stored.
  alter table runs add column slot integer not null default 0;
  drop index runs_serial;
  create unique index runs_serial on runs (serial_key, slot)
    where serial_key is not null and status not in ('completed', 'failed', 'cancelled');

  -- A limit of 0: no lock. A start with a time waits for no place yet.
  alter table serial_queue add column lock_limit integer not null default 1;
  alter table serial_queue add column priority integer not null default 0;
  alter table serial_queue add column ready_at integer;
  alter table serial_queue add column is_reserved integer not null default 0;
  alter table serial_queue add column throttle text;
  alter table serial_queue add column debounce_key text;
  alter table serial_queue add column debounce_until integer;
  create index serial_queue_turn on serial_queue (serial_key, priority desc, queue_no) where ready_at is null;
  create index serial_queue_due on serial_queue (ready_at, queue_no) where ready_at is not null;
  create unique index serial_queue_debounce on serial_queue (debounce_key) where debounce_key is not null;

  create table start_rates (
    key text not null,
    n integer not null,
    at integer not null,
    until integer not null,
    primary key (key, n)
  ) without rowid;
  create index start_rates_by_end on start_rates (until);

  -- The run or the start a key is forgotten with; null: after 24 hours.
  alter table idempotency_keys add column kept_with text;
  drop index idempotency_keys_by_time;
  create index idempotency_keys_by_time on idempotency_keys (created_at) where kept_with is null;
  create index idempotency_keys_kept on idempotency_keys (kept_with) where kept_with is not null;
  `,
  `
  alter table runs add column state text;
  `,
  `
  alter table runs add column paused_at integer;
  drop index runs_free;
  create index runs_free on runs (status, wake_at, run_id)
    where owner is null and paused_at is null and status in ('queued', 'running', 'waiting');
  create index runs_paused on runs (run_id) where paused_at is not null;
  `,
  `
  -- What others are notified of is noted in the commit that made it so, while somebody listens.
  create table notice_topics (topic text not null primary key) without rowid;
  create table notices (
    notice_no integer primary key autoincrement,
    topic text not null,
    run_id text not null,
    mark text not null,
    at integer not null
  );
  create trigger notices_of_runs after update of status on runs
    when new.status in ('failed', 'blocked') and old.status <> new.status
      and (new.status = 'blocked' or new.parent_run_id is null)
  begin
    insert into notices (topic, run_id, mark, at)
      select topic, new.run_id, cast(new.epoch as text), cast((julianday('now') - 2440587.5) * 86400000 as integer)
      from notice_topics where topic = 'run.' || new.status;
  end;
  create trigger notices_of_hooks after insert on hooks when new.kind = 'approval'
  begin
    insert into notices (topic, run_id, mark, at)
      select topic, new.run_id, new.token, new.created_at from notice_topics where topic = 'approval.asked';
  end;

  create table deliveries (
    delivery_no integer primary key autoincrement,
    delivery_id text not null unique,
    receiver text not null,
    type text not null,
    run_id text not null,
    body text not null,
    state text not null,
    attempts integer not null,
    next_at integer,
    created_at integer not null,
    last_at integer,
    last_error text
  );
  create index deliveries_due on deliveries (next_at) where next_at is not null;
  create index deliveries_of_receiver on deliveries (receiver, next_at) where next_at is not null;
  create index deliveries_by_time on deliveries (created_at);
  create index deliveries_by_run on deliveries (run_id);
  create table failing_receivers (
    receiver text not null primary key,
    failures integer not null,
    since integer not null,
    paused_until integer,
    last_error text not null
  ) without rowid;
  `,
  `
  create table early_resumes (
    early_no integer primary key autoincrement,
    early_id text not null unique,
    token text not null,
    payload text not null,
    idempotency_key text,
    created_at integer not null,
    until integer not null,
    tried_at integer not null
  );
  create index early_resumes_by_token on early_resumes (token, early_no);
  `,
  `
  alter table runs add column cancel text;
  alter table runs add column deadline integer;
  create index runs_by_deadline on runs (deadline) where deadline is not null and ended_at is null;
  `,
  `
  alter table runs add column started_by text;
  alter table serial_queue add column started_by text;
  `,
  `
  alter table runs add column timeout_ms integer;
  alter table serial_queue add column timeout_ms integer;
  `,
  `
  alter table runs add column close_policy text;
  alter table runs add column closes_children text;
  alter table serial_queue add column close_policy text;
  `,
  `
  -- The attributes of runs, to find them by: sql/lists.ts.
  create table run_attributes (pair text not null, of_run text not null, primary key (pair, of_run)) without rowid;
  create trigger pairs_of_new_runs after insert on runs when new.attributes is not null
  begin
    insert or ignore into run_attributes ${pairsOf('new')};
  end;
  create trigger pairs_of_changed_runs after update of attributes on runs when new.attributes is not old.attributes
  begin
    delete from run_attributes where (pair, of_run) in (${pairsOf('old')});
    insert or ignore into run_attributes ${pairsOf('new')};
  end;
  create trigger pairs_of_deleted_runs after delete on runs when old.attributes is not null
  begin
    delete from run_attributes where (pair, of_run) in (${pairsOf('old')});
  end;
  insert or ignore into run_attributes ${pairsOf('runs', 'runs, ')};
  drop index runs_marked;

  create index runs_by_client on runs (json_extract(started_by, '$.client'), run_id)
    where json_extract(started_by, '$.client') is not null;
  create index runs_by_user on runs (json_extract(started_by, '$.user.id'), run_id)
    where json_extract(started_by, '$.user.id') is not null;
  `,
  `
  alter table schedules add column armed_by text;
  `,
  `
  -- The code that runs began with, each file once.
  create table code_versions (
    code_hash text not null,
    name text not null,
    manifest text not null,
    kept_at integer not null,
    primary key (code_hash, name)
  ) without rowid;
  create table code_files (digest text not null primary key, body text not null, kept_at integer not null);
  create table code_parts (
    code_hash text not null,
    name text not null,
    digest text not null,
    primary key (code_hash, name, digest)
  ) without rowid;
  create index code_parts_of_file on code_parts (digest);
  `,
  `
  alter table runs add column moved_from text;
  alter table runs add column moved_at integer;
  `,
  `
  -- What lists read in the place of a detail that is large.
  alter table hooks add column brief text;
  `,
  `
  -- A run that waits for its code is noted once, however often it is tried in between: code-waits.ts.
  create trigger notices_of_code after update of waiting_for on runs
    when new.status = 'waiting' and new.waiting_for like '{"type":"code","code":%'
      and (old.waiting_for is null or old.waiting_for not like '{"type":"code","code":%')
  begin
    insert into notices (topic, run_id, mark, at)
      select topic, new.run_id, cast(new.epoch as text), cast((julianday('now') - 2440587.5) * 86400000 as integer)
      from notice_topics where topic = 'run.waiting_for_code';
  end;
  `,
  `
  -- A run that completes is not in it, so that it costs no more to write.
  create index runs_by_name_state on runs (name, status, run_id) where status in ('blocked', 'failed', 'cancelled');
  `,
];

/** The schema this build works on. */
export const SQLITE_VERSION: number = MIGRATIONS.length;

// --- internal ---

function readVersion(db: SqliteDatabase): number {
  return db.prepare<{ user_version: number }>('pragma user_version').get()?.user_version ?? 0;
}
