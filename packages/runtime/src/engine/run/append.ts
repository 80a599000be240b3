import type { Append, AppendResult, RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';
import { UnstorableError } from '../journal/unstorable.ts';
import { isGone, persistLarge } from '../large-values.ts';
import { persistAfter } from '../persist.ts';
import { real } from '../real.ts';
import { unrecordable } from '../mismatch.ts';
import type { Driver } from './driver.ts';
import type { PartEvents } from './part-events.ts';
import type { AppendExtras, Recorder } from './recorder.ts';
import { toText } from '../values/text.ts';

export interface RunAppenderOptions {
  run: RunRow;
  recorder: Recorder;
  driver: Pick<Driver, 'append' | 'publish' | 'leaseMs' | 'large' | 'ambient'>;
  events: Pick<PartEvents, 'hasLeft' | 'onAppended' | 'onFailed' | 'onMismatch'>;
}

/**
 * The way of every append of a run, one at a time:
 *
 *   1. take      what is recorded and on no disk becomes one entry, with the change of the run's row (`recorder.ts`)
 *   2. keep      what of it is too large for the journal is put into object storage (`large-values.ts`); while that
 *                fails it is repeated, for as long as the run is this process's
 *   3. commit    the journal takes it whole or not at all, in one commit with what other runs append meanwhile
 *                (`group-commit.ts`); while the store fails it is repeated, for as long as the lease may last. What the
 *                store refuses for what it holds is not: the run is blocked, since its next life would write the same
 *   4. publish   what it says goes to whoever follows runs: events, traces, figures (`worker/publisher.ts`)
 *   5. go on      the execution begins the steps that were waiting for it, or leaves (`execution.ts`)
 */
export class RunAppender {
  readonly #options: RunAppenderOptions;
  #isSending = false;
  /** The entry that is under way. */
  #sent: Append | undefined;
  /** Waits for the append under way. */
  #next: (() => void) | undefined;

  constructor(options: RunAppenderOptions) {
    this.#options = options;
  }

  get isSending(): boolean {
    return this.#isSending;
  }

  /** To be called when no append is under way. */
  send(patch: RunPatch, extras: AppendExtras): void {
    this.#isSending = true;
    this.#sent = this.#options.recorder.take(patch, extras);
    this.#append(this.#sent, this.#options.run, this.#way);
  }

  /** The last append of a run that has left, after the one under way. What goes with it is asked for then. */
  sendLast(patch: RunPatch, extrasOf: () => AppendExtras): Promise<AppendResult> {
    return new Promise((resolve, reject) =>
      this.#afterThis(() => {
        const { driver, recorder } = this.#options;
        const entry = recorder.take(patch, extrasOf());
        const landed = (result: AppendResult): void => {
          driver.publish(entry, result, undefined);
          resolve(result);
        };
        this.#append(entry, undefined, {
          landed,
          failed: reject,
          trouble: (error) => this.#persist(entry, error, { landed, failed: reject }),
        });
      }),
    );
  }

  /** Once the append under way is on disk, or has failed. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.#afterThis(resolve));
  }

  // Callbacks: for each step of a run a promise more would cost as much as the rest.
  #append(entry: Append, run: RunRow | undefined, way: Way): void {
    const { driver } = this.#options;
    const isTurn = this.#options.run.kind === 'agent';
    const keep = isTurn ? undefined : driver.large.keepEntry(entry);
    if (!keep) driver.append(entry).then(way.landed, way.trouble);
    // A crash between the two leaves objects that nothing names, and the calls to be repeated.
    else
      this.#keep(keep, run).then(
        (kept) => driver.append(kept).then(way.landed, (error: unknown) => this.#persist(kept, error, way)),
        (error: unknown) => this.#giveUp(entry, error, way.failed),
      );
  }

  #persist(entry: Append, error: unknown, { landed, failed }: Pick<Way, 'landed' | 'failed'>): void {
    const { driver } = this.#options;
    const giveUp = real.performanceNow() + driver.leaseMs;
    const mayPass = (last: unknown): boolean => !isRefused(last);
    persistAfter(error, () => driver.append(entry), { giveUp, mayPass }).then(landed, (last: unknown) =>
      this.#giveUp(entry, last, failed),
    );
  }

  #giveUp(entry: Append, error: unknown, failed: (error: unknown) => void): void {
    if (isRefused(error)) this.#options.recorder.forget(entry);
    failed(error);
  }

  /** @param run undefined: it has left, and waits for nobody longer than its lease lasts */
  #keep(keep: () => Promise<Append>, run: RunRow | undefined): Promise<Append> {
    const { driver, events } = this.#options;
    return persistLarge(keep, {
      ...(run ? { isOver: events.hasLeft } : { isOver: () => false, limitMs: driver.leaseMs }),
      onTrouble: (error) =>
        driver.ambient.log({ level: 'warn', message: `${NOT_KEPT} ${toText(error)}`, run: this.#options.run }),
    });
  }

  // Made once for a run: there is an append for every step.
  readonly #way: Way = {
    landed: (result) => {
      const { driver, run, events } = this.#options;
      driver.publish(this.#sent as Append, result, run);
      this.#end();
      events.onAppended(result);
    },
    failed: (error) => {
      this.#end();
      const { events } = this.#options;
      if (isRefused(error)) events.onMismatch(unrecordable(error));
      else events.onFailed(error);
    },
    trouble: (error) => this.#persist(this.#sent as Append, error, this.#way),
  };

  #end(): void {
    this.#isSending = false;
    this.#sent = undefined;
    this.#next?.();
  }

  #afterThis(work: () => void): void {
    if (!this.#isSending) return work();
    this.#next = () => {
      this.#next = undefined;
      work();
    };
  }
}

// --- internal ---

/** What follows an append: it has landed; it will not; the store has failed, and it is tried again. */
interface Way {
  landed(this: void, result: AppendResult): void;
  failed(this: void, error: unknown): void;
  trouble(this: void, error: unknown): void;
}

/** However often it is tried. */
function isRefused(error: unknown): boolean {
  return isGone(error) || error instanceof UnstorableError;
}

const NOT_KEPT =
  'A value of the run is too large for the journal and cannot be put into object storage; it is tried again.';
