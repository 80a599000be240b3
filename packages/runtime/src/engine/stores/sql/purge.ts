import { real } from '../../real.ts';

/** Forgets what is too old, beside all else. */
export interface Purge {
  /** Begins, unless it is under way or has found nothing within the last minute. Never waits and never throws. */
  start(): void;
  /** Resolves once nothing is under way; begins nothing from then on. */
  stop(): Promise<void>;
}

/** `purge` deletes up to `PURGE_BATCH` and answers how many it was. */
export function createPurge(purge: () => Promise<number>): Purge {
  const stopping = new AbortController();
  let nextAt = 0;
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    nextAt = real.performanceNow() + EVERY_MS;
    for (let count = PURGE_BATCH; count >= PURGE_BATCH && !stopping.signal.aborted;) {
      const began = real.performanceNow();
      count = await purge();
      // No more than half of the time: the store is there for runs.
      await new Promise((resolve) => real.setTimeout(resolve, real.performanceNow() - began));
    }
  };
  return {
    start() {
      if (stopping.signal.aborted || running || real.performanceNow() < nextAt) return;
      // What fails, a store that is away, is done in a minute.
      running = run()
        .catch(() => {})
        .finally(() => (running = undefined));
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

export const PURGE_BATCH = 500;

// --- internal ---

const EVERY_MS = 60_000;
