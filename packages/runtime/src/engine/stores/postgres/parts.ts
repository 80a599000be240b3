import { FINAL_STATUSES } from '../sql/queries.ts';
import { PATCH_KEYS, RUN_COLUMNS } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { columnNames, CREATE_KEYS, ENDS, EVENT_COLUMNS, RELEASES } from './columns.ts';
import { IS_OPEN_OF_RUN, signalSets } from './sql.ts';

// The statements of a commit. `one.ts` gives them a parameter for each value of its one row, `batch.ts` the columns of
// tables of rows; `name` answers how a value is named there.

/**
 * Creates runs without records or key, as `createdRun` says, with the first place of the lock where `lock` names one. `from` has
 * the time as `now`. Answers `id` and `now`.
 */
export function createRuns(
  { runs }: Tables,
  { from, name, lock = 'null::text' }: { from: string; name: Name; lock?: string },
): string {
  const columns = CREATE_KEYS.map((key) => RUN_COLUMNS[key]);
  const owner = name('owner');
  const isFree = `${owner} is null`;
  return `
    insert into ${runs} (${columns.join(', ')}, serial_key, owner, lease_until, status, seq, epoch, created_at, started_at, signals,
      input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens)
    select ${columns.map(name).join(', ')}, ${lock}, ${owner}, now + ${name('lease_ms')},
      case when ${isFree} then 'queued' else 'running' end, 0, case when ${isFree} then 0 else 1 end, now,
      case when ${isFree} then null else now end, 0, 0, 0, 0, 0, 0
    from ${from}
    on conflict do nothing returning run_id as id, created_at as now`;
}

/**
 * Moves runs on: the conditional half of an append. `bits`: all that occur in a mask. `rows`: the table of the moves;
 * without it there is one, of just these bits. Answers `id`, `now`, `parent` and `mask`.
 */
export function moveRuns(
  { runs }: Tables,
  { bits, now, name, rows, and = '' }: { bits: number; now: string; name: Name; rows?: string; and?: string },
): string {
  const mask = name('mask');
  const set = (bit: number, column: string, value: string): string =>
    `${column} = ${rows ? `case when ${mask} & ${bit} <> 0 then ${value} else r.${column} end` : value}`;
  const sets = [
    `seq = r.seq + ${name('count')}`,
    ...PATCH_KEYS.flatMap((key, index) => {
      if (!(bits & (1 << index))) return [];
      const given = name(RUN_COLUMNS[key]);
      // Named here alone: a parameter that does not occur in a statement has no type.
      const value = key === 'wakeAt' ? `case when r.signals > ${name('signals')} then ${now} else ${given} end` : given;
      return [set(1 << index, RUN_COLUMNS[key], value)];
    }),
    ...(bits & RELEASES ? [set(RELEASES, 'owner', 'null'), set(RELEASES, 'lease_until', 'null')] : []),
    ...(bits & ENDS ? [set(ENDS, 'ended_at', now)] : []),
  ];
  return `
    update ${runs} r set ${sets.join(', ')} ${rows ? `from ${rows}` : ''}
    where r.run_id = ${name('run_id')} and r.seq = ${name('seq')} and r.epoch = ${name('epoch')}
      and r.status not in ${FINAL_STATUSES} ${and}
    returning r.run_id as id, coalesce(r.ended_at, ${now}) as now, r.parent_run_id as parent, ${mask} as mask`;
}

/** Inserts records. `select` answers them in the order of `EVENT_COLUMNS`. */
export function insertRecords({ events }: Tables, select: string): string {
  return `insert into ${events} (${columnNames(EVENT_COLUMNS)}) ${select}`;
}

/** Closes the hooks of the runs in `moved` that have ended. */
export function closeHooks({ hooks }: Tables, and = ''): string {
  return `
    update ${hooks} h set is_open = 0
    where h.run_id = any(array(select id from moved where mask & ${ENDS} <> 0)) and ${IS_OPEN_OF_RUN} ${and}`;
}

/** Signals the one parent of the runs in `moved`, all of which have ended. */
export function signalParent({ runs }: Tables): string {
  return `
    update ${runs} set ${signalSets('', '(select count(*)::int4 from moved)', '(select now from moved limit 1)')}
    where run_id = (select parent from moved limit 1) and status not in ${FINAL_STATUSES}`;
}

// --- internal ---

type Name = (column: string) => string;
