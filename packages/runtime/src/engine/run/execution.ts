import type { Call, CallRequest, HookRequest, OpenHook } from '../call.ts';
import { runInContext, runOutside } from '../context.ts';
import type { Ambient, RunHandle, World } from '../handle.ts';
import { newRunId } from '../ids.ts';
import type { Append, AppendResult, RunPatch } from '../journal/appends.ts';
import type { NewChunk } from '../journal/chunks.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { Body } from '../body.ts';
import { RunAppender } from './append.ts';
import { Calls } from './calls.ts';
import type { Driver, Leave, Left } from './driver.ts';
import { Parking } from './parking.ts';
import { undelivered } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import type { Result } from './outcome.ts';
import { RunAttributes } from './run-attributes.ts';
import { PlatformWait } from './platform-wait.ts';
import { startPatience } from './patience.ts';
import type { Patience } from './patience.ts';
import { endOf, journalFull } from './outcome.ts';
import { createRecorder, NO_EXTRAS } from './recorder.ts';
import type { AppendExtras, Recorder } from './recorder.ts';
import { decode } from '../serialize.ts';
import { StepAttempts } from './step-attempts.ts';
import type { RunningStep } from './step-attempts.ts';
import type { Turn } from './turns.ts';
import { createWorld } from './world.ts';
import type { Waits } from './waits.ts';

export interface ExecutionOptions {
  run: RunRow;
  body: Body;
  records: JournalRecord[];
  driver: Driver;
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
  readonly #calls: Calls;
  readonly #steps: StepAttempts;
  readonly #parking: Parking;
  readonly #attributes: RunAttributes;
  #result: Result | undefined;
  #isQueued = false;
  /** An append or a look around is under way. */
  #isStoring = false;
  /** The run came to its turn while it was busy. */
  #isBehind = false;
  /** What the append under way carries, and what follows it. */
  #written = NOTHING;
  #left = false;
  /** Begins no further step. */
  #isHeld = false;
  /** The run is this process's own, and not over: an append of this life has shown it. */
  #isConfirmed: boolean;
  /** Steps that wait for other runs. */
  #standing = 0;
  #platform: PlatformWait | undefined;
  #missing: Patience | undefined;

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
    this.#attributes = new RunAttributes(run);
    this.#calls = new Calls({
      run,
      records,
      time: Number(createdAt),
      recorder: this.#recorder,
      driver,
      onChange: () => this.#schedule(),
      onMismatch: (mismatch) => this.#block(mismatch),
      onFailed: (error) => this.drop(error),
    });
    this.#steps = new StepAttempts({
      execution: this,
      driver,
      hasLeft: () => this.#left,
      onAnswer: (call, fields) => this.#calls.answer(call, fields),
      onRetry: (call, fields, wakeAt) => this.#calls.retryAt(call, fields, wakeAt),
    });
    this.#isConfirmed = run.epoch <= 1;
    this.#parking = new Parking({ run, parkAfter: limits.parkAfter, onIdle: () => this.#schedule() });
    this.world = createWorld({
      seed,
      records,
      recorder: this.#recorder,
      clock,
      startedAt: Number(createdAt),
      now: () => this.#calls.time,
    });
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
    return this.#calls.invoke(request);
  }

  openHook(request: HookRequest): OpenHook {
    return this.#calls.openHook(request);
  }

  setAttributes(attributes: Record<string, string | number | boolean>): void {
    this.#attributes.set(attributes);
    this.#schedule();
  }

  async writeChunks(chunks: NewChunk[]): Promise<void> {
    const { runId, epoch } = this.run;
    if ((await this.#driver.writeChunks(runId, epoch, chunks)) === undefined)
      this.drop(new Error('The run is not ours any more.'));
  }

  /**
   * The body awaits work of the platform that is no call of the engine's, such as a digest. Until it is done the run gives
   * the body no answer and does not park, so that the order of what the body sees is the same on every replay. Works end
   * in the order they were begun.
   */
  waitFor<T>(work: () => Promise<T>): Promise<T> {
    return (this.#platform ??= new PlatformWait()).begin(work, () => this.#schedule());
  }

  /** A step waits for another run: meanwhile the run does no work of its own, and takes no place that the other may need. */
  async standBy<T>(wait: () => Promise<T>): Promise<T> {
    this.#standing += 1;
    try {
      return await wait();
    } finally {
      this.#standing -= 1;
    }
  }

  /** The run does something, or is about to: it does not only wait. */
  get isActive(): boolean {
    return this.#steps.count > this.#standing || this.#isStoring || this.#isQueued || this.#isHeldUp;
  }

  /** Something outside happened: a hook was resumed, a child ended. */
  poke(): void {
    this.#waits?.signal();
    this.#schedule();
  }

  get isReplaying(): boolean {
    return this.#calls.isReplaying;
  }

  get isRepeating(): boolean {
    return this.#calls.isReplaying || (this.run.epoch > 1 && this.#recorder.count === this.run.seq);
  }

  /** Aborts when the run leaves this process before its end. */
  get signal(): AbortSignal {
    return this.#steps.signal;
  }

  /** Signals taken into account; the row may have more. */
  get signals(): number {
    return this.#waits?.signals ?? this.run.signals;
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
    return this.#waits?.nextDue;
  }

  /** The clock was moved by hand. */
  rearm(): void {
    if (!this.#left) this.#waits?.arm();
  }

  /** Begins no further step. */
  hold(): void {
    this.#isHeld = true;
  }

  /** A step is under way. */
  get isBusy(): boolean {
    return !this.#left && this.#steps.count > 0;
  }

  /** The attempts that are under way. */
  get runningSteps(): RunningStep[] {
    return StepAttempts.list(this.#calls.open);
  }

  /** Stops and gives the run back, once what is being recorded is recorded. */
  async release(): Promise<void> {
    if (this.#left) return;
    // Its end is on its way to the journal: whoever waits for it is notified, as of any other.
    const { status } = this.#written.patch;
    if (this.#appender.isSending && status !== undefined && isFinal(status)) return this.#appender.settled();
    this.#leave('parked', { reason: new Error('The box is shutting down.') });
    const patch = { release: true, ...this.#attributes.take() };
    await this.#appender.sendLast(patch, this.#extrasOfLast);
  }

  // --- internal: turns ---

  #schedule(): void {
    if (this.#isQueued || this.#left) return;
    this.#isQueued = true;
    this.#driver.turns.next(this);
  }

  deliver(): boolean {
    return !this.#left && !this.#isHeldUp && this.#calls.deliver();
  }

  /** The body can go no further on its own: record, begin, end or park. One write at a time. */
  settle(): void {
    this.#isQueued = false;
    if (this.#left) return;
    if (this.#isHeldUp) return;
    this.#missing = this.#missing?.end();
    if (this.#isStoring) this.#isBehind = true;
    else if (this.#calls.missing) this.#awaitMissing(this.#calls.missing);
    else if (this.#calls.hasAnswers) this.#schedule();
    else this.#attend(this.#advance);
  }

  // Properties, not methods: passing a method on takes a new function each time.
  readonly #advance = (): void => {
    if (this.#result && !this.#calls.hasUnawaited) return this.#end(this.#result);
    const steps = this.#calls.takeSteps();
    const { records } = this.#driver.limits;
    // Before the steps begin: their effects would be in no record.
    if (this.#recorder.count + this.#steps.count + steps.length > records)
      return this.#end((this.#result = { error: journalFull(records) }));
    const waits = this.#waits;
    if (!waits?.isLookDue) return this.#write(steps);
    this.#isStoring = true;
    waits.lookAround().then(
      () => this.#goOn(() => this.#write(steps)),
      (error: unknown) => this.drop(error),
    );
  };

  /** Appends what is new, if anything is; then the new steps begin. */
  #write(steps: Call[]): void {
    const isIdle = steps.length === 0 && this.#steps.count === 0 && !this.#calls.hasAnswers;
    const change = isIdle ? this.#park() : this.#parking.wake();
    const patch = this.#attributes.hasFresh ? { ...change, ...this.#attributes.take() } : (change ?? NO_PATCH);
    this.#written = { steps, patch };
    // A crash before this append repeats the calls it would have recorded; a crash after it finds them answered.
    if (this.#recorder.isBehind || this.#waits?.hasNewHooks || patch !== NO_PATCH) this.#append(patch);
    else this.#begin();
  }

  /** What has just been written lets the new steps begin. */
  readonly #begin = (): void => {
    const { steps, patch } = this.#written;
    this.#written = NOTHING;
    if (patch.release) return this.#leave('parked');
    if (steps.length > 0 && !this.#isConfirmed) return this.#confirm(steps);
    // Nothing recorded since its owner died here: should a step kill the process, it is known which.
    if (steps.length === 0 || this.run.crashSeq !== this.#recorder.count) return this.#start(steps);
    this.#isStoring = true;
    this.#mark(steps).then(
      () => this.#goOn(() => this.#start(steps)),
      (error: unknown) => this.drop(error),
    );
  };

  /**
   * The steps were recorded as open before the run was loaded, so no append of this life has shown that it is still to
   * be run: it may have been cancelled meanwhile.
   */
  #confirm(steps: Call[]): void {
    const patch = NO_PATCH;
    this.#isStoring = true;
    this.#driver.findRun({ runId: this.run.runId }).then(
      (row) => {
        if (!row || isFinal(row.status)) return this.abandon(new Error(`The run is ${row?.status ?? 'gone'}.`));
        this.#isConfirmed = true;
        this.#written = { steps, patch };
        this.#goOn(this.#begin);
      },
      (error: unknown) => this.drop(error),
    );
  }

  #start(steps: Call[]): void {
    for (const call of this.#isHeld ? NO_CALLS : steps) this.#steps.begin(call);
    if (!this.#left) this.#waits?.arm();
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

  #finish(result: Result): void {
    this.#result = result;
    this.#schedule();
  }

  #end(result: Result): void {
    const record = this.#calls.findMissed();
    if (record) return this.#block(undelivered(record));
    for (const step of this.#calls.listUnheard())
      this.ambient.log({ level: 'warn', message: `"${step}" failed, and nothing awaited it.`, run: this.run, step });
    const nextRunId = this.run.serialKey === null ? {} : { nextRunId: newRunId() };
    const patch = { ...endOf(result, this.#driver.limits.resultBytes), ...this.#attributes.take() };
    this.#isStoring = true;
    this.#written = { steps: NO_CALLS, patch };
    this.#appender.send(patch, { ...this.#newHooks(), ...nextRunId });
  }

  /** The body has ended, or has had time enough to make the call: its code makes it no more. */
  #awaitMissing(record: JournalRecord): void {
    if (this.#result) this.#block(undelivered(record));
    else this.#missing = startPatience(PATIENCE_MS, () => this.#block(undelivered(record)));
  }

  /** Nothing runs and nothing is due: say what the run waits for. Undefined: nothing changes. */
  #park(): RunPatch | undefined {
    const wait = this.#waits?.current();
    return wait && this.#parking.park(wait);
  }

  // --- internal: leaving ---

  /** The body awaits the platform. */
  get #isHeldUp(): boolean {
    return this.#platform?.isUnderWay ?? false;
  }

  get #waits(): Waits | undefined {
    return this.#calls.waitsSoFar;
  }

  async #mark(begin: Call[]): Promise<void> {
    const { runId, epoch } = this.run;
    const steps = new Set([...begin, ...this.#calls.open].filter((call) => call.action.type === 'run'));
    const names = Array.from(steps, (call) => call.stepId);
    if (!(await this.#driver.mark(runId, epoch, names))) this.drop(new Error('The run is not ours any more.'));
  }

  #newHooks(): Pick<Append, 'hooks'> {
    const hooks = this.#waits?.takeNewHooks();
    return hooks && hooks.length > 0 ? { hooks } : {};
  }

  readonly #extrasOfLast = (): AppendExtras => this.#newHooks();

  #append(patch: RunPatch): void {
    const signals = patch.wakeAt === undefined && !patch.release ? undefined : { signals: this.signals };
    this.#isStoring = true;
    const hasMore = signals || this.#waits?.hasNewHooks;
    this.#appender.send(patch, hasMore ? { ...signals, ...this.#newHooks() } : NO_EXTRAS);
  }

  #appended(result: AppendResult): void {
    if (result.outcome !== 'appended') return this.#lose(result);
    this.#isConfirmed = true;
    if (result.refused && result.refused.length > 0) this.#calls.waits.refuse(result.refused);
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
    this.#waits?.stop();
    this.#missing?.end();
    this.#parking.stop();
    if (this.#steps.count > 0 || this.#isHeld) this.#steps.abort(left.reason);
    this.#driver.left(this.run, how, left);
  }
}

// --- internal ---

/** How long a body that makes no call may take to make the one that is recorded. */
const PATIENCE_MS = 10_000;
const NO_PATCH: RunPatch = {};
const NO_CALLS: Call[] = [];
const NOTHING: { steps: Call[]; patch: RunPatch } = { steps: NO_CALLS, patch: NO_PATCH };
/** What the end of a run does to its row besides the patch. */
const ENDED = { owner: null, leaseUntil: null };

function noop(): void {}
