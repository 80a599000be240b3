import type { JournalRecord } from './record.ts';
import type { ValueDigest } from './digest.ts';
import type { ClosePolicy, Durability, RunKind, RunRow, RunTrigger } from './run.ts';

export interface NewRun {
  runId: string;
  traceId: string;
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  codeHash: string | null;
  sessionId: string | null;
  parentRunId: string | null;
  retryOf: string | null;
  seed?: string;
  /** Marks the run begins with, as JSON text. */
  attributes?: string | null;
  /** Who makes it begin, as JSON text; null: the box itself. */
  startedBy?: string | null;
  /** The milliseconds it may take from the moment it is a run. Then it has a `deadline`. Default: no limit. */
  timeoutMs?: number | null;
  closePolicy?: ClosePolicy | null;
  input: string;
  /**
   * The same key with the same digest answers the first start again, for 24 hours; with another digest it is refused. That
   * of a child does so for as long as the run above it is kept, also when the child is gone; one that `isKept` for as long as
   * the run that was started.
   */
  idempotency?: { key: string; isKept?: boolean } & ValueDigest;
  /** The run needs a place of this lock, which has `limit` (default 1). None free: it queues under `triggerId`, or is refused. */
  serial?: { key: string; triggerId: string; whenTaken: 'queue' | 'refuse'; limit?: number };
  timing?: StartTiming;
  ownId?: OwnId;
  /** Records the run begins with: a retry keeps what its predecessor had. Their `seq` is dense from 0. */
  records?: JournalRecord[];
  /** The creator takes the run in the same commit (status `running`, epoch 1); null leaves it `queued`, epoch 0. */
  claim: { owner: string; leaseMs: number } | null;
  durability: Durability;
}

/** At most `limit` starts of the key within any `periodMs`. */
export interface Rate {
  key: string;
  limit: number;
  periodMs: number;
}

/** When a start begins. Until then it queues under `triggerId`; after that it takes its lock. */
export interface StartTiming {
  triggerId: string;
  /** Among the starts that wait for one lock, higher ones are first. Default 0. */
  priority?: number;
  /** Not before so many milliseconds from now. */
  delayMs?: number;
  /** Not before this time. */
  at?: number;
  /** Above it, the start is refused. */
  rateLimit?: Rate;
  /** Above it, the start waits. */
  throttle?: Rate;
  /** It begins once there was no other of the key for so long, with the input of the last; at the latest `timeoutMs` after the first. */
  debounce?: { key: string; periodMs: number; timeoutMs?: number };
}

/** An id the creator chose. At most one unfinished run has it, and none other while the newest run that has it is kept and `reuse` says so. */
export interface OwnId {
  key: string;
  whenOpen: 'refuse' | 'join';
  reuse: 'always' | 'after-failure' | 'never';
}

export type CreateResult =
  | { outcome: 'created'; run: RunRow }
  /** The idempotency key has been used for the same start: its run, or the start that still waits in the queue. */
  | { outcome: 'repeated'; run: RunRow }
  | { outcome: 'queued' | 'repeated_queued'; triggerId: string }
  /** The lock is held and `whenTaken` is `refuse`. */
  | { outcome: 'refused'; holder: RunRow }
  /** The idempotency key has been used for another start. */
  | { outcome: 'idempotency_conflict' }
  /** The start of a child was made before, and what it made has been deleted. */
  | { outcome: 'gone'; startId: string }
  /** The rate limit has no room before then. */
  | { outcome: 'limited'; retryAt: number }
  /** A start that has not ended has the id. */
  | { outcome: 'id_taken'; start: { run: RunRow } | { triggerId: string } }
  /** A run that has ended has the id, and it is not to be used again. */
  | { outcome: 'id_used'; run: RunRow };

/** How runs come to be. */
export interface RunStarts {
  /**
   * One commit. A second call with the same `runId` answers the stored run as `created` and changes nothing; one with
   * the `triggerId` of a start that has queued answers `queued` again. A key whose start has been removed counts as unused.
   */
  create(run: NewRun): Promise<CreateResult>;
  /** The run that a start with this idempotency key has made, with what the key stands for. Undefined: there is none. */
  findByKey(key: string): Promise<{ run: RunRow; digest: string } | undefined>;
  /** The start a key, or an id of its creator's choice, was used for: a run, or the trigger of one that queues or has queued. */
  findStartId(key: string): Promise<string | undefined>;
}
