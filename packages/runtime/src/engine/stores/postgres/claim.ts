import type { SqlClient } from '../../../stores/sql.ts';
import type { ClaimOne } from '../../journal/leases.ts';
import type { RunRow } from '../../journal/run.ts';
import { NOW } from './sql.ts';
import { claimable, claimableOne } from '../sql/queries.ts';
import { RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { IS_LAPSED, lapsedOwners } from './owners.ts';
import { toStoredText } from '../sql/text.ts';

/**
 * Takes runs, in the order of `part`, `due` and the run's id. Parameters: owner, lease in milliseconds, limit; `isChoosy`:
 * the hashes of code whose runs are left out.
 */
export function claimQuery(tables: Tables, isChoosy = false): string {
  const { runs } = tables;
  const given = claimable(IS_LAPSED);
  const and = isChoosy ? 'and (code_hash is null or code_hash <> all ($4::text[]))' : '';
  const parts = given.map(({ where, orderBy }, part) => {
    const before = given.slice(0, part).map((_, index) => ` - (select count(*) from part${index})`);
    return `part${part} as (
      select run_id as id, ${part} as part, ${orderBy.split(',')[0]} as due from ${runs} where ${where} ${and}
      order by ${orderBy} limit $3::int8${before.join('')} for update skip locked)`;
  });
  const union = given.map((_, part) => `select id, part, due::text as due from part${part}`).join(' union all ');
  return `with ${GIVEN}, ${lapsedOwners(tables)}, ${parts.join(', ')}, picked as (${union}) ${takeQuery(runs)}, part, due`;
}

/** A run that is asked for by its id. */
export interface NamedClaim extends ClaimOne {
  runId: string;
}

/** Answers a function that takes runs by their ids, those of one owner in one statement. Undefined: it cannot be claimed. */
export function createNamedClaims(
  sql: SqlClient,
  tables: Tables,
): (claims: NamedClaim[]) => Promise<(RunRow | undefined | Error)[]> {
  const [one, many] = [claimRunQuery(tables), claimRunsQuery(tables)];
  const claimOne = ({ runId, owner, leaseMs, from = { owner, died: false } }: NamedClaim): Promise<StoredRow[]> =>
    sql.query<StoredRow>(one, [toStoredText(owner), leaseMs, toStoredText(runId), toStoredText(from.owner), from.died]);
  const claimAll = (claims: NamedClaim[]): Promise<StoredRow[]> => {
    const [first] = claims;
    if (!first || claims.length === 1) return first ? claimOne(first) : Promise.resolve([]);
    const ids = claims.map(({ runId }) => toStoredText(runId));
    return sql.query<StoredRow>(many, [toStoredText(first.owner), first.leaseMs, ids]);
  };
  return async (claims) => {
    const groups = new Map<string, NamedClaim[]>();
    for (const claim of claims) {
      const key = claim.from ? claim.runId : `${claim.leaseMs} ${claim.owner}`;
      const group = groups.get(key);
      if (group) group.push(claim);
      else groups.set(key, [claim]);
    }
    const found = new Map<string, RunRow | Error>();
    const take = async (group: NamedClaim[]): Promise<void> => {
      try {
        for (const row of (await claimAll(group)).map(toRunRow)) found.set(row.runId, row);
      } catch (error) {
        for (const { runId } of group) found.set(runId, error as Error);
      }
    };
    await Promise.all([...groups.values()].map(take));
    return claims.map(({ runId }) => found.get(runId));
  };
}

/**
 * Extends the owner's leases that end before `until` (null: before the new end). Parameters: owner, lease in
 * milliseconds, `until`. Answers the new end as `until`, and how many runs it passed over because they were locked.
 */
export function renewQuery({ runs, owners }: Tables): string {
  const ending = `owner = $1 and lease_until < coalesce($3::int8, (select now from given) + $2::int8)`;
  return `
    with given as (select ${NOW} as now),
    mine as (select run_id as id from ${runs} where ${ending} for update skip locked),
    renewed as (
      update ${runs} set lease_until = (select now from given) + $2::int8 from mine where run_id = id returning id),
    passed as (select ((select count(*) from ${runs} where ${ending}) - (select count(*) from renewed))::int4 as locked),
    noted as (
      insert into ${owners} (owner, leased_until)
      select $1, coalesce($3::int8, (select now from given) + $2::int8) from passed where locked = 0
      on conflict (owner) do update set leased_until = excluded.leased_until)
    select (select now from given) + $2::int8 as until, locked from passed`;
}

// --- internal ---

/** Takes one run. Parameters: owner, lease in milliseconds, run id, an owner it is taken from, whether that has died. */
function claimRunQuery({ runs }: Tables): string {
  const picked = `select run_id as id from ${runs} where run_id = $3 and ${claimableOne('$4')} for update skip locked`;
  const isReleased = `${IS_RELEASED} or (owner = $4 and not $5::boolean)`;
  return `with ${GIVEN}, picked as (${picked}) ${takeQuery(runs, isReleased)}`;
}

/** Takes runs that are free, or the owner's, by their ids. Parameters: owner, lease in milliseconds, run ids. */
function claimRunsQuery({ runs }: Tables): string {
  const picked = `select run_id as id from ${runs} where run_id = any($3::text[]) and ${claimableOne('$1')} for update skip locked`;
  return `with ${GIVEN}, picked as (${picked}) ${takeQuery(runs)}`;
}

const GIVEN = `given as (select ${NOW} as now, $1::text as owner)`;

/** No owner died with the run: it was released, or its own owner claims it again. */
const IS_RELEASED = 'owner is null or owner = $1';

function takeQuery(runs: string, isReleased = IS_RELEASED): string {
  const now = '(select now from given)';
  return `
    update ${runs} set
      crash_count = case
        when ${isReleased} then crash_count
        when crash_seq = seq then crash_count + case when mark_epoch = epoch then 1 else 0 end
        else 0 end,
      crash_seq = case when ${isReleased} then crash_seq else seq end,
      owner = $1, lease_until = ${now} + $2::int8, epoch = epoch + 1, status = 'running',
      started_at = coalesce(started_at, ${now})
    from picked where run_id = id returning ${RUN_SELECT}`;
}
