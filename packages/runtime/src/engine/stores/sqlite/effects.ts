import { FINAL_STATUSES } from '../sql/queries.ts';
import type { SqliteDatabase } from './driver.ts';
import { toStoredText } from '../sql/text.ts';

/** What a run's end and its events do to other rows. To be called in a transaction. */
export interface SqliteEffects {
  /** Raises the signals of an unfinished run; one that waits is due. */
  signal(runId: string, now: number): void;
  closeHooks(runId: string): void;
}

export function createSqliteEffects(db: SqliteDatabase): SqliteEffects {
  const signal = db.prepare(`
    update runs set signals = signals + 1, wake_at = case when status = 'waiting' then ? else wake_at end
    where run_id = ? and status not in ${FINAL_STATUSES}`);
  const close = db.prepare('update hooks set is_open = 0 where run_id = ? and is_open = 1');
  return {
    signal: (runId, now) => void signal.run(now, toStoredText(runId)),
    closeHooks: (runId) => void close.run(toStoredText(runId)),
  };
}
