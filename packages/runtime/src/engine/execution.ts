import type { Call, CallHistory, CallRequest, Outcome, RunAction, TimerAction } from './call.ts';
import { historyOf } from './call.ts';
import type { StoreClock } from './clock.ts';
import { runInContext, runOutside } from './context.ts';
import { createDeadline } from './deadline.ts';
import type { RunHandle, World } from './handle.ts';
import type { Append, AppendResult, Durability, JournalRecord, RunPatch, RunRow } from './journal.ts';
import { mismatchOf, undelivered } from './mismatch.ts';
import type { Mismatch } from './mismatch.ts';
import type { Result } from './outcome.ts';
import { encodeError, encodeResult, endOf, isFatal, journalFull, retryTime } from './outcome.ts';
import { createRandom } from './random.ts';
import { real } from './real.ts';
import { createRecorder } from './recorder.ts';
import type { RecordFields, Recorder } from './recorder.ts';
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
export class Execution implements RunHandle {
  readonly run: RunRow;
  readonly world: World;
  readonly #options: ExecutionOptions;
  readonly #recorder: Recorder;
  readonly #history: Map<number, CallHistory>;
  /** Calls the body has made that are not answered. */
  readonly #open = new Map<number, Call>();
  /** When an open call is due: the end of a sleep, the next attempt of a step. */
  readonly #timers = new Map<number, number>();
  readonly #abort = new AbortController();
  #deliveries: JournalRecord[];
  #begin: Call[] = [];
  #nextCall = 0;
  #running = 0;
  #time: number;
  #status: RunRow['status'];
  /** The row still says what the run waited for before it was taken up again. */
  #isWaitStale: boolean;
  #result: Result | undefined;
  #turnQueued = false;
  #flushing = false;
  #flushAgain = false;
  #left = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ExecutionOptions) {
    const { run, body, records } = options;
    this.run = run;
    this.#options = options;
    this.#recorder = createRecorder({ ...options, durability: body.durability });
    this.#history = historyOf(records);
    this.#deliveries = records.filter((record) => record.event === 'done' || record.event === 'failed');
    this.#time = run.createdAt;
    this.#status = run.status;
    this.#isWaitStale = run.wakeAt !== null || run.waitingFor !== null;
    this.world = { now: () => this.#time, random: createRandom(run.traceId) };
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
    await this.#recorder.append({ status: 'cancelled', error: encodeError(error), waitingFor: null, wakeAt: null });
  }

  /** Lets go of the run without writing: another owner has it, or the store cannot be reached. */
  drop(reason: unknown): void {
    this.#leave('dropped', reason);
  }

  /** Stops and gives the run back, once what is being recorded is recorded. */
  async release(): Promise<void> {
    if (this.#left) return;
    this.#leave('parked', new Error('The box is shutting down.'));
    await this.#recorder.append({ release: true });
  }

  // --- internal: turns ---

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
    const { records } = this.#options.limits;
    if (this.#recorder.count > records) this.#result = { error: journalFull(records) };
    if (this.#result) return this.#end(this.#result);
    const steps = this.#startWaits();
    const idle = steps.length === 0 && this.#running === 0 && this.#deliveries.length === 0;
    const patch = idle ? this.#park() : this.#wake();
    // A crash before this append repeats the calls it would have recorded; a crash after it finds them answered.
    if ((this.#recorder.isBehind || patch) && !(await this.#append(patch ?? {}))) return;
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

  #finish(result: Result): void {
    this.#result = result;
    this.#schedule();
  }

  async #end(result: Result): Promise<void> {
    const missed = [...this.#history].find(([call]) => call >= this.#nextCall)?.[1];
    const record = missed && (missed.answer ?? missed.set ?? missed.retries[0]);
    if (record) return this.#block(undelivered(record));
    if (await this.#append(endOf(result, this.#options.limits.resultBytes))) this.#leave('ended');
  }

  // --- internal: steps ---

  #attempt(call: Call): void {
    const action = call.action as RunAction;
    call.attempt += 1;
    this.#running += 1;
    const startedAt = this.#options.clock.now();
    const deadline = createDeadline(this.#abort.signal, action.policy.timeout);
    const attempt = {
      call: call.call,
      attempt: call.attempt,
      startedAt,
      signal: deadline.signal,
      idempotencyKey: `${this.run.runId}:${call.call}:${action.name}`,
    };
    const context = { kind: 'step' as const, execution: this, stepId: call.stepId, stepName: action.name, ...attempt };
    deadline
      .race(() => runInContext(context, async () => action.run(attempt)))
      .then(
        (outcome) => this.#stepDone(call, startedAt, outcome),
        (error: unknown) => this.#stepFailed(call, startedAt, error),
      );
  }

  #stepDone(call: Call, startedAt: number, { value, tokens }: Outcome): void {
    if (this.#left) return;
    this.#running -= 1;
    try {
      const output = encodeResult(value, 'result', this.#options.limits.resultBytes);
      this.#answer(call, { event: 'done', startedAt, output, tokens: tokens ?? null });
    } catch (error) {
      this.#answer(call, { event: 'failed', startedAt, error: encodeError(error) });
    }
  }

  #stepFailed(call: Call, startedAt: number, thrown: unknown): void {
    if (this.#left) return;
    this.#running -= 1;
    const { policy } = call.action as RunAction;
    const error = encodeError(thrown);
    if (isFatal(thrown) || call.attempt > policy.maxRetries)
      return this.#answer(call, { event: 'failed', startedAt, error });
    const wakeAt = retryTime(thrown, this.#options.clock.now(), policy.delay(call.attempt));
    this.#recorder.record(call, { event: 'retry', startedAt, error, output: encode(wakeAt, 'wakeAt') });
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

  /** The answer reaches the body before it is on disk; nothing begins and nobody is told until it is. */
  #answer(call: Call, fields: RecordFields): void {
    this.#deliveries.push(this.#recorder.record(call, fields));
    this.#schedule();
  }

  // --- internal: waits ---

  #setTimer(call: Call, action: TimerAction): void {
    const known = this.#history.get(call.call)?.set?.output;
    const now = this.#options.clock.now();
    const wakeAt = known ? (decode(known) as number) : action.wakeAt(now);
    if (!known) this.#recorder.record(call, { event: 'set', startedAt: now, output: encode(wakeAt, 'wakeAt') });
    this.#timers.set(call.call, wakeAt);
  }

  /** Nothing runs and nothing is due: say what the run waits for. Undefined: nothing changes. */
  #park(): RunPatch | undefined {
    const first = [...this.#timers].sort((a, b) => a[1] - b[1])[0];
    if (!first) return undefined;
    const [index, wakeAt] = first;
    const left = wakeAt - this.#options.clock.now();
    const release = left >= this.#options.limits.parkAfter;
    if (left <= 0 || (this.#status === 'waiting' && !release)) return undefined;
    const call = this.#open.get(index);
    const type = call?.action.type === 'run' ? 'retry' : 'sleep';
    const waitingFor = JSON.stringify({ type, until: new Date(wakeAt).toISOString(), step: call?.stepId });
    this.#status = 'waiting';
    this.#isWaitStale = false;
    return { status: 'waiting', wakeAt, waitingFor, ...(release ? { release } : {}) };
  }

  #wake(): RunPatch | undefined {
    if (this.#status !== 'waiting' && !this.#isWaitStale) return undefined;
    this.#status = 'running';
    this.#isWaitStale = false;
    return { status: 'running', wakeAt: null, waitingFor: null };
  }

  #armTimer(): void {
    real.clearTimeout(this.#timer);
    if (this.#timers.size === 0 || this.#left) return;
    const due = Math.min(...this.#timers.values()) - this.#options.clock.now();
    this.#timer = real.setTimeout(() => this.#fire(), Math.min(Math.max(0, due), LONGEST_TIMER_MS));
  }

  #fire(): void {
    if (this.#left) return;
    const now = this.#options.clock.now();
    const due = [...this.#timers].filter(([, wakeAt]) => wakeAt <= now).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    for (const [index, wakeAt] of due) {
      this.#timers.delete(index);
      const call = this.#open.get(index);
      if (call?.action.type === 'timer') this.#answer(call, { event: 'done', startedAt: wakeAt });
      else if (call) this.#begin.push(call);
    }
    if (due.length > 0) this.#schedule();
    this.#armTimer();
  }

  // --- internal: leaving ---

  /** False: the run is not ours any more, and is dropped. */
  async #append(patch: RunPatch): Promise<boolean> {
    const { outcome } = await this.#recorder.append(patch);
    if (outcome === 'appended') return true;
    this.drop(new Error(`The run is not ours any more (${outcome}).`));
    return false;
  }

  #block(mismatch: Mismatch): void {
    if (this.#left) return;
    const isSameCode = this.run.codeHash === this.#options.body.codeHash;
    const code = isSameCode ? 'nondeterministic_workflow' : 'code_changed';
    this.#leave('blocked', new Error(mismatch.message));
    const waitingFor = JSON.stringify({ type: 'decision', code, ...mismatch });
    // A crash before this append finds the same mismatch again.
    this.#recorder.append({ status: 'blocked', waitingFor, wakeAt: null, release: true }).catch(() => {});
  }

  #leave(how: Leave, reason?: unknown): void {
    if (this.#left) return;
    this.#left = true;
    real.clearTimeout(this.#timer);
    if (this.#running > 0) this.#abort.abort(reason);
    this.#options.onLeave(how);
  }
}

/** Longer waits are looked at again in between; Node's own timers end at 2^31 ms. */
const LONGEST_TIMER_MS = 60_000;
