import { storeUnavailable } from './client.ts';
import type { KeyValueStore } from './kv.ts';

/** Within one process: for dev, and for replicas of a test that share one. */
export function createMemoryKv(now: () => number = Date.now): KeyValueStore {
  const listeners = new Map<string, Set<(message: string) => void>>();
  const entries = new Map<string, Entry>();
  /** Until when each holder has its place. */
  const places = new Map<string, Map<string, number>>();
  let closed = false;
  const checkOpen = (): void => {
    if (closed) throw storeUnavailable('The key-value store is closed.');
  };
  const find = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    if (entry && entry.until > now()) return entry;
    entries.delete(key);
    return undefined;
  };
  const put = (key: string, value: string, ttlMs: number): void => {
    if (entries.size >= MAX_ENTRIES) forget(entries, now());
    entries.set(key, { value, until: now() + ttlMs });
  };
  const holdersOf = (key: string): Map<string, number> => {
    const holders = places.get(key) ?? new Map<string, number>();
    for (const [holder, until] of holders) if (until <= now()) holders.delete(holder);
    return holders;
  };
  return {
    async publish(topic, message) {
      checkOpen();
      // In a turn of its own, as from a server: who publishes is never called back before it goes on.
      for (const listener of listeners.get(topic) ?? []) setImmediate(() => closed || listener(message));
    },
    async subscribe(topic, listener) {
      // One of its own for each caller: the same function may be given twice.
      const own = (message: string) => listener(message);
      const set = listeners.get(topic) ?? new Set();
      listeners.set(topic, set.add(own));
      return () => void set.delete(own);
    },
    async get(key) {
      checkOpen();
      return find(key)?.value;
    },
    async set(key, value, ttlMs) {
      checkOpen();
      put(key, value, ttlMs);
    },
    async increment(key, ttlMs, by = 1) {
      checkOpen();
      const entry = find(key);
      if (!entry) put(key, String(by), ttlMs);
      else entry.value = String(Number(entry.value) + by);
      return Number(entry?.value ?? by);
    },
    async takePlace(key, holder, { most, ttlMs }) {
      checkOpen();
      const holders = holdersOf(key);
      if (!holders.has(holder) && holders.size >= most) return false;
      if (places.size >= MAX_ENTRIES)
        for (const each of places.keys()) if (holdersOf(each).size === 0) places.delete(each);
      places.set(key, holders.set(holder, now() + ttlMs));
      return true;
    },
    async leavePlace(key, holder) {
      checkOpen();
      const holders = holdersOf(key);
      if (holders.delete(holder) && holders.size === 0) places.delete(key);
    },
    async countPlaces(key) {
      checkOpen();
      return holdersOf(key).size;
    },
    async ping() {
      checkOpen();
    },
    findWarning: async () => undefined,
    async close() {
      closed = true;
      listeners.clear();
      entries.clear();
      places.clear();
    },
  };
}

// --- internal ---

interface Entry {
  value: string;
  until: number;
}

const MAX_ENTRIES = 10_000;

/** Drops what is over; when that is nothing, the oldest half. */
function forget(entries: Map<string, Entry>, now: number): void {
  for (const [key, { until }] of entries) if (until <= now) entries.delete(key);
  if (entries.size < MAX_ENTRIES) return;
  for (const key of [...entries.keys()].slice(0, MAX_ENTRIES / 2)) entries.delete(key);
}
