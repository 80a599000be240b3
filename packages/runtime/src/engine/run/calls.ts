import type { Call, CallHistory, CallRequest, HookRequest, OpenHook } from '../call.ts';
import { historyOf } from '../call.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { Answer } from './answer.ts';
import { mismatchOf, unreadable } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { decode, digestOf, encode } from '../serialize.ts';
import type { Driver } from './driver.ts';
import type { RecordFields, Recorder } from './recorder.ts';
import { isKept } from './retried-run.ts';
import { StepAttempts } from './step-attempts.ts';
import { Waits } from './waits.ts';

export interface CallsOptions {
  run: RunRow;
  /** What an earlier life of the run has recorded. */
  records: readonly JournalRecord[];
  /** The time of the body until its first answer. */
  time: number;
  recorder: Recorder;
  driver: Driver;
  /** There is something to do. */
  onChange(): void;
  /** The code asks for something else than is recorded. */
  onMismatch(mismatch: Mismatch): void;
  onFailed(error: unknown): void;
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

  constructor(options: CallsOptions) {
    const { records } = options;
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

  /** The body has not come to the end of what is recorded. */
  get isReplaying(): boolean {
    return this.#isReplaying;
  }

  get open(): IterableIterator<Call> {
    return this.#open.values();
  }

  /** The body makes a call. */
  invoke(request: CallRequest): Promise<unknown> {
    const { driver, onMismatch, onChange } = this.#options;
    const call = this.#count++;
    const digest = digestOf(request.input);
    const answered = driver.called?.(call, request);
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, { ...request, digest });
    if (request.action.type === 'event')
      this.waits.expectResume(request.action, history?.answer !== undefined && isKept(history.answer));
    let resolve!: (value: unknown) => void;
    let reject!: (error: unknown) => void;
    const answer = new Answer((...both) => ([resolve, reject] = both));
    const { kind, stepId, input, action } = request;
    const attempt = history?.retries.length ?? 0;
    const firstStartedAt = history?.retries[0]?.startedAt;
    const made = { madeAt: this.#time, runningSince: undefined, firstStartedAt, answer, resolve, reject };
    const entry: Call = { kind, stepId, input, action, call, digest, attempt, ...made };
    this.#open.set(call, entry);
    if (answered) answer.then(answered, answered);
    if (mismatch) onMismatch(mismatch);
    else {
      if (!history?.answer) this.#fresh.push(entry);
      onChange();
    }
    return answer;
  }

  /** The body makes a hook. */
  openHook(request: HookRequest): OpenHook {
    const { driver, recorder, onMismatch } = this.#options;
    const call = this.#count++;
    const input = encode(request, 'hook');
    const named = { call, kind: 'hook' as const, stepId: request.kind, digest: digestOf(input), input, attempt: 1 };
    const answered = driver.called?.(call, { kind: 'hook', stepId: request.kind, input });
    const history = this.#history.get(call);
    const mismatch = mismatchOf(history, named);
    if (mismatch) onMismatch(mismatch);
    const { hook, fresh } = this.waits.openHook(call, request, history);
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
    this.#deliveries.push(this.#options.recorder.record(call, fields));
    this.#options.onChange();
  }

  /** Records a failed attempt, after which another is due. */
  retryAt(call: Call, fields: RecordFields, wakeAt: number): void {
    this.#options.recorder.record(call, fields);
    this.waits.retryAt(call, wakeAt);
    this.#options.onChange();
  }

  /** Answers the body has not been given yet. */
  get hasAnswers(): boolean {
    return this.#deliveries.length > 0;
  }

  /**
   * The next answer is of a call that the body has not made again. It may still make it: what it awaits need not be the
   * engine's. Undefined: it has.
   */
  get missing(): JournalRecord | undefined {
    const [record] = this.#deliveries;
    return record && !this.#open.has(record.call) ? record : undefined;
  }

  /** Steps that nothing has asked the answer of, and that are not over. */
  get hasUnawaited(): boolean {
    for (const { action, answer } of this.#open.values()) if (action.type === 'run' && !answer.isAwaited) return true;
    return false;
  }

  /** Gives the body its next answer. False: there is none, or its call has not been made. */
  deliver(): boolean {
    const [record] = this.#deliveries;
    const call = record && this.#open.get(record.call);
    if (!record || !call) return false;
    const { run, onMismatch } = this.#options;
    this.#deliveries.shift();
    this.#open.delete(record.call);
    this.#waitsMade?.end(record.call);
    this.#time = Math.max(this.#time, record.at);
    this.#isReplaying = record.seq < run.seq;
    try {
      if (record.event === 'done') call.resolve(record.output === null ? undefined : decode(record.output));
      else {
        call.answer.ignoreUnhandled();
        if (!call.answer.isAwaited) this.#unheard.push(call);
        call.reject(record.error === null ? new Error('The step failed.') : decode(record.error));
      }
    } catch (error) {
      onMismatch(unreadable(record, error));
    }
    return true;
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
    const { run, driver, recorder, onChange, onFailed } = this.#options;
    return (this.#waitsMade ??= new Waits({
      run,
      driver,
      open: this.#open,
      historyOf: ({ call }) => this.#history.get(call),
      isAnswered: (call) => this.#deliveries.some((record) => record.call === call),
      onAnswer: (call, fields) => this.answer(call, fields),
      onSet: (call, fields) => void recorder.record(call, fields),
      onRetryDue: (call) => void this.#fresh.push(call),
      onChange,
      onFailed,
    }));
  }

  /** The same, if there is one. */
  get waitsSoFar(): Waits | undefined {
    return this.#waitsMade;
  }

  // --- internal ---

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
