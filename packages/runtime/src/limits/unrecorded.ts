import { createLru } from '../lru.ts';

/**
 * Tokens that stand in no record yet: a step is recorded when it has ended, and may ask a model as often as it likes before.
 * Of this process alone, which has the step.
 */
export interface Unrecorded {
  /** A call of the run has used them, for all of these. */
  add(runId: string, who: readonly string[], tokens: number): void;
  /** Of those of the run so many are recorded. */
  recorded(runId: string, tokens: number): void;
  /** No step of the run is under way. */
  forget(runId: string): void;
  of(who: string): number;
}

export function createUnrecorded(): Unrecorded {
  /** A run that has gone to another replica is not heard of again. What is replaced is taken off the sums, too. */
  const runs = createLru<Used>(MOST_RUNS, { ttl: KEPT_MS, dispose: ({ who, tokens }) => take(who, tokens) });
  const sums = new Map<string, number>();
  const take = (who: readonly string[], tokens: number): void => {
    for (const one of who) {
      const left = (sums.get(one) ?? 0) - tokens;
      if (left > 0) sums.set(one, left);
      else sums.delete(one);
    }
  };
  const add: Unrecorded['add'] = (runId, who, tokens) => {
    if (who.length === 0 || tokens <= 0) return;
    const sum = (runs.get(runId)?.tokens ?? 0) + tokens;
    runs.set(runId, { who, tokens: sum });
    for (const one of who) sums.set(one, (sums.get(one) ?? 0) + sum);
  };
  return {
    add,
    recorded(runId, tokens) {
      const used = runs.get(runId);
      runs.delete(runId);
      if (used) add(runId, used.who, used.tokens - tokens);
    },
    forget: (runId) => void runs.delete(runId),
    of(who) {
      runs.purgeStale();
      return sums.get(who) ?? 0;
    },
  };
}

// --- internal ---

interface Used {
  who: readonly string[];
  tokens: number;
}

/** More than a replica has at once. */
const MOST_RUNS = 10_000;
/** Since its last call. */
const KEPT_MS = 3_600_000;
