import { asOutcomeUnknown, BoxError } from '../../errors.ts';
import type { Journal } from '../journal.ts';
import { real } from '../real.ts';
import { wrapJournal } from '../stores/wrap.ts';

/**
 * The journal, none of whose calls takes longer than about `limitMs`: it is rejected with `store_unavailable` then. What
 * it asked for may still happen, or have happened.
 */
export function boundJournal(journal: Journal, limitMs: number): Journal {
  const waiting = new Set<Waiting>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueAt = 0;
  let postponed = 0;

  // One timer for all: a timer for each call would cost more than many of the calls.
  const look = (): void => {
    timer = undefined;
    const now = real.performanceNow();
    // Something held the event loop, and timers come first: answers that are there are to be read before they are late.
    const isHeld = now - dueAt > HELD_MS && postponed < MOST_POSTPONED;
    postponed = isHeld ? postponed + 1 : 0;
    if (isHeld) return watch(READING_MS);
    for (const each of waiting) {
      if (each.until > now) break;
      waiting.delete(each);
      each.giveUp();
    }
    if (waiting.size > 0) watch();
  };
  const watch = (ms = Math.ceil(limitMs / 4)): void => {
    dueAt = real.performanceNow() + ms;
    timer = real.setTimeout(look, ms);
    timer.unref();
  };

  return wrapJournal(
    journal,
    (name, call) =>
      new Promise((resolve, reject) => {
        const each = { until: real.performanceNow() + limitMs, giveUp: () => reject(late(name, limitMs)) };
        waiting.add(each);
        if (!timer) watch();
        const done = () => waiting.delete(each);
        call().then(
          (answer) => (done(), resolve(answer)),
          (error: unknown) => (done(), reject(error as Error)),
        );
      }),
  );
}

// --- internal ---

/** A timer that is later than this was held up by code that ran on. */
const HELD_MS = 50;
/** How long answers have to be read then. */
const READING_MS = 50;
/** A process that does nothing but hold its event loop gets no answer either. */
const MOST_POSTPONED = 20;

interface Waiting {
  until: number;
  giveUp(): void;
}

function late(name: string, limitMs: number): BoxError {
  const message = `The journal's database did not answer "${name}" within ${limitMs / 1_000} seconds. Try again.`;
  return asOutcomeUnknown(new BoxError('store_unavailable', message));
}
