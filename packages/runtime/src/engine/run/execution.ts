import type { Call, CallHistory, CallRequest, HookRequest, OpenHook, RunAction } from '../call.ts';
import { checkAttributes } from '../attributes.ts';
import { historyOf } from '../call.ts';
import { runInContext, runOutside } from '../context.ts';
import { StepAttempt } from './step-context.ts';
import { createDeadline } from './deadline.ts';
import type { Ambient, RunHandle, Variables, World } from '../handle.ts';
import { createRunHooks } from './run-hooks.ts';
import type { RunHooks } from './run-hooks.ts';
import { newRunId } from '../ids.ts';
import type { Append, AppendResult, RunPatch } from '../journal/appends.ts';
import type { NewChunk } from '../journal/chunks.ts';
import type { NewHook } from '../journal/hooks.ts';
import type { JournalRecord, StepKind } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { Body } from '../body.ts';
import { RunAppender } from './append.ts';
import type { Driver, Leave, Left } from './driver.ts';
import { Parking } from './parking.ts';
import { mismatchOf, undelivered } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
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
import { createRandom } from '../guard/random.ts';
import { isKept } from './retried-run.ts';
import { createRecorder, NO_EXTRAS } from './recorder.ts';
import type { AppendExtras, RecordedCall, RecordFields, Recorder } from './recorder.ts';
import { decode, digestOf, encode } from '../serialize.ts';
import { createTimers } from './timers.ts';
import type { Timers } from './timers.ts';
import type { Turn } from './turns.ts';
import { createVariables } from './variables.ts';

export interface ExecutionOptions {
  run: RunRow;
  body: Body;
  records: JournalRecord[];
  driver: Driver;
}

/** An attempt of a step that is under way. */
export interface RunningStep {
  call: number;
  kind: StepKind;
  stepId: string;
  name: string;
  attempt: number;
  startedAt: number;
  /** Milliseconds it may take; null: no limit. */
  timeout: number | null;
}

/**
 * One run in memory. The body stays suspended between its calls; nothing is replayed unless the run was loaded from
 * the journal. Work happens in turns of the event loop (`turns.ts`), one delivery a turn, so that a race has the same
 * winner live and on replay:
 *
 *   deliver the next answer, in `seq` order · else, once the body can go no further: append what is not recorded,
 *   begin the new calls, or end or park the run, all in one append.
 */
export class Execution implements RunHandle, Turn {
  readonly run: RunRow;
  readonly world: World;
  readonly ambient: Ambient;
  readonly #body: Body;
  readonly #driver: Driver;
  readonly #recorder: Recorder;
  readonly #appender: RunAppender;
  readonly #history: Map<number, CallHistory>;
  /** Calls the body has made that are not answered. */
  readonly #open = new Map<number, Call>();
  // What most runs never need is made when they do.
  #timersMade: Timers | undefined;
  #hooksMade: RunHooks | undefined;
  #abortMade: AbortController | undefined;
  #deliveries: JournalRecord[];
  #starting: Call[] = [];
  #nextCall = 0;
  #running = 0;
  #time: number;
  readonly #parking: Parking;
  /** Signals taken into account; the row may have more. */
  #signals: number;
  /** Something outside may have answered an open call: look before waiting. */
  #isSignalled = true;
  #attributes: Record<string, string | number | boolean> | undefined;
  #result: Result | undefined;
  #isReplaying: boolean;
  #isQueued = false;
  /** An append or a look around is under way. */
  #isStoring = false;
  /** The run came to its turn while it was busy. */
  #isBehind = false;
  /** What the append under way carries, and what follows it. */
  #written = NOTHING;
  #left = false;
  #isHeld = false;

  constructor(options: ExecutionOptions) {
    const { run, body, records, driver } = options;
    const { clock, limits } = driver;
    const [seed = run.traceId, createdAt = run.createdAt] = run.seed?.split(':') ?? [];
    this.run = run;
    this.ambient = driver.ambient;
    this.#body = body;
    this.#driver = driver;
    this.#recorder = createRecorder({ run, clock, durability: body.durability });
    this.#appender = new RunAppender({
      run,
      recorder: this.#recorder,
      driver,
      onAppended: (result) => this.#appended(result),
      onFailed: (error) => this.drop(error),
    });
    this.#history = historyOf(records);
    this.#deliveries = records.filter((record) => record.event === 'done' || record.event === 'failed');
    this.#time = Number(createdAt);
    this.#parking = new Parking({ run, parkAfter: limits.parkAfter, onIdle: () => this.#schedule() });
    this.#signals = run.signals;
    this.#isReplaying = records.length > 0;
    this.world = this.#createWorld(seed, records);
  }

  /** Runs the body up to its first call. */
  launch(): void {
    this.#isQueued = true;
    this.#driver.turns.after(this);
    let ending: unknown;
    try {
      ending = runInContext({ kind: 'body', execution: this }, () => this.#body.run(decode(this.run.input)));
    } catch (error) {
      return this.#finish({ error });
    }
    Promise.resolve(ending).then(
      (value) => this.#finish({ value }),
      (error: unknown) => this.#finish({ error }),
    );
  }

  invoke(request: CallRequest): Promise<unknown> {
    const call = this.#nextCall++;
    const digest = digestOf(request.input);
    const answered = this.#driver.called?.(call, request);
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, { ...request, digest });
    if (request.action.type === 'event' && history?.answer && isKept(history.answer))
      this.#hooks.skip(request.action.token);
    const answer = new Promise((resolve, reject) => {
      const attempt = history?.retries.length ?? 0;
      const { kind, stepId, input, action } = request;
      const made = { madeAt: this.#time, runningSince: undefined };
      const entry: Call = { kind, stepId, input, action, call, digest, attempt, ...made, resolve, reject };
      this.#open.set(call, entry);
      if (mismatch) return this.#block(mismatch);
      if (!history?.answer) this.#starting.push(entry);
      this.#schedule();
    });
    if (answered) answer.then(answered, answered);
    return answer;
  }

  openHook(request: HookRequest): OpenHook {
    const call = this.#nextCall++;
    const input = encode(request, 'hook');
    const named = { call, kind: 'hook' as const, stepId: request.kind, digest: digestOf(input), input, attempt: 1 };
    const answered = this.#driver.called?.(call, { kind: 'hook', stepId: request.kind, input });
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, named);
    if (mismatch) this.#block(mismatch);
    const now = this.#driver.clock.now();
    const { hook, fresh } = this.#hooks.open({ call, request, history, now });
    const output = encode({ token: hook.token, expiresAt: hook.expiresAt }, 'token');
    if (fresh && !mismatch) this.#recorder.record(named, { event: 'set', startedAt: now, output });
    if (history) answered?.();
    return hook;
  }

  setAttributes(attributes: Record<string, string | number | boolean>): void {
    const known = this.#attributes ?? (JSON.parse(this.run.attributes ?? '{}') as typeof attributes);
    this.#attributes = checkAttributes({ ...known, ...attributes });
    this.#schedule();
  }

  async writeChunks(chunks: NewChunk[]): Promise<void> {
    const { runId, epoch } = this.run;
    if ((await this.#driver.writeChunks(runId, epoch, chunks)) === undefined)
      this.drop(new Error('The run is not ours any more.'));
  }

  /** Something outside happened: a hook was resumed, a child ended. */
  poke(): void {
    this.#isSignalled = true;
    this.#schedule();
  }

  get isReplaying(): boolean {
    return this.#isReplaying;
  }

  get isRepeating(): boolean {
    return this.#isReplaying || (this.run.epoch > 1 && this.#recorder.count === this.run.seq);
  }

  /** Aborts when the run leaves this process before its end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get signals(): number {
    return this.#signals;
  }

  /** Ends the run here because it has been ended in the journal. */
  abandon(reason: unknown): void {
    this.#leave('ended', { reason });
  }

  /** Leaves without writing: another owner has the run, or the store cannot be reached. */
  drop(reason: unknown): void {
    this.#leave('dropped', { reason });
  }

  /** When the first of its waits is over, by the store's clock. */
  get nextDue(): number | undefined {
    return this.#timersMade?.first()?.wakeAt;
  }

  /** The clock was moved by hand. */
  rearm(): void {
    if (!this.#left) this.#timersMade?.arm();
  }

  /** Begins no further step. */
  hold(): void {
    this.#isHeld = true;
  }

  /** A step is under way. */
  get isBusy(): boolean {
    return !this.#left && this.#running > 0;
  }

  /** The attempts that are under way. */
  get runningSteps(): RunningStep[] {
    return [...this.#open.values()].flatMap(({ call, kind, stepId, attempt, runningSince, action }) => {
      if (runningSince === undefined || action.type !== 'run') return [];
      const { name, policy } = action;
      return [{ call, kind, stepId, name, attempt, startedAt: runningSince, timeout: policy.timeout ?? null }];
    });
  }

  /** Stops and gives the run back, once what is being recorded is recorded. */
  async release(): Promise<void> {
    if (this.#left) return;
    // Its end is on its way to the journal: whoever waits for it is notified, as of any other.
    const { status } = this.#written.patch;
    if (this.#appender.isSending && status !== undefined && isFinal(status)) return this.#appender.settled();
    this.#leave('parked', { reason: new Error('The box is shutting down.') });
    const patch = { release: true, ...this.#attributePatch() };
    await this.#appender.sendLast(patch, this.#extrasOfLast);
  }

  #createWorld(seed: string, records: JournalRecord[]): World {
    let variables: Variables | undefined;
    const record = (named: RecordedCall, output: string | null) =>
      void this.#recorder.record(named, { event: 'set', startedAt: this.#driver.clock.now(), output });
    let random: (() => number) | undefined;
    return {
      now: () => this.#time,
      random: () => (random ??= createRandom(seed))(),
      // Made when the body first reads one: most never do.
      get variables() {
        return (variables ??= createVariables(records, record));
      },
    };
  }

  // --- internal: turns ---

  #schedule(): void {
    if (this.#isQueued || this.#left) return;
    this.#isQueued = true;
    this.#driver.turns.next(this);
  }

  deliver(): boolean {
    const record = this.#left ? undefined : this.#deliveries.shift();
    if (!record) return false;
    const call = this.#open.get(record.call);
    if (!call) {
      this.#block(undelivered(record));
      return true;
    }
    this.#open.delete(record.call);
    this.#timersMade?.delete(record.call);
    this.#time = Math.max(this.#time, record.at);
    this.#isReplaying = record.seq < this.run.seq;
    try {
      if (record.event === 'done') call.resolve(record.output === null ? undefined : decode(record.output));
      else call.reject(record.error === null ? new Error('The step failed.') : decode(record.error));
    } catch (error) {
      this.drop(error);
    }
    return true;
  }

  /** The body can go no further on its own: record, begin, end or park. One write at a time. */
  settle(): void {
    this.#isQueued = false;
    if (this.#left) return;
    if (this.#isStoring) this.#isBehind = true;
    else if (this.#deliveries.length > 0) this.#schedule();
    else this.#attend(this.#advance);
  }

  // Properties, not methods: passing a method on takes a new function each time.
  readonly #advance = (): void => {
    const { records } = this.#driver.limits;
    if (this.#recorder.count > records) this.#result = { error: journalFull(records) };
    if (this.#result) return this.#end(this.#result);
    const steps = this.#startWaits();
    if (!this.#isSignalled || !this.#waitsForOthers()) return this.#write(steps);
    this.#isStoring = true;
    this.#lookAround().then(
      () => this.#goOn(() => this.#write(steps)),
      (error: unknown) => this.drop(error),
    );
  };

  /** Appends what is new, if anything is; then the new steps begin. */
  #write(steps: Call[]): void {
    const isIdle = steps.length === 0 && this.#running === 0 && this.#deliveries.length === 0;
    const change = isIdle ? this.#park() : this.#parking.wake();
    const patch = this.#attributes ? { ...change, ...this.#attributePatch() } : (change ?? NO_PATCH);
    this.#written = { steps, patch };
    // A crash before this append repeats the calls it would have recorded; a crash after it finds them answered.
    if (this.#recorder.isBehind || this.#hooksMade?.hasFresh || patch !== NO_PATCH) this.#append(patch);
    else this.#begin();
  }

  /** What has just been written lets the new steps begin. */
  readonly #begin = (): void => {
    const { steps, patch } = this.#written;
    this.#written = NOTHING;
    if (patch.release) return this.#leave('parked');
    // Nothing recorded since its owner died here: should a step kill the process, it is known which.
    if (steps.length === 0 || this.run.crashSeq !== this.#recorder.count) return this.#start(steps);
    this.#isStoring = true;
    this.#mark(steps).then(
      () => this.#goOn(() => this.#start(steps)),
      (error: unknown) => this.drop(error),
    );
  };

  #start(steps: Call[]): void {
    for (const call of this.#isHeld ? NO_CALLS : steps) this.#attempt(call);
    if (!this.#left) this.#timersMade?.arm();
  }

  /** What was waited for is there. */
  #goOn(work: () => void): void {
    this.#isStoring = false;
    if (this.#left) return;
    this.#attend(work);
    if (!this.#isBehind || this.#isStoring) return;
    this.#isBehind = false;
    this.#schedule();
  }

  #attend(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.drop(error);
    }
  }

  /** Sets the timers among the new calls; answers the steps that may begin. */
  #startWaits(): Call[] {
    if (this.#starting.length === 0) return NO_CALLS;
    const starting = this.#starting;
    this.#starting = [];
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

  #end(result: Result): void {
    const record = this.#history.size > 0 ? this.#findMissed() : undefined;
    if (record) return this.#block(undelivered(record));
    const nextRunId = this.run.serialKey === null ? {} : { nextRunId: newRunId() };
    const patch = { ...endOf(result, this.#driver.limits.resultBytes), ...this.#attributePatch() };
    this.#isStoring = true;
    this.#written = { steps: NO_CALLS, patch };
    this.#appender.send(patch, { ...this.#newHooks(), ...nextRunId });
  }

  /** What an earlier life of the run recorded, and its code does not ask for any more. */
  #findMissed(): JournalRecord | undefined {
    for (const [call, { answer, set, retries }] of this.#history)
      if (call >= this.#nextCall) return answer ?? set ?? retries[0];
    return undefined;
  }

  // --- internal: steps ---

  #attempt(call: Call): void {
    const action = call.action as RunAction;
    call.attempt += 1;
    this.#running += 1;
    const startedAt = this.#driver.clock.now();
    call.runningSince = startedAt;
    const { timeout } = action.policy;
    const deadline = timeout === undefined ? undefined : createDeadline(this.#abort.signal, timeout);
    const context = new StepAttempt({ call, name: action.name, startedAt, execution: this, deadline });
    let outcome: unknown;
    try {
      outcome = runInContext(context, () => this.#driver.attempt(context, () => action.run(context)));
    } catch (error) {
      deadline?.clear();
      return this.#stepFailed(call, startedAt, error);
    }
    if (!deadline && !isThenable(outcome)) return this.#stepDone(call, context, outcome);
    (deadline ? deadline.race(outcome) : Promise.resolve(outcome)).then(
      (value) => this.#stepDone(call, context, value),
      (error: unknown) => this.#stepFailed(call, startedAt, error),
    );
  }

  #stepDone(call: Call, context: StepAttempt, value: unknown): void {
    if (this.#left) return;
    const { startedAt } = context;
    const action = call.action as RunAction;
    const isPlain = typeof value !== 'object' || value === null;
    const waiting = isPlain ? undefined : runInContext(context, () => action.settle?.(value));
    if (!waiting) return this.#stepSettled(call, startedAt, value);
    waiting.then(
      () => this.#stepSettled(call, startedAt, value),
      (error: unknown) => this.#stepFailed(call, startedAt, error),
    );
  }

  #stepSettled(call: Call, startedAt: number, value: unknown): void {
    if (this.#left) return;
    this.#running -= 1;
    call.runningSince = undefined;
    try {
      const output = encodeResult(value, 'result', this.#driver.limits.resultBytes);
      const tokens = (call.action as RunAction).tokensOf?.(value) ?? null;
      this.#answer(call, { event: 'done', startedAt, output, tokens });
    } catch (error) {
      this.#answer(call, { event: 'failed', startedAt, error: encodeError(error) });
    }
  }

  #stepFailed(call: Call, startedAt: number, thrown: unknown): void {
    if (this.#left) return;
    this.#running -= 1;
    call.runningSince = undefined;
    const { policy } = call.action as RunAction;
    const error = encodeError(thrown);
    if (isFatal(thrown) || call.attempt > policy.maxRetries)
      return this.#answer(call, { event: 'failed', startedAt, error });
    const wakeAt = retryTime(thrown, this.#driver.clock.now(), policy.delay(call.attempt));
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

  /** The answer reaches the body before it is on disk; no step begins and nothing is published until it is. */
  #answer(call: Call, fields: RecordFields): void {
    this.#deliveries.push(this.#recorder.record(call, fields));
    this.#schedule();
  }

  // --- internal: waits ---

  #setTimer(call: Call, wakeAtOf: (now: number) => number): void {
    const known = this.#history.get(call.call)?.set?.output;
    const now = this.#driver.clock.now();
    const wakeAt = known ? (decode(known) as number) : wakeAtOf(now);
    if (!known) this.#recorder.record(call, { event: 'set', startedAt: now, output: encode(wakeAt, 'wakeAt') });
    this.#timers.set(call.call, wakeAt);
  }

  #due(indexes: number[]): void {
    for (const index of indexes) {
      const call = this.#open.get(index);
      if (call?.action.type === 'timer') this.#answer(call, { event: 'done', startedAt: this.#driver.clock.now() });
      else if (call?.action.type === 'event') void this.#expire(call);
      else if (call) this.#starting.push(call);
    }
    this.#schedule();
  }

  /** The deadline of a hook resumes it like a caller from outside: the body gets what the first of them gave. */
  async #expire(call: Call): Promise<void> {
    if (call.action.type !== 'event' || !call.action.deadline) return;
    const { token, deadline } = call.action;
    const { payload, verdict } = deadline;
    await this.#driver.resumeHook(token, encode(payload, 'payload'), { verdict }).then(
      () => this.poke(),
      (error: unknown) => this.drop(error),
    );
  }

  #waitsForOthers(): boolean {
    for (const { action } of this.#open.values()) if (action.type === 'event' || action.type === 'child') return true;
    return false;
  }

  /** Answers the open calls that wait for a resume or for another run, as far as there are answers. */
  async #lookAround(): Promise<void> {
    this.#isSignalled = false;
    const { signals, events } = await this.#driver.listEvents(this.run.runId);
    this.#signals = Math.max(this.#signals, signals);
    this.#hooks.load(events);
    for (const call of this.#open.values()) {
      if (this.#deliveries.some((record) => record.call === call.call)) continue;
      const startedAt = call.madeAt;
      if (call.action.type === 'event') {
        const event = this.#hooks.find(call.action.token, call.action.n);
        if (event) this.#answer(call, { event: 'done', startedAt, output: event.payload });
      } else if (call.action.type === 'child') {
        const child = await this.#driver.findRun(call.action.child);
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
          startedAt: this.#driver.clock.now(),
          error: hookRefused(call.action.token),
        });
  }

  /** Nothing runs and nothing is due: say what the run waits for. Undefined: nothing changes. */
  #park(): RunPatch | undefined {
    const first = this.#timersMade?.first();
    const call = first
      ? this.#open.get(first.call)
      : [...this.#open.values()].find(({ action }) => action.type !== 'run');
    const left = first ? first.wakeAt - this.#driver.clock.now() : Infinity;
    if (!call || left <= 0) return undefined;
    return this.#parking.park({ call, wakeAt: first?.wakeAt, left, isForOthers: this.#waitsForOthers() });
  }

  #attributePatch(): RunPatch {
    if (!this.#attributes) return {};
    const attributes = JSON.stringify(this.#attributes);
    this.#attributes = undefined;
    (this.run as { attributes: string | null }).attributes = attributes;
    return { attributes };
  }

  // --- internal: leaving ---

  get #timers(): Timers {
    return (this.#timersMade ??= createTimers(this.#driver.clock, (calls) => this.#due(calls)));
  }

  async #mark(begin: Call[]): Promise<void> {
    const { runId, epoch } = this.run;
    const steps = new Set([...begin, ...this.#open.values()].filter((call) => call.action.type === 'run'));
    const names = Array.from(steps, (call) => call.stepId);
    if (!(await this.#driver.mark(runId, epoch, names))) this.drop(new Error('The run is not ours any more.'));
  }

  get #hooks(): RunHooks {
    const isCopy = this.run.seed !== null;
    return (this.#hooksMade ??= createRunHooks({ onChange: () => this.#schedule(), isCopy }));
  }

  get #abort(): AbortController {
    return (this.#abortMade ??= new AbortController());
  }

  #newHooks(): Pick<Append, 'hooks'> {
    const hooks = this.#hooksMade?.take() ?? NO_HOOKS;
    return hooks.length > 0 ? { hooks } : {};
  }

  readonly #extrasOfLast = (): AppendExtras => this.#newHooks();

  #append(patch: RunPatch): void {
    const signals = patch.wakeAt === undefined && !patch.release ? undefined : { signals: this.#signals };
    this.#isStoring = true;
    const hasMore = signals || this.#hooksMade?.hasFresh;
    this.#appender.send(patch, hasMore ? { ...signals, ...this.#newHooks() } : NO_EXTRAS);
  }

  #appended(result: AppendResult): void {
    if (result.outcome !== 'appended') return this.#lose(result);
    if (result.refused && result.refused.length > 0) this.#refuseHooks(result.refused);
    const { patch } = this.#written;
    if (patch.status === undefined || !isFinal(patch.status)) return this.#goOn(this.#begin);
    const { count: seq, totals } = this.#recorder;
    const row: RunRow = { ...this.run, ...patch, ...totals, ...ENDED, seq, endedAt: result.at };
    this.#leave('ended', { row, ...(result.promoted ? { promoted: result.promoted } : {}) });
  }

  #lose(result: AppendResult): void {
    if (result.outcome === 'final') this.abandon(new Error(`The run is ${result.status}.`));
    else this.drop(new Error(`The run is not ours any more (${result.outcome}).`));
  }

  #block(mismatch: Mismatch): void {
    if (this.#left) return;
    const isSameCode = this.run.codeHash === this.#body.codeHash;
    const code = isSameCode ? 'nondeterministic_workflow' : 'code_changed';
    const waitingFor = JSON.stringify({ type: 'decision', code, ...mismatch });
    const patch = { status: 'blocked' as const, waitingFor, wakeAt: null, release: true };
    // Outside: the body itself runs into the mismatch, and may use none of the sockets and timers of a store.
    runOutside(() => {
      this.#leave('blocked', { reason: new Error(mismatch.message) });
      // A crash before this append finds the same mismatch again.
      this.#appender.sendLast(patch, this.#extrasOfLast).catch(noop);
    });
  }

  #leave(how: Leave, left: Left = {}): void {
    if (this.#left) return;
    this.#left = true;
    this.#timersMade?.stop();
    this.#parking.stop();
    if (this.#running > 0 || this.#isHeld) this.#abort.abort(left.reason);
    this.#driver.left(this.run, how, left);
  }
}

// --- internal ---

const NO_PATCH: RunPatch = {};
const NO_CALLS: Call[] = [];
const NO_HOOKS: NewHook[] = [];
const NOTHING: { steps: Call[]; patch: RunPatch } = { steps: NO_CALLS, patch: NO_PATCH };
/** What the end of a run does to its row besides the patch. */
const ENDED = { owner: null, leaseUntil: null };

function noop(): void {}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
