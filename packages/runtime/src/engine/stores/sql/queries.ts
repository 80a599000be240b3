import { PURGE_BATCH } from './purge.ts';
import type { Tables } from './tables.ts';

// SQL that is the same in both databases. Where it names `given`, the caller puts a table of one row before it:
// the store's time as `now` and, for claims, the claiming `owner`.

const NOW = '(select now from given)';
const OWNER = '(select owner from given)';

export const FINAL_STATUSES = `('completed', 'failed', 'cancelled')`;

/** The condition of the index `runs_free`, word for word, so that SQLite uses it. */
export const FREE = `owner is null and status in ('queued', 'running', 'waiting')`;

const DUE = `(status in ('queued', 'running') or (status = 'waiting' and wake_at <= ${NOW}))`;

/** The runs that can be claimed, as the parts of a claim: all of the first part go before any of the second. */
export const CLAIMABLE = [
  { where: `owner is not null and lease_until <= ${NOW} and ${DUE}`, orderBy: 'lease_until, run_id' },
  { where: `${FREE} and status = 'running'`, orderBy: 'run_id' },
  { where: `${FREE} and status = 'waiting' and wake_at <= ${NOW}`, orderBy: 'wake_at, run_id' },
  { where: `${FREE} and status = 'queued'`, orderBy: 'wake_at, run_id' },
] as const;

/** Whether one run can be claimed, by its owner too: a caller that names a run is sure that it does not run here. */
export const CLAIMABLE_ONE = `(owner is null or owner = ${OWNER} or lease_until <= ${NOW}) and ${DUE}`;

/** For a takeover: makes every lease of another owner an expired one. */
export function expireOthersQuery(runs: string): string {
  return `
    update ${runs} set lease_until = ${NOW}
    where owner is not null and owner <> ${OWNER} and lease_until > ${NOW}`;
}

/** Answers `now`, and the earliest wake of a run without an owner, or with an expired lease, as `wake`. */
export function nextWakeQuery(runs: string): string {
  return `
    select min(wake_at) as wake, ${NOW} as now from (
      select wake_at from (
        select wake_at from ${runs} where ${FREE} and status = 'waiting' and wake_at is not null
        order by wake_at limit 1) as free
      union all
      select min(wake_at) from ${runs}
      where owner is not null and lease_until <= ${NOW} and status = 'waiting') as waiting`;
}

/** How long an idempotency key answers the first start again. */
export const KEY_LIFE_MS = 24 * 60 * 60 * 1000;

/** Forgets idempotency keys whose life is over, a batch of them. `lock`: how the database locks what it picks. */
export function purgeKeysQuery({ keys }: Pick<Tables, 'keys'>, lock = ''): string {
  const end = `${NOW} - ${KEY_LIFE_MS}`;
  const old = `select key from ${keys} where created_at <= ${end} order by created_at limit ${PURGE_BATCH} ${lock}`;
  return `delete from ${keys} where key in (${old})`;
}

/**
 * The serial keys that have queued starts and no holder, a bounded number, as `key`. It steps from key to key along the
 * index: a queue of thousands on one key costs one step.
 */
export function idleKeysQuery({ runs, queue }: Pick<Tables, 'runs' | 'queue'>): string {
  return `
    with recursive waiting (key) as (
      select min(serial_key) from ${queue}
      union all
      select (select min(serial_key) from ${queue} where serial_key > waiting.key) from waiting
      where waiting.key is not null)
    select key from waiting
    where key is not null and not exists (
      select 1 from ${runs} where serial_key = waiting.key and serial_key is not null and status not in ${FINAL_STATUSES})
    limit 100`;
}

/** A run and all below it, as `id`, from the top down. `mark`: the run's id. */
export function treeQuery(runs: string, mark: string): string {
  return `
    with recursive tree (id) as (
      select run_id from ${runs} where run_id = ${mark}
      union
      select run_id from ${runs}, tree where parent_run_id = tree.id)
    select id from tree`;
}
