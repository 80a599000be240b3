import type { Answer } from './run/answer.ts';
import type { HookKind } from './journal/hooks.ts';
import type { JournalRecord, StepKind } from './journal/record.ts';
import type { Spent } from './journal/run.ts';

/** What a primitive asks of the run: who is called, with what, and what to do when it is not in the journal. */
export interface CallRequest extends Arguments {
  kind: StepKind;
  stepId: string;
  action: Action;
}

/** What a call is made with. */
export interface Arguments {
  /** Encoded; replay compares their digest. */
  input: string;
  /** They are far too large, and were not written: the call is refused for that. */
  unwritten?: { digest: string; refused: Error };
}

/** What a primitive does when its answer is not in the journal: run something, or wait for one of three things. */
export type Action = RunAction | TimerAction | EventAction | ChildAction;

export interface RunAction {
  type: 'run';
  name: string;
  policy: RetryPolicy;
  /** May answer a promise or the value itself. */
  run(attempt: Attempt): unknown;
  /** What it runs with other encoded arguments. Absent: with its own alone. */
  withInput?(input: string): RunAction['run'];
  /** What has to be there before the value can be recorded: a body that is still to be read. */
  settle?(value: unknown): Promise<void> | undefined;
  /** What the value cost, where it is known. */
  tokensOf?(value: unknown): Spent | undefined;
}

export interface TimerAction {
  type: 'timer';
  /** Absolute store time, computed when the call is first made; replay takes the recorded one. */
  wakeAt(now: number): number;
}

/** Waits for one resume of a hook. */
export interface EventAction {
  type: 'event';
  token: string;
  /** Which resume of the token in this run, from 0. */
  n: number;
  /** At this time the hook is resumed with `payload`, unless it was resumed before. */
  deadline?: { wakeAt(now: number): number; payload: unknown; verdict: string };
}

/** Waits until another run is final. */
export interface ChildAction {
  type: 'child';
  child: { runId: string } | { triggerId: string };
  /** Its output is not recorded here, and not answered: whoever waits reads it of that run. */
  leavesOutput?: true;
}

/** A hook the body makes. `token` null: an unguessable one is drawn and recorded. */
export interface HookRequest {
  kind: HookKind;
  token: string | null;
  /** What an unguessable one begins with: hooks of one thing are found by it. */
  scope?: string;
  detail: unknown;
  /** Counted from when the hook is made by the store's clock: the body's may be as old as its last answer. */
  timeout?: number | string | Date;
}

/** Members that lists read beside the detail of a hook whose payload is too large for them. Asked when the hook is made. */
export type ListedBeside = () => object;

export interface OpenHook {
  readonly token: string;
  /** The call that made it. */
  readonly call: number;
  /** Which resume of the token is its first: those before are of a hook the run has made earlier. */
  readonly since: number;
  /** The end of its timeout; null: it has none. */
  readonly expiresAt: number | null;
  /** From here on every resume is kept, not only the first. */
  keepAll(): void;
}

export interface Attempt {
  call: number;
  attempt: number;
  startedAt: number;
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  /**
   * As `work`, which in place of the attempt fails by what is thrown meanwhile where nothing can catch it: for a step that
   * answers with how code of the workspace has failed. One at a time.
   */
  runPart<T>(work: () => Promise<T>): Promise<T>;
}

export interface RetryPolicy {
  /** Attempts after the first. */
  maxRetries: number;
  /** Milliseconds to wait before attempt `attempt + 1`. */
  delay(attempt: number): number;
  /** Milliseconds one attempt may take; undefined: no limit. */
  timeout: number | undefined;
  /** Milliseconds that may pass between two heartbeats of one attempt; undefined: it need not beat. */
  heartbeat?: number;
}

/** One call of the body that has not been answered. */
export interface Call extends CallRequest {
  call: number;
  digest: string;
  attempt: number;
  /** The time of the body when it made the call. */
  madeAt: number;
  /** When the attempt that is under way began; undefined: none is. */
  runningSince: number | undefined;
  /** Answered because the run was cancelled: what it comes to is of no use. */
  isCancelled: boolean;
  /** When its first attempt began; undefined: none has. */
  firstStartedAt: number | undefined;
  answer: Answer;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The record of a call. */
export type CallRecord = JournalRecord & { kind: StepKind };

/** What the journal knows of one call. */
export interface CallHistory {
  answer?: CallRecord;
  /** The record that set a timer. */
  set?: CallRecord;
  retries: CallRecord[];
}

/** Groups the records of a run by call; leaves out those of none. */
export function historyOf(records: readonly JournalRecord[]): Map<number, CallHistory> {
  const history = new Map<number, CallHistory>();
  for (const record of records) {
    if (!isCallRecord(record)) continue;
    const entry = history.get(record.call) ?? { retries: [] };
    if (record.event === 'retry') entry.retries.push(record);
    else if (record.event === 'set') entry.set = record;
    else entry.answer = record;
    history.set(record.call, entry);
  }
  return history;
}

/** The record by which a call is known. */
export function firstOf(history: CallHistory | undefined): CallRecord | undefined {
  return history?.answer ?? history?.set ?? history?.retries[0];
}

// --- internal ---

function isCallRecord(record: JournalRecord): record is CallRecord {
  return record.kind !== 'env';
}
