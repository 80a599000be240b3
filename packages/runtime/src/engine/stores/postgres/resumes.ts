import type { SqlClient } from '../../../stores/sql.ts';
import type { HookEvent, HookRow, ResumeOptions, ResumeResult } from '../../journal/hooks.ts';
import { toTable } from './columns.ts';
import type { Column } from './columns.ts';
import { isRolledBack } from './errors.ts';
import { NOW, signalSets } from './sql.ts';
import type { Query } from './sql.ts';
import { unavailable } from './transaction.ts';
import { HOOK_COLUMNS, toHookEvent, toHookRow } from '../sql/hooks.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { toStored } from '../sql/rows.ts';
import type { StoredRow, StoredValue } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';

export interface Resume {
  token: string;
  payload: string;
  options: ResumeOptions;
}

/** Records resumes. Undefined: nothing was written, and it takes a transaction to find out why. */
export type WriteResumes = (resumes: Resume[]) => Promise<(ResumeResult | undefined)[]>;

/** Answers a function that records resumes of different tokens in one statement that waits for no lock. */
export function createResumeWriter(sql: SqlClient, tables: Tables): WriteResumes {
  return async (resumes) => {
    const { text, params, prepared } = resumesQuery(tables, resumes);
    let rows: StoredRow[] = [];
    try {
      rows = await sql.query<StoredRow>(text, params, { prepared });
    } catch (error) {
      // What the database undid, each of them meets alone, if it is its own.
      if (!isRolledBack(error)) throw unavailable(error);
    }
    const done = new Map(rows.map((row) => [fromStoredText(String(row.token)), row]));
    return resumes.map(({ token, payload, options }) => {
      const row = done.get(token);
      return row && toResumed(row, payload, options);
    });
  };
}

export function sizeOfResume({ token, payload }: Resume): number {
  return token.length + payload.length;
}

// --- internal ---

const COLUMNS: Column[] = [
  ['token', 'text'],
  ['payload', 'text'],
  ['key', 'text'],
  ['digest', 'text'],
  ['verdict', 'text'],
  ['most', 'int8'],
];

function toRow({ token, payload, options: { idempotency, verdict, most } }: Resume): StoredValue[] {
  return [
    toStoredText(token),
    toStoredText(payload),
    toStored(idempotency?.key),
    toStored(idempotency?.digest),
    toStored(verdict),
    Number.isSafeInteger(most) ? (most ?? null) : null,
  ];
}

const OF_HOOK = Object.values(HOOK_COLUMNS);
const HOOK_SELECT = Object.entries(HOOK_COLUMNS)
  .map(([key, column]) => `free.${column} as "${key}"`)
  .join(', ');

/**
 * Those whose hook is open and may be resumed. The run is locked before its hook, as the end of a run does it, and a lock that
 * another has is left alone. Under their locks the rows of run and hook are the newest there are, but the resumes are read as of the
 * beginning of the statement: one that was recorded since then has the number this one would get, and keeps it.
 *
 * Of one, whose statement stays prepared, each part names one row: a plan that was made while the tables were empty is right for full
 * ones, too.
 */
function resumesQuery({ runs, hooks, hookEvents }: Tables, resumes: Resume[]): Query {
  const given = toTable(COLUMNS, resumes.map(toRow), 0);
  const isOne = resumes.length === 1;
  const among = (rows: string): string => (isOne ? `= (${rows})` : `= any(array(${rows}))`);
  const isOpen = `token ${among('select token from given')} and is_open = 1`;
  const isNone = (where: string): string =>
    `(select true from ${hookEvents} e where e.token = held.token and ${where} limit 1) is null`;
  const text = `
    with given as materialized (select given_rows.*, ${NOW} as now from ${given.text}),
    locked as materialized (
      select run_id as id from ${runs} where run_id ${among(`select run_id from ${hooks} where ${isOpen}`)}
        and status not in ${FINAL_STATUSES} for update skip locked),
    held as materialized (
      select ${OF_HOOK.join(', ')} from ${hooks}
      where ${isOpen} and run_id ${among('select id from locked')} for update skip locked),
    free as materialized (
      select held.*, given.payload, given.key, given.digest, given.verdict as judged, given.most, given.now, coalesce(
        (select max(e.n) + 1 from ${hookEvents} e where e.run_id = held.run_id and e.token = held.token), 0) as next
      from held join given on given.token = held.token
      where (held.many = 1 or ${isNone('e.run_id = held.run_id and e.n = held.since')})
        and (given.key is null or ${isNone('e.idempotency_key = given.key')})),
    written as (
      insert into ${hookEvents} (run_id, token, n, payload, at, idempotency_key, idempotency_digest)
      select run_id, token, next, payload, now, key, digest from free where most is null or next - since < most
      on conflict do nothing returning run_id, token),
    counted as (select run_id as of_run, count(*)::int4 as count from written group by run_id),
    signalled as (
      update ${runs} set ${signalSets('', 'counted.count', '(select now from given limit 1)')} from counted where run_id = of_run),
    decided as (
      update ${hooks} h set verdict = judged, is_open = case when h.kind = 'event' then 0 else h.is_open end
      from free join written using (run_id, token)
      where h.run_id = free.run_id and h.token = free.token and free.verdict is null and judged is not null)
    select ${HOOK_SELECT}, free.next as "n", free.now as "at" from free join written using (run_id, token)`;
  return { text, params: given.params, prepared: isOne };
}

function toResumed(row: StoredRow, payload: string, { verdict }: ResumeOptions): ResumeResult {
  const { n, at, ...columns } = row;
  const hook: HookRow = toHookRow(columns);
  const event: HookEvent = toHookEvent({
    token: columns.token ?? null,
    n: n ?? null,
    payload: toStoredText(payload),
    at: at ?? null,
  });
  return { outcome: 'resumed', hook: { ...hook, verdict: hook.verdict ?? verdict ?? null }, event };
}
