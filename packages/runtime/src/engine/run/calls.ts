import type { Arguments, Call, CallHistory, CallRecord, CallRequest, HookRequest, ListedBeside } from '../call.ts';
import type { OpenHook } from '../call.ts';
import { firstOf, historyOf } from '../call.ts';
import type { Body } from '../body.ts';
import type { Append } from '../journal/appends.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { Answer } from './answer.ts';
import { findCaller, mismatchOf, unreadable } from '../mismatch.ts';
import { decode, digestOf, encode } from '../serialize.ts';
import { isRef } from '../values/large-ref.ts';
import { withRegistry } from '../values/current-registry.ts';
import { AbortingAnswer } from '../values/signals.ts';
import type { Abort } from '../values/signal-ref.ts';
import { mostOf, refusalOfCall, writeArguments } from './arguments.ts';
import type { GivenArguments } from './arguments.ts';
import type { Driver } from './driver.ts';
import { findEdit, toEdited } from './edited-step.ts';
import { compareCall } from './compare-call.ts';
import { rejectCall } from './error-place.ts';
import { boundHook, boundUnwritten } from './bound-hook.ts';
import { LargeReads } from './large-reads.ts';
import { encodeError } from './outcome.ts';
import type { PartEvents } from './part-events.ts';
import type { RecordFields, Recorder } from './recorder.ts';
import { isKept } from './retried-run.ts';
import { StepAttempts } from './step-attempts.ts';
import { Waits } from './waits.ts';

export interface CallsOptions {
  run: RunRow;
  /** Of the code of the run. */
  registry: Body['registry'];
  /** The time of the body until its first answer. */
  time: number;
  recorder: Recorder;
  driver: Driver;
  events: Pick<PartEvents, 'onChange' | 'onMismatch' | 'onFailed'>;
  /** The step whose answer comes next has aborted controllers of the body. */
  onAborts(aborts: readonly Abort[]): void;
  /** Of a value in object storage. */
  readLarge(ref: string): Promise<string>;
}

/** The calls the body of one run makes, each matched with what is recorded of it, and the answers on their way to it. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #history: Map<number, CallHistory>;
  /** Not answered, or answered and not delivered. */
  readonly #open = new Map<number, Call>();
  #deliveries: JournalRecord[];
  #fresh: Call[] = [];
  #unheard: Call[] = [];
  #count = 0;
  #time: number;
  #isReplaying: boolean;
  // Most runs have steps alone.
  #waitsMade: Waits | undefined;
  // And small values.
  #readsMade: LargeReads | undefined;
  /** Calls whose recorded arguments are on their way, to be compared. */
  #comparing = 0;

  /** @param records what an earlier life of the run has recorded */
  constructor(options: CallsOptions, records: readonly JournalRecord[]) {
    this.#options = options;
    this.#history = historyOf(records);
    this.#deliveries = records.filter((record) => record.event === 'done' || record.event === 'failed');
    this.#time = options.time;
    this.#isReplaying = records.length > 0;
  }

  /** The time the body sees: that of the last answer it was given. */
  get time(): number {
    return this.#time;
  }

  /** How many calls the body has made. */
  get made(): number {
    return this.#count;
  }

  /** The body has not come to the end of what is recorded. */
  get isReplaying(): boolean {
    return this.#isReplaying;
  }

  get open(): IterableIterator<Call> {
    return this.#open.values();
  }

  /** What the call that the body makes next is made with. */
  write(given: GivenArguments): Arguments {
    return writeArguments(given, this.#history.get(this.#count), mostOf(this.#options));
  }

  /** The body makes a call. */
  invoke(request: CallRequest): Promise<unknown> {
    const { driver, events } = this.#options;
    const call = this.#count++;
    const digest = request.unwritten?.digest ?? digestOf(request.input);
    const answered = driver.called?.(call, request);
    const history = this.#history.get(call);
    const edit = findEdit(history);
    const mismatch = history && compareCall(history, { ...request, digest }, edit);
    if (request.action.type === 'event')
      this.waits.expectResume(request.action, history?.answer !== undefined && isKept(history.answer));
    let resolve!: (value: unknown) => void;
    let reject!: (error: unknown) => void;
    const answer = new Answer((fulfil, fail) => {
      resolve = fulfil;
      reject = fail;
    });
    const { kind, stepId, input, action } = request;
    // Member by member: two spreads in one object take longer than the rest of a call.
    const entry: Call = {
      kind,
      stepId,
      input,
      action,
      digest,
      call,
      attempt: history?.retries.length ?? 0,
      madeAt: this.#time,
      runningSince: undefined,
      isCancelled: false,
      firstStartedAt: history?.retries[0]?.startedAt,
      answer,
      resolve,
      reject,
    };
    if (edit) Object.assign(entry, toEdited(request, edit));
    this.#open.set(call, entry);
    if (answered) answer.then(answered, answered);
    if (mismatch === 'unread') this.#compareOnceRead(entry, history as CallHistory);
    else if (mismatch) events.onMismatch(mismatch);
    else {
      if (!history) this.#beginOrRefuse(entry, request);
      else if (!history.answer) this.#fresh.push(entry);
      events.onChange();
    }
    return answer;
  }

  /** The body makes a hook. */
  openHook(request: HookRequest, beside?: ListedBeside): OpenHook {
    const { driver, recorder, events } = this.#options;
    boundUnwritten(request, this.#history.get(this.#count)?.set);
    const input = encode(request, 'hook');
    const digest = digestOf(input);
    if (this.#history.get(this.#count)?.set?.digest !== digest) boundHook(request, input);
    const call = this.#count++;
    const named = { call, kind: 'hook' as const, stepId: request.kind, digest, input, attempt: 1 };
    const answered = driver.called?.(call, { kind: 'hook', stepId: request.kind, input });
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, named);
    if (mismatch) events.onMismatch(mismatch);
    const { hook, fresh } = this.waits.openHook({ call, request, history, beside });
    const output = encode({ token: hook.token, expiresAt: hook.expiresAt }, 'token');
    if (fresh && !mismatch) recorder.record(named, { event: 'set', startedAt: driver.clock.now(), output });
    if (history) answered?.();
    return hook;
  }

  /** Of the calls made since the last time: sets off the waits, answers the steps that may begin. */
  takeSteps(): Call[] {
    if (this.#fresh.length === 0) return NO_CALLS;
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh.filter((call) => {
      if (call.action.type === 'run') return !this.#resumeRetry(call);
      this.waits.begin(call);
      return false;
    });
  }

  /** Records the answer of a call, and queues it for the body. */
  answer(call: Call, fields: RecordFields): void {
    if (call.isCancelled) return;
    this.#deliveries.push(this.#options.recorder.record(call, fields));
    this.#options.events.onChange();
  }

  /** Records a failed attempt, after which another is due. */
  retryAt(call: Call, fields: RecordFields, wakeAt: number): void {
    if (call.isCancelled) return;
    this.#options.recorder.record(call, fields);
    this.waits.retryAt(call, wakeAt);
    this.#options.events.onChange();
  }

  /** Answers all open calls with this error, in the order they were made. To be called when no answer is on its way. False: there are none. */
  cancelOpen(error: string): boolean {
    const { recorder, driver } = this.#options;
    this.#fresh = [];
    for (const call of this.#open.values()) {
      call.isCancelled = true;
      const startedAt = call.runningSince ?? driver.clock.now();
      this.#deliveries.push(recorder.record(call, { event: 'failed', startedAt, error }));
    }
    return this.#deliveries.length > 0;
  }

  /** What comes next is in object storage, and on its way from there. */
  get isReading(): boolean {
    if (this.#comparing > 0) return true;
    const record = this.#readsMade && this.#deliveries[this.#nextIndex()];
    return record !== undefined && isRef(record.output) && !this.#reads.isThere(record.output);
  }

  /** There is an answer the body can be given. */
  get hasAnswers(): boolean {
    return this.#nextIndex() >= 0 || this.missing !== undefined;
  }

  /**
   * The next answer is of a call that the body has not made again. It may still make it: what it awaits need not be the
   * engine's. Undefined: it has, or it awaits a call that a retry makes again, and makes this one after it.
   */
  get missing(): JournalRecord | undefined {
    const [record] = this.#deliveries;
    if (!record || this.#nextIndex() >= 0) return undefined;
    return isKept(record) && this.#hasUnanswered() ? undefined : record;
  }

  /** Steps that nothing has asked the answer of, and that are not over. */
  get hasUnawaited(): boolean {
    for (const { action, answer } of this.#open.values()) if (action.type === 'run' && !answer.isAwaited) return true;
    return false;
  }

  /** Gives the body its next answer. False: there is none, its call has not been made, or its value is on its way. */
  deliver(): boolean {
    const index = this.#nextIndex();
    const record = this.#deliveries[index];
    const call = record && this.#open.get(record.call);
    if (!record || !call || this.#comparing > 0) return false;
    if (isRef(record.output) && !this.#reads.isThere(record.output)) {
      this.#readFrom(index, record.output);
      return false;
    }
    const { run, events } = this.#options;
    if (index === 0) this.#deliveries.shift();
    else this.#deliveries.splice(index, 1);
    // What has been replayed is not held for as long as the run lasts.
    this.#history.delete(record.call);
    this.#open.delete(record.call);
    this.#waitsMade?.end(record.call);
    if (call.action.type === 'event' && record.event === 'done') this.waits.takeResume(call.action);
    this.#time = Math.max(this.#time, record.at);
    this.#isReplaying &&= record.seq < run.seq;
    try {
      if (record.event === 'done') call.resolve(this.#read(record.output));
      else {
        this.#read(record.output);
        if (!call.answer.isAwaited) this.#unheard.push(call);
        rejectCall(call, record.error === null ? new Error('The step failed.') : this.#decode(record.error));
      }
    } catch (error) {
      events.onMismatch(unreadable(record, error));
    }
    return true;
  }

  /** Nothing is answered any more: whoever waits for a part of the body, such as a limiter, waits in vain. */
  giveUp(error: Error): void {
    for (const call of this.#open.values()) {
      call.answer.ignoreUnhandled();
      call.reject(error);
    }
  }

  /** Steps whose failure nothing has asked for. */
  listUnheard(): string[] {
    return this.#unheard.filter(({ answer }) => !answer.isAwaited).map(({ stepId }) => stepId);
  }

  /** What an earlier life of the run recorded, and its code has not asked for. */
  findMissed(): JournalRecord | undefined {
    for (const [call, { answer, set, retries }] of this.#history)
      if (call >= this.#count) return answer ?? set ?? retries[0];
    return undefined;
  }

  /** Made when the first call is no step. */
  get waits(): Waits {
    const { run, driver, recorder, events } = this.#options;
    return (this.#waitsMade ??= new Waits({
      run,
      driver,
      open: this.#open,
      historyOf: ({ call }) => this.#history.get(call),
      isAnswered: (call) => this.#deliveries.some((record) => record.call === call),
      onAnswer: (call, fields) => this.answer(call, fields),
      onSet: (call, fields) => void recorder.record(call, fields),
      onRetryDue: (call) => void (call.isCancelled || this.#fresh.push(call)),
      onChange: events.onChange,
      onFailed: events.onFailed,
    }));
  }

  /** The same, if there is one. */
  get waitsSoFar(): Waits | undefined {
    return this.#waitsMade;
  }

  /** The hooks the next append has to store. */
  takeNewHooks(): Pick<Append, 'hooks'> {
    const hooks = this.#waitsMade?.takeNewHooks();
    return hooks && hooks.length > 0 ? { hooks } : {};
  }

  // --- internal ---

  /**
   * Of the answer the body is given next; -1: of none. In the order in which they were recorded, but that what a retry has
   * kept waits for calls it makes again.
   */
  #nextIndex(): number {
    for (let index = 0; ; index += 1) {
      const record = this.#deliveries[index];
      if (!record) return -1;
      if (this.#open.has(record.call)) return index;
      if (!isKept(record)) return -1;
    }
  }

  #hasUnanswered(): boolean {
    const answered = new Set(this.#deliveries.map(({ call }) => call));
    for (const call of this.#open.keys()) if (!answered.has(call)) return true;
    return false;
  }

  /** A refusal is recorded without what it refuses, so it stays one whatever may be recorded later. */
  #beginOrRefuse(call: Call, { unwritten }: CallRequest): void {
    const { driver, recorder } = this.#options;
    const refused = unwritten?.refused ?? refusalOfCall(call, mostOf(this.#options));
    if (!refused) return void this.#fresh.push(call);
    const fields = { event: 'failed' as const, startedAt: driver.clock.now(), error: encodeError(refused) };
    this.#deliveries.push(recorder.record({ ...call, input: null }, fields));
  }

  #read(output: string | null): unknown {
    const text = isRef(output) ? this.#reads.take(output) : output;
    const value = text === null ? undefined : this.#decode(text);
    if (!(value instanceof AbortingAnswer)) return value;
    this.#options.onAborts(value.aborts);
    return value.value;
  }

  #decode(text: string): unknown {
    return withRegistry(this.#options.registry, () => decode(text));
  }

  get #reads(): LargeReads {
    const { readLarge, events } = this.#options;
    return (this.#readsMade ??= new LargeReads({ read: readLarge, onChange: events.onChange }));
  }

  #readFrom(index: number, first: string): void {
    const later = this.#deliveries.slice(index + 1).flatMap(({ output }) => (isRef(output) ? [output] : []));
    this.#reads.begin([first, ...later]);
  }

  /** The digest alone does not decide: the same arguments may be written in another way. */
  #compareOnceRead(call: Call, history: CallHistory): void {
    const { readLarge, events } = this.#options;
    const record = firstOf(history) as CallRecord;
    const at = findCaller(call.stepId);
    this.#comparing += 1;
    readLarge(record.input as string).then(
      (input) => {
        this.#comparing -= 1;
        const mismatch = mismatchOf({ answer: { ...record, input }, retries: [] }, call, at);
        if (mismatch) return events.onMismatch(mismatch);
        if (!history.answer) this.#fresh.push(call);
        events.onChange();
      },
      (error: unknown) => events.onMismatch(unreadable(record, error)),
    );
  }

  /** On replay: a step whose last attempt failed goes on waiting for its next one. */
  #resumeRetry(call: Call): boolean {
    const wakeAt = StepAttempts.dueAfter(this.#history.get(call.call));
    if (wakeAt === undefined) return false;
    this.#history.delete(call.call);
    this.waits.retryAt(call, wakeAt);
    return true;
  }
}

// --- internal ---

const NO_CALLS: Call[] = [];
