import type { Append } from '../../journal/appends.ts';
import type { RunRow } from '../../journal/run.ts';
import { handOver, insertNext, toContinued, toNextRun } from '../sql/chain.ts';
import { namesOfTables } from '../sql/tables.ts';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';
import type { SqliteRuns } from './runs.ts';

/** Runs that continue as others. To be called in a transaction. */
export interface SqliteChain {
  /** Makes the next run of the chain of a run that has just ended. */
  continue(entry: Append, now: number): RunRow;
}

export function createSqliteChain(db: SqliteDatabase, runs: SqliteRuns): SqliteChain {
  const tables = namesOfTables();
  const statements = new Map<string, SqliteStatement>();
  const prepare = (text: string): SqliteStatement => {
    const known = statements.get(text) ?? db.prepare(text);
    statements.set(text, known);
    return known;
  };
  return {
    continue(entry, now) {
      const continued = toContinued(entry);
      for (const [text, params] of handOver(tables, continued)) prepare(text).run(...params);
      const next = toNextRun(runs.find(entry.runId) as RunRow, continued, now);
      const [insert, values] = insertNext(tables, next, continued);
      prepare(insert).run(...values);
      return next;
    },
  };
}
