/**
 * The journal: runs and their records, and the only authority on them. Two adapters (SQLite, Postgres) pass
 * one contract suite (`stores/contract/`). Times are milliseconds since 1970 by the store's clock.
 * Values (`input`, `output`, `error`) are text made by the one codec (`serialize.ts`); no adapter looks inside.
 */
export type RunKind = 'workflow' | 'agent';
export type RunStatus = 'queued' | 'running' | 'waiting' | 'blocked' | 'completed' | 'failed' | 'cancelled';
export type FinalStatus = 'completed' | 'failed' | 'cancelled';
export type RunTrigger = 'api' | 'chat' | 'schedule' | 'trigger' | 'workflow' | 'eval' | 'retry' | 'copilot';
export type StepKind = 'step' | 'model' | 'tool' | 'sleep' | 'hook' | 'approval' | 'child';
/** `env`: an environment variable the body has read, which is no call of it. */
export type RecordKind = StepKind | 'env';
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
  /** What the body's randomness and first time come from when not the run's own: a retry that keeps records keeps it. */
  seed: string | null;
  /** How often the run was signalled from outside: a resumed hook, a child run that ended. */
  signals: number;
  /** How often an owner died at this position with a start mark set. */
  crashCount: number;
  /** The position at which an owner last died. A run that still stands there is suspect: it may be what killed it. */
  crashSeq: number | null;
  /** The start mark: what a suspect was about to run, as JSON text. Counts for the owner of `markEpoch` alone. */
  mark: string | null;
  markEpoch: number | null;
  /** The queued start this run was promoted from. */
  triggerId: string | null;
  /** The lock this run holds until it is final: at most one unfinished run has it. */
  serialKey: string | null;
  /** Marks the author put on the run, as JSON text of an object of strings, numbers and booleans. */
  attributes: string | null;
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
  kind: RecordKind;
  event: RecordEvent;
  /** `<file>#<name>` of a step; `sleep`, `model`, `tool:<name>` otherwise; the name of a variable. */
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

/** Columns of the run that change in the same commit as the records. Absent keys stay as they are. */
export interface RunPatch extends Partial<Tokens> {
  status?: RunStatus;
  wakeAt?: number | null;
  waitingFor?: string | null;
  output?: string | null;
  error?: string | null;
  attributes?: string | null;
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
  /**
   * The signals the writer has taken into account. Where the row has more, `patch.wakeAt` becomes the store's now: a
   * run never goes to sleep on a signal it has not seen.
   */
  signals?: number;
  /** Hooks that come to be, or whose `many` changes, with this append. Of a hook there is, nothing else changes. */
  hooks?: NewHook[];
  /**
   * The id of the run the next queued start becomes, should this append end a run that holds a lock. Without it the lock
   * waits for a claim. To be left out where the run has no `serialKey`: it may cost the append a commit of its own.
   */
  nextRunId?: string;
}

export type AppendResult =
  /** `refused`: tokens of `hooks` that another run's open hook has. `promoted`: the start that got the lock, unowned and `queued`. */
  | { outcome: 'appended'; at: number; refused?: string[]; promoted?: RunRow }
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
  parentRunId?: string;
  retryOf?: string;
  /** A mark the author put on the run. The text of a number or a boolean finds it too. */
  attribute?: { name: string; value: string };
  /** Leaves out runs that carry this mark, unless its value is this text. */
  hidden?: { mark: string; unless: string };
  /** Created then or later, and before then, by the store's clock. */
  from?: number;
  to?: number;
}

/** Runs of one status that were created within one stretch of time. */
export interface RunTally extends Tokens {
  /** Which stretch: the time of creation, divided by its length. */
  bucket: number;
  status: RunStatus;
  count: number;
  /** Of those that have ended: how many, and the sum and the greatest of their times from start to end. */
  timed: number;
  durationSum: number;
  durationMax: number;
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

export interface Claim {
  owner: string;
  leaseMs: number;
  limit: number;
  /** Take every unfinished, unparked run whoever holds it: for a store only this process can hold, at boot. */
  takeover?: boolean;
}

/*
 * A signal (a resume, the end of a child) raises `signals` of the run and, when it waits, sets `wakeAt` to now, in the
 * commit that caused it. The end of a run, by append or cancel: closes its hooks, signals its parent, and gives its
 * lock to the first queued start, which becomes a `queued` run with the id it is handed.
 */

/** What the engine needs to write. `stores/contract/` says in tests what each method promises. */
export interface Journal extends RunReader {
  readonly adapter: 'sqlite' | 'postgres';
  /**
   * One commit. A second call with the same `runId` answers the stored run as `created` and changes nothing; one with
   * the `triggerId` of a start that has queued answers `queued` again. A key whose start is gone counts as unused.
   */
  create(run: NewRun): Promise<CreateResult>;
  /** The run that a start with this idempotency key has made, with what the key stands for. Undefined: there is none. */
  findByKey(key: string): Promise<{ run: RunRow; digest: string } | undefined>;
  /**
   * Commits together with whatever else arrives while a commit is under way: all it carries, or nothing. A repeat with
   * the same record ids answers `appended` again, with the same `refused` and `promoted`, and repeats none of it.
   */
  append(entry: Append): Promise<AppendResult>;
  /**
   * Takes up to `limit` runs nobody holds: expired leases first, then due `wakeAt`, then queued ones; oldest first.
   * Each gets the owner, a fresh lease, an epoch one higher, status `running` and, the first time, `startedAt`.
   * `blocked` and final runs are never taken; a `waiting` run only once `wakeAt` is due. Before that it gives locks that
   * nobody has to the first of the starts that wait for them, and forgets old idempotency keys, a bounded number of each.
   * A run taken from another owner that did not release it becomes suspect at its position (`crashSeq`). Was it that
   * already, and had that owner marked it, `crashCount` goes up by one; at a new position it starts from 0.
   */
  claim(claim: Claim): Promise<RunRow[]>;
  /** Takes one run by id if nobody else holds it and it is due, as `claim` does. Undefined: not to be had. */
  claimRun(runId: string, claim: { owner: string; leaseMs: number }): Promise<RunRow | undefined>;
  /** Sets the start mark of an unfinished run for this epoch. False: the epoch has passed, or the run is final. */
  mark(runId: string, epoch: number, mark: string): Promise<boolean>;
  /** Extends the lease of every run the owner holds. */
  renew(owner: string, leaseMs: number): Promise<void>;
  /** The runs the owner holds, with the epoch and the signals as stored: what has been lost, or was signalled. */
  listHeld(owner: string): Promise<{ runId: string; epoch: number; signals: number }[]>;
  /**
   * Ends a run that is not final as `cancelled`, whoever holds it, and every unfinished run below it (`parentRunId`),
   * also behind final ones. Each has a higher epoch then. Queued starts below them are dropped.
   * `cancelled` names all of them, `promoted` the queued starts that got their locks (ids from `newRunId`).
   */
  cancel(runId: string, error: string, newRunId: () => string): Promise<CancelResult | undefined>;
  /**
   * Deletes a final run with its records, hooks, chunks and idempotency key; the runs below it stay.
   * False: it is not final, or there is none.
   */
  deleteRun(runId: string): Promise<boolean>;
  /** Sets a `blocked` run free for the next claim (`queued`), under another code hash. False: it is not blocked. */
  unblock(runId: string, codeHash: string): Promise<boolean>;
  readonly hooks: HookStore;
  readonly queue: SerialQueue;
  readonly schedules: ScheduleStore;
  readonly chunks: ChunkStore;
  /** Milliseconds until the earliest `wakeAt` of an unowned waiting run (0: due), or undefined when none waits. */
  nextWake(): Promise<number | undefined>;
  /** The store's clock. */
  now(): Promise<number>;
  close(): Promise<void>;
}

export type CancelResult =
  | { outcome: 'cancelled'; cancelled: string[]; promoted: RunRow[] }
  | { outcome: 'final'; status: FinalStatus };

export type HookKind = 'hook' | 'webhook' | 'approval';

export interface NewHook {
  /** Names the hook to the outside; only one open hook has it. */
  token: string;
  /** The call of the body that made the hook. */
  call: number;
  kind: HookKind;
  /** False: one resume, any further one is answered with the first. True: each resume is kept, in order. */
  many: boolean;
  /** What the maker says about it, as codec text. */
  detail: string | null;
}

export interface HookRow extends NewHook {
  runId: string;
  /** A hook is open until its run is final. */
  isOpen: boolean;
  /** What its first resume amounts to, in the words of who resumed it: `approved`. Lists find hooks by it. */
  verdict: string | null;
  createdAt: number;
}

/** A hook with all that tells how it stands. */
export interface HookEntry {
  hook: HookRow;
  first: HookEvent | undefined;
  /** Of its run. */
  sessionId: string | null;
}

export interface HookFilter {
  kind: HookKind;
  token?: string;
  runId?: string;
  /** Open and not resumed, or all others. */
  isPending?: boolean;
  verdict?: string;
  /** Closed without a resume. */
  isCancelled?: boolean;
}

/** A place in a list of hooks. */
export type HookPlace = Pick<HookRow, 'createdAt' | 'runId' | 'token'>;

export interface ResumeOptions {
  verdict?: string;
  /** The same key with the same digest answers the resume it made again for 24 hours; with another digest it is refused. */
  idempotency?: { key: string; digest: string };
}

/** One resume of a hook. */
export interface HookEvent {
  token: string;
  /** 0, 1, 2 … per hook. */
  n: number;
  payload: string;
  at: number;
}

export type ResumeResult =
  | { outcome: 'resumed'; hook: HookRow; event: HookEvent }
  /** The idempotency key has made this resume before. */
  | { outcome: 'repeated'; hook: HookRow; event: HookEvent }
  /** The idempotency key has resumed this hook with another digest. */
  | { outcome: 'idempotency_conflict' }
  /** It has had its one resume: this one. That stays the answer once its run is final. */
  | { outcome: 'already'; hook: HookRow; event: HookEvent }
  /** Its run is final. */
  | { outcome: 'closed'; hook: HookRow };

export interface HookStore {
  /** Records the resume and signals the run, in one commit. Undefined: no such hook. */
  resume(token: string, payload: string, options?: ResumeOptions): Promise<ResumeResult | undefined>;
  /** It takes no more resumes, and its token is free. */
  close(runId: string, token: string): Promise<void>;
  /** The open hook of the token, else the newest closed one. */
  find(token: string): Promise<HookRow | undefined>;
  /** Newest first, each with its first resume; `after` is the last of the page before. */
  listEntries(filter: HookFilter, page: { limit: number; after?: HookPlace }): Promise<HookEntry[]>;
  /** Every resume of the run's hooks, by token and `n`, and the run's `signals` as of no later than they were read. */
  listEvents(runId: string): Promise<{ signals: number; events: HookEvent[] }>;
}

/** A start that waits for a lock. It becomes a run, with all its creator gave, when the run before it is final. */
export interface QueuedStart {
  triggerId: string;
  serialKey: string;
  name: string;
  trigger: RunTrigger;
  input: string;
  parentRunId: string | null;
  /** The marks its run begins with, as JSON text. */
  attributes: string | null;
  createdAt: number;
}

export interface SerialQueue {
  /** In the order they will begin. */
  list(filter: { name?: string }, page: { limit: number }): Promise<QueuedStart[]>;
  /** Drops a queued start. False: there is none (any more). */
  remove(triggerId: string): Promise<boolean>;
  /** The queued start, the run it has become, or undefined. */
  find(triggerId: string): Promise<{ queued: QueuedStart } | { run: RunRow } | undefined>;
  /** The unfinished run that has the lock. */
  findHolder(serialKey: string): Promise<RunRow | undefined>;
}

/** A timer that starts a workflow. */
export interface Schedule {
  /** `<workflow>:<index>` of a declared one, `<workflow>@<name>` of one that code made. */
  id: string;
  name: string;
  /** Null: it fires once. */
  cron: string | null;
  timeZone: string | null;
  input: string;
  /** Null: it has fired its one time. */
  nextAt: number | null;
  isPaused: boolean;
  origin: 'declared' | 'made';
  /** What it was made from: the same again changes nothing. */
  digest: string;
  createdAt: number;
  lastAt: number | null;
  /** What it last started, and how that run stands now; null: nothing, or it is gone. */
  lastRunId: string | null;
  lastStatus: RunStatus | null;
  /** Why it last started nothing, as codec text. */
  lastError: string | null;
}

export type DeclaredSchedule = Pick<Schedule, 'id' | 'name' | 'timeZone' | 'input'> & { cron: string; nextAt: number };
export type MadeSchedule = Pick<Schedule, 'id' | 'name' | 'cron' | 'timeZone' | 'input' | 'digest'> & {
  nextAt: number;
};

/** What came of a firing: a run, a start that waits in a queue, or an error. */
export interface NewFiring {
  at: number;
  runId: string | null;
  triggerId?: string | null;
  error?: string | null;
}

export interface Firing {
  at: number;
  runId: string | null;
  status: RunStatus | null;
  error: string | null;
}

export interface ScheduleStore {
  /** By id; `after` is the last id of the page before. */
  list(filter?: { name?: string }, page?: { limit: number; after?: string }): Promise<Schedule[]>;
  find(id: string): Promise<Schedule | undefined>;
  /**
   * Makes the declared schedules those given: new ones with their `nextAt`, changed ones (cron, zone or input) with the
   * new `nextAt`, unchanged ones as they are (pause, last and next kept), others gone. Those that code made stay.
   */
  reconcile(schedules: DeclaredSchedule[]): Promise<void>;
  /** Arms a timer. One of the same id and digest stays as it is, also when it has fired; of another digest is replaced. */
  make(schedule: MadeSchedule): Promise<Schedule>;
  remove(id: string): Promise<boolean>;
  /** Not paused and due, earliest first. */
  due(limit: number): Promise<Schedule[]>;
  /** Moves `nextAt` on if it still is `expected`: one of many replicas gets true. */
  advance(id: string, expected: number, nextAt: number | null, fired: NewFiring): Promise<boolean>;
  /** A firing outside of the schedule. */
  noteFiring(id: string, fired: NewFiring): Promise<void>;
  /** Newest first; the last 20 are kept. */
  listFirings(id: string): Promise<Firing[]>;
  /** False: there is none, or it is that already. */
  setPaused(id: string, isPaused: boolean, nextAt: number): Promise<boolean>;
  /** Removes made ones that fired their one time before then. */
  forgetSpent(before: number): Promise<void>;
}

/** A frame a step wrote to a stream of its run. */
export interface NewChunk {
  namespace: string;
  payload: string;
}

export interface Chunk extends NewChunk {
  /** 1, 2, 3 … per run, over all namespaces. */
  n: number;
}

export interface ChunkStore {
  /** For a run this epoch holds; also while a step runs. Answers the last `n`; undefined: fenced or final. */
  write(runId: string, epoch: number, chunks: NewChunk[]): Promise<number | undefined>;
  /** In order, after `after`. */
  read(runId: string, namespace: string, page: { after: number; limit: number }): Promise<Chunk[]>;
}

/** What the rooms read; `/api/runs*` stands on it. */
export interface RunReader {
  getRun(runId: string): Promise<RunRow | undefined>;
  /** Records in `seq` order. */
  getRecords(runId: string): Promise<JournalRecord[]>;
  /** Newest first (`runId` is time-ordered); `before` is the last run id of the page before. */
  listRuns(filter: RunFilter, page: { limit: number; before?: string }): Promise<RunRow[]>;
  /** The matching runs, counted by status and by stretches of `bucketMs` in which they were created. */
  tallyRuns(filter: RunFilter, bucketMs: number): Promise<RunTally[]>;
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
