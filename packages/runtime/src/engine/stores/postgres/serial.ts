import type { SqlClient } from '../../../stores/sql.ts';
import { newRunId } from '../../ids.ts';
import type { RunRow } from '../../journal/run.ts';
import { createDueStarts, toDueStart } from '../sql/due.ts';
import { createIdleKeys } from '../sql/idle-keys.ts';
import { createPlaces, MOST_PROMOTED } from '../sql/places.ts';
import { idleKeysQuery } from '../sql/queries.ts';
import { createRates } from '../sql/rates.ts';
import type { StoredRow } from '../sql/rows.ts';
import { takeLocks } from '../sql/script.ts';
import type { Script } from '../sql/script.ts';
import { createStarting } from '../sql/starting.ts';
import type { Starting } from '../sql/starting.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText } from '../sql/text.ts';
import { runScript } from './script.ts';
import { NOW } from './sql.ts';
import { toNumbered } from './statements.ts';
import { transact } from './transaction.ts';
import type { Transaction } from './transaction.ts';

/** Starts that are more than a row, and those that wait. */
export interface PostgresSerial {
  starting: Starting;
  /** The first start that waits for the lock becomes a run, if there is a place. The caller has locked the lock's name. */
  promote(tx: Transaction, key: string, newRunId: () => string): Promise<RunRow | undefined>;
  /** Moves on the starts whose time has come, and gives free places to those that wait for them. */
  promoteIdle(sql: SqlClient): Promise<void>;
}

export function createPostgresSerial(tables: Tables): PostgresSerial {
  const dialect = { tables, lock: 'for update skip locked' };
  const idle = createIdleKeys();
  const places = createPlaces(dialect, (key) => idle.note(key));
  const rates = createRates(dialect);
  const due = createDueStarts(dialect, { places, rates });
  const listDue = toNumbered(due.query.replace('?', NOW));
  const listIdle = toNumbered(idleKeysQuery(tables));

  function* promoteIn(key: string, how: { locks: string[]; max: number; newRunId(): string }): Script<RunRow[]> {
    const now = yield* takeLocks(how.locks);
    return yield* places.promote(key, { ...how, now });
  }

  return {
    starting: createStarting(dialect, { places, rates }),
    promote: async (tx, key, nextRunId) =>
      (await runScript(tx, promoteIn(key, { locks: [], max: 1, newRunId: nextRunId })))[0],
    async promoteIdle(sql) {
      for (const row of await sql.query<StoredRow>(listDue))
        await transact(sql, (tx) => runScript(tx, due.move(toDueStart(row), newRunId)));
      for (const stored of idle.take(await sql.query<StoredRow>(listIdle, [idle.after]))) {
        const key = fromStoredText(stored);
        const how = { locks: [places.nameOf(key)], max: MOST_PROMOTED, newRunId };
        await transact(sql, (tx) => runScript(tx, promoteIn(key, how)));
      }
    },
  };
}

/** An expression that takes the advisory lock of a serial key until the transaction ends. */
export function lockKey({ queue }: Tables, key: string, lock = 'pg_advisory_xact_lock'): string {
  return `${lock}(hashtextextended('${queue}:' || ${key}, 0))`;
}

/** Takes the advisory lock of an idempotency key until the transaction ends. `key`: an expression. */
export function lockStartKey({ keys }: Pick<Tables, 'keys'>, key: string, lock: string): string {
  return `${lock}(hashtextextended('${keys}:' || ${key}, 0))`;
}
