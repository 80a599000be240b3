import type { Ambient } from './handle.ts';
import type { Call, CallHistory, CallRequest, HookRequest, OpenHook, Outcome, RunAction } from './call.ts';
import { historyOf } from './call.ts';
import type { StoreClock } from './clock.ts';
import { runInContext, runOutside } from './context.ts';
import { createDeadline } from './deadline.ts';
import type { RunHandle, World } from './handle.ts';
import { createRunHooks } from './hooks.ts';
import type { RunHooks } from './hooks.ts';
import { newRunId } from './ids.ts';
import type {
  Append,
  AppendResult,
  Durability,
  HookEvent,
  JournalRecord,
  NewChunk,
  RunPatch,
  RunRow,
} from './journal.ts';
import { isFinal } from './journal.ts';
import { mismatchOf, undelivered } from './mismatch.ts';
import type { Mismatch } from './mismatch.ts';
import type { Result } from './outcome.ts';
import {
  childFailed,
  encodeError,
  encodeResult,
  endOf,
  hookRefused,
  isFatal,
  journalFull,
  retryTime,
} from './outcome.ts';
import { createRandom } from './random.ts';
import { real } from './real.ts';
import { isKept } from './retry.ts';
import { createRecorder } from './recorder.ts';
import type { RecordFields, Recorder } from './recorder.ts';
import { decode, digestOf, encode } from './serialize.ts';
import { createTimers } from './timers.ts';
import type { Timers } from './timers.ts';
import { describeWait } from './waits.ts';

/** What a run executes: an author's workflow function, or the turn of an agent. */
export interface Body {
  run(input: unknown): Promise<unknown>;
  codeHash: string;
  durability: Durability;
  /** Whoever waited for the run is gone: instead of continuing after a restart, it ends as cancelled with this error. */
  abandoned?: Error;
}

/** What an execution needs of the store, besides its clock. */
export interface ExecutionStore {
  append(entry: Append): Promise<AppendResult>;
  listEvents(runId: string): Promise<{ signals: number; events: HookEvent[] }>;
  resumeHook(token: string, payload: string): Promise<unknown>;
  findRun(child: { runId: string } | { triggerId: string }): Promise<RunRow | undefined>;
  writeChunks(runId: string, epoch: number, chunks: NewChunk[]): Promise<number | undefined>;
}

export interface ExecutionOptions {
  run: RunRow;
  body: Body;
  records: JournalRecord[];
  clock: StoreClock;
  store: ExecutionStore;
  ambient: Ambient;
  /** Called once: the run has ended, is parked on disk, or is no longer ours. `promoted` got the lock it held. */
  onLeave(how: Leave, promoted?: RunRow): void;
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
  readonly ambient: Ambient;
  readonly #options: ExecutionOptions;
  readonly #recorder: Recorder;
  readonly #history: Map<number, CallHistory>;
  /** Calls the body has made that are not answered. */
  readonly #open = new Map<number, Call>();
  /** When an open call is due: the end of a sleep, the next attempt of a step, the deadline of an approval. */
  readonly #timers: Timers;
  readonly #hooks: RunHooks;
  readonly #abort = new AbortController();
  #deliveries: JournalRecord[];
  #begin: Call[] = [];
  #nextCall = 0;
  #running = 0;
  #time: number;
  #status: RunRow['status'];
  /** The row still says what the run waited for before it was taken up again. */
  #isWaitStale: boolean;
  /** Signals taken into account; the row may have more. */
  #signals: number;
  /** Something outside may have answered an open call: look before waiting. */
  #isSignalled = true;
  #attributes: Record<string, string | number | boolean> | undefined;
  #result: Result | undefined;
  #turnQueued = false;
  #flushing = false;
  #flushAgain = false;
  #left = false;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #isIdleOver = false;

  constructor(options: ExecutionOptions) {
    const { run, body, records, clock, store } = options;
    const [seed = run.traceId, createdAt = run.createdAt] = run.seed?.split(':') ?? [];
    this.run = run;
    this.ambient = options.ambient;
    this.#options = options;
    this.#recorder = createRecorder({ run, clock, durability: body.durability, append: store.append });
    this.#history = historyOf(records);
    this.#deliveries = records.filter((record) => record.event === 'done' || record.event === 'failed');
    this.#timers = createTimers(clock, (calls) => this.#due(calls));
    this.#hooks = createRunHooks({ onChange: () => this.#schedule(), isCopy: run.seed !== null });
    this.#time = Number(createdAt);
    this.#status = run.status;
    this.#isWaitStale = run.wakeAt !== null || run.waitingFor !== null;
    this.#signals = run.signals;
    this.world = { now: () => this.#time, random: createRandom(seed) };
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
    if (request.action.type === 'event' && history?.answer && isKept(history.answer))
      this.#hooks.skip(request.action.token);
    return new Promise((resolve, reject) => {
      const attempt = history?.retries.length ?? 0;
      const entry: Call = { ...request, call, digest, attempt, madeAt: this.#time, resolve, reject };
      this.#open.set(call, entry);
      if (mismatch) return this.#block(mismatch);
      if (!history?.answer) this.#begin.push(entry);
      this.#schedule();
    });
  }

  openHook(request: HookRequest): OpenHook {
    const call = this.#nextCall++;
    const input = encode(request, 'hook');
    const named = { call, kind: 'hook' as const, stepId: request.kind, digest: digestOf(input), input, attempt: 1 };
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, named);
    if (mismatch) this.#block(mismatch);
    const now = this.#options.clock.now();
    const { hook, fresh } = this.#hooks.open({ call, request, history, now });
    const output = encode({ token: hook.token, expiresAt: hook.expiresAt }, 'token');
    if (fresh && !mismatch) this.#recorder.record(named, { event: 'set', startedAt: now, output });
    return hook;
  }

  setAttributes(attributes: Record<string, string | number | boolean>): void {
    const known = this.#attributes ?? (JSON.parse(this.run.attributes ?? '{}') as typeof attributes);
    this.#attributes = { ...known, ...attributes };
    this.#schedule();
  }

  async writeChunks(chunks: NewChunk[]): Promise<void> {
    const { runId, epoch } = this.run;
    if ((await this.#options.store.writeChunks(runId, epoch, chunks)) === undefined)
      this.drop(new Error('The run is not ours any more.'));
  }

  /** Something outside happened: a hook was resumed, a child ended. */
  poke(): void {
    this.#isSignalled = true;
    this.#schedule();
  }

  get signals(): number {
    return this.#signals;
  }

  /** Ends the run here because it has been ended in the journal. */
  abandon(reason: unknown): void {
    this.#leave('ended', { reason });
  }

  /** Lets go of the run without writing: another owner has it, or the store cannot be reached. */
  drop(reason: unknown): void {
    this.#leave('dropped', { reason });
  }

  /** Stops and gives the run back, once what is being recorded is recorded. */
  async release(): Promise<void> {
    if (this.#left) return;
    this.#leave('parked', { reason: new Error('The box is shutting down.') });
    await this.#recorder.append({ release: true, ...this.#attributePatch() }, { hooks: this.#hooks.take() });
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
    this.#timers.delete(record.call);
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
    if (this.#isSignalled && this.#waitsForOthers()) await this.#lookAround();
    const idle = steps.length === 0 && this.#running === 0 && this.#deliveries.length === 0;
    const patch = { ...(idle ? this.#park() : this.#wake()), ...this.#attributePatch() };
    const hasPatch = Object.keys(patch).length > 0;
    // A crash before this append repeats the calls it would have recorded; a crash after it finds them answered.
    if ((this.#recorder.isBehind || this.#hooks.hasFresh || hasPatch) && !(await this.#append(patch))) return;
    if (patch.release) return this.#leave('parked');
    for (const call of steps) this.#attempt(call);
    if (!this.#left) this.#timers.arm();
  }

  /** Sets the timers among the new calls; answers the steps that may begin. */
  #startWaits(): Call[] {
    const starting = this.#begin;
    this.#begin = [];
    return starting.filter((call) => {
      const { action } = call;
      if (action.type === 'run') return !this.#resumeRetry(call);
      if (action.type === 'timer') this.#setTimer(call, action.wakeAt);
      else if (action.type === 'event' && action.deadline) this.#setTimer(call, action.deadline.wakeAt);
      // The child may have ended, and the resume may have come, before it was waited for.
      if (action.type === 'child' || (action.type === 'event' && this.#hooks.find(action.token, action.n)))
        this.#isSignalled = true;
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
    const nextRunId = this.run.serialKey === null ? {} : { nextRunId: newRunId() };
    const patch = { ...endOf(result, this.#options.limits.resultBytes), ...this.#attributePatch() };
    const appended = await this.#recorder.append(patch, { hooks: this.#hooks.take(), ...nextRunId });
    if (appended.outcome === 'appended') this.#leave('ended', appended.promoted && { promoted: appended.promoted });
    else this.#lose(appended);
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

  #setTimer(call: Call, wakeAtOf: (now: number) => number): void {
    const known = this.#history.get(call.call)?.set?.output;
    const now = this.#options.clock.now();
    const wakeAt = known ? (decode(known) as number) : wakeAtOf(now);
    if (!known) this.#recorder.record(call, { event: 'set', startedAt: now, output: encode(wakeAt, 'wakeAt') });
    this.#timers.set(call.call, wakeAt);
  }

  #due(indexes: number[]): void {
    for (const index of indexes) {
      const call = this.#open.get(index);
      if (call?.action.type === 'timer') this.#answer(call, { event: 'done', startedAt: this.#options.clock.now() });
      else if (call?.action.type === 'event') void this.#expire(call);
      else if (call) this.#begin.push(call);
    }
    this.#schedule();
  }

  /** The deadline of a hook resumes it, as anybody might: whoever was first is what the body gets. */
  async #expire(call: Call): Promise<void> {
    if (call.action.type !== 'event' || !call.action.deadline) return;
    const { token, deadline } = call.action;
    await this.#options.store.resumeHook(token, encode(deadline.payload, 'payload')).catch(() => {});
    this.poke();
  }

  #waitsForOthers(): boolean {
    for (const { action } of this.#open.values()) if (action.type === 'event' || action.type === 'child') return true;
    return false;
  }

  /** Answers the open calls that wait for a resume or for another run, as far as there are answers. */
  async #lookAround(): Promise<void> {
    this.#isSignalled = false;
    const { store } = this.#options;
    const { signals, events } = await store.listEvents(this.run.runId);
    this.#signals = Math.max(this.#signals, signals);
    this.#hooks.load(events);
    for (const call of this.#open.values()) {
      if (this.#deliveries.some((record) => record.call === call.call)) continue;
      const startedAt = call.madeAt;
      if (call.action.type === 'event') {
        const event = this.#hooks.find(call.action.token, call.action.n);
        if (event) this.#answer(call, { event: 'done', startedAt, output: event.payload });
      } else if (call.action.type === 'child') {
        const child = await store.findRun(call.action.child);
        if (!child) this.#answer(call, { event: 'failed', startedAt, error: childFailed(undefined) });
        else if (child.status === 'completed') this.#answer(call, { event: 'done', startedAt, output: child.output });
        else if (isFinal(child.status)) this.#answer(call, { event: 'failed', startedAt, error: childFailed(child) });
      }
    }
  }

  #refuseHooks(tokens: string[]): void {
    this.#hooks.refuse(tokens);
    for (const call of this.#open.values())
      if (call.action.type === 'event' && this.#hooks.isRefused(call.action.token))
        this.#answer(call, {
          event: 'failed',
          startedAt: this.#options.clock.now(),
          error: hookRefused(call.action.token),
        });
  }

  /** Nothing runs and nothing is due: say what the run waits for. Undefined: nothing changes. */
  #park(): RunPatch | undefined {
    const first = this.#timers.first();
    const wakeAt = first?.wakeAt ?? null;
    const call = first
      ? this.#open.get(first.call)
      : [...this.#open.values()].find(({ action }) => action.type !== 'run');
    const left = wakeAt === null ? Infinity : wakeAt - this.#options.clock.now();
    if (!call || left <= 0) return undefined;
    // A resume or a child's end may come at any moment: such a run stays in memory for a while.
    const release = left >= this.#options.limits.parkAfter && (!this.#waitsForOthers() || this.#hasIdled());
    if (this.#status === 'waiting' && !release) return undefined;
    this.#status = 'waiting';
    this.#isWaitStale = false;
    const waitingFor = JSON.stringify(describeWait(call, first?.wakeAt));
    return { status: 'waiting', wakeAt, waitingFor, ...(release ? { release } : {}) };
  }

  /** True on the second look, `parkAfter` after the first, when nothing happened in between. */
  #hasIdled(): boolean {
    if (this.#idleTimer !== undefined && this.#status === 'waiting' && this.#isIdleOver) return true;
    if (this.#idleTimer === undefined) {
      this.#isIdleOver = false;
      this.#idleTimer = real.setTimeout(() => {
        this.#isIdleOver = true;
        this.#schedule();
      }, this.#options.limits.parkAfter);
    }
    return false;
  }

  #wake(): RunPatch | undefined {
    real.clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
    if (this.#status !== 'waiting' && !this.#isWaitStale) return undefined;
    this.#status = 'running';
    this.#isWaitStale = false;
    return { status: 'running', wakeAt: null, waitingFor: null };
  }

  #attributePatch(): RunPatch {
    if (!this.#attributes) return {};
    const attributes = JSON.stringify(this.#attributes);
    this.#attributes = undefined;
    (this.run as { attributes: string | null }).attributes = attributes;
    return { attributes };
  }

  // --- internal: leaving ---

  /** False: the run is not ours any more, and is dropped. */
  async #append(patch: RunPatch): Promise<boolean> {
    const hooks = this.#hooks.take();
    const signals = patch.wakeAt === undefined && !patch.release ? {} : { signals: this.#signals };
    const result = await this.#recorder.append(patch, { ...signals, ...(hooks.length > 0 ? { hooks } : {}) });
    if (result.outcome !== 'appended') return this.#lose(result);
    if (result.refused && result.refused.length > 0) this.#refuseHooks(result.refused);
    return true;
  }

  #lose(result: AppendResult): false {
    if (result.outcome === 'final') this.abandon(new Error(`The run is ${result.status}.`));
    else this.drop(new Error(`The run is not ours any more (${result.outcome}).`));
    return false;
  }

  #block(mismatch: Mismatch): void {
    if (this.#left) return;
    const isSameCode = this.run.codeHash === this.#options.body.codeHash;
    const code = isSameCode ? 'nondeterministic_workflow' : 'code_changed';
    this.#leave('blocked', { reason: new Error(mismatch.message) });
    const waitingFor = JSON.stringify({ type: 'decision', code, ...mismatch });
    // A crash before this append finds the same mismatch again.
    this.#recorder.append({ status: 'blocked', waitingFor, wakeAt: null, release: true }).catch(() => {});
  }

  #leave(how: Leave, { reason, promoted }: { reason?: unknown; promoted?: RunRow } = {}): void {
    if (this.#left) return;
    this.#left = true;
    this.#timers.stop();
    real.clearTimeout(this.#idleTimer);
    if (this.#running > 0) this.#abort.abort(reason);
    this.#options.onLeave(how, promoted);
  }
}
