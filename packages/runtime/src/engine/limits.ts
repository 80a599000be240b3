/** What one run may take. */
export interface Limits {
  /** Bytes of one encoded result. */
  resultBytes: number;
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
  resultBytes: 1_048_576,
  records: 10_000,
  parkAfter: 5_000,
  patience: 10_000,
  unreadResumes: 1_000,
};

/** How long an answer waits for a run that was cancelled to have cleaned up, in milliseconds: most have nothing to. */
export const CANCEL_WAIT_MS = 1_000;
