import type { CancelResult } from '../../journal/ends.ts';
import { isFinal } from '../../journal/run.ts';
import { planCancel, STANDING_SELECT } from '../sql/cancelling.ts';
import type { Standing } from '../sql/cancelling.ts';
import { FINAL_STATUSES, treeQuery } from '../sql/queries.ts';
import { decodeText } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { SqliteParts } from './append.ts';
import type { SqliteDatabase } from './driver.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import type { Cancel } from '../sql/write.ts';

/** To be called in a transaction. */
export function prepareCancel(
  db: SqliteDatabase,
  { runs, serial, effects }: SqliteParts,
): (cancel: Cancel, now: number) => CancelResult | undefined {
  const tree = db.prepare<StoredRow>(
    `select ${STANDING_SELECT} from runs where run_id in (${treeQuery('runs', '?')}) order by run_id`,
  );
  const end = db.prepare<{ serial: string | null }>(`
    update runs set status = ?, error = ?, epoch = epoch + 1, owner = null, lease_until = null, ended_at = ?
    where run_id = ? and status not in ${FINAL_STATUSES} returning serial_key as serial`);
  const clean = db.prepare('update runs set cancel = ?, deadline = ?, paused_at = null where run_id = ?');

  return (cancel, now) => {
    const { runId, newRunId } = cancel;
    const root = runs.find(runId);
    if (!root) return undefined;
    if (isFinal(root.status)) return { outcome: 'final', status: root.status };
    const standings = tree.all(toStoredText(runId)).map((row) => decodeText(row) as unknown as Standing);
    const { ending, cleaning, untouched } = planCancel(standings, cancel, now);
    const cleans = new Set(cleaning.map((run) => run.runId));
    const freed: string[] = [];
    for (const run of cleaning) {
      clean.run(toStoredText(run.cancel), run.deadline, toStoredText(run.runId));
      effects.signal(run.runId, now);
    }
    // Before any lock is passed on: a start below a cancelled run must not get one.
    for (const below of standings) if (!untouched.has(below.runId)) serial.removeBelow(below.runId);
    for (const run of ending) {
      const ended = end.get(run.status, toStoredText(run.error), now, toStoredText(run.runId));
      effects.closeHooks(run.runId);
      if (ended && ended.serial !== null) freed.push(fromStoredText(ended.serial));
    }
    if (root.parentRunId !== null && !cleans.has(runId)) effects.signal(root.parentRunId, now);
    const promoted = freed.map((key) => serial.promote(key, newRunId, now)).filter((run) => run !== undefined);
    const ids = (some: { runId: string }[]): string[] => some.map((run) => run.runId);
    return { outcome: 'cancelled', cancelled: ids(ending), cleaning: ids(cleaning), promoted };
  };
}
