import type { MoveStore } from '../../journal/moves.ts';
import { openRuns } from './code.ts';
import { FINAL_STATUSES } from './queries.ts';
import type { Statements } from './statements.ts';
import { fromStoredText, toStoredText } from './text.ts';

export function createMoveStore({ tables, query, now, isAmong }: Statements): MoveStore {
  const { runs } = tables;
  return {
    async list(codes, { limit, after = '' }) {
      const ids = openRuns(tables, 'run_id', `run_id > ? and (code_hash is null or not (${isAmong('code_hash')}))`);
      const given = [toStoredText(after), JSON.stringify(codes.map(toStoredText))];
      // One that is paused and held is found twice.
      const rows = await query(
        `select distinct run_id from (${ids.join(' union all ')}) as open order by run_id limit ?`,
        [...ids.flatMap(() => given), limit],
      );
      return rows.map((row) => fromStoredText(row.run_id as string));
    },
    async move({ runId, epoch, seq, from, to, by, frees }) {
      const code = from === null ? 'code_hash is null' : 'code_hash = ?';
      const at = await now();
      // One that is due is taken up from its owner, as any other whose process died, and that is counted. One that runs, paused or
      // not, may have a step at work in a process that only stands still.
      const isLeft = `owner <> ? and lease_until <= ? and status = 'waiting'`;
      const rows = await query(
        `update ${runs} set moved_from = code_hash, moved_at = ?, code_hash = ?,
          epoch = case when owner is null then epoch else epoch + 1 end, owner = null, lease_until = null
          ${frees ? `, status = 'queued', wake_at = null, waiting_for = null` : ''}
        where (owner is null or (${isLeft})) and run_id = ? and epoch = ? and seq = ? and ${code} and cancel is null
          and status not in ${FINAL_STATUSES} returning run_id`,
        [
          at,
          toStoredText(to),
          toStoredText(by),
          at,
          toStoredText(runId),
          epoch,
          seq,
          ...(from === null ? [] : [toStoredText(from)]),
        ],
      );
      return rows.length > 0;
    },
  };
}
