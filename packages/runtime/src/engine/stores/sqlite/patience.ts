import { real } from '../../real.ts';
import { isBusy, toStoreError } from './errors.ts';

/** How long SQLite may hold the event loop while another process writes to the file, in milliseconds. */
export const BUSY_TIMEOUT_MS = 20;

/**
 * Does the work, and again for up to `waitMs` while another process writes to the file. Between two tries the event loop
 * goes on: SQLite itself would wait with it. Throws `store_unavailable` in the end.
 */
export function whenFree<T>(waitMs: number, work: () => T): T | Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!isBusy(error)) throw error;
    return tryAgain(waitMs, work);
  }
}

// --- internal ---

const PAUSE_MS = 40;

async function tryAgain<T>(waitMs: number, work: () => T): Promise<T> {
  const until = real.performanceNow() + waitMs;
  for (;;) {
    // Two processes that wait for each other do not come back together.
    await new Promise((resolve) => real.setTimeout(resolve, PAUSE_MS * (0.5 + Math.random())));
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || real.performanceNow() > until) throw toStoreError(error);
    }
  }
}
