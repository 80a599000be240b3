import { createTables } from './first-schema.ts';
import { NOW } from './sql.ts';

/** What leads from one version of the journal's schema to the next. A shipped one never changes. */
export interface Migration {
  /** Made in one transaction, in which no other writes to what it changes. */
  change: string;
  /** Indexes to make after it, each named first: of a table that is large, while others write to it. */
  indexes?: [name: string, on: string][];
  /** A statement that fills what the change has made. It may be run again. */
  fill?: string;
}

/** The n-th leads from version n to n + 1. */
export const MIGRATIONS: ((schema: string) => string | Migration)[] = [
  createTables,
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
  (schema: string): string => `
  alter table ${schema}.runs
    add column if not exists continued_from text collate "C",
    add column if not exists continued_to text collate "C",
    add column if not exists chain_id text collate "C";
  -- The last run of each chain.
  create unique index if not exists runs_chain_end on ${schema}.runs (chain_id)
    where chain_id is not null and continued_to is null;
  -- The run changes as it continues, the token stays.
  drop index if exists ${schema}.hook_events_by_key;
  create index if not exists hook_events_by_key on ${schema}.hook_events (token, idempotency_key)
    where idempotency_key is not null;
  `,
  (schema: string): string => `
  create table if not exists ${schema}.replicas (
    owner text collate "C" not null primary key,
    lease_until int8 not null,
    codes text not null
  );
  `,
  (schema: string): string => `
  -- A lock has places: a second unfinished run of one cannot be stored.
  alter table ${schema}.runs add column if not exists slot int4 not null default 0;
  drop index if exists ${schema}.runs_serial;
  create unique index if not exists runs_serial on ${schema}.runs (serial_key, slot)
    where serial_key is not null and status not in ('completed', 'failed', 'cancelled');

  -- A limit of 0: no lock. A start with a time waits for no place yet.
  alter table ${schema}.serial_queue
    add column if not exists lock_limit int4 not null default 1,
    add column if not exists priority int4 not null default 0,
    add column if not exists ready_at int8,
    add column if not exists is_reserved int2 not null default 0,
    add column if not exists throttle text,
    add column if not exists debounce_key text collate "C",
    add column if not exists debounce_until int8;
  create index if not exists serial_queue_turn on ${schema}.serial_queue (serial_key, priority desc, queue_no)
    where ready_at is null;
  create index if not exists serial_queue_due on ${schema}.serial_queue (ready_at, queue_no) where ready_at is not null;
  create unique index if not exists serial_queue_debounce on ${schema}.serial_queue (debounce_key)
    where debounce_key is not null;

  create table if not exists ${schema}.start_rates (
    key text collate "C" not null,
    n int4 not null,
    at int8 not null,
    until int8 not null,
    primary key (key, n)
  );
  create index if not exists start_rates_by_end on ${schema}.start_rates (until);

  -- The run or the start a key is forgotten with; null: after 24 hours.
  alter table ${schema}.idempotency_keys add column if not exists kept_with text collate "C";
  drop index if exists ${schema}.idempotency_keys_by_time;
  create index if not exists idempotency_keys_by_time on ${schema}.idempotency_keys (created_at) where kept_with is null;
  create index if not exists idempotency_keys_kept on ${schema}.idempotency_keys (kept_with) where kept_with is not null;
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists state text;
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists paused_at int8;
  drop index if exists ${schema}.runs_free;
  create index if not exists runs_free on ${schema}.runs (status, wake_at, run_id)
    where owner is null and paused_at is null and status in ('queued', 'running', 'waiting');
  create index if not exists runs_paused on ${schema}.runs (run_id) where paused_at is not null;
  `,
  (schema: string): string => `
  -- What others are notified of is noted in the commit that made it so, while somebody listens.
  create table if not exists ${schema}.notice_topics (topic text collate "C" not null primary key);
  create table if not exists ${schema}.notices (
    notice_no int8 generated always as identity primary key,
    topic text collate "C" not null,
    run_id text collate "C" not null,
    mark text collate "C" not null,
    at int8 not null
  );
  create or replace function ${schema}.note_run() returns trigger language plpgsql as $note$
    begin
      insert into ${schema}.notices (topic, run_id, mark, at)
        select topic, new.run_id, new.epoch::text, ${NOW} from ${schema}.notice_topics where topic = 'run.' || new.status;
      return null;
    end
  $note$;
  drop trigger if exists notices_of_runs on ${schema}.runs;
  create trigger notices_of_runs after update of status on ${schema}.runs for each row
    when (new.status in ('failed', 'blocked') and old.status <> new.status
      and (new.status = 'blocked' or new.parent_run_id is null))
    execute function ${schema}.note_run();
  create or replace function ${schema}.note_hook() returns trigger language plpgsql as $note$
    begin
      insert into ${schema}.notices (topic, run_id, mark, at)
        select topic, new.run_id, new.token, new.created_at from ${schema}.notice_topics where topic = 'approval.asked';
      return null;
    end
  $note$;
  drop trigger if exists notices_of_hooks on ${schema}.hooks;
  create trigger notices_of_hooks after insert on ${schema}.hooks for each row when (new.kind = 'approval')
    execute function ${schema}.note_hook();

  create table if not exists ${schema}.deliveries (
    delivery_no int8 generated always as identity primary key,
    delivery_id text collate "C" not null unique,
    receiver text collate "C" not null,
    type text collate "C" not null,
    run_id text collate "C" not null,
    body text not null,
    state text collate "C" not null,
    attempts int4 not null,
    next_at int8, created_at int8 not null, last_at int8,
    last_error text
  );
  create index if not exists deliveries_due on ${schema}.deliveries (next_at) where next_at is not null;
  create index if not exists deliveries_of_receiver on ${schema}.deliveries (receiver, next_at) where next_at is not null;
  create index if not exists deliveries_by_time on ${schema}.deliveries (created_at);
  create index if not exists deliveries_by_run on ${schema}.deliveries (run_id);
  create table if not exists ${schema}.failing_receivers (
    receiver text collate "C" not null primary key,
    failures int4 not null,
    since int8 not null,
    paused_until int8,
    last_error text not null
  );
  `,
  (schema: string): string => `
  create table if not exists ${schema}.early_resumes (
    early_no int8 generated always as identity primary key,
    early_id text collate "C" not null unique,
    token text collate "C" not null,
    payload text not null,
    idempotency_key text collate "C",
    created_at int8 not null, until int8 not null, tried_at int8 not null
  );
  create index if not exists early_resumes_by_token on ${schema}.early_resumes (token, early_no);
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists cancel text, add column if not exists deadline int8;
  create index if not exists runs_by_deadline on ${schema}.runs (deadline) where deadline is not null and ended_at is null;
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists started_by text;
  alter table ${schema}.serial_queue add column if not exists started_by text;
  `,
  (schema: string): string => `
  -- Until when at least all leases of an owner last.
  create table if not exists ${schema}.owners (
    owner text collate "C" not null primary key,
    leased_until int8 not null
  ) with (fillfactor = 50);
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists timeout_ms int8;
  alter table ${schema}.serial_queue add column if not exists timeout_ms int8;
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists close_policy text, add column if not exists closes_children text;
  alter table ${schema}.serial_queue add column if not exists close_policy text;
  `,
  (schema: string): Migration => ({
    change: `
  -- JSON text as JSON, without what Postgres cannot make a text of.
  create or replace function ${schema}.json_of(given text) returns json language sql immutable as $json$
    select regexp_replace(given, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'gi')::json
  $json$;

  -- The attributes of runs, to find them by: sql/lists.ts.
  create table if not exists ${schema}.run_attributes (
    pair text collate "C" not null,
    of_run text collate "C" not null,
    primary key (pair, of_run)
  );
  create or replace function ${schema}.pairs_of(id text, attributes text) returns setof ${schema}.run_attributes
    language sql immutable as $pairs$
      select substr(key || ':' || value, 1, 200), id from json_each_text(${schema}.json_of(attributes)) where key not in ('svc.asked_by', 'svc.charged_to')
  $pairs$;
  create or replace function ${schema}.pair_run() returns trigger language plpgsql as $pair$
    begin
      if tg_op <> 'INSERT' and old.attributes is not null then
        delete from ${schema}.run_attributes where (pair, of_run) in (select * from ${schema}.pairs_of(old.run_id, old.attributes));
      end if;
      if tg_op <> 'DELETE' and new.attributes is not null then
        insert into ${schema}.run_attributes select * from ${schema}.pairs_of(new.run_id, new.attributes) on conflict do nothing;
      end if;
      return null;
    end
  $pair$;
  drop trigger if exists pairs_of_new_runs on ${schema}.runs;
  create trigger pairs_of_new_runs after insert on ${schema}.runs for each row
    when (new.attributes is not null) execute function ${schema}.pair_run();
  drop trigger if exists pairs_of_changed_runs on ${schema}.runs;
  create trigger pairs_of_changed_runs after update of attributes on ${schema}.runs for each row
    when (new.attributes is distinct from old.attributes) execute function ${schema}.pair_run();
  drop trigger if exists pairs_of_deleted_runs on ${schema}.runs;
  create trigger pairs_of_deleted_runs after delete on ${schema}.runs for each row
    when (old.attributes is not null) execute function ${schema}.pair_run();
  drop index if exists ${schema}.runs_marked;
  `,
    fill: `
  insert into ${schema}.run_attributes
    select marked.* from ${schema}.runs r cross join lateral ${schema}.pairs_of(r.run_id, r.attributes) marked
    where r.attributes is not null on conflict do nothing`,
    indexes: [
      [
        'runs_by_client',
        `${schema}.runs ((${schema}.json_of(started_by) ->> 'client'), run_id)
        where (${schema}.json_of(started_by) ->> 'client') is not null`,
      ],
      [
        'runs_by_user',
        `${schema}.runs ((${schema}.json_of(started_by) #>> '{user,id}'), run_id)
        where (${schema}.json_of(started_by) #>> '{user,id}') is not null`,
      ],
    ],
  }),
  (schema: string): string => `
  alter table ${schema}.schedules add column if not exists armed_by text;
  `,
  (schema: string): string => `
  -- The advisory lock that the owner's process holds for as long as it is there.
  alter table ${schema}.owners add column if not exists lock_key int8;
  `,
  (schema: string): string => `
  -- The code that runs began with, each file once.
  create table if not exists ${schema}.code_versions (
    code_hash text collate "C" not null,
    name text collate "C" not null,
    manifest text not null,
    kept_at int8 not null,
    primary key (code_hash, name)
  );
  create table if not exists ${schema}.code_files (
    digest text collate "C" not null primary key,
    body text not null,
    kept_at int8 not null
  );
  create table if not exists ${schema}.code_parts (
    code_hash text collate "C" not null,
    name text collate "C" not null,
    digest text collate "C" not null,
    primary key (code_hash, name, digest)
  );
  create index if not exists code_parts_of_file on ${schema}.code_parts (digest);
  `,
  (schema: string): string => `
  alter table ${schema}.runs add column if not exists moved_from text, add column if not exists moved_at int8;
  `,
  (schema: string): string => `
  -- What lists read in the place of a detail that is large.
  alter table ${schema}.hooks add column if not exists brief text;
  `,
  (schema: string): string => `
  -- A run that waits for its code is noted once, however often it is tried in between: code-waits.ts.
  create or replace function ${schema}.note_code() returns trigger language plpgsql as $note$
    begin
      insert into ${schema}.notices (topic, run_id, mark, at)
        select topic, new.run_id, new.epoch::text, ${NOW} from ${schema}.notice_topics where topic = 'run.waiting_for_code';
      return null;
    end
  $note$;
  drop trigger if exists notices_of_code on ${schema}.runs;
  create trigger notices_of_code after update of waiting_for on ${schema}.runs for each row
    when (new.status = 'waiting' and new.waiting_for like '{"type":"code","code":%'
      and (old.waiting_for is null or old.waiting_for not like '{"type":"code","code":%'))
    execute function ${schema}.note_code();
  `,
  (schema: string): Migration => ({
    change: '',
    // A run that completes is not in it, so that it costs no more to write.
    indexes: [
      [
        'runs_by_name_state',
        `${schema}.runs (name, status, run_id) where status in ('blocked', 'failed', 'cancelled')`,
      ],
    ],
  }),
];

/** The schema this build works on. */
export const POSTGRES_VERSION: number = MIGRATIONS.length;
