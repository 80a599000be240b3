import type { AppendResult, RunPatch } from '../journal/appends.ts';
import type { AppendExtras, Recorder } from './recorder.ts';
import type { Appender } from '../worker/watchers.ts';

export interface RunWriterOptions {
  recorder: Recorder;
  append: Appender;
  onSent(result: AppendResult): void;
  onFailed(error: unknown): void;
}

/** Sends to the store what a run records: one append at a time, and after the one under way the last of a run that is let go. */
export class RunWriter {
  readonly #options: RunWriterOptions;
  #isSending = false;
  /** Waits for the append under way. */
  #next: (() => void) | undefined;

  constructor(options: RunWriterOptions) {
    this.#options = options;
  }

  get isSending(): boolean {
    return this.#isSending;
  }

  send(patch: RunPatch, extras: AppendExtras): void {
    const { append, recorder } = this.#options;
    this.#isSending = true;
    append(recorder.take(patch, extras), this.#sent, this.#failed);
  }

  /** What goes with it is asked for when its turn has come. */
  sendLast(
    patch: RunPatch,
    extrasOf: () => AppendExtras,
    done: (result: AppendResult) => void,
    failed: (error: unknown) => void,
  ): void {
    const { append, recorder } = this.#options;
    this.#afterThis(() => append(recorder.take(patch, extrasOf()), done, failed));
  }

  /** Once the append under way is on disk, or has failed. */
  landed(): Promise<void> {
    return new Promise((resolve) => this.#afterThis(resolve));
  }

  #afterThis(work: () => void): void {
    if (!this.#isSending) return work();
    this.#next = () => {
      this.#next = undefined;
      work();
    };
  }

  // Made once for a run: there is an append for every step.
  readonly #sent = (result: AppendResult): void => {
    this.#land();
    this.#options.onSent(result);
  };

  readonly #failed = (error: unknown): void => {
    this.#land();
    this.#options.onFailed(error);
  };

  #land(): void {
    this.#isSending = false;
    this.#next?.();
  }
}
