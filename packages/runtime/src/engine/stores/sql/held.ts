import type { Journal } from '../../journal.ts';
import { FINAL_STATUSES } from './queries.ts';
import { decodeText } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export async function listHeld({ tables, query }: Statements, owner: string): ReturnType<Journal['listHeld']> {
  const rows = await query(`select run_id as "runId", epoch, signals from ${tables.runs} where owner = ?`, [
    toStoredText(owner),
  ]);
  return rows.map((row) => decodeText(row) as unknown as { runId: string; epoch: number; signals: number });
}

export async function unblock({ tables, query }: Statements, runId: string, codeHash: string): Promise<boolean> {
  const rows = await query(
    `update ${tables.runs} set status = 'queued', code_hash = ?, wake_at = null, waiting_for = null,
      owner = null, lease_until = null
    where run_id = ? and status = 'blocked' returning run_id`,
    [toStoredText(codeHash), toStoredText(runId)],
  );
  return rows.length > 0;
}

export async function mark({ tables, query }: Statements, given: Parameters<Journal['mark']>): Promise<boolean> {
  const [runId, epoch, text] = given;
  const rows = await query(
    `update ${tables.runs} set mark = ?, mark_epoch = epoch
    where run_id = ? and epoch = ? and status not in ${FINAL_STATUSES} returning run_id`,
    [toStoredText(text), toStoredText(runId), epoch],
  );
  return rows.length > 0;
}
