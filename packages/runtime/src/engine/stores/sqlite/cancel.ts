import type { CancelResult } from '../../journal/ends.ts';
import { isFinal } from '../../journal/run.ts';
import { FINAL_STATUSES, treeQuery } from '../sql/queries.ts';
import type { SqliteParts } from './append.ts';
import type { SqliteDatabase } from './driver.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import type { Cancel } from '../sql/write.ts';

/** To be called in a transaction. */
export function prepareCancel(
  db: SqliteDatabase,
  { runs, serial, effects }: SqliteParts,
): (cancel: Cancel, now: number) => CancelResult | undefined {
  const tree = db.prepare<{ id: string }>(treeQuery('runs', '?'));
  const end = db.prepare<{ serial: string | null }>(`
    update runs set status = 'cancelled', error = ?, epoch = epoch + 1, owner = null, lease_until = null, ended_at = ?
    where run_id = ? and status not in ${FINAL_STATUSES} returning serial_key as serial`);

  return ({ runId, error, newRunId }, now) => {
    const root = runs.find(runId);
    if (!root) return undefined;
    if (isFinal(root.status)) return { outcome: 'final', status: root.status };
    const cancelled: string[] = [];
    const freed: string[] = [];
    for (const { id } of tree.all(toStoredText(runId))) {
      const below = fromStoredText(id);
      // Before any lock is passed on: a start below a cancelled run must not get one.
      serial.removeBelow(below);
      const ended = end.get(toStoredText(error), now, id);
      if (!ended) continue;
      cancelled.push(below);
      effects.closeHooks(below);
      if (ended.serial !== null) freed.push(fromStoredText(ended.serial));
    }
    if (root.parentRunId !== null) effects.signal(root.parentRunId, now);
    const promoted = freed.map((key) => serial.promote(key, newRunId, now)).filter((run) => run !== undefined);
    return { outcome: 'cancelled', cancelled, promoted };
  };
}
