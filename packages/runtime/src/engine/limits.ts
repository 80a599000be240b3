/** What one run may take. */
export interface Limits {
  /** Bytes of one encoded result. */
  resultBytes: number;
  records: number;
  /** A wait at least this long leaves memory, in milliseconds. */
  parkAfter: number;
}

export const DEFAULT_LIMITS: Limits = { resultBytes: 1_048_576, records: 10_000, parkAfter: 5_000 };
