import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import { real } from '../real.ts';

/** Those in this process who wait for a run to end or to write to its streams. */
export interface Watchers {
  /** They look again, or take the row, which is the run as its end left it. */
  notify(runId: string, row?: RunRow): void;
  /** Resolves at the next `notify`, when it is time to look anyway, or when the signal aborts. */
  nextChange(runId: string, signal?: AbortSignal): Promise<void>;
  /** Resolves when the run is final, or with what it is once the time is up or the signal aborts. */
  wait(runId: string, timeoutMs: number, options?: WaitOptions): Promise<RunRow | undefined>;
}

export interface WaitOptions {
  /** The run is in this process, so its end will be notified. */
  isHere?: boolean;
  signal?: AbortSignal | undefined;
}

type Listener = (row?: RunRow) => void;

/**
 * Notified by this process and by the doorbell; and since neither may know what another replica did, they poll too: for
 * the end of a run every `pollMs`, for frames twice as often.
 */
export function createWatchers(journal: Pick<Journal, 'getRun'>, pollMs = POLL_MS): Watchers {
  const listeners = new Map<string, Set<Listener>>();
  const add = (runId: string, listener: Listener): (() => void) => {
    const set = listeners.get(runId) ?? new Set();
    listeners.set(runId, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0 && listeners.get(runId) === set) listeners.delete(runId);
    };
  };
  /** Until something happens to the run, or it is time to look again. Answers the run when that was its end here. */
  const pause = (runId: string, ms: number, signal?: AbortSignal): Promise<RunRow | undefined> =>
    new Promise((resolve) => {
      const done = (row?: RunRow) => {
        real.clearTimeout(timer);
        remove();
        signal?.removeEventListener('abort', stop);
        resolve(row);
      };
      const stop = () => done();
      const timer = real.setTimeout(stop, signal?.aborted ? 0 : ms);
      const remove = add(runId, done);
      signal?.addEventListener('abort', stop, { once: true });
    });
  return {
    notify(runId, row) {
      const notified = listeners.get(runId);
      // A copy: a listener removes itself.
      if (notified) for (const listener of Array.from(notified)) listener(row);
    },
    nextChange: async (runId, signal) => void (await pause(runId, pollMs / 2, signal)),
    async wait(runId, timeoutMs, { isHere = false, signal } = {}) {
      const end = real.performanceNow() + timeoutMs;
      for (;;) {
        const left = signal?.aborted ? 0 : end - real.performanceNow();
        // Listening begins before the look: an end in between is not missed.
        const paused = left > 0 ? pause(runId, Math.min(pollMs, left), signal) : undefined;
        if (isHere) {
          const ended = await paused;
          if (ended) return ended;
          isHere = false;
          continue;
        }
        const run = await journal.getRun(runId);
        if (!run || isFinal(run.status) || !paused) return run;
        const ended = await paused;
        if (ended) return ended;
      }
    },
  };
}

// --- internal ---

const POLL_MS = 500;
