import type { Cancel } from '../../journal/cancel.ts';
import type { RunRow } from '../../journal/run.ts';
import { isFinal } from '../../journal/run.ts';
import type { ClosingChild } from '../../journal/ends.ts';
import { FINAL_STATUSES } from './queries.ts';
import { decodeText, toSelect } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';
import type { Cancel as CancelWrite } from './write.ts';

/** A run of a tree that is cancelled. */
export type Standing = Pick<RunRow, 'runId' | 'kind' | 'name' | 'status' | 'startedAt' | 'cancel'>;

export const STANDING_SELECT = toSelect({
  runId: 'run_id',
  kind: 'kind',
  name: 'name',
  status: 'status',
  startedAt: 'started_at',
  cancel: 'cancel',
});

export interface CancelPlan {
  ending: { runId: string; status: Cancel['status']; error: string }[];
  cleaning: { runId: string; cancel: string; deadline: number }[];
  /** Those that go on cleaning up, and may have started others for it. */
  untouched: Set<string>;
}

/** What happens to each run of a tree, its root first. Nothing, of those that have ended and those that clean up already. */
export function planCancel(tree: Standing[], { runId, error, how = {} }: CancelWrite, now: number): CancelPlan {
  const { graceOf, isOver = false, isBelow = false, isFirst = false, status = 'cancelled' } = how;
  const root = tree.find((run) => run.runId === runId);
  // Who cancels again does not wait for any of them.
  const isAgain = !isOver && !isBelow && root?.cancel != null;
  const plan: CancelPlan = { ending: [], cleaning: [], untouched: new Set() };
  if (isFirst && root?.cancel != null) return { ...plan, untouched: new Set(tree.map((run) => run.runId)) };
  for (const run of tree) {
    if (isFinal(run.status)) continue;
    const isRoot = run === root;
    if (isRoot && isBelow) continue;
    const known = run.cancel === null ? undefined : (JSON.parse(run.cancel) as Cancel);
    if (known && !isRoot && !isAgain && (isOver || isBelow || graceOf)) {
      plan.untouched.add(run.runId);
      continue;
    }
    const cancel: Cancel = known ?? { at: now, error, status: isRoot ? status : 'cancelled' };
    const ms = isAgain || known || (isRoot && isOver) || !graceOf || !hasBegun(run) ? 0 : graceOf(run);
    if (ms > 0) plan.cleaning.push({ runId: run.runId, cancel: JSON.stringify(cancel), deadline: now + ms });
    else plan.ending.push({ runId: run.runId, status: cancel.status, error: cancel.error });
  }
  return plan;
}

export function createOverdueReader({ tables, query, now }: Statements): {
  listOverdue(limit: number): Promise<Overdue[]>;
  listClosing(runId: string, limit: number): Promise<ClosingChild[]>;
} {
  return {
    async listClosing(runId, limit) {
      const id = toStoredText(runId);
      const rows = await query(
        `select * from (
          select run_id as "runId", null as "triggerId", close_policy as "closePolicy" from ${tables.runs}
          where parent_run_id = ? and status not in ${FINAL_STATUSES}
            and (close_policy = 'wait' or (close_policy = 'cancel' and cancel is null))
          union all
          select null, trigger_id, close_policy from ${tables.queue}
          where parent_run_id = ? and close_policy in ('cancel', 'wait')) as closing
        order by "closePolicy" limit ?`,
        [id, id, limit],
      );
      return rows.map((row) => decodeText(row) as unknown as ClosingChild);
    },
    async listOverdue(limit) {
      const rows = await query(
        `select run_id as "runId", name, kind, cancel, timeout_ms as "timeoutMs" from ${tables.runs}
        where deadline is not null and ended_at is null and deadline <= ? order by deadline limit ?`,
        [await now(), limit],
      );
      return rows.map((row) => decodeText(row) as unknown as Overdue);
    },
  };
}

// --- internal ---

type Overdue = Pick<RunRow, 'runId' | 'name' | 'kind' | 'cancel' | 'timeoutMs'>;

/** Its body may be within a `try`. One that is blocked cannot go on. */
function hasBegun({ status, startedAt }: Standing): boolean {
  return startedAt !== null && (status === 'running' || status === 'waiting');
}
