import type { Append } from '../../journal/appends.ts';
import type { NewRun } from '../../journal/starts.ts';
import {
  columnNames,
  CREATE_COLUMNS,
  ENDS,
  EVENT_COLUMNS,
  GIVEN_HOOKS,
  maskOf,
  MOVE_COLUMNS,
  toCreateRow,
  toHookRows,
  toMoveRow,
  toRecordRows,
  toTable,
} from './columns.ts';
import type { Column } from './columns.ts';
import { enterQuery } from './one.ts';
import { lockKey } from './serial.ts';
import { closeHooks, createRuns, insertRecords, moveRuns, signalParent } from './parts.ts';
import { NOW } from './sql.ts';
import type { Query } from './sql.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import type { StoredValue } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import { endsIn } from '../sql/write.ts';

/**
 * One statement that creates and appends, or does one of both; each run may occur once. It has only the parts its
 * writes need. Its rows are the runs it wrote to, as `id` and `now`, and after them the hooks those have, with `token`.
 * An end of a run that has a parent is left out, unless `areSiblings`: all runs have the same parent.
 */
export function commitQuery(
  tables: Tables,
  { runs = [], entries, areSiblings = false }: { runs?: NewRun[]; entries: Append[]; areSiblings?: boolean },
): Query {
  const params: unknown[] = [];
  const parts = [`given as (select ${NOW} as now)`];
  const results: string[] = [];
  const give: Give = (columns, rows) => {
    const table = toTable(columns, rows, params.length);
    params.push(...table.params);
    return table.text;
  };
  if (runs.length > 0) {
    const from = `given, ${give(CREATE_COLUMNS, runs.map(toCreateRow))}`;
    parts.push(`created as (${createRuns(tables, { from, name: (column) => column })})`);
    results.push('select id, now, null::text as token from created');
  }
  if (entries.length > 0) {
    parts.push(...appendParts(tables, { entries, areSiblings }, give));
    results.push('select id, now, null::text as token from moved');
    if (entries.some((entry) => entry.hooks?.length))
      for (const made of ['hooked', 'rehooked']) results.push(`select run_id, null, token from ${made}`);
  }
  return { text: `with ${parts.join(', ')} ${results.join(' union all ')}`, params, prepared: false };
}

/** `entersQuery`, or for one run what takes the database less time to plan. */
export function toEnterQuery(tables: Tables, runs: NewRun[]): Query {
  const [first] = runs;
  return first && runs.length === 1 ? enterQuery(tables, first) : entersQuery(tables, runs);
}

// --- internal ---

const ENTER_COLUMNS: Column[] = [...CREATE_COLUMNS, ['lock_key', 'text']];

function toEnterRow(run: NewRun): StoredValue[] {
  return [...toCreateRow(run), toStoredText(run.serial?.key ?? '')];
}

/**
 * Creates each of the runs whose lock has its one place free, with no start waiting for it: what has locked the lock's name gives
 * its places away. Of the others it changes nothing, and it takes a transaction to find out why. No two may have the same lock.
 */
function entersQuery(tables: Tables, runs: NewRun[]): Query {
  const given = toTable(ENTER_COLUMNS, runs.map(toEnterRow), 0);
  // Read row by row, as by `enterQuery`: a join might read all runs there are.
  const isNone = (rows: string): string => `(select true from ${rows} limit 1) is null`;
  const isFree = isNone(`${tables.runs} r where r.serial_key = lock_key and r.status not in ${FINAL_STATUSES}`);
  const isNext = isNone(`${tables.queue} q where q.serial_key = lock_key`);
  const from = `(select * from starts where is_mine and ${isFree} and ${isNext}) as free`;
  const text = `
    with starts as materialized (
      select given_rows.*, ${NOW} as now, ${lockKey(tables, 'lock_key', 'pg_try_advisory_xact_lock')} as is_mine
      from ${given.text})
    ${createRuns(tables, { from, name: (column) => column, lock: 'lock_key' })}`;
  return { text, params: given.params, prepared: true };
}

const GIVEN_NOW = '(select now from given)';

/** Adds rows to the parameters; answers them as a table. */
type Give = (columns: Column[], rows: StoredValue[][]) => string;

function appendParts(
  tables: Tables,
  { entries, areSiblings }: { entries: Append[]; areSiblings: boolean },
  give: Give,
): string[] {
  const bits = entries.reduce((all, { patch }) => all | maskOf(patch), 0);
  // What a run that continues leaves goes to the next of its chain.
  const ends = entries.some((entry) => endsIn(entry.patch) && !entry.continueAs);
  const hooks = entries.flatMap(toHookRows);
  const records = entries.flatMap(toRecordRows);
  const isOne = entries.length === 1;
  const moved = moveRuns(tables, {
    bits,
    now: GIVEN_NOW,
    name: (column) => `moves.${column}`,
    rows: isOne ? 'moves' : 'moves, locked',
    and: `${isOne ? '' : 'and r.run_id = locked.id'} ${ends && !areSiblings ? IS_NOT_DEFERRED : ''}`,
  });
  const parts = [`moves as (select * from ${give(MOVE_COLUMNS, entries.map(toMoveRow))})`];
  if (!isOne) parts.push(`locked as (${lockRuns(tables)})`);
  parts.push(`moved as (${moved})`);
  if (records.length > 0) {
    const select = `select ${columnNames(EVENT_COLUMNS)} from ${give(EVENT_COLUMNS, records)} where ${IS_MOVED}`;
    parts.push(`written as (${insertRecords(tables, select)})`);
  }
  if (hooks.length > 0) parts.push(...hookParts(tables, give(GIVEN_HOOKS, hooks)));
  if (ends) parts.push(`closed as (${closeHooks(tables, hooks.length > 0 ? IS_NOT_MADE : '')})`);
  if (ends && areSiblings) parts.push(`signalled as (${signalParent(tables)})`);
  return parts;
}

const IS_MOVED = 'run_id in (select id from moved)';

/**
 * An update of many rows locks them in whatever order its plan finds them. A cancel locks those of a tree: in another
 * order each would hold what the other waits for. The youngest first, as who ends a run locks the one above it after it.
 */
function lockRuns({ runs }: Tables): string {
  return `
    select run_id as id from ${runs} where run_id = any(array(select run_id from moves))
    order by run_id desc for no key update`;
}

/**
 * A statement that changes many runs and, after them, parents that other replicas change could be one half of a
 * deadlock with theirs. Those who wait for one parent while they hold nothing but its children cannot.
 */
const IS_NOT_DEFERRED = `and (moves.mask & ${ENDS} = 0 or r.parent_run_id is null)`;

/** A statement changes a row once, and the part before has closed those it was given. */
const IS_NOT_MADE = 'and not exists (select 1 from made where made.run_id = h.run_id and made.token = h.token)';

/** The hook there is, and not one that the run has made since then: of an older one nothing is taken. */
const IS_SAME = 'made.call <= h.call';
const IS_OLDER = 'made.call < h.call';

function hookParts({ hooks }: Tables, given: string): string[] {
  const columns = columnNames(GIVEN_HOOKS);
  return [
    `made as (select * from ${given})`,
    // Of another open hook with the token, this run's or another's, nothing is left here: the next part finds its own.
    `hooked as (
      insert into ${hooks} (${columns}, created_at) select ${columns}, ${GIVEN_NOW} from made where ${IS_MOVED}
      on conflict do nothing returning run_id, token)`,
    `rehooked as (
      update ${hooks} h set
        many = case when made.call = h.call then greatest(h.many, made.many) when ${IS_OLDER} then h.many else made.many end,
        detail = case when ${IS_SAME} then h.detail else made.detail end,
        brief = case when ${IS_SAME} then h.brief else made.brief end,
        since = case when ${IS_SAME} then h.since else made.since end,
        is_open = case when ${IS_SAME} then least(h.is_open, made.is_open) else made.is_open end,
        verdict = case when ${IS_SAME} then h.verdict end,
        created_at = case when ${IS_SAME} then h.created_at else ${GIVEN_NOW} end,
        call = greatest(h.call, made.call)
      from made
      where h.run_id = made.run_id and h.token = made.token and made.${IS_MOVED}
        and (h.is_open = 1 or not exists (
          select 1 from ${hooks} o where o.token = h.token and o.is_open = 1 and o.run_id <> h.run_id))
      returning h.run_id, h.token)`,
  ];
}
