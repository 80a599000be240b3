import type { HeldRun } from '../../journal/leases.ts';
import type { Journal } from '../../journal.ts';
import { FINAL_STATUSES, WAITS_FOR_CODE } from './queries.ts';
import { decodeText } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export async function listHeld({ tables, query }: Statements, owner: string): ReturnType<Journal['listHeld']> {
  const rows = await query(
    `select run_id as "runId", epoch, signals, paused_at as "pausedAt", cancel from ${tables.runs} where owner = ?`,
    [toStoredText(owner)],
  );
  return rows.map((row) => decodeText(row) as unknown as HeldRun);
}

export async function findOwner({ tables, query, now }: Statements, runId: string): Promise<string | undefined> {
  const [run] = await query(`select owner from ${tables.runs} where run_id = ? and lease_until > ?`, [
    toStoredText(runId),
    await now(),
  ]);
  return run && (decodeText(run).owner as string);
}

/** The end of a pause, too, is in one statement: whoever has the run looks at it at its next sweep. */
export async function pause({ tables, query, now }: Statements, runId: string): Promise<boolean> {
  const rows = await query(
    `update ${tables.runs} set paused_at = coalesce(paused_at, ?)
    where run_id = ? and status not in ${FINAL_STATUSES} returning run_id`,
    [await now(), toStoredText(runId)],
  );
  return rows.length > 0;
}

export async function unpause({ tables, query }: Statements, runId: string): Promise<boolean> {
  const rows = await query(
    `update ${tables.runs} set paused_at = null
    where run_id = ? and paused_at is not null and status not in ${FINAL_STATUSES} returning run_id`,
    [toStoredText(runId)],
  );
  return rows.length > 0;
}

export async function unblock({ tables, query, now }: Statements, runId: string, codeHash: string): Promise<boolean> {
  const code = toStoredText(codeHash);
  const rows = await query(
    `update ${tables.runs} set status = 'queued', wake_at = null, waiting_for = null, owner = null, lease_until = null,
      moved_from = case when code_hash = ? then moved_from else code_hash end,
      moved_at = case when code_hash = ? then moved_at else ? end, code_hash = ?
    where run_id = ? and (status = 'blocked' or (status = 'waiting' and owner is null and waiting_for like ?))
    returning run_id`,
    [code, code, await now(), code, toStoredText(runId), WAITS_FOR_CODE],
  );
  return rows.length > 0;
}

export async function mark({ tables, query }: Statements, given: Parameters<Journal['mark']>): Promise<boolean> {
  const [runId, epoch, text, counts] = given;
  const rows = await query(
    `update ${tables.runs} set mark = ?, mark_epoch = ${counts ? 'epoch' : 'null'}
    where run_id = ? and epoch = ? and status not in ${FINAL_STATUSES} returning run_id`,
    [toStoredText(text), toStoredText(runId), epoch],
  );
  return rows.length > 0;
}
