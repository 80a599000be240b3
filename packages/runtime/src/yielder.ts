import { setImmediate } from 'node:timers/promises';

/** Yields to the event loop now and then. */
export interface Yielder {
  /** Waits for one round of the event loop, if the last one is long enough ago. */
  yieldIfDue(): Promise<void>;
}

/** A stream that has all its parts at once would keep its reader, and every other request, waiting for the last of them. */
export function createYielder(everyMs = 1): Yielder {
  let last = 0;
  return {
    async yieldIfDue() {
      if (performance.now() - last < everyMs) return;
      await setImmediate();
      last = performance.now();
    },
  };
}

/** Between two pieces of work that are each as long as a request may hold the event loop: waits for one round of it. */
export async function yieldOnce(): Promise<void> {
  await setImmediate();
}
