import type { StoreClock } from '../clock.ts';
import { createRandom } from '../guard/random.ts';
import type { Variables, World } from '../handle.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { Recorder } from './recorder.ts';
import { createVariables } from './variables.ts';

export interface WorldOptions {
  /** What randomness is drawn from: the same for every replay of the run. */
  seed: string;
  records: readonly JournalRecord[];
  recorder: Recorder;
  clock: StoreClock;
  /** When the run began. */
  startedAt: number;
  /** The time the body sees. */
  now(): number;
}

/** Most bodies ask neither for randomness nor for a variable: both are made when they do. */
export function createWorld({ seed, records, recorder, clock, startedAt, now }: WorldOptions): World {
  let variables: Variables | undefined;
  let random: (() => number) | undefined;
  return {
    now,
    startedAt,
    random: () => (random ??= createRandom(seed))(),
    get variables() {
      return (variables ??= createVariables(
        records,
        (named, output) => void recorder.record(named, { event: 'set', startedAt: clock.now(), output }),
      ));
    },
  };
}
