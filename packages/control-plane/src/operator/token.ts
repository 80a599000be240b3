import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { PlaneError, rateLimited } from '../errors.ts';
import type { Log } from '../../../runtime/src/log.ts';
import type { Call } from '../http/route.ts';

/** Checks what is given as the operator's token. */
export interface TokenCheck {
  /** Throws `wrong_credentials`, and `rate_limited` for an address that was wrong five times within a minute. */
  require(call: Call, given: string): void;
}

export function createTokenCheck({ token, log }: { token: string; log: Log }): TokenCheck {
  const right = hash(token);
  /** By address, when it was wrong. */
  const wrong = new LRUCache<string, number[]>({ max: MOST_ADDRESSES });
  return {
    require({ address = '', now }, given) {
      const times = (wrong.get(address) ?? []).filter((time) => now - time < MINUTE);
      const [first = now] = times;
      if (times.length >= MOST_WRONG) throw rateLimited('Too many wrong tokens.', (first + MINUTE - now) / 1_000);
      if (timingSafeEqual(hash(given), right)) return;
      wrong.set(address, [...times, now]);
      log.warn('A wrong token was given.', { address });
      throw new PlaneError(
        'wrong_credentials',
        'This is not the token. It is STUDIO_STANDALONE_TOKEN of the control plane, in the .env of the deploy folder.',
      );
    },
  };
}

// --- internal ---

const MINUTE = 60_000;
const MOST_WRONG = 5;
const MOST_ADDRESSES = 10_000;

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
