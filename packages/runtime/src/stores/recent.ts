import { createLru } from '../lru.ts';
import type { KeyValueStore } from './kv.ts';

/** What a process keeps of the relational store in memory, so that whoever needs it often does not wait for a query. */
export interface Recent<T> {
  /** At once where it is known: never older than `MAX_AGE_MS`, and never from before this process's own last change. */
  get(key: string): T | Promise<T>;
  /** To be called once a change is committed, here and at every replica that hears of it. */
  changed(key: string): Promise<void>;
  close(): Promise<void>;
}

export interface RecentOptions<T> {
  /** Where replicas publish changes. */
  topic: string;
  kv: KeyValueStore | undefined;
  read(key: string): Promise<T>;
}

export function createRecent<T>({ topic, kv, read }: RecentOptions<T>): Recent<T> {
  const known = createLru<Entry<T>>(MAX_KNOWN);
  const listening = kv?.subscribe(topic, (key) => known.delete(key));

  /** What it answers is only kept where nothing has changed meanwhile. */
  const begin = (key: string): Entry<T> => {
    // Counted from before the read: what changes while it is under way is seen as late as anything else.
    const entry: Entry<T> = { readAt: performance.now(), reading: read(key) };
    entry.reading.then(
      (value) => (entry.read = { value }),
      () => known.get(key) === entry && known.delete(key),
    );
    known.set(key, entry);
    return entry;
  };
  const renew = (key: string, old: Entry<T>): void => {
    const next: Entry<T> = { readAt: performance.now(), reading: read(key) };
    old.isRenewed = true;
    next.reading.then(
      (value) => {
        next.read = { value };
        if (known.get(key) === old) known.set(key, next);
      },
      // It grows too old, and then whoever asks hears why.
      () => (old.isRenewed = false),
    );
  };

  return {
    get(key) {
      const kept = known.get(key);
      const age = kept ? performance.now() - kept.readAt : Infinity;
      if (!kept || age >= MAX_AGE_MS) return begin(key).reading;
      if (!kept.read) return kept.reading;
      if (age >= RENEW_MS && !kept.isRenewed) renew(key, kept);
      return kept.read.value;
    },
    async changed(key) {
      known.delete(key);
      // Unheard, the others find out by themselves.
      await kv?.publish(topic, key).catch(() => {});
    },
    async close() {
      (await listening)?.();
    },
  };
}

// --- internal ---

interface Entry<T> {
  readAt: number;
  reading: Promise<T>;
  read?: { value: T };
  isRenewed?: boolean;
}

/** With what is asked for all the time, no reader waits: it is read again before it is too old. */
const RENEW_MS = 1_500;
const MAX_AGE_MS = 4_000;
const MAX_KNOWN = 10_000;
