import type { Append, AppendResult, Journal, RunRow } from './journal.ts';
import { isFinal } from './journal.ts';
import { real } from './real.ts';

/** Those in this process who want to know when a run ends or writes to its streams. */
export interface Watchers {
  notify(runId: string): void;
  /** Answers how to stop. */
  add(runId: string, listener: () => void): () => void;
  /** Resolves when the run is final, or what it is when the time is up. */
  wait(runId: string, timeoutMs: number): Promise<RunRow | undefined>;
}

/** Told by this process, or seen in the journal: another replica may have ended the run. */
export function createWatchers(journal: Pick<Journal, 'getRun'>): Watchers {
  const listeners = new Map<string, Set<() => void>>();
  const add = (runId: string, listener: () => void): (() => void) => {
    const set = listeners.get(runId) ?? new Set();
    listeners.set(runId, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0 && listeners.get(runId) === set) listeners.delete(runId);
    };
  };
  /** Until something happens to the run here, or it is time to look again. */
  const pause = (runId: string, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        real.clearTimeout(timer);
        remove();
        resolve();
      };
      const timer = real.setTimeout(done, ms);
      const remove = add(runId, done);
    });
  return {
    add,
    notify(runId) {
      // A copy: a listener may remove itself.
      for (const listener of Array.from(listeners.get(runId) ?? [])) listener();
    },
    async wait(runId, timeoutMs) {
      const end = real.performanceNow() + timeoutMs;
      for (;;) {
        const left = end - real.performanceNow();
        // Listening begins before the look: an end in between is not missed.
        const paused = left > 0 ? pause(runId, Math.min(POLL_MS, left)) : undefined;
        const run = await journal.getRun(runId);
        if (!run || isFinal(run.status) || !paused) return run;
        await paused;
      }
    },
  };
}

/** An append is safe to repeat (the store knows a record by its id), so a store that fails gets the lease's time to come back. */
export async function appendWithin(
  journal: Pick<Journal, 'append'>,
  entry: Append,
  leaseMs: number,
): Promise<AppendResult> {
  const giveUp = real.performanceNow() + leaseMs;
  for (let delay = 50; ; delay = Math.min(delay * 2, 2_000)) {
    try {
      return await journal.append(entry);
    } catch (error) {
      if (real.performanceNow() + delay > giveUp) throw error;
      await new Promise((resolve) => real.setTimeout(resolve, delay));
    }
  }
}

// --- internal ---

const POLL_MS = 500;
