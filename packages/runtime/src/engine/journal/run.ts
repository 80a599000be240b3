export type RunKind = 'workflow' | 'agent';
export type RunStatus = 'queued' | 'running' | 'waiting' | 'blocked' | 'completed' | 'failed' | 'cancelled';
export type FinalStatus = 'completed' | 'failed' | 'cancelled';
export type RunTrigger =
  | 'api'
  | 'chat'
  | 'schedule'
  | 'trigger'
  | 'workflow'
  | 'eval'
  | 'retry'
  | 'fork'
  | 'rewind'
  | 'copilot';
/** `synced` survives power loss, `process` survives a crash of the process. */
export type Durability = 'synced' | 'process';

/** What happens to a run when the run above it ends. */
export type ClosePolicy = 'abandon' | 'cancel' | 'wait';

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  totalTokens: number;
}

/** What calls of models have used, and what that has cost. */
export interface Spent extends Tokens {
  /** By the prices there were then. Absent: none of the models had a price. */
  cost?: number;
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
  /** Of a run that was moved: the code it had before, and when that was. */
  movedFrom: string | null;
  movedAt: number | null;
  sessionId: string | null;
  parentRunId: string | null;
  /** The run it repeats; of a fork and of a rewind, as `trigger` says, the one whose records it began with. */
  retryOf: string | null;
  /** What the body's randomness and first time come from when not the run's own: a retry that keeps records keeps it. See `readSeed`. */
  seed: string | null;
  /** How often the run was signalled from outside: a resumed hook, a child run that ended. */
  signals: number;
  /** How often an owner died at this position with a start mark that counts. */
  crashCount: number;
  /** The position at which an owner last died. A run that still stands there is suspect: it may be what killed it. */
  crashSeq: number | null;
  /** The start mark: what a suspect was about to run, as JSON text. The death of the owner of `markEpoch` counts. */
  mark: string | null;
  markEpoch: number | null;
  /** The queued start this run was promoted from. */
  triggerId: string | null;
  /** The lock this run holds until it is final: at most one unfinished run has it. */
  serialKey: string | null;
  /** The run that continued as this one, and the one this has continued as. */
  continuedFrom: string | null;
  continuedTo: string | null;
  /** Of a run that has continued, or that another continued as: the id of the first of the chain. */
  chainId: string | null;
  /** When it was paused; null: it is not. A paused run is not claimed, and begins no step where it is in memory. */
  pausedAt: number | null;
  /** What it was cancelled with while it has code to clean up, as `Cancel` in JSON text. It stays when the run has ended. */
  cancel: string | null;
  /** When it is ended from outside, should it not have ended by then. */
  deadline: number | null;
  /** How long it may take, in milliseconds, with all that it continues as; null: as long as it does. */
  timeoutMs: number | null;
  /** What happens to it when the run above it ends; null: a cancel or a timeout takes it along, another end leaves it. */
  closePolicy: ClosePolicy | null;
  /** '1': it may have runs below it with a policy that its end has to follow. */
  closesChildren: string | null;
  /** Marks the author put on the run, as JSON text of an object of strings, numbers and booleans. */
  attributes: string | null;
  /** Who made it begin, as JSON text of a `StartedBy`; null: the box itself. */
  startedBy: string | null;
  /** What the run published last, as a number that changes with it, a colon, and codec text. */
  state: string | null;
  input: string;
  output: string | null;
  error: string | null;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
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
