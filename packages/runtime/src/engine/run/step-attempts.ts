import { setMaxListeners } from 'node:events';
import type { Call, CallHistory, RunAction } from '../call.ts';
import { runInContext } from '../context.ts';
import type { RunHandle } from '../handle.ts';
import type { StepKind } from '../journal/record.ts';
import { resultBytesOf } from '../limits.ts';
import { decode, encode } from '../serialize.ts';
import { redactFor } from '../values/redact.ts';
import { AbortingAnswer } from '../values/signals.ts';
import { createDeadline } from './attempt-deadline.ts';
import type { Driver } from './driver.ts';
import { encodeError, encodeResult, isFatal, retryTime } from './outcome.ts';
import type { PartEvents } from './part-events.ts';
import type { RecordFields } from './recorder.ts';
import type { RunSignals } from './run-signals.ts';
import { StepAttempt } from './step-context.ts';

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

export interface StepAttemptsOptions {
  /** With the abort signals its body has handed out, if any. */
  execution: RunHandle & { readonly abortSignalsSoFar: RunSignals | undefined };
  driver: Pick<Driver, 'clock' | 'limits' | 'ambient' | 'attempt'>;
  calls: {
    /** The last attempt has ended: the step is over. */
    answer(call: Call, fields: RecordFields): void;
    /** The attempt has failed, and the next one is due at `wakeAt`, by the store's clock. */
    retryAt(call: Call, fields: RecordFields, wakeAt: number): void;
  };
  events: Pick<PartEvents, 'hasLeft'>;
}

/** The steps of one run that are under way: begins each attempt, and says the outcome of it, or when the next is due. */
export class StepAttempts {
  readonly #options: StepAttemptsOptions;
  #running = 0;
  #scope = new Scope();

  constructor(options: StepAttemptsOptions) {
    this.#options = options;
  }

  /** Attempts under way. */
  get count(): number {
    return this.#running;
  }

  begin(call: Call): void {
    const { driver, execution } = this.#options;
    const action = call.action as RunAction;
    call.attempt += 1;
    this.#running += 1;
    // Not before what the body has seen, should the clock have been set back meanwhile: a retry recognises by it what came after a failure.
    const startedAt = Math.max(driver.clock.now(), call.madeAt);
    call.runningSince = startedAt;
    call.firstStartedAt ??= startedAt;
    const { timeout, heartbeat } = action.policy;
    const isLimited = timeout !== undefined || heartbeat !== undefined;
    const deadline = isLimited
      ? createDeadline(this.#scope.signal, { timeout, heartbeat }, (work) => runInContext(context, work))
      : undefined;
    const { name } = action;
    const attempts = this.#scope;
    const context: StepAttempt = new StepAttempt({ call, name, startedAt, execution, deadline, attempts, steps: this });
    let outcome: unknown;
    try {
      outcome = runInContext(context, () => driver.attempt(context, () => action.run(context)));
    } catch (error) {
      deadline?.clear();
      return this.#failed(call, context, error);
    }
    if (!deadline && !isThenable(outcome)) return this.#returned(call, context, outcome);
    (deadline ? deadline.race(outcome) : Promise.resolve(outcome)).then(
      (value) => this.#returned(call, context, value),
      (error: unknown) => this.#failed(call, context, error),
    );
  }

  /** Code of the attempt threw where the attempt could not catch it. */
  crash(call: Call, context: StepAttempt, error: unknown): void {
    this.#failed(call, context, error);
  }

  /** When the next attempt of a step is due whose last one failed before the run was loaded. Undefined: none has. */
  static dueAfter(history: CallHistory | undefined): number | undefined {
    const last = history?.retries.at(-1);
    return last?.output ? (decode(last.output) as number) : undefined;
  }

  /** Those of the open calls that are under way. */
  static list(open: Iterable<Call>): RunningStep[] {
    return [...open].flatMap(({ call, kind, stepId, attempt, runningSince, action }) => {
      if (runningSince === undefined || action.type !== 'run') return [];
      const { name, policy } = action;
      return [{ call, kind, stepId, name, attempt, startedAt: runningSince, timeout: policy.timeout ?? null }];
    });
  }

  /** Aborts those under way; what begins later does not see it. */
  abort(reason: unknown): void {
    this.#scope.abort(reason);
    this.#scope = new Scope();
  }

  // --- internal ---

  /** A value that is still to be read, such as the body of a response, is read first. */
  #returned(call: Call, context: StepAttempt, value: unknown): void {
    if (context.isOver) return;
    if (this.#options.events.hasLeft()) return context.end();
    const action = call.action as RunAction;
    const isPlain = typeof value !== 'object' || value === null;
    let reading: Promise<void> | undefined;
    try {
      reading = isPlain ? undefined : runInContext(context, () => action.settle?.(value));
    } catch (error) {
      return this.#unrecordable(call, context, error);
    }
    if (!reading) return this.#succeeded(call, context, value);
    reading.then(
      () => this.#succeeded(call, context, value),
      (error: unknown) => this.#failed(call, context, error),
    );
  }

  #succeeded(call: Call, context: StepAttempt, value: unknown): void {
    if (context.isOver) return;
    context.end();
    const { startedAt, spent } = context;
    let fields: RecordFields;
    try {
      const output = this.#encode(call, value);
      const tokens = (call.action as RunAction).tokensOf?.(value) ?? spent ?? null;
      fields = { event: 'done', startedAt, output, tokens };
    } catch (error) {
      return this.#unrecordable(call, context, error);
    }
    if (this.#ended(call)) this.#options.calls.answer(call, fields);
  }

  /** The step has done its work: to do it again would not make its result another one. */
  #unrecordable(call: Call, context: StepAttempt, error: unknown): void {
    context.end();
    const { startedAt, spent } = context;
    if (!this.#ended(call)) return;
    const fields = { event: 'failed', startedAt, error: this.#encodeError(error), tokens: spent ?? null } as const;
    this.#options.calls.answer(call, fields);
  }

  #failed(call: Call, context: StepAttempt, thrown: unknown): void {
    if (context.isOver) return;
    context.end();
    const { startedAt, spent } = context;
    if (!this.#ended(call)) return;
    const tokens = spent ?? null;
    const { policy } = call.action as RunAction;
    const error = this.#encodeError(thrown);
    const isOver = isFatal(thrown) || this.#options.execution.abortSignalsSoFar?.hasGivenUp(call.call, thrown) === true;
    if (isOver || call.attempt > policy.maxRetries) {
      const output = this.#encodeAborts(call);
      return this.#options.calls.answer(call, { event: 'failed', startedAt, error, output, tokens });
    }
    const wakeAt = retryTime(thrown, this.#options.driver.clock.now(), policy.delay(call.attempt));
    this.#options.calls.retryAt(
      call,
      { event: 'retry', startedAt, error, output: encode(wakeAt, 'wakeAt'), tokens },
      wakeAt,
    );
  }

  #encodeError(error: unknown): string {
    const { driver, execution } = this.#options;
    return encodeError(error, redactFor(driver.ambient, execution.run));
  }

  /** With what the step has aborted of its body. */
  #encode(call: Call, value: unknown): string | null {
    const { driver, execution } = this.#options;
    const aborts = execution.abortSignalsSoFar?.takeAborts(call.call);
    const given = aborts ? new AbortingAnswer(value, aborts) : value;
    return encodeResult(given, 'result', resultBytesOf(execution.run, driver.limits));
  }

  #encodeAborts(call: Call): string | null {
    try {
      return this.#encode(call, undefined);
    } catch {
      // A reason that cannot be recorded does not take the place of the step's own error.
      return null;
    }
  }

  /** False: the run has left meanwhile, and what the attempt came to is of no use. */
  #ended(call: Call): boolean {
    if (this.#options.events.hasLeft()) return false;
    this.#running -= 1;
    call.runningSince = undefined;
    return true;
  }
}

// --- internal ---

/** What the attempts under way are aborted by, together. Most never ask for it. */
class Scope {
  #made: AbortController | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  get #controller(): AbortController {
    if (!this.#made) {
      this.#made = new AbortController();
      // As many listen as there are attempts at once, which is no leak.
      setMaxListeners(0, this.#made.signal);
    }
    return this.#made;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
