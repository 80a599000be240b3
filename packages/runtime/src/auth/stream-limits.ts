import type { Caller } from './caller.ts';
import { BoxError } from '../errors.ts';
import type { StreamWatch } from './credential-watch.ts';

/** How many long-lived streams are open at once. */
export interface StreamLimits {
  /** Counts one more; answers how to give it back. Throws `too_many_streams`. */
  enter(caller: Pick<Caller, 'id' | 'by'> & Partial<Pick<Caller, 'kind' | 'client'>>): () => void;
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
  /** How many an application may have, its keys and their users together. Default: two thirds of those that are not for people. */
  perClient?: number;
  /** Default: those of streams that stay open. */
  perCaller?: PerCaller;
  /** What a sentence calls them. Default `event streams`. */
  what?: string;
}

export function createStreamLimits(options: StreamLimitsOptions): StreamLimits {
  const { perBox, forPeople = 0, perCaller = PER_CALLER, what = 'event streams' } = options;
  const perClient = options.perClient ?? Math.floor(((perBox - forPeople) * 2) / 3);
  const ofCaller = createCounter();
  const ofClient = createCounter();
  let ofBox = 0;
  return {
    enter({ id: callerId, by, kind, client = null }) {
      const own = ofCaller.get(callerId);
      // A user is one person, whatever credential it comes with.
      if (own >= perCaller[kind === 'user' ? 'user token' : by])
        throw tooMany(`This caller has ${own} ${what} open, the most one may have.`);
      if (client !== null && ofClient.get(client) >= perClient)
        throw tooMany(`The application "${client}" has ${perClient} ${what} open, the most one may have.`);
      const isPerson = kind !== 'user' && by !== 'key' && by !== 'user token';
      if (ofBox >= (isPerson ? perBox : perBox - forPeople))
        throw tooMany(`This box has ${ofBox} ${what} open, the most it may have.`);
      ofCaller.add(callerId, 1);
      if (client !== null) ofClient.add(client, 1);
      ofBox += 1;
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        ofBox -= 1;
        ofCaller.add(callerId, -1);
        if (client !== null) ofClient.add(client, -1);
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

function createCounter() {
  const counts = new Map<string, number>();
  return {
    get: (id: string): number => counts.get(id) ?? 0,
    add(id: string, more: number): void {
      const count = (counts.get(id) ?? 0) + more;
      if (count > 0) counts.set(id, count);
      else counts.delete(id);
    },
  };
}

function tooMany(why: string): BoxError {
  return new BoxError('too_many_streams', `${why} Close one, or share it.`, { details: { retryAfter: 5 } });
}
