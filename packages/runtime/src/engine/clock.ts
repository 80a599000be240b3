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
  /** How far the store's clock is ahead of the monotonic one, in milliseconds. From nothing it is moved up as little as fits. */
  let ahead = -Infinity;
  const sync = async (read = () => journal.now()) => {
    const before = real.performanceNow();
    const now = await read();
    const after = real.performanceNow();
    // It was that time at some moment between the two. What fits is kept: a round trip that takes long says little. The first
    // is taken for behind, not ahead: a wait may end late, and not early.
    ahead = Math.min(Math.max(ahead, now - after), now - before);
  };
  await sync();
  return {
    sync,
    now: () => Math.floor(ahead + real.performanceNow()),
  };
}
