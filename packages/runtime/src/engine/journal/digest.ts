/** What a value that came with an idempotency key is known by again. */
export interface ValueDigest {
  digest: string;
  /** What earlier builds kept of the same value: that of its text as it came. Absent: no other. */
  older?: string;
}
