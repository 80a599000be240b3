import { isStoreDown } from '../engine/persist.ts';
import type { Log } from '../log.ts';
import type { Storage, StoredObject } from './storage.ts';

export interface SweeperOptions {
  storage: Storage;
  /** What the keys begin with. */
  prefix: string;
  /** Deletes those among the old objects of a page that nothing needs. */
  collect(old: readonly StoredObject[]): Promise<void>;
  log: Log;
  /** What is logged of a look that failed, unless the store is away. */
  failure: string;
  /** Milliseconds between two looks. Default: a day. */
  everyMs?: number | undefined;
  /** Milliseconds an object is left, whatever becomes of it: what it is for may be about to come. Default: a day. */
  leftMs?: number | undefined;
}

/** Looks now and then for objects of the box's own that nothing needs any more. */
export interface Sweeper {
  /** Whether there is no object, so that there is none to drop. Another replica that has just put one is found by a sweep. */
  isEmpty(): Promise<boolean>;
  /** One was put. */
  notEmpty(): void;
  /** Begins a look, should the last be long ago. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export function createSweeper(options: SweeperOptions): Sweeper {
  const { storage, prefix, collect, log, failure, everyMs = DAY_MS, leftMs = DAY_MS } = options;
  const closing = new AbortController();
  let nextAt = 0;
  let sweeping: Promise<void> | undefined;
  /** There was none at this time. */
  let emptyAt = -Infinity;

  const look = async (): Promise<void> => {
    for (let cursor: string | undefined; !closing.signal.aborted;) {
      const { items, nextCursor } = await storage.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
      await collect(items.filter(({ lastModified }) => Date.now() - Date.parse(lastModified) >= leftMs));
      if (nextCursor === null) return;
      cursor = nextCursor;
    }
  };
  return {
    async isEmpty() {
      if (performance.now() - emptyAt < EMPTY_MS) return true;
      const { items } = await storage.list({ prefix, limit: 1 });
      if (items.length === 0) emptyAt = performance.now();
      return items.length === 0;
    },
    notEmpty() {
      emptyAt = -Infinity;
    },
    sweep() {
      if (closing.signal.aborted || sweeping || performance.now() < nextAt) return;
      nextAt = performance.now() + everyMs;
      sweeping = look()
        .catch((error: unknown) => {
          nextAt = performance.now() + Math.min(everyMs, RETRY_MS);
          if (!isStoreDown(error)) log.error(failure, { error });
        })
        .finally(() => (sweeping = undefined));
    },
    async close() {
      closing.abort();
      await sweeping;
    },
  };
}

// --- internal ---

const DAY_MS = 24 * 60 * 60 * 1_000;
const EMPTY_MS = 60_000;
const RETRY_MS = 60_000;
