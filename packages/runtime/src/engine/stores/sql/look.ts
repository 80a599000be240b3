import type { Look } from '../../journal/leases.ts';
import { claimable, earliestWake, LAPSED } from './queries.ts';
import type { StoredRow } from './rows.ts';
import type { Tables } from './tables.ts';

/**
 * All that a sweep asks of an idle journal, in one statement. `given` has the time as `now`, and the `owner`. `silent`: the
 * owners whose process is gone, where the store can tell.
 */
export function lookQuery(tables: Tables, lapsed: string = LAPSED, silent = 'null'): string {
  const { runs, queue, schedules } = tables;
  const now = '(select now from given)';
  const owner = '(select owner from given)';
  // With their order, which is that of their indexes: a planner takes `exists` for what is found soon by reading all.
  const exists = (...queries: string[]): string =>
    `case when ${queries.map((query) => `(select 1 from ${query} limit 1) is not null`).join(' or ')} then 1 else 0 end`;
  const isDue = exists(
    ...claimable(lapsed).map(({ where, orderBy }) => `${runs} where ${where} order by ${orderBy}`),
    `${queue} where ready_at is not null and ready_at <= ${now} order by ready_at`,
    // A lock may have a free place.
    `${queue} where ready_at is null order by serial_key`,
  );
  return `
    select ${now} as "now", ${silent} as "silent", (${earliestWake(tables, lapsed)}) as "wake", ${isDue} as "isDue",
      case when (select min(owner) from ${runs} where owner >= ${owner}) = ${owner} then 1 else 0 end as "isHolding",
      ${exists(`${runs} where deadline is not null and ended_at is null and deadline <= ${now} order by deadline`)} as "isOverdue",
      ${exists(`${schedules} where is_paused = 0 and next_at <= ${now} order by next_at`)} as "isScheduled",
      (select next_at from ${schedules} where is_paused = 0 and next_at > ${now} order by next_at limit 1) as "timer"`;
}

export function toLook(row: StoredRow | undefined): Look {
  if (!row) throw new Error('The database did not answer its time.');
  const now = Number(row.now);
  const until = (at: unknown): number | undefined => (at == null ? undefined : Math.max(0, Number(at) - now));
  return {
    now,
    wake: until(row.wake),
    isDue: row.isDue === 1,
    isHolding: row.isHolding === 1,
    isOverdue: row.isOverdue === 1,
    isScheduled: row.isScheduled === 1,
    timer: until(row.timer),
    silent: (row.silent as string[] | null | undefined) ?? [],
  };
}
