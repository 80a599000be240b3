import type { StoreClock } from '../engine/clock.ts';
import { parseDuration } from '../engine/duration.ts';

/** The time of a test box. It stands still until it is moved: sleeps, timeouts, retries and schedules follow it. */
export interface TestClock {
  now(): Date;
  /**
   * Moves on by a duration, such as `'2 days'`. It stops at each moment something is due and lets the box do it, so a
   * run that sleeps twice wakes twice.
   */
  advance(by: number | string): Promise<void>;
  /** As `advance`, up to a moment. */
  advanceTo(time: Date | string | number): Promise<void>;
}

/** What the clock moves. */
export interface Moved {
  /** Something has become due. */
  tick(): Promise<void>;
  /** When something is due next. */
  nextDue(): Promise<number | undefined>;
  /** Resolves once nothing goes on any more. */
  settle(): Promise<void>;
}

export interface VirtualClock extends TestClock {
  /** The same time, as the journal and the engine read it. */
  readonly store: StoreClock;
}

export function createTestClock(start: Date | string | number, moved: Moved): VirtualClock {
  let time = toTime(start);
  const jump = async (to: number): Promise<void> => {
    time = Math.max(time, to);
    await moved.tick();
    await moved.settle();
  };
  const advanceTo = async (target: number): Promise<void> => {
    await moved.settle();
    // What stays due although it was done (a run whose step goes on) does not hold the clock.
    for (let stops = 0; stops < MAX_STOPS;) {
      const due = await moved.nextDue();
      if (due === undefined || due >= target) break;
      stops = due > time ? 0 : stops + 1;
      await jump(due);
    }
    await jump(target);
  };
  return {
    now: () => new Date(time),
    advance: (by) => advanceTo(time + parseDuration(by)),
    async advanceTo(to) {
      const target = toTime(to);
      if (target < time) throw new RangeError('A test clock only moves forward.');
      await advanceTo(target);
    },
    store: { now: () => time, sync: async () => {} },
  };
}

// --- internal ---

const MAX_STOPS = 20;

function toTime(value: Date | string | number): number {
  const time = new Date(value).getTime();
  if (Number.isNaN(time))
    throw new RangeError(`"${String(value)}" is not a time. Use a Date or "2026-01-31T09:00:00Z".`);
  return time;
}
