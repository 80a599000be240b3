import { setImmediate } from 'node:timers/promises';

/** Lets others have their turn of the event loop now and then. */
export interface Breather {
  /** Waits for one turn, if the last one is long enough ago. */
  breathe(): Promise<void>;
}

/** A stream that has all its parts at once would keep its reader, and everybody else, waiting for the last of them. */
export function createBreather(everyMs = 1): Breather {
  let last = 0;
  return {
    async breathe() {
      if (performance.now() - last < everyMs) return;
      await setImmediate();
      last = performance.now();
    },
  };
}
