import { asOutcomeUnknown, BoxError } from '../../errors.ts';
import { startTimeout } from '../../timeout.ts';
import type { Journal } from '../journal.ts';
import { real } from '../real.ts';
import { wrapJournal } from '../stores/wrap.ts';

/**
 * The journal, none of whose calls takes longer than about `limitMs`: it is rejected with `store_unavailable` then. What
 * it asked for may still happen, or have happened.
 */
export function boundJournal(journal: Journal, limitMs: number): Journal {
  const waiting = new Set<Waiting>();
  let isWatched = false;

  // One timer for all: a timer for each call would cost more than many of the calls.
  const look = (): void => {
    isWatched = false;
    const now = real.performanceNow();
    for (const each of waiting) {
      if (each.until > now) break;
      waiting.delete(each);
      each.giveUp();
    }
    if (waiting.size > 0) watch();
  };
  const watch = (): void => {
    isWatched = true;
    startTimeout(Math.ceil(limitMs / 4), look, real);
  };

  return wrapJournal(
    journal,
    (name, call) =>
      new Promise((resolve, reject) => {
        const each = { until: real.performanceNow() + limitMs, giveUp: () => reject(late(name, limitMs)) };
        waiting.add(each);
        if (!isWatched) watch();
        const done = () => waiting.delete(each);
        call().then(
          (answer) => (done(), resolve(answer)),
          (error: unknown) => (done(), reject(error as Error)),
        );
      }),
  );
}

// --- internal ---

interface Waiting {
  until: number;
  giveUp(): void;
}

function late(name: string, limitMs: number): BoxError {
  const message = `The journal's database did not answer "${name}" within ${limitMs / 1_000} seconds. Try again.`;
  return asOutcomeUnknown(new BoxError('store_unavailable', message));
}
