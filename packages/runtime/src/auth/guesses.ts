import { BoxError } from '../errors.ts';

/** Who tries out credentials of which nothing but whether they are right sets them apart. */
export interface Guesses {
  /** Before one is looked at. Throws `rate_limited` for an address that was wrong too often, whatever it sends. */
  check(address: string): void;
  wrong(address: string): void;
}

export interface GuessesOptions {
  /** Wrong ones of one address in `periodMs`. Default 10. */
  most?: number;
  /** Default one minute. */
  periodMs?: number;
  /** Milliseconds that only grow. */
  now?(): number;
}

export function createGuesses(options: GuessesOptions = {}): Guesses {
  const { most = 10, periodMs = 60_000, now = () => performance.now() } = options;
  /** When each address was wrong, the last one to be wrong at the end. */
  const times = new Map<string, number[]>();
  const recent = (address: string): number[] => (times.get(address) ?? []).filter((time) => now() - time < periodMs);
  return {
    check(address) {
      const [first = 0, ...others] = recent(address);
      if (others.length + 1 < most) return;
      const retryAfter = Math.max(1, Math.ceil((first + periodMs - now()) / 1_000));
      const message = `There were ${most} wrong credentials from this address. Try again in ${retryAfter} s.`;
      throw new BoxError('rate_limited', message, { details: { retryAfter, of: 'credentials' } });
    },
    wrong(address) {
      const own = [...recent(address), now()];
      times.delete(address);
      times.set(address, own);
      const [oldest] = times.keys();
      if (times.size > MOST_ADDRESSES && oldest !== undefined) times.delete(oldest);
    },
  };
}

// --- internal ---

/** Whoever has more of them needs no more than one guess from each. */
const MOST_ADDRESSES = 10_000;
