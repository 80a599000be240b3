import { newRunId } from '../ids.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';
import { resultBytesOf } from '../limits.ts';
import type { Body } from '../body.ts';
import { undelivered } from '../mismatch.ts';
import { redactFor } from '../values/redact.ts';
import { nextOf, toContinuation } from './continuing.ts';
import type { Driver } from './driver.ts';
import { nextOfLock, warnUnheard } from './ending.ts';
import { endOf } from './outcome.ts';
import type { Result } from './outcome.ts';
import type { PartEvents } from './part-events.ts';
import type { Parts } from './parts.ts';
import type { AppendExtras } from './recorder.ts';
import { FOR_CHILDREN } from './waiting-for.ts';
import type { Writing } from './writing.ts';

export interface FinishingOptions {
  run: RunRow;
  body: Body;
  driver: Pick<Driver, 'limits' | 'ambient' | 'closeChildren'>;
  parts: Pick<Parts, 'calls' | 'cancelling' | 'children' | 'parking' | 'recorder' | 'rowChanges'>;
  writing: Writing;
  /** Appends the patch, with what is not recorded yet. */
  append(patch: RunPatch): void;
  /** The last append of the run. */
  appendEnd(end: RunPatch, extras: AppendExtras): void;
  events: Pick<PartEvents, 'hasLeft' | 'onMismatch'>;
}

/** How a run comes to its end once its body has: what runs below it is closed first, or it continues as another run. */
export class Finishing {
  /** What the body has ended with. */
  result: Result | undefined;
  readonly #options: FinishingOptions;

  constructor(options: FinishingOptions) {
    this.#options = options;
  }

  end(result: Result): void {
    const { run, driver, parts, appendEnd, events } = this.#options;
    const { calls, cancelling, children } = parts;
    const cancelled = cancelling.end;
    const record = cancelled ? undefined : calls.findMissed();
    if (record) return events.onMismatch(undelivered(record));
    const next = cancelled ? undefined : nextOf(result);
    // Those below a run that continues are below the next one.
    if (children.isDue && !next) return this.#closeChildren((this.result = result));
    if (cancelled) return appendEnd(cancelled, nextOfLock(run));
    const { limits, ambient } = driver;
    warnUnheard(run, calls.listUnheard(), ambient);
    if (next) return this.#continue(next.input);
    appendEnd(endOf(result, resultBytesOf(run, limits), redactFor(ambient, run)), nextOfLock(run));
  }

  // --- internal ---

  /**
   * What the end stands on is recorded first: a process that lost the run before it knew would notify those below of an end
   * that does not come. A crash after they were notified replays the body to the same end.
   */
  #closeChildren(result: Result): void {
    const { run, driver, parts, writing, append } = this.#options;
    const { cancelling, children, parking, recorder, rowChanges } = parts;
    if (recorder.isBehind || rowChanges.hasFresh) {
      writing.defer();
      return append(rowChanges.take());
    }
    writing.after(driver.closeChildren(run.runId), (isOver) => {
      if (isOver || cancelling.end) {
        children.isFollowed = true;
        return this.end(result);
      }
      const patch = parking.rest(FOR_CHILDREN);
      if (patch) append(patch);
    });
  }

  #continue(input: unknown): void {
    const { body, driver, parts, writing, events, appendEnd } = this.#options;
    writing.begin();
    const unread = parts.calls.waitsSoFar?.listUnread() ?? [];
    toContinuation(body, { input, unread, limit: driver.limits.givenBytes }).then(
      (continueAs) =>
        events.hasLeft() || appendEnd(endOf({ value: undefined }, 0), { continueAs, nextRunId: newRunId() }),
      (error: unknown) => events.hasLeft() || this.end((this.result = { error })),
    );
  }
}
