import type { RunKind } from './journal/run.ts';
import { GIVEN_BYTES, LARGE_BYTES, VALUE_BYTES } from './values/size.ts';

/** What one run may take. */
export interface Limits {
  /** Bytes of one encoded result. */
  resultBytes: number;
  /** The same of what is handed over: an input, arguments. */
  givenBytes: number;
  records: number;
  /** A wait at least this long leaves memory, in milliseconds. */
  parkAfter: number;
  /** How long a body that makes no call may take to make the one that is recorded, in milliseconds. */
  patience: number;
  /** Resumes of one hook that its run has not taken. */
  unreadResumes: number;
}

/** From so many records on a run is warned. */
export function nearLimit({ records }: Pick<Limits, 'records'>): number {
  return Math.ceil(records * 0.8);
}

export function isNearLimit(count: number, limits: Pick<Limits, 'records'>): boolean {
  return count >= nearLimit(limits);
}

export const DEFAULT_LIMITS: Limits = {
  resultBytes: VALUE_BYTES,
  givenBytes: GIVEN_BYTES,
  records: 10_000,
  parkAfter: 5_000,
  patience: 10_000,
  unreadResumes: 1_000,
};

/** Where values are kept in object storage, too. */
export const LARGE_LIMITS: Limits = { ...DEFAULT_LIMITS, resultBytes: LARGE_BYTES, givenBytes: LARGE_BYTES };

/** Of one result of the run. What a turn has recorded is read again and again, and all of it by all who follow. */
export function resultBytesOf({ kind }: { kind: RunKind }, { resultBytes }: Pick<Limits, 'resultBytes'>): number {
  return kind === 'agent' ? Math.min(resultBytes, VALUE_BYTES) : resultBytes;
}

/** How often one process of the engine does what it does by the clock, in milliseconds. */
export const DEFAULT_TIMES = {
  /** A lease lasts so long without renewal, which comes after a third of it. */
  leaseMs: 30_000,
  /** Between two sweeps. */
  sweepMs: 1_000,
  /** Between two polls of a wait for a run that another process has. */
  pollMs: 500,
  /** Steps under way have to end when the engine closes. */
  drainMs: 0,
};

/** Runs in memory at once. */
export const MOST_LIVE = 1_000;

/** How long an answer waits for a run that was cancelled to have cleaned up, in milliseconds: most have nothing to. */
export const CANCEL_WAIT_MS = 1_000;
