import type { Call } from '../call.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';
import { real } from '../real.ts';
import type { PartEvents } from './part-events.ts';
import { describeWait } from './waiting-for.ts';

export interface ParkingOptions {
  run: RunRow;
  /** A wait at least this long leaves memory, in milliseconds. */
  parkAfter: number;
  /** Called when a run that waits for others has done nothing for that long: look again. */
  events: Pick<PartEvents, 'onChange'>;
}

/** What a run waits for that can do nothing by itself. */
export interface Wait {
  /** The call that is due first, or one of those that others answer. */
  call: Call;
  /** By the store's clock. Undefined: no call is ever due. */
  wakeAt: number | undefined;
  /** Milliseconds until then. */
  left: number;
  /** A resume or a child's end may come at any moment: such a run stays in memory for a while. */
  isForOthers: boolean;
}

/** Whether the row of a run says that it waits, and when a run that waits leaves memory. */
export class Parking {
  readonly #options: ParkingOptions;
  #status: RunRow['status'];
  /** The row still says what the run waited for before it was taken up again. */
  #isWaitStale: boolean;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #isIdleOver = false;
  #isResting = false;

  constructor(options: ParkingOptions) {
    const { run } = options;
    this.#options = options;
    this.#status = run.status;
    this.#isWaitStale = run.wakeAt !== null || run.waitingFor !== null;
  }

  /** What the row is to say of what it waits for, if it is for anything; undefined: it says so. */
  park(wait: Wait | undefined): RunPatch | undefined {
    if (!wait) return undefined;
    const { call, wakeAt, left, isForOthers } = wait;
    const release = left >= this.#options.parkAfter && (!isForOthers || this.#hasIdled());
    if (this.#status === 'waiting' && !release) return undefined;
    this.#status = 'waiting';
    this.#isWaitStale = false;
    const waitingFor = JSON.stringify(describeWait(call, wakeAt));
    return { status: 'waiting', wakeAt: wakeAt ?? null, waitingFor, ...(release ? { release } : {}) };
  }

  /** The same, of a run whose body has ended and that waits for others. */
  rest(waitingFor: string): RunPatch | undefined {
    const release = this.#isResting && this.#hasIdled();
    if (this.#isResting && !release) return undefined;
    this.#isResting = true;
    this.#status = 'waiting';
    this.#hasIdled();
    return { status: 'waiting', wakeAt: null, waitingFor, ...(release ? { release } : {}) };
  }

  /** What the row is to say of a run that goes on; undefined: it says so. */
  wake(): RunPatch | undefined {
    this.stop();
    if (this.#status !== 'waiting' && !this.#isWaitStale) return undefined;
    this.#status = 'running';
    this.#isWaitStale = false;
    return { status: 'running', wakeAt: null, waitingFor: null };
  }

  stop(): void {
    real.clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  /** True on the second look, `parkAfter` after the first, when nothing happened in between. */
  #hasIdled(): boolean {
    if (this.#idleTimer !== undefined && this.#status === 'waiting' && this.#isIdleOver) return true;
    if (this.#idleTimer === undefined) {
      this.#isIdleOver = false;
      this.#idleTimer = real.setTimeout(() => {
        this.#isIdleOver = true;
        this.#options.events.onChange();
      }, this.#options.parkAfter);
    }
    return false;
  }
}
