import { real } from './real.ts';
import type { Journal } from './journal.ts';

/**
 * The store's time, read locally: calibrated by `sync`, carried on by the monotonic clock in between. Where the store's
 * clock is set back this one goes back with it, or waits would stand still for as long; a run's own time never does.
 */
export interface StoreClock {
  now(): number;
  /** `read`: asks the store for its time, among other things. */
  sync(read?: () => Promise<number>): Promise<void>;
}

export async function createStoreClock(journal: Pick<Journal, 'now'>): Promise<StoreClock> {
  let base = 0;
  let mark = 0;
  const sync = async (read = () => journal.now()) => {
    const before = real.performanceNow();
    const now = await read();
    mark = (before + real.performanceNow()) / 2;
    base = now;
  };
  await sync();
  return {
    sync,
    now: () => Math.floor(base + real.performanceNow() - mark),
  };
}
