import { createLru } from '../lru.ts';
import { BoxError } from '../errors.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import type { Limited } from './limits.ts';

/** How many requests there were in the last minute, over all replicas. */
export interface Rates {
  /** Counts one. Throws `rate_limited`, and then counts none. */
  admit(limited: Limited): Promise<void>;
  /**
   * One that is counted counts as `count`. Throws `rate_limited`, and `invalid_request` for more than the limit ever admits;
   * then it counts as the one that it is.
   */
  admitAs(limited: Limited, count: number): Promise<void>;
  /** Takes back what was counted. */
  forget(limited: Limited, count: number): Promise<void>;
  /** Of the last 60 seconds. */
  read(limited: Pick<Limited, 'id'>): Promise<number>;
}

/**
 * Counts by the minute of the clock, and takes of the minute before the share that the last 60 seconds reach into: as if its
 * requests had come evenly. A caller that is refused is not looked up again in the store until there may be room.
 */
export function createRates(kv: Pick<KeyValueStore, 'increment' | 'get'>, now: () => number = Date.now): Rates {
  /** Those who were refused: when there may be room, and until when that is taken for granted. */
  const full = createLru<{ until: number; trusted: number }>(MOST_KNOWN);
  const before = createLru<Promise<number>>(MOST_KNOWN);

  const keyOf = (id: string, minute: number): string => `requests:${id}:${minute}`;
  /** A minute that is over changes no more, but for requests under way at its end. */
  const readBefore = (id: string, minute: number): Promise<number> => {
    const key = keyOf(id, minute - 1);
    const known = before.get(key);
    if (known) return known;
    const reading = kv.get(key).then((text) => Number(text ?? 0));
    before.set(key, reading);
    reading.catch(() => before.delete(key));
    return reading;
  };

  /** Counts `more`. Answers how long to wait until there is room for `wanted`, and then counts none; undefined: there was. */
  const take = async ({ id, limit, at, more, wanted }: Taken): Promise<number | undefined> => {
    const minute = Math.floor(at / MINUTE_MS);
    const [count, earlier] = await Promise.all([
      kv.increment(keyOf(id, minute), KEPT_MS, more),
      readBefore(id, minute),
    ]);
    if (count + earlier * shareOf(at) <= limit) return undefined;
    await kv.increment(keyOf(id, minute), KEPT_MS, -more);
    // Others that are refused now are in the count, and go out of it.
    return waitFor({ limit, count: Math.min(count - more, limit), earlier, at, wanted });
  };

  return {
    async admit({ id, name, limits: { requestsPerMinute: limit } }) {
      if (!limit) return;
      const at = now();
      const known = full.get(id);
      if (known && known.trusted > at) throw tooManyRequests(name, limit, known.until - at);
      const waitMs = await take({ id, limit, at, more: 1, wanted: 1 });
      if (waitMs === undefined) return;
      full.set(id, { until: at + waitMs, trusted: at + Math.min(waitMs, LONGEST_TRUST_MS) });
      throw tooManyRequests(name, limit, waitMs);
    },
    async admitAs({ id, name, limits: { requestsPerMinute: limit } }, wanted) {
      if (!limit || wanted === 1) return;
      if (wanted > limit) throw tooManyAtOnce(name, limit, wanted);
      const waitMs = await take({ id, limit, at: now(), more: wanted - 1, wanted });
      // There may be room for fewer, so others are asked about in the store.
      if (waitMs !== undefined) throw tooManyRequests(name, limit, waitMs);
    },
    async forget({ id, limits: { requestsPerMinute: limit } }, wanted) {
      // In the minute that follows it is too late: then they count for what they are there.
      if (limit) await kv.increment(keyOf(id, Math.floor(now() / MINUTE_MS)), KEPT_MS, -wanted);
    },
    async read({ id }) {
      const at = now();
      const minute = Math.floor(at / MINUTE_MS);
      const [text, earlier] = await Promise.all([kv.get(keyOf(id, minute)), readBefore(id, minute)]);
      return Math.round(Number(text ?? 0) + earlier * shareOf(at));
    },
  };
}

// --- internal ---

const MINUTE_MS = 60_000;
const KEPT_MS = 2 * MINUTE_MS;
/** A limit may be raised meanwhile. */
const LONGEST_TRUST_MS = 1_000;
const MOST_KNOWN = 10_000;

/** How much of the minute before is within the last 60 seconds. */
function shareOf(at: number): number {
  return 1 - (at % MINUTE_MS) / MINUTE_MS;
}

interface Taken extends Pick<Counted, 'limit' | 'at' | 'wanted'> {
  id: string;
  more: number;
}

interface Counted {
  limit: number;
  /** Of this minute. */
  count: number;
  /** Of the minute before. */
  earlier: number;
  at: number;
  wanted: number;
}

/** Milliseconds until there is room for as many as are wanted, if no other comes. */
function waitFor({ limit, count, earlier, at, wanted }: Counted): number {
  const left = MINUTE_MS - (at % MINUTE_MS);
  const wait =
    count + wanted <= limit
      ? left - ((limit - count - wanted) / earlier) * MINUTE_MS
      : left + MINUTE_MS - ((limit - wanted) / count) * MINUTE_MS;
  return Math.max(1, Math.ceil(wait));
}

function tooManyRequests(name: string, limit: number, waitMs: number): BoxError {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
  return new BoxError('rate_limited', `${name} may send ${limit} requests a minute. Try again in ${retryAfter} s.`, {
    details: { limit: 'requestsPerMinute', value: limit, retryAfter },
  });
}

/** It does not pass later either. */
function tooManyAtOnce(name: string, limit: number, wanted: number): BoxError {
  return new BoxError(
    'invalid_request',
    `${name} may send ${limit} requests a minute, and these would be ${wanted}. Send them in several requests.`,
    { details: { limit: 'requestsPerMinute', value: limit } },
  );
}
