import type { Spent } from './run.ts';

export type StepKind = 'step' | 'model' | 'tool' | 'sleep' | 'hook' | 'approval' | 'child';
/** `env`: an environment variable the body has read, which is no call of it. */
export type RecordKind = StepKind | 'env';

/**
 * `done` and `failed` are delivered to the body, one per turn of the event loop, in `seq` order.
 * `retry` (an attempt that failed and will be repeated) and `set` (a wait was set) are not.
 */
export type RecordEvent = 'done' | 'failed' | 'retry' | 'set';

export interface JournalRecord {
  /** Dense position in the run, 0..n, given when the record is appended. */
  seq: number;
  /** Index in the body's call order. Replay matches by `call` and delivers by `seq`. */
  call: number;
  kind: RecordKind;
  event: RecordEvent;
  /** `<file>#<name>` of a step; `sleep`, `model`, `tool:<name>` otherwise; the name of a variable. */
  stepId: string;
  /** Digest of the arguments; replay compares it. */
  digest: string;
  /** Made by the writer: by it a commit with unknown outcome is checked for whether the record at `seq` is ours. */
  recordId: string;
  /** 1-based number of the attempt that made the record. */
  attempt: number;
  input: string | null;
  output: string | null;
  error: string | null;
  tokens: Spent | null;
  startedAt: number;
  /** The time the body sees from this record's delivery on. */
  at: number;
}
