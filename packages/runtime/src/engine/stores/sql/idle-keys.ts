import { KEYS_AT_ONCE } from './queries.ts';
import type { StoredRow } from './rows.ts';

/**
 * Locks with starts that wait and a free place. Whoever ends a run gives its place on in the same commit, so there are
 * few: where a limit was raised, or more starts wait than one commit promotes. Those a commit here has left are known;
 * to find the others this steps through all keys, some with each claim.
 */
export interface IdleKeys {
  /** What the next page begins behind: the parameter of `idleKeysQuery`. */
  readonly after: string;
  /** Takes what the query answered; answers the keys that have a place to give, with those noted since. */
  take(rows: StoredRow[]): string[];
  /** The lock has more places to give than one commit did. */
  note(key: string): void;
}

/** Keys are as stored. */
export function createIdleKeys(): IdleKeys {
  let after = '';
  const noted = new Set<string>();
  return {
    get after() {
      return after;
    },
    take(rows) {
      const last = rows.find(({ n }) => Number(n) === KEYS_AT_ONCE);
      after = last ? (last.key as string) : '';
      const idle = rows.filter(({ isIdle }) => Number(isIdle) === 1).map(({ key }) => key as string);
      const keys = new Set([...noted, ...idle]);
      noted.clear();
      return [...keys];
    },
    note: (key) => void noted.add(key),
  };
}
