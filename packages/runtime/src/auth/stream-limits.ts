import type { Caller } from './caller.ts';
import { BoxError } from '../errors.ts';

/** How many long-lived streams are open at once. */
export interface StreamLimits {
  /** Counts one more; answers how to give it back. Throws `too_many_streams`. */
  enter(caller: Pick<Caller, 'id' | 'kind'>): () => void;
}

/** The operator is every page of every person who looks at a self-hosted box. */
const PER_CALLER: Record<Caller['kind'], number> = { dev: Infinity, operator: 500, person: 20, key: 20 };

export function createStreamLimits({ perBox }: { perBox: number }): StreamLimits {
  const open = new Map<string, number>();
  let all = 0;
  return {
    enter({ id: callerId, kind }) {
      const own = open.get(callerId) ?? 0;
      if (own >= PER_CALLER[kind]) throw tooMany(`This caller has ${own} event streams open, the most one may have.`);
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
