import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { idleKeysQuery } from '../sql/queries.ts';
import { holderQuery, QUEUE_COLUMNS, QUEUE_SELECT, toPromoted, toQueueValues } from '../sql/queue.ts';
import { toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { insertInto } from '../sql/statements.ts';
import type { SqliteDatabase } from './driver.ts';
import type { SqliteRuns } from './runs.ts';
import { namesOfTables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';

/** The locks of serial runs and the starts that wait for them. To be called in a transaction. */
export interface SqliteSerial {
  /** The unfinished run that has the lock. A free lock goes to the first queued start before it goes to a new one. */
  findHolder(key: string, newRunId: () => string, now: number): RunRow | undefined;
  enqueue(run: NewRun, now: number): void;
  isQueued(triggerId: string): boolean;
  /** The first queued start becomes a run, if the lock is free. */
  promote(key: string, newRunId: () => string, now: number): RunRow | undefined;
  /** Gives free locks to the starts that wait for them. */
  promoteIdle(newRunId: () => string, now: number): void;
  /** Drops the starts below these runs. */
  removeBelow(runId: string): void;
}

export function createSqliteSerial(db: SqliteDatabase, runs: SqliteRuns): SqliteSerial {
  const holder = db.prepare<StoredRow>(holderQuery(namesOfTables()));
  const enqueue = db.prepare(insertInto('serial_queue', Object.values(QUEUE_COLUMNS)));
  const queued = db.prepare('select 1 from serial_queue where trigger_id = ?');
  const head = db.prepare<StoredRow>(
    `select ${QUEUE_SELECT} from serial_queue where serial_key = ? order by queue_no limit 1`,
  );
  const remove = db.prepare('delete from serial_queue where trigger_id = ?');
  const removeBelow = db.prepare('delete from serial_queue where parent_run_id = ?');
  const idle = db.prepare<{ key: string }>(idleKeysQuery(namesOfTables()));

  function findStored(key: string): RunRow | undefined {
    const row = holder.get(toStoredText(key));
    return row && toRunRow(row);
  }

  function promote(key: string, newRunId: () => string, now: number): RunRow | undefined {
    const first = head.get(toStoredText(key));
    if (!first || findStored(key)) return undefined;
    const { run, records } = toPromoted(first, newRunId(), now);
    remove.run(first.triggerId as string);
    runs.insert(run);
    runs.insertRecords(run.runId, 0, records);
    return run;
  }

  return {
    findHolder: (key, newRunId, now) => findStored(key) ?? promote(key, newRunId, now),
    enqueue: (run, now) => void enqueue.run(...toQueueValues(run, now)),
    isQueued: (triggerId) => queued.get(toStoredText(triggerId)) !== undefined,
    promote,
    promoteIdle(newRunId, now) {
      for (const { key } of idle.all()) promote(fromStoredText(key), newRunId, now);
    },
    removeBelow: (runId) => void removeBelow.run(toStoredText(runId)),
  };
}
