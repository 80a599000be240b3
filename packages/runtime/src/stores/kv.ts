/**
 * What replicas publish to each other, and what they count together. Everything in it is a hint: it may be flushed, lost or
 * unreachable at any moment, and whoever uses it still does the right thing, only later.
 * Two adapters (`kv-memory.ts`, `kv-redis.ts`) pass one contract suite (`kv-contract.ts`).
 *
 * Every method rejects with `store_unavailable` within about a second while the store cannot be reached; none waits for
 * it to come back. After `close` all of them reject.
 */
export interface KeyValueStore {
  /** Hands the message to whoever listens to the topic, in any process. There may be no listener: it is not kept. */
  publish(topic: string, message: string): Promise<void>;
  /**
   * Calls `listener` for each message of the topic from here on, this process's own included; answers how to stop.
   * Never rejects: while the store cannot be reached nothing is heard, and listening goes on once it is back.
   */
  subscribe(topic: string, listener: (message: string) => void): Promise<() => void>;
  get(key: string): Promise<string | undefined>;
  /** The value is gone after `ttlMs`. */
  set(key: string, value: string, ttlMs: number): Promise<void>;
  /** Counts `by` more, default 1; answers the count. The first one begins a window of `ttlMs`, after which it is 0 again. */
  increment(key: string, ttlMs: number, by?: number): Promise<number>;
  /**
   * Takes one of `most` places for `ttlMs`, or renews the holder's own. False: they are all taken. A place that is not
   * renewed in time is free again.
   */
  takePlace(key: string, holder: string, place: { most: number; ttlMs: number }): Promise<boolean>;
  leavePlace(key: string, holder: string): Promise<void>;
  /** How many places are taken. */
  countPlaces(key: string): Promise<number>;
  /** Rejects with the reason while the store does not answer, or does not pass on messages. */
  ping(): Promise<void>;
  /** What to change about how the server is set up; undefined: nothing, or it does not say. */
  findWarning(): Promise<string | undefined>;
  close(): Promise<void>;
}
