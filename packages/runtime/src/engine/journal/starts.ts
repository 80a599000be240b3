import type { JournalRecord } from './record.ts';
import type { Durability, RunKind, RunRow, RunTrigger } from './run.ts';

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
  input: string;
  /** The same key with the same digest answers the first start again for 24 hours; with another digest it is refused. */
  idempotency?: { key: string; digest: string };
  /** The run needs this lock. Taken: it queues under `triggerId`, or is refused. */
  serial?: { key: string; triggerId: string; whenTaken: 'queue' | 'refuse' };
  /** Records the run begins with: a retry keeps what its predecessor had. Their `seq` is dense from 0. */
  records?: JournalRecord[];
  /** The creator takes the run in the same commit (status `running`, epoch 1); null leaves it `queued`, epoch 0. */
  claim: { owner: string; leaseMs: number } | null;
  durability: Durability;
}

export type CreateResult =
  | { outcome: 'created'; run: RunRow }
  /** The idempotency key has been used for the same start: its run, or the start that still waits in the queue. */
  | { outcome: 'repeated'; run: RunRow }
  | { outcome: 'queued' | 'repeated_queued'; triggerId: string }
  /** The lock is held and `whenTaken` is `refuse`. */
  | { outcome: 'refused'; holder: RunRow }
  /** The idempotency key has been used for another start. */
  | { outcome: 'idempotency_conflict' };

/** How runs come to be. */
export interface RunStarts {
  /**
   * One commit. A second call with the same `runId` answers the stored run as `created` and changes nothing; one with
   * the `triggerId` of a start that has queued answers `queued` again. A key whose start has been removed counts as unused.
   */
  create(run: NewRun): Promise<CreateResult>;
  /** The run that a start with this idempotency key has made, with what the key stands for. Undefined: there is none. */
  findByKey(key: string): Promise<{ run: RunRow; digest: string } | undefined>;
}
