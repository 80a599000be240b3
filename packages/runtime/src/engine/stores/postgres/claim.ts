import type { SqlClient } from '../../../stores/sql.ts';
import { newRunId } from '../../ids.ts';
import { lockKey, promote } from './serial.ts';
import { NOW } from './sql.ts';
import { transact } from './transaction.ts';
import { CLAIMABLE, CLAIMABLE_ONE, idleKeysQuery } from '../sql/queries.ts';
import { RUN_SELECT } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText } from '../sql/text.ts';

/** Takes runs, in the order of `part`, `due` and the run's id. Parameters: owner, lease in milliseconds, limit. */
export function claimQuery({ runs }: Tables): string {
  const parts = CLAIMABLE.map(({ where, orderBy }, part) => {
    const before = CLAIMABLE.slice(0, part).map((_, index) => ` - (select count(*) from part${index})`);
    return `part${part} as (
      select run_id as id, ${part} as part, ${orderBy.split(',')[0]} as due from ${runs} where ${where}
      order by ${orderBy} limit $3::int8${before.join('')} for update skip locked)`;
  });
  const union = CLAIMABLE.map((_, part) => `select id, part, due::text as due from part${part}`).join(' union all ');
  return `with ${GIVEN}, ${parts.join(', ')}, picked as (${union}) ${takeQuery(runs)}, part, due`;
}

/** Takes one run. Parameters: owner, lease in milliseconds, run id. */
export function claimRunQuery({ runs }: Tables): string {
  const picked = `select run_id as id from ${runs} where run_id = $3 and ${CLAIMABLE_ONE} for update skip locked`;
  return `with ${GIVEN}, picked as (${picked}) ${takeQuery(runs)}`;
}

/**
 * Extends the owner's leases that end before `until` (null: before the new end). Parameters: owner, lease in
 * milliseconds, `until`. Answers the new end as `until`, and how many runs it passed over because they were locked.
 */
export function renewQuery({ runs }: Tables): string {
  const ending = `owner = $1 and lease_until < coalesce($3::int8, (select now from given) + $2::int8)`;
  return `
    with given as (select ${NOW} as now),
    mine as (select run_id as id from ${runs} where ${ending} for update skip locked),
    renewed as (
      update ${runs} set lease_until = (select now from given) + $2::int8 from mine where run_id = id returning id)
    select (select now from given) + $2::int8 as until,
      ((select count(*) from ${runs} where ${ending}) - (select count(*) from renewed))::int4 as locked`;
}

/** Gives free locks to the starts that wait for them. */
export async function promoteIdle(sql: SqlClient, tables: Tables): Promise<void> {
  for (const { key } of await sql.query<{ key: string }>(idleKeysQuery(tables)))
    await transact(sql, async (tx) => {
      await tx.query(`select ${lockKey(tables, '$1::text')}`, [key]);
      await promote(tx, tables, fromStoredText(key), newRunId);
    });
}

// --- internal ---

const GIVEN = `given as (select ${NOW} as now, $1::text as owner)`;

/** No owner died with the run: it was released, or its own owner claims it again. */
const IS_RELEASED = '(owner is null or owner = $1)';

function takeQuery(runs: string): string {
  const now = '(select now from given)';
  return `
    update ${runs} set
      crash_count = case
        when ${IS_RELEASED} then crash_count
        when crash_seq = seq then crash_count + case when mark_epoch = epoch then 1 else 0 end
        else 0 end,
      crash_seq = case when ${IS_RELEASED} then crash_seq else seq end,
      owner = $1, lease_until = ${now} + $2::int8, epoch = epoch + 1, status = 'running',
      started_at = coalesce(started_at, ${now})
    from picked where run_id = id returning ${RUN_SELECT}`;
}
