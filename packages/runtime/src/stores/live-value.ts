import type { KeyValueStore } from './kv.ts';

/** Something of the store that is asked for all the time and changes seldom. */
export interface LiveValue<T> {
  /** At most `MAX_AGE_MS` old. While the store is away, what was known last; throws what the store does if nothing was. */
  read(): Promise<T>;
  /** Call it after each change: it is seen at once here, and wherever the key-value store publishes it. */
  changed(): Promise<void>;
  close(): Promise<void>;
}

export interface LiveValueOptions<T> {
  load(): Promise<T>;
  /** The topic replicas publish under. */
  topic: string;
  /** Undefined: other replicas find out by themselves. */
  kv?: KeyValueStore | undefined;
  /** What is answered while the store is not open yet. Without it everyone waits. */
  early?: { isOpen(): boolean; value: T };
  /** Another replica has published a change. */
  onPublished?(): void;
}

/** A change through any replica is in force on all of them within 5 seconds, whatever is heard of it. */
export function createLiveValue<T>({ load, topic, kv, early, onPublished }: LiveValueOptions<T>): LiveValue<T> {
  let known: { value: T; readAt: number } | undefined;
  let loading: Promise<T> | undefined;
  let changes = 0;

  const reload = async (): Promise<T> => {
    const seen = changes;
    // Counted from before the read: what changes while it is under way is seen as late as anything else.
    const readAt = performance.now();
    try {
      const value = await load();
      if (seen === changes) known = { value, readAt };
      return value;
    } finally {
      if (seen === changes) loading = undefined;
    }
  };
  const forget = (): void => {
    changes++;
    loading = undefined;
    if (known) known = { ...known, readAt: -Infinity };
  };
  const listening = kv?.subscribe(topic, () => {
    forget();
    onPublished?.();
  });

  return {
    async read() {
      if (known && performance.now() - known.readAt < MAX_AGE_MS) return known.value;
      if (!known && early?.isOpen() === false) return early.value;
      try {
        return await (loading ??= reload());
      } catch (error) {
        if (known) return known.value;
        throw error;
      }
    },
    async changed() {
      forget();
      await kv?.publish(topic, '').catch(() => {});
    },
    async close() {
      (await listening)?.();
    },
  };
}

// --- internal ---

const MAX_AGE_MS = 3_000;
