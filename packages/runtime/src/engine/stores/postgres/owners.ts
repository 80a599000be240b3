import { LAPSED } from '../sql/queries.ts';
import { NOW } from './sql.ts';
import type { Tables } from '../sql/tables.ts';

// An index on the end of leases would be written with each renewal of each run, and so would all other indexes of its
// row. All runs of an owner are renewed together: until when at least is one row of `owners`.

/** The table `lapsed`: the owners of runs, but for the one that asks, that have not renewed in time, or never. It steps from one to the next along the index. */
export function lapsedOwners(tables: Tables): string {
  return `lapsed as materialized (select array(${othersQuery(
    tables,
    `not exists (
      select 1 from ${tables.owners} o where o.owner = held.owner and o.leased_until > (select now from given))`,
  )}) as owners)`;
}

/** The table `silent`: the owners of runs, but for the one that asks, whose lock is free: the server has given it up with its session. */
export function silentOwners(tables: Tables): string {
  return `silent as materialized (select array(${othersQuery(
    tables,
    `(select ${isFree('o.lock_key')} from ${tables.owners} o where o.owner = held.owner and o.lock_key is not null)`,
  )}) as owners)`;
}

/** The condition that a run's lease is over, beside `lapsed`. Where that is empty no run is looked at, whatever a planner expects. */
export const IS_LAPSED = `
  (select owners from lapsed) <> '{}' and owner = any ((select owners from lapsed)::text[]) and ${LAPSED}`;

/** For a takeover: the owners before are not relied on. `given` has the claiming `owner`. */
export function forgetOthersQuery({ owners }: Tables): string {
  return `delete from ${owners} where owner <> (select owner from given)`;
}

/** Forgets owners that have not renewed for long. */
export function purgeOwnersQuery({ owners }: Tables): string {
  return `delete from ${owners} where leased_until < (select now from given) - ${FORGOTTEN_MS}`;
}

/** Takes the lock, which no one else knows yet, and says so. Parameters: owner, key. Whoever reads the row finds the lock taken. */
export function attendQuery({ owners }: Tables): string {
  return `
    with taken as materialized (select pg_advisory_lock($2::int8))
    insert into ${owners} (owner, leased_until, lock_key) select $1, ${NOW}, $2::int8 from taken
    on conflict (owner) do update set lock_key = excluded.lock_key`;
}

/** Of the given owners those whose lock is free, as `owner` and `key`; they count as lapsed, and their code as gone. */
export function expireOwnersQuery({ owners, replicas }: Tables): string {
  return `
    with expired as (
      update ${owners} set leased_until = least(leased_until, ${NOW})
      where owner = any($1::text[]) and lock_key is not null and ${isFree('lock_key')}
      returning owner, lock_key),
    gone as (delete from ${replicas} where owner in (select owner from expired))
    select owner, lock_key::text as key from expired`;
}

/** Ends leases of the given owners, a batch of them. Answers how many are `left`, at most. What a commit has locked is passed over. */
export function expireLeasesQuery({ runs }: Tables): string {
  const held = `${runs} where owner = any($1::text[]) and lease_until > (select now from given)`;
  return `
    with given as (select ${NOW} as now),
    mine as (select run_id as id from ${held} limit ${EXPIRED_AT_ONCE} for update skip locked),
    expired as (update ${runs} set lease_until = (select now from given) from mine where run_id = id returning 1),
    found as (select 1 from ${held} limit ${2 * EXPIRED_AT_ONCE})
    select ((select count(*) from found) - (select count(*) from expired))::int4 as left`;
}

/** All leases of the given owners have been ended: nothing is left to be found by their locks. Parameters: owners, keys. */
export function forgetLocksQuery({ owners }: Tables): string {
  return `update ${owners} set lock_key = null where owner = any($1::text[]) and lock_key = any($2::int8[])`;
}

// --- internal ---

const EXPIRED_AT_ONCE = 2_000;

/** The owners of runs, but for the one that asks, of which that holds. */
function othersQuery({ runs }: Tables, condition: string): string {
  return `
    with recursive held (owner) as (
      select min(owner) from ${runs} where owner is not null
      union all
      select (select min(owner) from ${runs} where owner > held.owner) from held where held.owner is not null)
    select held.owner from held where held.owner <> (select owner from given) and ${condition}`;
}

/** Shared, for the moment of the statement: those that look at the same time do not take it for taken. */
function isFree(key: string): string {
  return `pg_try_advisory_xact_lock_shared(${key})`;
}

const FORGOTTEN_MS = 60 * 60 * 1000;
