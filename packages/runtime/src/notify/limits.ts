export interface NotifyLimits {
  /** Milliseconds after each attempt until the next; after the last one it has failed. */
  delays: readonly number[];
  timeoutMs: number;
  /** Messages under way to one receiver. */
  atOnce: number;
  /** Messages that wait for one receiver; those that come after are left out. */
  most: number;
  /** Failures in a row after which a receiver is paused. */
  pauseAfter: number;
  /** For so long at first, then twice as long each time, up to `longestPauseMs`. */
  pauseMs: number;
  longestPauseMs: number;
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export const NOTIFY_LIMITS: NotifyLimits = {
  delays: [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR],
  timeoutMs: 10 * SECOND,
  atOnce: 8,
  most: 10_000,
  pauseAfter: 5,
  pauseMs: 30 * SECOND,
  longestPauseMs: 15 * MINUTE,
};
