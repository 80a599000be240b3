import { BoxError } from '../../../errors.ts';
import type { Durability } from '../../journal/run.ts';
import { UnstorableError } from '../../journal/unstorable.ts';
import type { SqliteDatabase } from './driver.ts';
import { isUnstorable } from './errors.ts';
import { whenFree } from './patience.ts';

/** Something to do in a commit it may share. */
export interface SqliteWork {
  durability: Durability;
  /** Roughly what it adds to the commit, in bytes. */
  size: number;
  run(now: number): unknown;
}

export interface SqliteWriter {
  /** One transaction for all. When one of them throws, each has one of its own, and an `Error` is the answer of what threw. */
  commit(works: SqliteWork[]): unknown[] | Promise<unknown[]>;
  /** Runs `work` in a transaction of its own that need not survive power loss. */
  transaction<T>(work: () => T): Promise<T>;
  /** Does what is one statement. */
  alone<T>(work: () => T): Promise<T>;
}

/** @param busyMs how long is waited for other processes that write to the file */
export function createSqliteWriter(db: SqliteDatabase, clock: () => number, busyMs: number): SqliteWriter {
  const transaction = prepareTransaction(db);
  const commit = (works: SqliteWork[]): unknown[] =>
    transaction(works.some(isSynced) ? 'synced' : 'process', () => {
      const now = clock();
      return works.map((work) => work.run(now));
    });
  const commitEach = (works: SqliteWork[]): unknown[] =>
    works.flatMap((work) => {
      try {
        return commit([work]);
      } catch (error) {
        return [toRefusal(error)];
      }
    });
  const commitTogether = (works: SqliteWork[]): unknown[] => {
    try {
      return commit(works);
    } catch (error) {
      // What the store cannot do for one of them, it cannot do for the others.
      if (error instanceof BoxError) throw error;
      if (works.length === 1) throw toRefusal(error);
      return commitEach(works);
    }
  };
  return {
    commit: (works) => whenFree(busyMs, () => commitTogether(works)),
    transaction: async (work) => whenFree(busyMs, () => transaction('process', work)),
    alone: async (work) => whenFree(busyMs, work),
  };
}

// --- internal ---

function toRefusal(error: unknown): Error {
  if (isUnstorable(error)) return new UnstorableError(error);
  return error instanceof Error ? error : new Error(String(error));
}

const SYNCHRONOUS = { synced: 'full', process: 'normal' } as const satisfies Record<Durability, string>;

function isSynced({ durability }: SqliteWork): boolean {
  return durability === 'synced';
}

function prepareTransaction(db: SqliteDatabase): <T>(durability: Durability, work: () => T) => T {
  let current: Durability | undefined;
  return (durability, work) => {
    // Inside a transaction the pragma has no effect. A synced commit makes every commit before it durable too.
    if (durability !== current) db.exec(`pragma synchronous = ${SYNCHRONOUS[durability]}`);
    current = durability;
    return db.transaction(work);
  };
}
