import { CREATE_KEYS } from './columns.ts';
import { RUN_COLUMNS } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';

export interface Query {
  text: string;
  params: unknown[];
  /** The text is one of few. A prepared statement over arrays would soon get a plan that is good for no batch. */
  prepared: boolean;
}

/** The store's clock, in milliseconds. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::int8';

/** The columns of a new run, in the order `createdValues` continues `CREATE_KEYS`. */
export const CREATE_INTO = [
  ...CREATE_KEYS.map((key) => RUN_COLUMNS[key]),
  'owner, lease_until, status, seq, epoch, created_at, started_at, signals',
  'input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens',
].join(', ');

/** What `createdRun` says of a run without records, key or lock, in SQL. */
export function createdValues(owner: string, leaseMs: string): string {
  const free = `${owner} is null`;
  return `
    ${owner}, now + ${leaseMs}, case when ${free} then 'queued' else 'running' end, 0,
    case when ${free} then 0 else 1 end, now, case when ${free} then null else now end, 0, 0, 0, 0, 0, 0`;
}

/** What a signal changes. `run`: the row's name with its dot. */
export function signalSets(run: string, count: string, now: string): string {
  return `
    signals = ${run}signals + ${count},
    wake_at = case when ${run}status = 'waiting' then ${now} else ${run}wake_at end`;
}

/**
 * Whether a hook, already narrowed down to a run, is open. Said so that the index of all open hooks is no choice: a
 * database that knows no figures about the table yet would walk through it.
 */
export const IS_OPEN_OF_RUN = 'is_open + 0 = 1';

/** How the runs of refused appends stand. Parameters: run ids, first positions, numbers of records. */
export function standingQuery({ runs, events }: Tables): string {
  return `
    with wanted as (select * from unnest($1::text[], $2::int4[], $3::int4[]) as wanted (id, start, count))
    select run_id as "runId", parent_run_id as "parentRunId", status, epoch, seq, output, error, ${NOW} as now,
      (select json_agg(e.record_id order by e.seq) from ${events} e
        where e.run_id = wanted.id and e.seq >= start and e.seq < start + count) as "recordIds"
    from wanted join ${runs} on run_id = id`;
}
