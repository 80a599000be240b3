import { setImmediate } from 'node:timers/promises';

/** For work that may take long: call it between two parts, and it gives way to what else there is to do once 8 ms have passed. */
export function createTurn(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < MOST_MS) return;
    await setImmediate();
    since = performance.now();
  };
}

// --- internal ---

const MOST_MS = 8;
