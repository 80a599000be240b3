import type { StoreClock } from '../clock.ts';
import { real } from '../real.ts';

/** When the open calls of one run are due, and one real timer for the first of them. */
export interface Timers {
  readonly size: number;
  set(call: number, wakeAt: number): void;
  delete(call: number): void;
  /** The call that is due first. */
  first(): { call: number; wakeAt: number } | undefined;
  /** Waits for the first one; `onDue` gets the calls that are due by the store's clock, earliest first. */
  arm(): void;
  stop(): void;
}

export function createTimers(clock: StoreClock, onDue: (calls: number[]) => void): Timers {
  const due = new Map<number, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const sorted = () => [...due].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
  const fire = () => {
    const now = clock.now();
    const calls = sorted().flatMap(([call, wakeAt]) => (wakeAt <= now ? [call] : []));
    for (const call of calls) due.delete(call);
    if (calls.length > 0) onDue(calls);
    arm();
  };
  const arm = () => {
    if (timer !== undefined) real.clearTimeout(timer);
    timer = undefined;
    if (due.size === 0) return;
    const left = Math.min(...due.values()) - clock.now();
    timer = real.setTimeout(fire, Math.min(Math.max(0, left), LOOK_AGAIN_MS));
  };
  return {
    get size() {
      return due.size;
    },
    set: (call, wakeAt) => void due.set(call, wakeAt),
    delete: (call) => void due.delete(call),
    first() {
      const [entry] = due.size === 0 ? [] : sorted();
      return entry && { call: entry[0], wakeAt: entry[1] };
    },
    arm,
    stop() {
      real.clearTimeout(timer);
      due.clear();
    },
  };
}

// --- internal ---

/** Longer waits are looked at again in between; Node's own timers end at 2^31 ms. */
const LOOK_AGAIN_MS = 60_000;
