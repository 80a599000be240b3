import { LRUCache } from 'lru-cache';

export type Lru<V extends {}> = LRUCache<string, V>;

/** Milliseconds it is kept; the rest is as lru-cache has it. */
export type LruOptions<V extends {}> = Pick<
  LRUCache.OptionsTTLLimit<string, V, unknown>,
  'ttlResolution' | 'dispose'
> & {
  ttl?: number;
};

/**
 * Keeps `most` values, those that were used last. It takes the room of what is in it: the `max` of lru-cache makes room for
 * all of them at once, 2 ms and some 300 KiB for 10,000, and a box has two dozen.
 */
export function createLru<V extends {}>(most: number, options: LruOptions<V> = {}): Lru<V> {
  return new LRUCache({ ...options, maxSize: most, sizeCalculation: () => 1 });
}
