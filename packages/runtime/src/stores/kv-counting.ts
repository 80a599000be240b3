import { createMemoryKv } from './kv-memory.ts';
import type { KeyValueStore } from './kv.ts';

/** What counts, and never fails. */
export type CountingKv = Pick<KeyValueStore, 'increment' | 'get' | 'takePlace' | 'leavePlace' | 'countPlaces'>;

/** Counts in the store, and in this process alone while that is away, or where there is none. */
export function createCountingKv(kv: KeyValueStore | undefined, now: () => number = Date.now): CountingKv {
  const own = createMemoryKv(now);
  if (!kv) return own;
  const orOwn = <T>(call: Promise<T>, instead: () => Promise<T>): Promise<T> => call.catch(instead);
  return {
    increment: (...args) => orOwn(kv.increment(...args), () => own.increment(...args)),
    get: (key) => orOwn(kv.get(key), () => own.get(key)),
    takePlace: (...args) => orOwn(kv.takePlace(...args), () => own.takePlace(...args)),
    leavePlace: async (...args) => void (await Promise.allSettled([kv.leavePlace(...args), own.leavePlace(...args)])),
    countPlaces: (key) => orOwn(kv.countPlaces(key), () => own.countPlaces(key)),
  };
}
