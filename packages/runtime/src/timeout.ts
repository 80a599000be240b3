/** The clock and the timers a timeout is made of: under a guard, those from before it. */
export interface Timers {
  performanceNow(): number;
  setTimeout(work: () => void, ms: number): NodeJS.Timeout;
  clearTimeout(timer: NodeJS.Timeout): void;
}

export interface Timeout {
  end(): void;
}

/**
 * Calls `onOver` after so many milliseconds, and keeps no process alive. Timers come before sockets: where something held
 * this process up, what has come meanwhile is read first, so that its own standstill is not taken for the silence of a peer.
 */
export function startTimeout(ms: number, onOver: () => void, timers: Timers = OWN): Timeout {
  let dueAt = 0;
  let postponed = 0;
  const watch = (wait: number): NodeJS.Timeout => {
    dueAt = timers.performanceNow() + wait;
    return timers.setTimeout(look, wait).unref();
  };
  const look = (): void => {
    const isHeld = timers.performanceNow() - dueAt > HELD_MS && postponed < MOST_POSTPONED;
    // However punctual the first one is: sockets are read once between two timers.
    if (!isHeld && postponed > 0) return onOver();
    postponed += 1;
    timer = watch(isHeld ? READING_MS : 1);
  };
  let timer = watch(ms);
  return { end: () => timers.clearTimeout(timer) };
}

// --- internal ---

/** A timer that is later than this was held up: by code that ran on, or since the process did not run. */
const HELD_MS = 50;
/** How long what has come has to be read then. */
const READING_MS = 50;
/** A process that does nothing but hold its event loop reads nothing either. */
const MOST_POSTPONED = 20;

const OWN: Timers = {
  performanceNow: () => performance.now(),
  setTimeout: (work, ms) => setTimeout(work, ms),
  clearTimeout: (timer) => clearTimeout(timer),
};
