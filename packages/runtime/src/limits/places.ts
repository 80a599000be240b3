import { BoxError } from '../errors.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import type { Limited } from './limits.ts';

/** How many turns are under way, over all replicas. */
export interface Places {
  /** Takes a place of each for the turn. Throws `rate_limited`, and then has taken none. */
  enter(turnId: string, limited: readonly Limited[]): Promise<void>;
  /** The same for a turn that is to go on, wherever it does: whoever has it holds them, or they are free after a while. */
  admit(turnId: string, limited: readonly Limited[]): Promise<void>;
  /** Takes a place of each, whether there is room or not. */
  reenter(turnId: string, limited: readonly Limited[]): void;
  /** The turn is over, or waits. Of one that has no place, nothing. */
  leave(turnId: string): void;
  read(limited: Pick<Limited, 'id'>): Promise<number>;
  close(): Promise<void>;
}

/** Places are renewed while this process lives; those of one that was killed are free again after `TTL_MS`. */
export function createPlaces(kv: Pick<KeyValueStore, 'takePlace' | 'leavePlace' | 'countPlaces'>): Places {
  const held = new Map<string, readonly string[]>();
  let renewing: ReturnType<typeof setInterval> | undefined;

  const renew = (turnId: string, keys: readonly string[]): void => {
    for (const key of keys) void kv.takePlace(key, turnId, { most: Infinity, ttlMs: TTL_MS }).catch(() => {});
  };
  const hold = (turnId: string, keys: readonly string[]): void => {
    held.set(turnId, keys);
    renewing ??= setInterval(() => held.forEach((own, each) => renew(each, own)), TTL_MS / 3);
    renewing.unref();
  };
  const giveBack = (turnId: string, keys: readonly string[]): Promise<unknown> =>
    // What is not given back is free again after a while.
    Promise.all(keys.map((key) => kv.leavePlace(key, turnId).catch(() => {})));

  const take = async (turnId: string, limited: readonly Limited[]): Promise<string[]> => {
    const taken: string[] = [];
    for (const { id, name, limits } of limited) {
      const { concurrentTurns: most } = limits;
      if (!most) continue;
      const key = keyOf(id);
      if (!(await kv.takePlace(key, turnId, { most, ttlMs: TTL_MS }))) {
        await giveBack(turnId, taken);
        throw tooManyTurns(name, most);
      }
      taken.push(key);
    }
    return taken;
  };

  return {
    async enter(turnId, limited) {
      const taken = await take(turnId, limited);
      if (taken.length > 0) hold(turnId, taken);
    },
    async admit(turnId, limited) {
      await take(turnId, limited);
    },
    reenter(turnId, limited) {
      const keys = limited.filter(({ limits }) => limits.concurrentTurns).map(({ id }) => keyOf(id));
      if (keys.length === 0 || held.has(turnId)) return;
      hold(turnId, keys);
      renew(turnId, keys);
    },
    leave(turnId) {
      const keys = held.get(turnId);
      if (!keys) return;
      held.delete(turnId);
      if (held.size === 0) {
        clearInterval(renewing);
        renewing = undefined;
      }
      void giveBack(turnId, keys);
    },
    read: ({ id }) => kv.countPlaces(keyOf(id)),
    async close() {
      clearInterval(renewing);
      await Promise.all(Array.from(held, ([turnId, keys]) => giveBack(turnId, keys)));
      held.clear();
    },
  };
}

// --- internal ---

const TTL_MS = 60_000;
const RETRY_AFTER_S = 1;

function keyOf(id: string): string {
  return `turns:${id}`;
}

function tooManyTurns(name: string, most: number): BoxError {
  const turns = most === 1 ? 'one turn' : `${most} turns`;
  return new BoxError('rate_limited', `${name} may have ${turns} under way at once. Try again when one has ended.`, {
    details: { limit: 'concurrentTurns', value: most, retryAfter: RETRY_AFTER_S },
  });
}
