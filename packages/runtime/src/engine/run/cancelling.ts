import { readCancel } from '../journal/cancel.ts';
import type { Cancel } from '../journal/cancel.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { JournalRecord } from '../journal/record.ts';
import { isFinal } from '../journal/run.ts';
import { decode } from '../serialize.ts';
import type { RunRow } from '../journal/run.ts';

/**
 * The cancel of one run while its code cleans up. What the body awaited is answered with the error of the cancel, in one
 * append, so a replay sees it at the same place; from there on calls are as any others.
 */
export class Cancelling {
  #cancel: Cancel | undefined;
  #isDelivered = false;

  constructor(run: RunRow, records: readonly JournalRecord[]) {
    this.ask(run);
    if (!this.#cancel) return;
    this.#isDelivered = records.some(({ error }) => error === this.#cancel?.error);
    // It was over before it saw the cancel: a replay sees none either.
    if (isFinal(run.status) && !this.#isDelivered) this.#cancel = undefined;
  }

  /** What the row says. False: that is known, or the run is not cancelled. */
  ask(row: Pick<RunRow, 'cancel'>): boolean {
    if (this.#cancel || row.cancel === null) return false;
    this.#cancel = readCancel(row);
    return true;
  }

  /** The body has not been given it. */
  get isDue(): boolean {
    return this.#cancel !== undefined && !this.#isDelivered;
  }

  /** What the run was cancelled with. */
  toError(): Error {
    return decode(this.#cancel?.error ?? '') as Error;
  }

  /** The error for the calls that are open. */
  deliver(): string {
    this.#isDelivered = true;
    return this.#cancel?.error ?? '';
  }

  /** What the run ends as, whatever its body returns or throws. Undefined: it is not cancelled. */
  get end(): RunPatch | undefined {
    if (!this.#cancel) return undefined;
    const { status, error } = this.#cancel;
    return { status, error, waitingFor: null, wakeAt: null };
  }
}
