import type { Append, NewRun } from '../../journal.ts';
import {
  columnNames,
  CREATE_COLUMNS,
  CREATE_KEYS,
  ENDS,
  endsIn,
  EVENT_COLUMNS,
  GIVEN_HOOKS,
  maskOf,
  MOVE_COLUMNS,
  PATCH_COLUMNS,
  RELEASES,
  toTable,
} from './columns.ts';
import type { Column } from './columns.ts';
import { CREATE_INTO, createdValues, IS_OPEN_OF_RUN, NOW, signalSets } from './sql.ts';
import type { Query } from './sql.ts';
import { FINAL_STATUSES } from '../sql/queries.ts';
import { PATCH_KEYS, RUN_COLUMNS, toStored, toStoredRecord } from '../sql/rows.ts';
import type { StoredValue } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

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
    parts.push(createPart(tables, give(CREATE_COLUMNS, runs.map(toCreateRow))));
    results.push(`select run_id as id, ${GIVEN_NOW} as now, null::text as token from created`);
  }
  if (entries.length > 0) {
    parts.push(...appendParts(tables, { entries, areSiblings }, give));
    results.push(`select run_id as id, ${GIVEN_NOW} as now, null::text as token from moved`);
    if (entries.some((entry) => entry.hooks?.length))
      for (const made of ['hooked', 'rehooked']) results.push(`select run_id, null, token from ${made}`);
  }
  return { text: `with ${parts.join(', ')} ${results.join(' union all ')}`, params, prepared: false };
}

/** Inserts records into a run. */
export function recordsQuery({ events }: Tables, entry: Pick<Append, 'runId' | 'seq' | 'records'>): Query {
  const columns = columnNames(EVENT_COLUMNS);
  const { text, params } = toTable(EVENT_COLUMNS, toRecordRows(entry), 0);
  return { text: `insert into ${events} (${columns}) select ${columns} from ${text}`, params, prepared: false };
}

// --- internal ---

const GIVEN_NOW = '(select now from given)';

/** Adds rows to the parameters; answers them as a table. */
type Give = (columns: Column[], rows: StoredValue[][]) => string;

function toCreateRow(run: NewRun): StoredValue[] {
  return [...CREATE_KEYS.map((key) => toStored(run[key])), toStored(run.claim?.owner), run.claim?.leaseMs ?? null];
}

function createPart({ runs }: Tables, given: string): string {
  return `created as (
    insert into ${runs} (${CREATE_INTO})
    select ${CREATE_KEYS.map((key) => RUN_COLUMNS[key]).join(', ')}, ${createdValues('owner', 'lease_ms')}
    from given, ${given}
    on conflict do nothing returning run_id)`;
}

function appendParts(
  tables: Tables,
  { entries, areSiblings }: { entries: Append[]; areSiblings: boolean },
  give: Give,
): string[] {
  const ends = entries.some((entry) => endsIn(entry.patch));
  const columns = columnNames(EVENT_COLUMNS);
  const parts = [`moves as (select * from ${give(MOVE_COLUMNS, entries.map(toMoveRow))})`];
  const hooks = entries.flatMap(toHookRows);
  const records = entries.flatMap(toRecordRows);
  parts.push(movedPart(tables, entries, ends && !areSiblings));
  if (records.length > 0)
    parts.push(`written as (
      insert into ${tables.events} (${columns})
      select ${columns} from ${give(EVENT_COLUMNS, records)} where ${IS_MOVED})`);
  if (hooks.length > 0) parts.push(...hookParts(tables, give(GIVEN_HOOKS, hooks)));
  if (ends) parts.push(closedPart(tables, hooks.length > 0));
  if (ends && areSiblings) parts.push(signalledPart(tables));
  return parts;
}

const IS_MOVED = 'run_id in (select run_id from moved)';

function toMoveRow({ runId, epoch, seq, records, patch, signals }: Append): StoredValue[] {
  const counts = [epoch, seq, records.length, maskOf(patch), signals ?? null];
  return [toStoredText(runId), ...counts, ...PATCH_KEYS.map((key) => toStored(patch[key]))];
}

function toRecordRows({ runId, seq, records }: Pick<Append, 'runId' | 'seq' | 'records'>): StoredValue[][] {
  const id = toStoredText(runId);
  return records.map((record, index) => [id, ...toStoredRecord(record, seq + index)]);
}

function toHookRows({ runId, hooks = [], patch }: Append): StoredValue[][] {
  const isOpen = Number(!endsIn(patch));
  // Named twice, the last word counts: a statement changes a row once.
  const last = new Map(hooks.map((hook) => [hook.token, hook]));
  return [...last.values()].map(({ token, call, kind, many, detail }) => {
    const names = [toStoredText(runId), toStoredText(token)];
    return [...names, call, kind, Number(many), toStored(detail), isOpen];
  });
}

/** Whether the run takes the append of `moves`. */
function isOpenTo(run: string): string {
  return `${run}.seq = moves.seq and ${run}.epoch = moves.epoch and ${run}.status not in ${FINAL_STATUSES}`;
}

/** A column of `runs r` that changes where the mask of `moves` has the bit. */
function when(bit: number, value: string, column: string): string {
  return `${column} = case when moves.mask & ${bit} <> 0 then ${value} else r.${column} end`;
}

function movedPart({ runs }: Tables, entries: Append[], defers: boolean): string {
  const bits = entries.reduce((all, { patch }) => all | maskOf(patch), 0);
  const sets = PATCH_COLUMNS.flatMap(([key, column], index) => {
    const value = `moves.${column}`;
    const wake = `case when r.signals > moves.signals then ${GIVEN_NOW} else ${value} end`;
    return bits & (1 << index) ? [when(1 << index, key === 'wakeAt' ? wake : value, column)] : [];
  });
  if (bits & RELEASES) sets.push(when(RELEASES, 'null', 'owner'), when(RELEASES, 'null', 'lease_until'));
  if (bits & ENDS) sets.push(when(ENDS, GIVEN_NOW, 'ended_at'));
  return `moved as (
    update ${runs} r set ${['seq = r.seq + moves.count', ...sets].join(', ')} from moves
    where r.run_id = moves.run_id and ${isOpenTo('r')} ${defers ? IS_NOT_DEFERRED : ''}
    returning r.run_id, r.parent_run_id as parent, moves.mask)`;
}

/**
 * A statement that changes many runs and, after them, parents that other replicas change could be one half of a
 * deadlock with theirs. Those who wait for one parent while they hold nothing but its children cannot.
 */
const IS_NOT_DEFERRED = `and (moves.mask & ${ENDS} = 0 or r.parent_run_id is null)`;

function hookParts({ hooks }: Tables, given: string): string[] {
  const columns = columnNames(GIVEN_HOOKS);
  return [
    `made as (select * from ${given})`,
    // Of another open hook with the token, this run's or another's, nothing is left here: the next part finds its own.
    `hooked as (
      insert into ${hooks} (${columns}, created_at) select ${columns}, ${GIVEN_NOW} from made where ${IS_MOVED}
      on conflict do nothing returning run_id, token)`,
    `rehooked as (
      update ${hooks} h set many = made.many, is_open = least(h.is_open, made.is_open) from made
      where h.run_id = made.run_id and h.token = made.token and made.${IS_MOVED}
      returning h.run_id, h.token)`,
  ];
}

function closedPart({ hooks }: Tables, areHooksMade: boolean): string {
  // A statement changes a row once, and the part before has closed those it was given.
  const others = areHooksMade
    ? 'and not exists (select 1 from made where made.run_id = h.run_id and made.token = h.token)'
    : '';
  return `closed as (
    update ${hooks} h set is_open = 0
    where h.run_id = any(array(select run_id from moved where mask & ${ENDS} <> 0)) and ${IS_OPEN_OF_RUN} ${others})`;
}

function signalledPart({ runs }: Tables): string {
  return `signalled as (
    update ${runs} set ${signalSets('', '(select count(*)::int4 from moved)', GIVEN_NOW)}
    where run_id = (select parent from moved limit 1) and status not in ${FINAL_STATUSES})`;
}
