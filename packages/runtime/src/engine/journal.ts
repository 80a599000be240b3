/**
 * The journal: runs and their records, and the only authority on them. Two adapters (SQLite, Postgres) pass
 * one contract suite (`stores/contract.ts`). Times are milliseconds since 1970 by the store's clock.
 * Values (`input`, `output`, `error`) are text made by the one codec (`serialize.ts`); no adapter looks inside.
 */
export type RunKind = 'workflow' | 'agent';
export type RunStatus = 'queued' | 'running' | 'waiting' | 'blocked' | 'completed' | 'failed' | 'cancelled';
export type FinalStatus = 'completed' | 'failed' | 'cancelled';
export type RunTrigger = 'api' | 'chat' | 'schedule' | 'trigger' | 'workflow' | 'eval' | 'retry' | 'copilot';
export type StepKind = 'step' | 'model' | 'tool' | 'sleep' | 'hook' | 'approval' | 'child';
/** `synced` survives power loss, `process` survives a crash of the process. */
export type Durability = 'synced' | 'process';

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  totalTokens: number;
}

export interface RunRow extends Tokens {
  runId: string;
  /** The engine's own id: the run id's 128 bits as 32 hex digits. */
  traceId: string;
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  status: RunStatus;
  /** The next free journal position; also the number of records. */
  seq: number;
  /** Raised by every claim. A record of a lower epoch is refused. */
  epoch: number;
  owner: string | null;
  leaseUntil: number | null;
  /** When a waiting or retrying run is due. Null: nothing but an event from outside wakes it. */
  wakeAt: number | null;
  /** What a waiting run waits for, as JSON text. */
  waitingFor: string | null;
  codeHash: string | null;
  sessionId: string | null;
  parentRunId: string | null;
  retryOf: string | null;
  input: string;
  output: string | null;
  error: string | null;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

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
  kind: StepKind;
  event: RecordEvent;
  /** `<file>#<name>` of a step; `sleep`, `model`, `tool:<name>` otherwise. */
  stepId: string;
  /** Digest of the arguments; replay compares it. */
  digest: string;
  /** Made by the writer: tells after a commit with unknown outcome whether the record at `seq` is ours. */
  recordId: string;
  /** 1-based number of the attempt that made the record. */
  attempt: number;
  input: string | null;
  output: string | null;
  error: string | null;
  tokens: Tokens | null;
  startedAt: number;
  /** The time the body sees from this record's delivery on. */
  at: number;
}

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
  input: string;
  /** The creator takes the run in the same commit (status `running`, epoch 1); null leaves it `queued`, epoch 0. */
  claim: { owner: string; leaseMs: number } | null;
  durability: Durability;
}

/** Columns of the run that change in the same commit as the records. Absent keys stay as they are. */
export interface RunPatch extends Partial<Tokens> {
  status?: RunStatus;
  wakeAt?: number | null;
  waitingFor?: string | null;
  output?: string | null;
  error?: string | null;
  /** True gives the run back: owner and lease become null. A final status does so by itself and sets `endedAt`. */
  release?: boolean;
}

/** One conditional append: it happens whole or not at all. */
export interface Append {
  runId: string;
  epoch: number;
  /** The position the first record must take. */
  seq: number;
  records: JournalRecord[];
  patch: RunPatch;
  durability: Durability;
}

export type AppendResult =
  | { outcome: 'appended'; at: number }
  /** A higher epoch owns the run, or it is gone: drop it at once. */
  | { outcome: 'fenced' }
  /** The run is final; nothing more is recorded. */
  | { outcome: 'final'; status: FinalStatus }
  /** Same epoch, but the position is taken by records of another writer: read the run again. */
  | { outcome: 'conflict' };

export interface RunFilter {
  name?: string;
  kind?: RunKind;
  status?: RunStatus;
  trigger?: RunTrigger;
  sessionId?: string;
}

export interface Claim {
  owner: string;
  leaseMs: number;
  limit: number;
  /** Take every unfinished, unparked run whoever holds it: for a store only this process can hold, at boot. */
  takeover?: boolean;
}

/** What the engine needs to write. `stores/contract.ts` says in tests what each method promises. */
export interface Journal extends RunReader {
  readonly adapter: 'sqlite' | 'postgres';
  /** One commit. Answers the run as stored. A second call with the same `runId` answers the stored run and changes nothing. */
  create(run: NewRun): Promise<RunRow>;
  /** Commits together with whatever else arrives while a commit is under way. A repeat with the same record ids answers `appended` again. */
  append(entry: Append): Promise<AppendResult>;
  /**
   * Takes up to `limit` runs nobody holds: expired leases first, then due `wakeAt`, then queued ones; oldest first.
   * Each gets the owner, a fresh lease, an epoch one higher, status `running` and, the first time, `startedAt`.
   * `blocked` and final runs are never taken; a `waiting` run only once `wakeAt` is due.
   */
  claim(claim: Claim): Promise<RunRow[]>;
  /** Takes one run by id if nobody else holds it and it is due, as `claim` does. Undefined: not to be had. */
  claimRun(runId: string, claim: { owner: string; leaseMs: number }): Promise<RunRow | undefined>;
  /** Extends the lease of every run the owner holds. */
  renew(owner: string, leaseMs: number): Promise<void>;
  /** Milliseconds until the earliest `wakeAt` of an unowned waiting run (0: due), or undefined when none waits. */
  nextWake(): Promise<number | undefined>;
  /** The store's clock. */
  now(): Promise<number>;
  close(): Promise<void>;
}

/** What the rooms read; `/api/runs*` stands on it. */
export interface RunReader {
  getRun(runId: string): Promise<RunRow | undefined>;
  /** Records in `seq` order. */
  getRecords(runId: string): Promise<JournalRecord[]>;
  /** Newest first (`runId` is time-ordered); `before` is the last run id of the page before. */
  listRuns(filter: RunFilter, page: { limit: number; before?: string }): Promise<RunRow[]>;
}

export const NO_TOKENS: Readonly<Tokens> = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 0,
});

const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export function isFinal(status: RunStatus): status is FinalStatus {
  return FINAL.has(status);
}
