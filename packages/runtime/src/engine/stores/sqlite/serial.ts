import { newRunId } from '../../ids.ts';
import type { RunRow } from '../../journal/run.ts';
import { toDueStart } from '../sql/due.ts';
import type { DueStarts } from '../sql/due.ts';
import { MOST_PROMOTED } from '../sql/places.ts';
import type { Places } from '../sql/places.ts';
import type { IdleKeys } from '../sql/idle-keys.ts';
import { idleKeysQuery, IS_ABANDONED } from '../sql/queries.ts';
import type { StoredRow } from '../sql/rows.ts';
import { namesOfTables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import type { SqliteDatabase } from './driver.ts';
import type { RunScript } from './script.ts';

/** The starts that wait. To be called in a transaction. */
export interface SqliteSerial {
  /** The first start that waits for the lock becomes a run, if there is a place. */
  promote(key: string, newRunId: () => string, now: number): RunRow | undefined;
  /** Moves on the starts whose time has come, and gives free places to those that wait for them. */
  promoteIdle(now: number): void;
  /** Drops the starts below these runs. */
  removeBelow(runId: string): void;
}

export interface SqliteSerialOptions {
  places: Places;
  idle: IdleKeys;
  due: DueStarts;
  runScript: RunScript;
}

export function createSqliteSerial(
  db: SqliteDatabase,
  { places, idle, due, runScript }: SqliteSerialOptions,
): SqliteSerial {
  const listDue = db.prepare<StoredRow>(due.query);
  const removeBelow = db.prepare(`delete from serial_queue where parent_run_id = ? and not ${IS_ABANDONED}`);
  const listIdle = db.prepare<StoredRow>(idleKeysQuery(namesOfTables()));
  return {
    promote: (key, nextRunId, now) => runScript(places.promote(key, { newRunId: nextRunId, now, max: 1 }), now)[0],
    promoteIdle(now) {
      for (const row of listDue.all(now)) runScript(due.move(toDueStart(row), newRunId), now);
      for (const key of idle.take(listIdle.all(idle.after)))
        runScript(places.promote(fromStoredText(key), { newRunId, now, max: MOST_PROMOTED }), now);
    },
    removeBelow: (runId) => void removeBelow.run(toStoredText(runId)),
  };
}
