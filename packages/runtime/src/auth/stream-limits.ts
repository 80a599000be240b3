import type { Caller } from './caller.ts';
import { BoxError } from '../errors.ts';
import type { StreamWatch } from './credential-watch.ts';

/** How many long-lived streams are open at once. */
export interface StreamLimits {
  /** Counts one more; answers how to give it back. Throws `too_many_streams`. */
  enter(caller: Pick<Caller, 'id' | 'by'> & Partial<Pick<Caller, 'kind'>>): () => void;
}

type PerCaller = Record<Caller['by'], number>;

/** Of what stays open by itself. The operator is every page of every person who looks at a self-hosted box. */
const PER_CALLER: PerCaller = {
  none: Infinity,
  'operator token': 500,
  'identity token': 20,
  key: 20,
  'user token': 20,
};

/** Of streams that end with a run. A key may be the backend of many people. */
export const CHATS_PER_CALLER: PerCaller = {
  none: Infinity,
  'operator token': 1_000,
  'identity token': 100,
  key: 1_000,
  'user token': 20,
};

export interface StreamLimitsOptions {
  perBox: number;
  /** Of these, how many keys and their users leave to those who operate the box. Default 0. */
  forPeople?: number;
  /** Default: those of streams that stay open. */
  perCaller?: PerCaller;
  /** What a sentence calls them. Default `event streams`. */
  what?: string;
}

export function createStreamLimits(options: StreamLimitsOptions): StreamLimits {
  const { perBox, forPeople = 0, perCaller = PER_CALLER, what = 'event streams' } = options;
  const open = new Map<string, number>();
  let all = 0;
  return {
    enter({ id: callerId, by, kind }) {
      const own = open.get(callerId) ?? 0;
      // A user is one person, whatever credential it comes with.
      if (own >= perCaller[kind === 'user' ? 'user token' : by])
        throw tooMany(`This caller has ${own} ${what} open, the most one may have.`);
      const isPerson = kind !== 'user' && by !== 'key' && by !== 'user token';
      if (all >= (isPerson ? perBox : perBox - forPeople))
        throw tooMany(`This box has ${all} ${what} open, the most it may have.`);
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

/** The watch, with what it watches counted for the caller. `enter` throws `too_many_streams`. */
export function withLimits(watch: StreamWatch, limits: StreamLimits): StreamWatch {
  return {
    enter(caller) {
      const release = limits.enter(caller);
      const { signal, leave } = watch.enter(caller);
      return {
        signal,
        leave() {
          release();
          leave();
        },
      };
    },
  };
}

// --- internal ---

function tooMany(why: string): BoxError {
  return new BoxError('too_many_streams', `${why} Close one, or share it.`, { details: { retryAfter: 5 } });
}
