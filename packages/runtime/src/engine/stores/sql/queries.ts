import { PURGE_BATCH } from './purge.ts';
import type { RunStatus } from '../../journal/run.ts';
import type { Tables } from './tables.ts';

// SQL that is the same in both databases. Where it names `given`, the caller puts a table of one row before it:
// the store's time as `now` and the `owner` that asks; '' is none.

const NOW = '(select now from given)';
const OWNER = '(select owner from given)';

export const FINAL_STATUSES = `('completed', 'failed', 'cancelled')`;

/** The condition of the index `runs_free`, word for word, so that SQLite uses it. */
export const FREE = `owner is null and paused_at is null and status in ('queued', 'running', 'waiting')`;

/** As a run is stored whose code cannot be had. */
export const WAITS_FOR_CODE = '{"type":"code"%';

/** By the index `runs_by_state`, whose condition is the second part. */
export function inState(status: 'waiting' | 'blocked' | 'failed' | 'cancelled'): string {
  return `status = '${status}' and status in ('waiting', 'blocked', 'failed', 'cancelled')`;
}

/** The same of one name, by the index `runs_by_name_state`: of ten million runs a hundred thousand may have failed. */
export function inStateOfName(status: RunStatus): string | undefined {
  return ['blocked', 'failed', 'cancelled'].includes(status)
    ? `status in ('blocked', 'failed', 'cancelled')`
    : undefined;
}

const DUE = `paused_at is null and (status in ('queued', 'running') or (status = 'waiting' and wake_at <= ${NOW}))`;

/**
 * Those whose owner's lease is over, but for the owner that asks: that one still has them, and has not come to renew. What it
 * holds without working on it, it gives back by itself.
 */
export const LAPSED = `owner is not null and owner <> ${OWNER} and lease_until <= ${NOW}`;

export interface ClaimPart {
  where: string;
  orderBy: string;
}

/**
 * The runs that can be claimed, as the parts of a claim: all of the first part go before any of the second. `lapsed`: how
 * the database finds those of owners that have died.
 */
export function claimable(lapsed: string = LAPSED): ClaimPart[] {
  return [
    { where: `${lapsed} and ${DUE}`, orderBy: 'lease_until, run_id' },
    // As the index has them: by their ids alone a planner would search all runs there are for one.
    { where: `${FREE} and status = 'running'`, orderBy: 'wake_at, run_id' },
    { where: `${FREE} and status = 'waiting' and wake_at <= ${NOW}`, orderBy: 'wake_at, run_id' },
    { where: `${FREE} and status = 'queued'`, orderBy: 'wake_at, run_id' },
  ];
}

/**
 * Whether one run can be claimed, by its owner too: a caller that names a run is sure that it does not run here.
 * `from`: the mark of another owner it can be taken from.
 */
export function claimableOne(from: string): string {
  return `(owner is null or owner = ${OWNER} or owner = ${from} or lease_until <= ${NOW}) and ${DUE}`;
}

/** For a takeover: makes every lease of another owner an expired one. */
export function expireOthersQuery(runs: string): string {
  return `
    update ${runs} set lease_until = ${NOW}
    where owner is not null and owner <> ${OWNER} and lease_until > ${NOW}`;
}

/** Answers `now`, and as `wake` the earliest wake of a run without an owner, or with an expired lease, of a deadline, or of a start that waits for a time. */
export function nextWakeQuery(tables: Pick<Tables, 'runs' | 'queue'>, lapsed: string = LAPSED): string {
  return `select (${earliestWake(tables, lapsed)}) as wake, ${NOW} as now`;
}

/** The same time as an expression. */
export function earliestWake({ runs, queue }: Pick<Tables, 'runs' | 'queue'>, lapsed: string): string {
  return `
    select min(wake_at) from (
      select wake_at from (
        select wake_at from ${runs} where ${FREE} and status = 'waiting' and wake_at is not null
        order by wake_at limit 1) as free
      union all
      select min(wake_at) from ${runs} where ${lapsed} and paused_at is null and status = 'waiting'
      union all
      select min(deadline) from ${runs} where deadline is not null and ended_at is null
      union all
      select min(ready_at) from ${queue} where ready_at is not null) as waiting`;
}

/** How long an idempotency key answers the first start again. */
export const KEY_LIFE_MS = 24 * 60 * 60 * 1000;

/** Forgets idempotency keys whose life is over, a batch of them. `lock`: how the database locks what it picks. */
export function purgeKeysQuery({ keys }: Pick<Tables, 'keys'>, lock = ''): string {
  const end = `${NOW} - ${KEY_LIFE_MS}`;
  const old = `
    select key from ${keys} where kept_with is null and created_at <= ${end}
    order by created_at limit ${PURGE_BATCH} ${lock}`;
  return `delete from ${keys} where key in (${old})`;
}

/** Forgets the keys of starts that are deleted, and those that are kept with them. `are`: that a column is one of them, after its name; it is there twice. */
export function forgetKeysQuery({ keys }: Pick<Tables, 'keys'>, are: string): string {
  return `delete from ${keys} where (start_id ${are} and kept_with is null) or kept_with ${are}`;
}

/** Forgets starts that no rate limit counts any more, a batch of them. */
export function purgeRatesQuery({ rates }: Pick<Tables, 'rates'>): string {
  const old = `select key, n from ${rates} where until <= ${NOW} order by until limit ${PURGE_BATCH}`;
  return `delete from ${rates} where (key, n) in (${old})`;
}

/**
 * Of the next `KEYS_AT_ONCE` locks behind a key that have starts waiting, those with a free place and the last one, as
 * `key`, `n` and `isIdle`. It steps from key to key along the index: a queue of thousands on one key costs one step.
 * Parameter: the key.
 */
export function idleKeysQuery({ runs, queue }: Pick<Tables, 'runs' | 'queue'>): string {
  const isIdle = `
    (select count(*) from ${runs}
      where serial_key = waiting.key and serial_key is not null and status not in ${FINAL_STATUSES}
    ) < (select lock_limit from ${queue} where serial_key = waiting.key order by queue_no desc limit 1)`;
  return `
    with recursive waiting (key, n) as (
      select min(serial_key), 1 from ${queue} where serial_key > ? and ready_at is null
      union all
      select (select min(serial_key) from ${queue} where serial_key > waiting.key and ready_at is null), n + 1 from waiting
      where waiting.key is not null and n < ${KEYS_AT_ONCE})
    select key as "key", n as "n", is_idle as "isIdle" from (
      select key, n, case when ${isIdle} then 1 else 0 end as is_idle from waiting where key is not null) as found
    where is_idle = 1 or n = ${KEYS_AT_ONCE} order by key`;
}

/** So many locks with starts that wait are looked at by one claim: the time it takes does not grow with them. */
export const KEYS_AT_ONCE = 50;

/** Of a run below another, or a start of one: the end of that is none of its business. */
export const IS_ABANDONED = `coalesce(close_policy, '') = 'abandon'`;

/** A run and all below it that go with it, as `id`, from the top down. `mark`: the run's id. */
export function treeQuery(runs: string, mark: string): string {
  return `
    with recursive tree (id) as (
      select run_id from ${runs} where run_id = ${mark}
      union
      select run_id from ${runs}, tree where parent_run_id = tree.id and not ${IS_ABANDONED})
    select id from tree`;
}
