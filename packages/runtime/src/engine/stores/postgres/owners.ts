import { LAPSED } from '../sql/queries.ts';
import type { Tables } from '../sql/tables.ts';

// An index on the end of leases would be written with each renewal of each run, and so would all other indexes of its
// row. All runs of an owner are renewed together: until when at least is one row of `owners`.

/** The table `lapsed`: the owners of runs, but for the one that asks, that have not renewed in time, or never. It steps from one to the next along the index. */
export function lapsedOwners({ runs, owners }: Tables): string {
  return `lapsed as materialized (select array(
    with recursive held (owner) as (
      select min(owner) from ${runs} where owner is not null
      union all
      select (select min(owner) from ${runs} where owner > held.owner) from held where held.owner is not null)
    select held.owner from held
    where held.owner <> (select owner from given) and not exists (
      select 1 from ${owners} o where o.owner = held.owner and o.leased_until > (select now from given))) as owners)`;
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

// --- internal ---

const FORGOTTEN_MS = 60 * 60 * 1000;
