import type { Call } from '../call.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { Driver } from './driver.ts';

export interface BeginningOptions {
  run: RunRow;
  driver: Pick<Driver, 'findRun' | 'mark'>;
}

/** What has to be known, or stored, before steps that were recorded earlier may begin in this life of the run. */
export class Beginning {
  readonly #options: BeginningOptions;
  #isConfirmed: boolean;

  constructor(options: BeginningOptions) {
    this.#options = options;
    this.#isConfirmed = options.run.epoch <= 1;
  }

  /** The run is this process's own, and not over: an append of this life has shown it. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  confirm(): void {
    this.#isConfirmed = true;
  }

  /** Why the run may not go on, having been cancelled or deleted meanwhile. Undefined: it may. */
  async whyOver(): Promise<Error | undefined> {
    const row = await this.#options.driver.findRun(this.#options.run.runId);
    if (!row || isFinal(row.status)) return new Error(`The run is ${row?.status ?? 'gone'}.`);
    this.confirm();
    return undefined;
  }

  /** Stores what a suspect is about to run, at which position. False: the run is not ours any more. */
  mark(seq: number, calls: Iterable<Call>): Promise<boolean> {
    const { run, driver } = this.#options;
    const { runId, epoch } = run;
    const steps = new Set([...calls].filter((call) => call.action.type === 'run'));
    return driver.mark(
      { runId, epoch, seq },
      Array.from(steps, (call) => call.stepId),
    );
  }
}
