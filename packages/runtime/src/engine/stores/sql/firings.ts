import { createGroupCommit } from '../../group-commit.ts';
import type { GroupCommit } from '../../group-commit.ts';
import type { LeftSchedule, NewFiring, ScheduleTimes } from '../../journal/schedules.ts';
import { toStored } from './rows.ts';
import type { StoredValue } from './rows.ts';
import type { Statement, Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { fromStoredText, toStoredText } from './text.ts';

/** A schedule moves on, if it is where it is expected, and fires when it is expected to. */
export interface Advance {
  id: string;
  expected: number;
  nextAt: number | null;
  fired: NewFiring;
  /** Undefined: whatever they are. */
  times: ScheduleTimes | undefined;
}

export const KEPT_FIRINGS = 20;

/** Moves schedules on, those that have fired meanwhile in one commit: where a thousand are due at once, each would cost its own. */
export function createAdvances({
  tables,
  query,
  commit,
}: Pick<Statements, 'tables' | 'query' | 'commit'>): GroupCommit<Advance, boolean> {
  const { schedules, firings } = tables;
  const advanceAll = async (given: Advance[]): Promise<boolean[]> => {
    // In one order: another replica may move the same ones.
    const sorted = given.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const moved = await query(
      `with moves (move_id, expected, moved_to, fired_at, fired_run, fired_trigger, fired_error,
        of_any, of_cron, of_zone) as (
        ${valuesOf(sorted.length, MOVE)})
      update ${schedules} set next_at = moved_to, taken_until = null, last_at = fired_at, last_run_id = fired_run,
        last_trigger_id = fired_trigger, last_error = fired_error
      from moves where id = move_id and next_at = expected
        and (of_any = 1 or (cron is not distinct from of_cron and time_zone is not distinct from of_zone)) returning id, cron`,
      sorted.flatMap(({ id, expected, nextAt, fired, times }) => [
        toStoredText(id),
        expected,
        nextAt,
        ...toFields(fired),
        Number(times === undefined),
        toStored(times?.cron),
        toStored(times?.timeZone),
      ]),
    );
    const crons = new Map(moved.map(({ id, cron }) => [fromStoredText(id as string), cron]));
    const fired = sorted.filter(({ id }) => crons.has(id));
    if (fired.length > 0)
      await commit([
        [
          `insert into ${firings} (at, run_id, trigger_id, error, id) ${valuesOf(fired.length, FIRING)}`,
          fired.flatMap(({ id, fired: what }) => [...toFields(what), toStoredText(id)]),
        ],
        // What fires once has few firings, so they need no trimming.
        ...fired.filter(({ id }) => crons.get(id) !== null).map(({ id }) => trim(firings, id)),
      ]);
    return given.map(({ id }) => crons.has(id));
  };
  return createGroupCommit(advanceAll, { maxEntries: MOST, keyOf: ({ id }) => id });
}

/** A firing that moves nothing on. */
export function firingStatements({ schedules, firings }: Tables, id: string, fired: NewFiring): Statement[] {
  const values = [...toFields(fired), toStoredText(id)];
  return [
    [`update ${schedules} set last_at = ?, last_run_id = ?, last_trigger_id = ?, last_error = ? where id = ?`, values],
    [`insert into ${firings} (at, run_id, trigger_id, error, id) ${valuesOf(1, FIRING)}`, values],
    trim(firings, id),
  ];
}

/** Of no more than a few thousand. */
export function giveBackStatement({ schedules }: Tables, left: readonly LeftSchedule[]): Statement {
  return [
    `with given_back (back_id, expected, why) as (${valuesOf(left.length, ['text', 'bigint', 'text'])})
    update ${schedules} set taken_until = null, last_error = why from given_back where id = back_id and next_at = expected`,
    left.flatMap(({ id, expected, error }) => [toStoredText(id), expected, toStoredText(error)]),
  ];
}

// --- internal ---

/** SQLite takes some 32,000 parameters, Postgres 65,000. */
const MOST = 500;

const FIRING = ['bigint', 'text', 'text', 'text', 'text'];
const MOVE = ['text', 'bigint', 'bigint', 'bigint', 'text', 'text', 'text', 'bigint', 'text', 'text'];

/** Rows of parameters of these types. */
function valuesOf(count: number, types: string[]): string {
  const row = `(${types.map((type) => `cast(? as ${type})`).join(', ')})`;
  return `values ${Array.from({ length: count }, () => row).join(', ')}`;
}

function toFields({ at, runId, triggerId, error }: NewFiring): StoredValue[] {
  return [at, toStored(runId), toStored(triggerId), toStored(error)];
}

function trim(firings: string, id: string): Statement {
  const key = toStoredText(id);
  return [
    `delete from ${firings} where id = ? and firing_no not in (
      select firing_no from ${firings} where id = ? order by firing_no desc limit ${KEPT_FIRINGS})`,
    [key, key],
  ];
}
