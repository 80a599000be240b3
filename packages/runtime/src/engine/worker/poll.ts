import { runOutside } from '../context.ts';
import { real } from '../real.ts';

/** Does the same work again and again, `ms` after the time before, for as long as it is needed. */
export interface Poll {
  /** Begins, unless it is under way. */
  start(): void;
}

export function createPoll(work: () => Promise<void>, ms: number, isNeeded: () => boolean): Poll {
  let isRunning = false;
  const again = (): void => {
    isRunning = isNeeded();
    // Outside of any run: whoever waits may be the code of one.
    if (isRunning) runOutside(() => real.setTimeout(look, ms));
  };
  // A store that does not answer is asked again.
  const look = (): void => void work().then(again, again);
  return {
    start() {
      if (!isRunning) again();
    },
  };
}
