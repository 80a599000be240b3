import type { JournalRecord } from './journal/record.ts';
import type { RunRow } from './journal/run.ts';

/**
 * Notified of what the journal has taken, with its values, by the one process that wrote it: for traces and figures. Called in
 * whatever context there is, in the hot path of every run: it must return at once and never throw.
 */
export interface Observer {
  /** In the context of whoever started it. */
  created(run: RunRow): void;
  /** It begins, for the first time. */
  started(run: RunRow): void;
  /** Records of the run, as they were appended. */
  appended(run: RunRow, records: readonly JournalRecord[]): void;
  /** It waits for a decision: its code no longer does what its journal says. */
  blocked?(run: RunRow): void;
  /** It is suspended until something from outside comes, or its time. */
  waiting?(run: RunRow): void;
  /** It goes on after that, or in this process after another one. */
  resumed?(run: RunRow): void;
  /** It is final: the row as its end left it. */
  ended(run: RunRow): void;
}

/** Notifies all of them. */
export function joinObservers(observers: readonly [Observer, ...Observer[]]): Observer {
  if (observers.length === 1) return observers[0];
  return {
    created: (run) => observers.forEach((one) => one.created(run)),
    started: (run) => observers.forEach((one) => one.started(run)),
    appended: (run, records) => observers.forEach((one) => one.appended(run, records)),
    blocked: (run) => observers.forEach((one) => one.blocked?.(run)),
    waiting: (run) => observers.forEach((one) => one.waiting?.(run)),
    resumed: (run) => observers.forEach((one) => one.resumed?.(run)),
    ended: (run) => observers.forEach((one) => one.ended(run)),
  };
}
