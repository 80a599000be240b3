/**
 * When a worker looks in the store again for work that is due. What this process makes wakes the worker itself, so a look finds
 * only what another process left behind or what waits for its time: while there is none, looks are ever further apart.
 */
export interface LookPace {
  /** Whether it is time to look. If so the next time is set: twice as far away as this one was, at most six times `everyMs`. */
  isTime(): boolean;
  /** The look found work: the next one comes after `everyMs` again. */
  found(): void;
  /** Work is known to be due in so many milliseconds: the next look comes no later. */
  dueIn(ms: number): void;
}

/** @param everyMs milliseconds between two looks while there is work */
export function createLookPace(everyMs: number): LookPace {
  let wait = everyMs;
  let at = 0;
  return {
    isTime() {
      const now = performance.now();
      if (now < at) return false;
      at = now + wait;
      wait = Math.min(wait * 2, everyMs * SLOWEST);
      return true;
    },
    found() {
      wait = everyMs;
      at = Math.min(at, performance.now() + everyMs);
    },
    dueIn(ms) {
      at = Math.min(at, performance.now() + Math.max(0, ms));
    },
  };
}

// --- internal ---

/** Looks of a worker without work are so many times further apart than of one with work. */
const SLOWEST = 6;
