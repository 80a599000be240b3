import { createLru } from '../lru.ts';

/** Finds rows by their id, each read once for all who ask at the same time. */
export interface KeyLookup<R> {
  /** As it was at most 3 s ago; undefined: there was none 1 s ago. */
  find(id: string): Promise<R | undefined>;
  /** It has changed, or is new: lookups from here on see what is there. */
  forget(id: string): void;
}

/**
 * While a query is under way, ids gather for the next one: a flood of keys that are none is a few queries, not one each,
 * and holds no connection that others need.
 */
export function createKeyLookup<R extends { id: string }>(read: (ids: string[]) => Promise<R[]>): KeyLookup<R> {
  const known = createLru<R>(MOST_KNOWN, { ...TTL, ttl: KNOWN_MS });
  const missing = createLru<true>(MOST_KNOWN, { ...TTL, ttl: MISSING_MS });
  const asked = new Map<string, Asked<R>>();
  let queue: Asked<R>[] = [];
  let isReading = false;

  const readBatch = async (batch: Asked<R>[]): Promise<void> => {
    // Counted from before the read: what changes while it is under way is seen as late as anything else.
    const readAt = performance.now();
    const found = await read(batch.map(({ id }) => id));
    const rows = new Map(found.map((row) => [row.id, row]));
    for (const one of batch) {
      const row = rows.get(one.id);
      // Forgotten meanwhile, it may have been read too early to be kept.
      if (asked.get(one.id) === one && row) known.set(one.id, row, { start: readAt });
      else if (asked.get(one.id) === one) missing.set(one.id, true, { start: readAt });
      one.resolve(row);
    }
  };
  const readQueue = async (): Promise<void> => {
    isReading = true;
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH);
      queue = queue.slice(BATCH);
      await readBatch(batch).catch((error: unknown) => batch.forEach(({ reject }) => reject(error)));
      for (const one of batch) if (asked.get(one.id) === one) asked.delete(one.id);
    }
    isReading = false;
  };
  const ask = (id: string): Asked<R> => {
    const one = createAsked<R>(id);
    asked.set(id, one);
    queue.push(one);
    if (!isReading) void readQueue();
    return one;
  };
  return {
    async find(id) {
      const row = known.get(id);
      if (row || missing.has(id)) return row;
      return (asked.get(id) ?? ask(id)).promise;
    },
    forget(id) {
      known.delete(id);
      missing.delete(id);
      asked.delete(id);
    },
  };
}

// --- internal ---

/** A revoked key is refused everywhere within 5 s, whatever is heard of it. */
const KNOWN_MS = 3_000;
const MISSING_MS = 1_000;
/** The clock is read at each lookup: kept for a while, it would have a timer. */
const TTL = { ttlResolution: 0 };
const MOST_KNOWN = 10_000;
const BATCH = 500;

interface Asked<R> {
  id: string;
  promise: Promise<R | undefined>;
  resolve(row: R | undefined): void;
  reject(error: unknown): void;
}

function createAsked<R>(id: string): Asked<R> {
  const asked = { id } as Asked<R>;
  asked.promise = new Promise((resolve, reject) => Object.assign(asked, { resolve, reject }));
  return asked;
}
