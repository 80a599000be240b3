import { BoxError } from '../errors.ts';

/** How many long-lived streams are open at once. */
export interface StreamLimits {
  /** Counts one more; answers how to give it back. Throws `too_many_streams`. */
  enter(callerId: string): () => void;
}

export function createStreamLimits({ perCaller, perBox }: { perCaller: number; perBox: number }): StreamLimits {
  const open = new Map<string, number>();
  let all = 0;
  return {
    enter(callerId) {
      const own = open.get(callerId) ?? 0;
      if (own >= perCaller) throw tooMany(`This caller has ${own} event streams open, the most one may have.`);
      if (all >= perBox) throw tooMany(`This box has ${all} event streams open, the most it may have.`);
      open.set(callerId, own + 1);
      all += 1;
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        all -= 1;
        const left = (open.get(callerId) ?? 1) - 1;
        if (left > 0) open.set(callerId, left);
        else open.delete(callerId);
      };
    },
  };
}

// --- internal ---

function tooMany(why: string): BoxError {
  return new BoxError('too_many_streams', `${why} Close one, or share it.`, { details: { retryAfter: 5 } });
}
