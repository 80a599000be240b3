import type { StoreClock } from '../clock.ts';
import { createRandom } from '../guard/random.ts';
import type { Variables, World } from '../handle.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { Recorder } from './recorder.ts';
import type { Seed } from './seed.ts';
import { createVariables } from './variables.ts';

export interface WorldOptions {
  /** What randomness is drawn from, the same for every replay of the run, and when the run began. */
  seed: Seed;
  records: readonly JournalRecord[];
  recorder: Recorder;
  clock: StoreClock;
  /** The time the body sees. */
  now(): number;
  /** How many calls the body has made. */
  made(): number;
}

/** Most bodies ask neither for randomness nor for a variable: both are made when they do. */
export function createWorld({ seed, records, recorder, clock, now, made }: WorldOptions): World {
  let variables: Variables | undefined;
  let random: (() => number) | undefined;
  let drawn = 0;
  return {
    now,
    startedAt: seed.startedAt,
    random() {
      const turn = seed.turns.length === 0 ? 0 : seed.turns.filter(({ call }) => call < made()).length;
      if (turn !== drawn) random = undefined;
      drawn = turn;
      return (random ??= createRandom(seed.turns[turn - 1]?.seed ?? seed.first))();
    },
    get variables() {
      return (variables ??= createVariables(
        records,
        (named, output) => void recorder.record(named, { event: 'set', startedAt: clock.now(), output }),
      ));
    },
  };
}
