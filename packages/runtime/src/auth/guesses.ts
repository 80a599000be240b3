import { createLru } from '../lru.ts';
import { BoxError } from '../errors.ts';
import type { CountingKv } from '../stores/kv-counting.ts';

/** Who tries out credentials of which nothing but whether they are right sets them apart. */
export interface Guesses {
  /** One was wrong. Throws `rate_limited` for an address that was wrong too often. */
  wrong(address: string): Promise<void>;
}

export interface GuessesOptions {
  /** Where they are counted, over all replicas. */
  kv: Pick<CountingKv, 'increment'>;
  /** Wrong ones of one address in a minute before it has to wait (429). Default 10. */
  most?: number;
  /** Milliseconds that only grow. */
  now?(): number;
}

/**
 * Those who were wrong ten times get 429 for the rest of the minute, and cost no more than a digest and a
 * comparison from then on. A right one is let in whatever else its address sends: many may stand behind one, such as that of
 * a proxy which does not say for whom it asks, and whoever floods it would lock the operator out. What makes guessing
 * hopeless is how long the token is.
 */
export function createGuesses(options: GuessesOptions): Guesses {
  const { kv, most = 10, now = () => performance.now() } = options;
  const known = createLru<Known>(MOST_ADDRESSES);
  const find = (address: string): Known => {
    const found = known.get(address);
    if (found && found.until > now()) return found;
    const fresh = { count: 0, until: now() + PERIOD_MS };
    known.set(address, fresh);
    return fresh;
  };
  const refuse = ({ until }: Known): BoxError => {
    const retryAfter = Math.max(1, Math.ceil((until - now()) / 1_000));
    const message = `There were too many wrong credentials from this address. Try again in ${retryAfter} s.`;
    return new BoxError('rate_limited', message, { details: { retryAfter, of: 'credentials' } });
  };
  return {
    async wrong(address) {
      const mine = find(address);
      // Before the store has answered: those that come at once are counted at once.
      mine.count += 1;
      if (mine.count > most) throw refuse(mine);
      mine.count = Math.max(mine.count, await kv.increment(`guesses:${address}`, PERIOD_MS));
      if (mine.count > most) throw refuse(mine);
    },
  };
}

// --- internal ---

interface Known {
  count: number;
  until: number;
}

const PERIOD_MS = 60_000;
/** Whoever has more of them needs no more than one guess from each. */
const MOST_ADDRESSES = 10_000;
