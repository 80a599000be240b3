import type { WriteMark } from '../../stores/write-mark.ts';
import type { Call } from '../call.ts';
import { runInContext } from '../context.ts';
import type { StepContext } from '../context.ts';
import type { Spent } from '../journal/run.ts';
import { createDeadline } from './attempt-deadline.ts';
import type { Deadline } from './attempt-deadline.ts';
import type { RunHandle } from '../handle.ts';
import { addTokens } from './outcome.ts';
import { keyRunId } from './seed.ts';

export interface StepAttemptOptions {
  call: Call;
  name: string;
  startedAt: number;
  execution: RunHandle;
  /** Their signal aborts when the run leaves this process before its end. */
  attempts: { readonly signal: AbortSignal };
  deadline: Deadline | undefined;
  /** Fails the attempt. */
  steps: { crash(call: Call, attempt: StepAttempt, error: unknown): void };
}

/** One attempt of a step. Most never ask for their signal or their key, so these are made when they do. */
export class StepAttempt implements StepContext {
  readonly kind = 'step';
  readonly execution: RunHandle;
  readonly stepId: string;
  readonly stepName: string;
  readonly call: number;
  readonly attempt: number;
  readonly startedAt: number;
  readonly firstStartedAt: number;
  starts?: string[];
  mark?: WriteMark;
  /** What models have used for it. Undefined: nothing. */
  spent: Spent | undefined;
  #ends: (() => void)[] | undefined;
  readonly #attempts: StepAttemptOptions['attempts'];
  /** Of one without limits, once its signal is asked for. */
  #deadline: Deadline | undefined;
  readonly #call: Call;
  readonly #steps: StepAttemptOptions['steps'];
  #isOver = false;
  /** Fails the part that runs. Null: none does, and one has. */
  #failPart: ((error: unknown) => void) | null | undefined;

  constructor({ call, name, startedAt, execution, attempts, deadline, steps }: StepAttemptOptions) {
    this.execution = execution;
    this.stepId = call.stepId;
    this.stepName = name;
    this.call = call.call;
    this.attempt = call.attempt;
    this.startedAt = startedAt;
    this.firstStartedAt = call.firstStartedAt ?? startedAt;
    this.#attempts = attempts;
    this.#call = call;
    this.#steps = steps;
    this.#deadline = deadline;
  }

  get isCancelled(): boolean {
    return this.#call.isCancelled;
  }

  get signal(): AbortSignal {
    return (this.#deadline ??= this.#followRun()).signal;
  }

  onEnd(work: () => void): void {
    (this.#ends ??= []).push(work);
  }

  async runPart<T>(work: () => Promise<T>): Promise<T> {
    const crashed = new Promise<never>((_, reject) => {
      this.#failPart = reject;
    });
    try {
      return await Promise.race([work(), crashed]);
    } finally {
      this.#failPart = null;
    }
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  crash(error: unknown): boolean {
    if (this.#isOver || this.#deadline?.isOver || this.execution.hasLeft) return false;
    if (this.#failPart !== undefined) {
      this.#failPart?.(error);
      const isFailed = this.#failPart !== null;
      this.#failPart = null;
      return isFailed;
    }
    this.#steps.crash(this.#call, this, error);
    // What it still does goes on beside the next attempt, unless it stops on its signal.
    this.#deadline?.abort(error);
    return true;
  }

  /** It is over. */
  end(): void {
    this.#isOver = true;
    const ends = this.#ends;
    this.#ends = undefined;
    for (const work of ends ?? []) work();
  }

  beat(): void {
    this.#deadline?.beat();
  }

  spend(tokens: Spent): void {
    this.spent = this.spent ? addTokens(this.spent, tokens) : tokens;
  }

  get idempotencyKey(): string {
    return `${keyRunId(this.execution.run)}:${this.call}:${this.stepName}`;
  }

  // --- internal ---

  #followRun(): Deadline {
    const deadline = createDeadline(this.#attempts.signal, {}, (work) => runInContext(this, work));
    if (!this.#isOver) this.onEnd(deadline.clear);
    return deadline;
  }
}
