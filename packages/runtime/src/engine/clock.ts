import { real } from './real.ts';
import type { Journal } from './journal.ts';

/** The store's time, read locally: calibrated by `sync`, carried on by the monotonic clock in between. */
export interface StoreClock {
  now(): number;
  sync(): Promise<void>;
}

export async function createStoreClock(journal: Pick<Journal, 'now'>): Promise<StoreClock> {
  let base = 0;
  let mark = 0;
  let last = 0;
  const sync = async () => {
    const before = real.performanceNow();
    const now = await journal.now();
    mark = (before + real.performanceNow()) / 2;
    base = now;
  };
  await sync();
  return {
    sync,
    now() {
      // Never backwards: a body that compares two times must not see a later record with an earlier one.
      last = Math.max(last, Math.floor(base + real.performanceNow() - mark));
      return last;
    },
  };
}
