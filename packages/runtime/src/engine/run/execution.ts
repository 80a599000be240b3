import type { Call } from '../call.ts';
import { leftError } from '../callbacks.ts';
import { runOutside } from '../context.ts';
import type { AppendResult, RunPatch } from '../journal/appends.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import type { Body } from '../body.ts';
import { beginBody } from './begin-body.ts';
import type { RunAppender } from './append.ts';
import type { Beginning } from './beginning.ts';
import type { BodyHandle } from './body-handle.ts';
import type { Calls } from './calls.ts';
import type { Children } from './children.ts';
import type { Cancelling } from './cancelling.ts';
import type { Driver, Leave, Left } from './driver.ts';
import { isEnd, toBlocked, toLeft } from './ending.ts';
import { Finishing } from './finishing.ts';
import { Holding } from './holding.ts';
import type { Parking } from './parking.ts';
import { undelivered } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { notOurs } from './outcome.ts';
import type { Result } from './outcome.ts';
import { createParts } from './parts.ts';
import type { PartEvents } from './part-events.ts';
import type { ExecutionOptions, RowChanges } from './parts.ts';
import { startPatience } from './patience.ts';
import type { Patience } from './patience.ts';
import { placeAt } from './error-place.ts';
import { RecordLimit } from './record-limit.ts';
import { NO_EXTRAS } from './recorder.ts';
import type { AppendExtras, Recorder } from './recorder.ts';
import { decode } from '../serialize.ts';
import { StepAttempts } from './step-attempts.ts';
import type { RunningStep } from './step-attempts.ts';
import type { Turn } from './turns.ts';
import type { Waits } from './waits.ts';
import { Writing } from './writing.ts';

/**
 * One run in memory. The body stays suspended between its calls; nothing is replayed unless the run was loaded from
 * the journal. Work happens in turns of the event loop (`turns.ts`), one delivery a turn, so that a race has the same
 * winner live and on replay:
 *
 *   deliver the next answer, in `seq` order · else, once the body can go no further: append what is not recorded,
 *   begin the new calls, or end or park the run, all in one append.
 */
export class Execution implements Turn {
  readonly run: RunRow;
  readonly #body: Body;
  readonly #driver: Driver;
  readonly #recorder: Recorder;
  readonly #appender: RunAppender;
  readonly #calls: Calls;
  readonly #steps: StepAttempts;
  readonly #parking: Parking;
  readonly #handle: BodyHandle;
  readonly #beginning: Beginning;
  readonly #rowChanges: RowChanges;
  readonly #cancelling: Cancelling;
  readonly #children: Children;
  readonly #finishing: Finishing;
  #isQueued = false;
  #hasTicked = false;
  readonly #writing: Writing;
  /** What the append under way carries, and what follows it. */
  #written = NOTHING;
  #left = false;
  readonly #holding = new Holding();
  #missing: Patience | undefined;
  readonly #recordLimit: RecordLimit;

  constructor(options: ExecutionOptions) {
    const { run, body, driver } = options;
    const events: PartEvents = {
      onChange: () => this.#schedule(),
      onMismatch: (mismatch) => this.#block(mismatch),
      onAppended: (result) => this.#appended(result),
      onFailed: (error) => this.drop(error),
      onCrash: (error) => this.#finish({ error }),
      hasLeft: () => this.#left,
    };
    const parts = createParts(options, events);
    this.run = run;
    this.#writing = new Writing(events);
    this.#body = body;
    this.#driver = driver;
    this.#recorder = parts.recorder;
    this.#appender = parts.appender;
    this.#calls = parts.calls;
    this.#steps = parts.steps;
    this.#parking = parts.parking;
    this.#handle = parts.handle;
    this.#beginning = parts.beginning;
    this.#rowChanges = parts.rowChanges;
    this.#cancelling = parts.cancelling;
    this.#children = parts.children;
    this.#finishing = new Finishing({
      run,
      body,
      driver,
      parts,
      writing: this.#writing,
      events,
      append: (patch) => this.#append(patch),
      appendEnd: (end, extras) => this.#sendEnd(end, extras),
    });
    this.#recordLimit = new RecordLimit({ run, limits: driver.limits, ambient: driver.ambient });
  }

  /**
   * Runs the body up to its first call.
   * @param input where what the run was started with is in object storage: that
   */
  launch(input = this.run.input): void {
    this.#isQueued = true;
    this.#driver.turns.after(this);
    const begun = beginBody(input, this.#body, this.#handle);
    if ('mismatch' in begun) return this.#block(begun.mismatch);
    begun.ending.then(
      (value) => this.#finish({ value }),
      (error: unknown) => this.#finish({ error }),
    );
  }

  /** The run does something, or is about to: it does not only wait. */
  get isActive(): boolean {
    return (
      this.#steps.count > this.#handle.standing ||
      this.#writing.isUnderWay ||
      this.#isQueued ||
      this.#handle.isHeldUp ||
      this.#calls.isReading
    );
  }

  /** The body has not come to the end of what is recorded. */
  get isReplaying(): boolean {
    return !this.#left && this.#calls.isReplaying;
  }

  /** Something outside happened: a hook was resumed, a child ended. */
  poke(): void {
    this.#waits?.signal();
    this.#schedule();
  }

  /** Signals taken into account; the row may have more. */
  get signals(): number {
    return this.#waits?.signals ?? this.run.signals;
  }

  /** What the row says of a cancel: the body is given it once, and has time to clean up. */
  cancel(row: Pick<RunRow, 'cancel'>): void {
    if (!this.#cancelling.ask(row)) return;
    this.run.cancel = row.cancel;
    this.#schedule();
  }

  /** A run that its end concerns is about to be started below it: that is stored with the next append. */
  noteChild(): void {
    if (this.#children.note()) this.#schedule();
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

  /** The clock was moved: by hand, or as the store's was set. */
  rearm(): void {
    if (!this.#left) this.#waits?.arm();
  }

  /** Begins no further step. */
  hold(): void {
    this.#holding.isHeld = true;
  }

  /** Begins no further step, and leaves memory once those under way are over. */
  pause(): void {
    if (this.#holding.pause()) this.#schedule();
  }

  unpause(): void {
    if (this.#holding.unpause()) this.#schedule();
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
    if (this.#appender.isSending && isEnd(this.#written.patch)) return this.#appender.settled();
    this.#leave('parked', { reason: new Error('The box is shutting down.') });
    await this.#appender.sendLast({ release: true, ...this.#rowChanges.take() }, () => this.#calls.takeNewHooks());
  }

  // --- internal: turns ---

  #schedule(): void {
    if (this.#isQueued || this.#left) return;
    this.#isQueued = true;
    this.#driver.turns.next(this);
  }

  deliver(): boolean {
    return !this.#left && !this.#handle.isHeldUp && this.#calls.deliver();
  }

  /** The body can go no further on its own: record, begin, end or park. One write at a time. */
  settle(hasTicked = false): void {
    this.#isQueued = false;
    if (this.#left || this.#handle.isHeldUp) return;
    this.#hasTicked = hasTicked;
    this.#missing = this.#missing?.end();
    if (this.#writing.isUnderWay) this.#writing.defer();
    else if (this.#calls.isReading) return;
    else if (this.#calls.missing) this.#awaitMissing(this.#calls.missing);
    else if (this.#calls.hasAnswers) this.#schedule();
    else this.#writing.attend(this.#advance);
  }

  // Properties, not methods: passing a method on takes a new function each time.
  readonly #advance = (): void => {
    if (this.#cancelling.isDue) return this.#children.areCancelled ? this.#reject() : this.#cancelBelow();
    const { result } = this.#finishing;
    if (result && !this.#calls.hasUnawaited) return this.#finishing.end(result);
    if (this.#holding.isPaused) return this.#rest();
    const steps = this.#holding.takeWith(this.#calls.takeSteps());
    // Before the steps begin: their effects would be in no record.
    const full = this.#recordLimit.check(this.#recorder.count, this.#steps.count + steps.length);
    const end = (): void => this.#finishing.end((this.#finishing.result = { error: full }));
    if (full) return this.#writing.after(placeAt(steps[0], full), end);
    const waits = this.#waits;
    if (!waits?.isLookDue) return this.#write(steps);
    this.#writing.after(waits.lookAround(), () => this.#write(steps));
  };

  /**
   * Starts under way put runs below this one that its cancel has not reached. They are cancelled first: once the body has
   * been given the cancel, it may start others to clean up.
   */
  #cancelBelow(): void {
    this.#writing.after(this.#children.cancel(this.#driver), () => this.#schedule());
  }

  /** What the body awaits is answered with the cancel. Where it awaits nothing of the engine's, it will see none. */
  #reject(): void {
    const error = this.#cancelling.deliver();
    this.#holding.forget();
    const { result } = this.#finishing;
    if (result || !this.#calls.cancelOpen(error)) return this.#finishing.end(result ?? { value: undefined });
    this.#steps.abort(decode(error));
    this.#schedule();
  }

  /** What is under way comes to its end and is recorded; then the run waits on disk for the end of the pause. */
  #rest(): void {
    const patch = this.#steps.count > 0 ? NO_PATCH : { release: true, ...this.#rowChanges.take() };
    // A crash before this append leaves a run that is paused and held; its lease ends, and no process takes it.
    if (patch.release || this.#recorder.isBehind || this.#waits?.hasNewHooks) this.#append(patch);
  }

  /** Appends what is new, if anything is; then the new steps begin. */
  #write(steps: Call[]): void {
    const isIdle = steps.length === 0 && this.#steps.count === 0 && !this.#calls.hasAnswers;
    if (isIdle && !this.#hasTicked) return this.#schedule();
    const change = isIdle ? this.#parking.park(this.#waits?.current()) : this.#parking.wake();
    const patch = this.#rowChanges.hasFresh ? { ...change, ...this.#rowChanges.take() } : (change ?? NO_PATCH);
    // A crash before this append repeats the calls it would have recorded; a crash after it finds them answered.
    if (this.#recorder.isBehind || this.#waits?.hasNewHooks || patch !== NO_PATCH) return this.#append(patch, steps);
    this.#written = { steps, patch };
    this.#begin();
  }

  /** What has just been written lets the new steps begin. */
  readonly #begin = (): void => {
    const { steps, patch } = this.#written;
    this.#written = NOTHING;
    if (patch.release) return this.#leave('parked');
    if (steps.length > 0 && !this.#beginning.isConfirmed) return this.#confirm(steps);
    // Nothing recorded since its owner died here: should a step kill the process, it is known which.
    if (steps.length === 0 || this.run.crashSeq !== this.#recorder.count) return this.#start(steps);
    const mark = this.#beginning.mark(this.#recorder.count, [...steps, ...this.#calls.open]);
    this.#writing.after(mark, (isOurs) => (isOurs ? this.#start(steps) : this.drop(notOurs())));
  };

  /**
   * The steps were recorded as open before the run was loaded, so no append of this life has shown that it is still to
   * be run: it may have been cancelled meanwhile.
   */
  #confirm(steps: Call[]): void {
    this.#writing.after(this.#beginning.whyOver(), (over) => {
      if (over) return this.abandon(over);
      this.#written = { steps, patch: NO_PATCH };
      this.#begin();
    });
  }

  #start(steps: Call[]): void {
    for (const call of this.#holding.filter(steps)) this.#steps.begin(call);
    if (!this.#left) this.#waits?.arm();
  }

  #finish(result: Result): void {
    this.#finishing.result ??= result;
    this.#schedule();
  }

  #sendEnd(end: RunPatch, extras: AppendExtras): void {
    const patch = this.#rowChanges.hasFresh ? { ...end, ...this.#rowChanges.take() } : end;
    this.#writing.begin();
    this.#written = { steps: NO_CALLS, patch };
    // A crash before this append replays the body to the same end; after it there is the next run of a chain.
    const hooks = this.#waits?.hasNewHooks ? this.#calls.takeNewHooks() : undefined;
    this.#appender.send(patch, hooks ? { ...hooks, ...extras } : extras);
  }

  /** The body has ended, or has had time enough to make the call: its code makes it no more. */
  #awaitMissing(record: JournalRecord): void {
    const block = (): void => this.#block(undelivered(record));
    if (this.#finishing.result) return block();
    // Made at the last moment; or others are in front of it in a limiter that runs share, for as long as their steps take.
    const isLate = (): boolean => this.#calls.missing !== record || this.#handle.hasUncalled;
    this.#missing = startPatience(this.#driver.limits.patience, () => (isLate() ? this.#schedule() : block()));
  }

  // --- internal: leaving ---

  get #waits(): Waits | undefined {
    return this.#calls.waitsSoFar;
  }

  #append(patch: RunPatch, steps = NO_CALLS): void {
    this.#written = { steps, patch };
    const signals = patch.wakeAt === undefined && !patch.release ? undefined : { signals: this.signals };
    this.#writing.begin();
    const hasMore = signals || this.#waits?.hasNewHooks;
    this.#appender.send(patch, hasMore ? { ...signals, ...this.#calls.takeNewHooks() } : NO_EXTRAS);
  }

  #appended(result: AppendResult): void {
    if (result.outcome === 'final') return this.abandon(new Error(`The run is ${result.status}.`));
    if (result.outcome !== 'appended') return this.drop(new Error(`The run is not ours any more (${result.outcome}).`));
    this.#beginning.confirm();
    if (result.refused && result.refused.length > 0) this.#calls.waits.refuse(result.refused);
    const { patch } = this.#written;
    if (isEnd(patch)) this.#leave('ended', toLeft(this.run, patch, this.#recorder, result));
    else this.#writing.goOn(this.#begin);
  }

  #block(mismatch: Mismatch): void {
    if (this.#left) return;
    const patch = toBlocked(this.run, this.#body, mismatch);
    // Outside: the body itself runs into the mismatch, and may use none of the sockets and timers of a store.
    runOutside(() => {
      this.#leave('blocked', { reason: new Error(mismatch.message) });
      // A crash before this append finds the same mismatch again.
      this.#appender.sendLast(patch, () => this.#calls.takeNewHooks()).catch(() => {});
    });
  }

  #leave(how: Leave, left: Left = {}): void {
    if (this.#left) return;
    this.#left = true;
    this.#waits?.stop();
    this.#missing?.end();
    this.#parking.stop();
    if (this.#handle.mayBeAwaited) this.#calls.giveUp(leftError());
    if (this.#steps.count > 0 || this.#holding.isHeld) this.#steps.abort(left.reason);
    this.#driver.left(this.run, how, left);
  }
}

// --- internal ---

const NO_PATCH: RunPatch = {};
const NO_CALLS: Call[] = [];
const NOTHING: { steps: Call[]; patch: RunPatch } = { steps: NO_CALLS, patch: NO_PATCH };
