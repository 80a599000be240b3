import { createHash } from 'node:crypto';
import { ADVISORY_LOCKS, REFRESH_CATALOG } from '../../../stores/advisory-locks.ts';
import type { SqlClient } from '../../../stores/sql.ts';

/** Where people find the views. */
export const VIEW_SCHEMA = 'svc_view';

/**
 * Makes the views `svc_view.runs` and `svc_view.steps` over the journal, for people who read the database: ids, names, states,
 * tokens and times, and no value of a run. Nothing is done where they are as this build has them.
 */
export async function makeViews(sql: SqlClient, schema: string): Promise<void> {
  const text = textOf(schema);
  const mark = createHash('sha256').update(text).digest('hex').slice(0, 16);
  if (await isMade(sql, mark)) return;
  await sql.transaction(async (tx) => {
    // Replicas that boot together take turns.
    await tx.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.reading]);
    await tx.query(REFRESH_CATALOG);
    if (!(await isMade(tx, mark))) await tx.exec(`${text}\ncomment on view ${VIEW_SCHEMA}.runs is '${mark}';`);
  });
}

// --- internal ---

async function isMade(sql: Pick<SqlClient, 'query'>, mark: string): Promise<boolean> {
  const [found] = await sql.query<{ mark: string | null }>(
    `select obj_description(to_regclass('${VIEW_SCHEMA}.runs'), 'pg_class') as mark`,
  );
  return found?.mark === mark;
}

/** The last record of a call that answers it, else the last there is. */
function lastOf(column: string): string {
  return `(array_agg(${column} order by event in ('done', 'failed') desc, seq desc))[1]`;
}

// A condition on `run_id` reaches the index of the table through the grouping.
function textOf(schema: string): string {
  return `
  create schema if not exists ${VIEW_SCHEMA};
  drop view if exists ${VIEW_SCHEMA}.runs, ${VIEW_SCHEMA}.steps;
  create view ${VIEW_SCHEMA}.runs as select
    run_id, trace_id, kind, name, trigger, status, session_id, parent_run_id, retry_of,
    ${schema}.json_of(attributes) ->> 'svc.asked_by' as asked_by,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens,
    to_timestamp(created_at / 1000.0) as created_at,
    to_timestamp(started_at / 1000.0) as started_at,
    to_timestamp(ended_at / 1000.0) as ended_at
  from ${schema}.runs;
  create view ${VIEW_SCHEMA}.steps as select
    run_id, call, kind,
    regexp_replace(regexp_replace(step_id, '^tool:', ''), '^.*#', '') as name,
    case
      when event = 'done' then 'completed'
      when event = 'failed' then 'failed'
      when event = 'retry' then 'retrying'
      when kind = 'hook' and step_id not like 'await %' then 'completed'
      else 'waiting'
    end as status,
    attempt, total_tokens,
    to_timestamp(started_at / 1000.0) as started_at,
    case when event in ('done', 'failed') then to_timestamp(at / 1000.0) end as ended_at
  from (
    select run_id, call,
      ${lastOf('kind')} as kind,
      ${lastOf('step_id')} as step_id,
      ${lastOf('event')} as event,
      ${lastOf('attempt')} as attempt,
      ${lastOf('at')} as at,
      coalesce(sum((tokens::json ->> 'totalTokens')::int8), 0)::int8 as total_tokens,
      min(started_at) as started_at
    from ${schema}.run_events where kind <> 'env' group by run_id, call
  ) calls;`;
}
