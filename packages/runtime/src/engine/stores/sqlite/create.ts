import { newRunId } from '../../ids.ts';
import type { RunRow } from '../../journal/run.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import { isSameUse, keyQuery, toKeyUse } from '../sql/keys.ts';
import type { KeyUse } from '../sql/keys.ts';
import { KEY_LIFE_MS } from '../sql/queries.ts';
import { createdRun, RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { SqliteDatabase } from './driver.ts';
import type { SqliteRuns } from './runs.ts';
import type { SqliteSerial } from './serial.ts';
import { namesOfTables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';

/** To be called in a transaction. */
export function prepareCreate(
  db: SqliteDatabase,
  { runs, serial }: { runs: SqliteRuns; serial: SqliteSerial },
): (run: NewRun, now: number) => CreateResult {
  const keys = prepareKeys(db);
  const promoted = db.prepare<StoredRow>(`select ${RUN_SELECT} from runs where trigger_id = ?`);

  function findPromoted(triggerId: string): RunRow | undefined {
    const row = promoted.get(toStoredText(triggerId));
    return row && toRunRow(row);
  }

  /** What the start a key was used for is by now. Undefined: it has been removed, and the key counts as unused. */
  function findStart(startId: string): CreateResult | undefined {
    if (serial.isQueued(startId)) return { outcome: 'repeated_queued', triggerId: startId };
    const run = runs.find(startId) ?? findPromoted(startId);
    return run && { outcome: 'repeated', run };
  }

  function insert(run: NewRun, now: number): CreateResult {
    const row = createdRun(run, now);
    if (!runs.insert(row)) return { outcome: 'created', run: runs.find(run.runId) as RunRow };
    if (run.records) runs.insertRecords(run.runId, 0, run.records);
    return { outcome: 'created', run: row };
  }

  /** The same start again, by its ids: its first answer may have been lost. */
  function findRepeat({ runId, serial: lock }: NewRun): CreateResult | undefined {
    const run = runs.find(runId);
    if (run) return { outcome: 'created', run };
    if (!lock || !(serial.isQueued(lock.triggerId) || findPromoted(lock.triggerId))) return undefined;
    return { outcome: 'queued', triggerId: lock.triggerId };
  }

  function place(run: NewRun, now: number): CreateResult {
    const { serial: lock } = run;
    const holder = lock && serial.findHolder(lock.key, newRunId, now);
    if (!lock || !holder) return insert(run, now);
    if (lock.whenTaken === 'refuse') return { outcome: 'refused', holder };
    serial.enqueue(run, now);
    return { outcome: 'queued', triggerId: lock.triggerId };
  }

  return (run, now) => {
    const { idempotency } = run;
    if (!idempotency && !run.serial) return insert(run, now);
    const repeat = findRepeat(run);
    if (repeat) return repeat;
    if (!idempotency) return place(run, now);
    const used = keys.find(idempotency.key, now);
    const start = used && findStart(used.startId);
    if (start) return isSameUse(used, idempotency.digest) ? start : { outcome: 'idempotency_conflict' };
    const result = place(run, now);
    if (result.outcome === 'created') keys.put(idempotency, result.run.runId, now);
    if (result.outcome === 'queued') keys.put(idempotency, result.triggerId, now);
    return result;
  };
}

// --- internal ---

interface Keys {
  /** A use within the last 24 hours. */
  find(key: string, now: number): KeyUse | undefined;
  put(use: { key: string; digest: string }, startId: string, now: number): void;
}

function prepareKeys(db: SqliteDatabase): Keys {
  const select = db.prepare<StoredRow>(keyQuery(namesOfTables()));
  const replace = db.prepare(
    'insert or replace into idempotency_keys (key, digest, start_id, created_at) values (?, ?, ?, ?)',
  );
  return {
    find(key, now) {
      const row = select.get(toStoredText(key), now - KEY_LIFE_MS);
      return row && toKeyUse(row);
    },
    put: ({ key, digest }, startId, now) =>
      void replace.run(toStoredText(key), toStoredText(digest), toStoredText(startId), now),
  };
}
