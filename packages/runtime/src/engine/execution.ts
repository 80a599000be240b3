import type { Call, CallHistory, CallRequest, Outcome, RunAction, TimerAction } from './call.ts';
import { historyOf } from './call.ts';
import type { StoreClock } from './clock.ts';
import { runInContext, runOutside } from './context.ts';
import { createDeadline } from './deadline.ts';
import { real } from './guard.ts';
import type { World } from './guard.ts';
import { newRecordId } from './ids.ts';
import type {
  Append,
  AppendResult,
  Durability,
  JournalRecord,
  RecordEvent,
  RunPatch,
  RunRow,
  Tokens,
} from './journal.ts';
import { mismatchOf, undelivered } from './mismatch.ts';
import type { Mismatch } from './mismatch.ts';
import type { Result } from './outcome.ts';
import { addTokens, encodeError, encodeResult, endOf, isFatal, journalFull, retryTime, tokensOf } from './outcome.ts';
import { createRandom } from './random.ts';
import { decode, digestOf, encode } from './serialize.ts';

/** What a run executes: an author's workflow function, or the turn of an agent. */
export interface Body {
  run(input: unknown): Promise<unknown>;
  codeHash: string;
  durability: Durability;
  /** Whoever waited for the run is gone: instead of continuing after a restart, it ends as cancelled with this error. */
  abandoned?: Error;
}

export interface ExecutionOptions {
  run: RunRow;
  body: Body;
  records: JournalRecord[];
  clock: StoreClock;
  append(entry: Append): Promise<AppendResult>;
  /** Called once: the run has ended, is parked on disk, or is no longer ours. */
  onLeave(how: Leave): void;
  limits: Limits;
}

export type Leave = 'ended' | 'parked' | 'blocked' | 'dropped';

export interface Limits {
  /** Bytes of one encoded result. */
  resultBytes: number;
  records: number;
  /** A wait at least this long leaves memory, in milliseconds. */
  parkAfter: number;
}

export const DEFAULT_LIMITS: Limits = { resultBytes: 1_048_576, records: 10_000, parkAfter: 5_000 };

/**
 * One run in memory. The body stays suspended between its calls; nothing is replayed unless the run was loaded from
 * the journal. Work happens in turns of the event loop, one delivery a turn, so that a race has the same winner
 * live and on replay:
 *
 *   deliver the next answer, in `seq` order · else, once the body can go no further: append what is not recorded,
 *   begin the new calls, or end or park the run, all in one append.
 */
export class Execution {
  readonly run: RunRow;
  readonly world: World;
  readonly #options: ExecutionOptions;
  readonly #history: Map<number, CallHistory>;
  readonly #open = new Map<number, Call>();
  readonly #timers = new Map<number, number>();
  readonly #abort = new AbortController();
  #deliveries: JournalRecord[];
  #begin: Call[] = [];
  #unrecorded: JournalRecord[] = [];
  #nextCall = 0;
  #nextSeq: number;
  #running = 0;
  #time: number;
  #tokens: Tokens;
  #status: RunRow['status'];
  #result: Result | undefined;
  #turnQueued = false;
  #flushing = false;
  #flushAgain = false;
  #appending: Promise<unknown> = Promise.resolve();
  #left = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ExecutionOptions) {
    const { run, records } = options;
    this.run = run;
    this.#options = options;
    this.#history = historyOf(records);
    this.#deliveries = records.filter((record) => record.event === 'done' || record.event === 'failed');
    this.#nextSeq = run.seq;
    this.#time = run.createdAt;
    this.#status = run.status;
    this.#tokens = tokensOf(run);
    const random = createRandom(run.traceId);
    this.world = { now: () => this.#time, random };
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Runs the body up to its first call. */
  launch(): void {
    const { body, run } = this.#options;
    runInContext({ kind: 'body', execution: this }, async () => body.run(decode(run.input))).then(
      (value) => this.#finish({ value }),
      (error: unknown) => this.#finish({ error }),
    );
    this.#schedule();
  }

  /** The one way in for every primitive. Resolves with the recorded answer. */
  invoke(request: CallRequest): Promise<unknown> {
    const call = this.#nextCall++;
    const digest = digestOf(request.input);
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, { ...request, digest });
    return new Promise((resolve, reject) => {
      const entry: Call = { ...request, call, digest, attempt: history?.retries.length ?? 0, resolve, reject };
      this.#open.set(call, entry);
      if (mismatch) return this.#block(mismatch);
      if (!history?.answer) this.#begin.push(entry);
      this.#schedule();
    });
  }

  /** Ends the run as cancelled and aborts what it is doing. */
  async cancel(error: unknown): Promise<void> {
    if (this.#left) return;
    this.#leave('ended', error);
    await this.#append({ status: 'cancelled', error: encode(error, 'error'), waitingFor: null, wakeAt: null });
  }

  /** Lets go of the run without writing: another owner has it, or this process stops. */
  drop(reason: unknown): void {
    this.#leave('dropped', reason);
  }

  /** Stops and gives the run back, once what is being recorded is recorded. */
  async release(): Promise<void> {
    if (this.#left) return;
    this.#leave('parked', new Error('The box is shutting down.'));
    await this.#append({ release: true });
  }

  // --- internal ---

  #schedule(): void {
    if (this.#turnQueued || this.#left) return;
    this.#turnQueued = true;
    runOutside(() => real.setImmediate(() => this.#turn()));
  }

  #turn(): void {
    this.#turnQueued = false;
    if (this.#left) return;
    const record = this.#deliveries.shift();
    if (!record) return void this.#flush();
    const call = this.#open.get(record.call);
    if (!call) return this.#block(undelivered(record));
    this.#open.delete(record.call);
    this.#time = Math.max(this.#time, record.at);
    if (record.event === 'done') call.resolve(record.output === null ? undefined : decode(record.output));
    else call.reject(record.error === null ? new Error('The step failed.') : decode(record.error));
    this.#schedule();
  }

  /** The body can go no further on its own: record, begin, end or park. One flush at a time. */
  async #flush(): Promise<void> {
    if (this.#flushing) {
      this.#flushAgain = true;
      return;
    }
    this.#flushing = true;
    try {
      await this.#settle();
    } catch (error) {
      this.drop(error);
    }
    this.#flushing = false;
    if (!this.#flushAgain) return;
    this.#flushAgain = false;
    this.#schedule();
  }

  async #settle(): Promise<void> {
    if (this.#nextSeq > this.#options.limits.records)
      this.#result = { error: journalFull(this.#options.limits.records) };
    if (this.#result) return this.#end(this.#result);
    const steps = this.#startWaits();
    const idle = steps.length === 0 && this.#running === 0 && this.#deliveries.length === 0;
    const patch = idle ? this.#park() : this.#wake();
    // A crash before this append repeats the calls it would have recorded; a crash after it finds them answered.
    if ((this.#unrecorded.length > 0 || patch) && !(await this.#append(patch ?? {}))) return;
    if (patch?.release) return this.#leave('parked');
    for (const call of steps) this.#attempt(call);
    this.#armTimer();
  }

  /** Sets the timers among the new calls; answers the steps that may begin. */
  #startWaits(): Call[] {
    const starting = this.#begin;
    this.#begin = [];
    return starting.filter((call) => {
      if (call.action.type === 'run') return !this.#resumeRetry(call);
      this.#setTimer(call, call.action);
      return false;
    });
  }

  async #end(result: Result): Promise<void> {
    const missed = [...this.#history].find(([call]) => call >= this.#nextCall)?.[1];
    const record = missed && (missed.answer ?? missed.set ?? missed.retries[0]);
    if (record) return this.#block(undelivered(record));
    if (await this.#append(endOf(result, this.#options.limits.resultBytes))) this.#leave('ended');
  }

  #finish(result: Result): void {
    this.#result = result;
    this.#schedule();
  }

  // --- steps ---

  #attempt(call: Call): void {
    const action = call.action as RunAction;
    const attempt = call.attempt + 1;
    call.attempt = attempt;
    const startedAt = this.#options.clock.now();
    const deadline = createDeadline(this.#abort.signal, action.policy.timeout);
    const idempotencyKey = `${this.run.runId}:${call.call}:${action.name}`;
    this.#running++;
    const context = {
      kind: 'step' as const,
      execution: this,
      stepId: call.stepId,
      stepName: action.name,
      call: call.call,
      attempt,
      startedAt,
      signal: deadline.signal,
      idempotencyKey,
    };
    deadline
      .race(() =>
        runInContext(context, async () =>
          action.run({ call: call.call, attempt, startedAt, signal: deadline.signal, idempotencyKey }),
        ),
      )
      .then(
        (outcome) => this.#stepDone(call, startedAt, outcome),
        (error: unknown) => this.#stepFailed(call, startedAt, error),
      );
  }

  #stepDone(call: Call, startedAt: number, outcome: Outcome): void {
    if (this.#left) return;
    let output: string | null;
    try {
      output = encodeResult(outcome.value, 'result', this.#options.limits.resultBytes);
    } catch (error) {
      return this.#answer(call, { event: 'failed', startedAt, error: encodeError(error) });
    }
    this.#answer(call, { event: 'done', startedAt, output, tokens: outcome.tokens ?? null });
  }

  #stepFailed(call: Call, startedAt: number, error: unknown): void {
    if (this.#left) return;
    const policy = (call.action as RunAction).policy;
    const encoded = encodeError(error);
    if (isFatal(error) || call.attempt > policy.maxRetries)
      return this.#answer(call, { event: 'failed', startedAt, error: encoded });
    const now = this.#options.clock.now();
    const wakeAt = retryTime(error, now, policy.delay(call.attempt));
    this.#running--;
    this.#record(call, { event: 'retry', startedAt, error: encoded, output: encode(wakeAt, 'wakeAt') });
    this.#timers.set(call.call, wakeAt);
    this.#schedule();
  }

  /** On replay: a step whose last attempt failed goes on waiting for its next one. */
  #resumeRetry(call: Call): boolean {
    const last = this.#history.get(call.call)?.retries.at(-1);
    if (!last?.output) return false;
    this.#history.delete(call.call);
    this.#timers.set(call.call, decode(last.output) as number);
    return true;
  }

  #answer(call: Call, fields: RecordFields): void {
    this.#running--;
    this.#deliver(call, fields);
  }

  #deliver(call: Call, fields: RecordFields): void {
    this.#deliveries.push(this.#record(call, fields));
    this.#schedule();
  }

  #record(call: Call, fields: RecordFields): JournalRecord {
    const record: JournalRecord = {
      seq: this.#nextSeq++,
      call: call.call,
      kind: call.kind,
      stepId: call.stepId,
      digest: call.digest,
      recordId: newRecordId(),
      attempt: Math.max(1, call.attempt),
      input: fields.event === 'retry' ? null : call.input,
      output: null,
      error: null,
      tokens: null,
      at: this.#options.clock.now(),
      ...fields,
    };
    if (record.tokens) this.#tokens = addTokens(this.#tokens, record.tokens);
    this.#unrecorded.push(record);
    return record;
  }

  // --- waits ---

  #setTimer(call: Call, action: TimerAction): void {
    const known = this.#history.get(call.call)?.set?.output;
    if (known) {
      this.#timers.set(call.call, decode(known) as number);
      return;
    }
    const now = this.#options.clock.now();
    const wakeAt = action.wakeAt(now);
    this.#record(call, { event: 'set', startedAt: now, output: encode(wakeAt, 'wakeAt') });
    this.#timers.set(call.call, wakeAt);
  }

  /** Nothing runs and nothing is due: say what the run waits for. Undefined: nothing changed. */
  #park(): RunPatch | undefined {
    const [first] = [...this.#timers].sort((a, b) => a[1] - b[1]);
    if (!first) return undefined;
    const [index, wakeAt] = first;
    const call = this.#open.get(index);
    const left = wakeAt - this.#options.clock.now();
    const release = left >= this.#options.limits.parkAfter;
    if (left <= 0 || (this.#status === 'waiting' && !release)) return undefined;
    this.#status = 'waiting';
    const type = call?.action.type === 'run' ? 'retry' : 'sleep';
    const waitingFor = JSON.stringify({ type, until: new Date(wakeAt).toISOString(), step: call?.stepId });
    return { status: 'waiting', wakeAt, waitingFor, ...(release ? { release } : {}) };
  }

  #wake(): RunPatch | undefined {
    if (this.#status !== 'waiting') return undefined;
    this.#status = 'running';
    return { status: 'running', wakeAt: null, waitingFor: null };
  }

  #armTimer(): void {
    if (this.#timer) real.clearTimeout(this.#timer);
    if (this.#timers.size === 0 || this.#left) return;
    const due = Math.min(...this.#timers.values()) - this.#options.clock.now();
    this.#timer = real.setTimeout(() => this.#fire(), Math.min(Math.max(0, due), 60_000));
  }

  #fire(): void {
    if (this.#left) return;
    const now = this.#options.clock.now();
    const due = [...this.#timers].filter(([, wakeAt]) => wakeAt <= now).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    for (const [index, wakeAt] of due) {
      this.#timers.delete(index);
      const call = this.#open.get(index);
      if (!call) continue;
      if (call.action.type === 'timer') this.#deliver(call, { event: 'done', startedAt: wakeAt });
      else this.#begin.push(call);
    }
    if (due.length > 0) this.#schedule();
    this.#armTimer();
  }

  // --- leaving ---

  /** Appends what is unrecorded, with the patch, after any append under way. False: the run is not ours, and is dropped. */
  #append(patch: RunPatch): Promise<boolean> {
    const records = this.#unrecorded;
    this.#unrecorded = [];
    const entry: Append = {
      runId: this.run.runId,
      epoch: this.run.epoch,
      seq: this.#nextSeq - records.length,
      records,
      patch: records.some((record) => record.tokens) ? { ...patch, ...this.#tokens } : patch,
      durability: this.#options.body.durability,
    };
    const appended = this.#appending.then(() => this.#options.append(entry));
    this.#appending = appended.catch(() => {});
    return appended.then(({ outcome }) => {
      if (outcome === 'appended') return true;
      this.drop(new Error(`The run is not ours any more (${outcome}).`));
      return false;
    });
  }

  #block(mismatch: Mismatch): void {
    if (this.#left) return;
    const same = this.run.codeHash === this.#options.body.codeHash;
    const code = same ? 'nondeterministic_workflow' : 'code_changed';
    this.#leave('blocked', new Error(mismatch.message));
    const waitingFor = JSON.stringify({ type: 'decision', code, ...mismatch });
    this.#append({ status: 'blocked', waitingFor, wakeAt: null, release: true }).catch(() => {});
  }

  #leave(how: Leave, reason?: unknown): void {
    if (this.#left) return;
    this.#left = true;
    if (this.#timer) real.clearTimeout(this.#timer);
    this.#abort.abort(reason);
    this.#options.onLeave(how);
  }
}

interface RecordFields {
  event: RecordEvent;
  startedAt: number;
  output?: string | null;
  error?: string | null;
  tokens?: Tokens | null;
}
