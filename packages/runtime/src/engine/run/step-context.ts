import type { Call } from '../call.ts';
import type { StepContext } from '../context.ts';
import type { Deadline } from './deadline.ts';
import type { RunHandle } from '../handle.ts';
import { keyRunId } from './retried-run.ts';

export interface StepAttemptOptions {
  call: Call;
  name: string;
  startedAt: number;
  execution: RunHandle & { readonly signal: AbortSignal };
  deadline: Deadline | undefined;
}

/** One attempt of a step. Most never ask for their signal or their key, so these are made when they do. */
export class StepAttempt implements StepContext {
  readonly kind = 'step';
  readonly execution: StepAttemptOptions['execution'];
  readonly stepId: string;
  readonly stepName: string;
  readonly call: number;
  readonly attempt: number;
  readonly startedAt: number;
  readonly firstStartedAt: number;
  starts?: string[];
  readonly #deadline: Deadline | undefined;

  constructor({ call, name, startedAt, execution, deadline }: StepAttemptOptions) {
    this.execution = execution;
    this.stepId = call.stepId;
    this.stepName = name;
    this.call = call.call;
    this.attempt = call.attempt;
    this.startedAt = startedAt;
    this.firstStartedAt = call.firstStartedAt ?? startedAt;
    this.#deadline = deadline;
  }

  get signal(): AbortSignal {
    return this.#deadline?.signal ?? this.execution.signal;
  }

  get idempotencyKey(): string {
    return `${keyRunId(this.execution.run)}:${this.call}:${this.stepName}`;
  }
}
