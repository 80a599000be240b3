import type { StoreClock } from '../clock.ts';
import { createRandom } from '../guard/random.ts';
import type { Variables, World } from '../handle.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import type { Calls } from './calls.ts';
import type { Recorder } from './recorder.ts';
import { readSeed } from './seed.ts';
import type { Seed } from './seed.ts';
import { createVariables } from './variables.ts';

export interface WorldOptions {
  /** From its row: what randomness is drawn from, the same for every replay, and when the run began. */
  run: RunRow;
  records: readonly JournalRecord[];
  recorder: Recorder;
  clock: StoreClock;
  /** The time the body sees, and how many calls it has made. */
  calls: Pick<Calls, 'time' | 'made'>;
}

/** What the body of one run sees of the world. Most ask neither for randomness nor for a variable: both are made when they do. */
export class RunWorld implements World {
  readonly #options: WorldOptions;
  #seedRead: Seed | undefined;
  #variables: Variables | undefined;
  #random: (() => number) | undefined;
  /** How many of the turns before the run's call the randomness is of. */
  #drawn = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  now(): number {
    return this.#options.calls.time;
  }

  get startedAt(): number {
    return this.#seed.startedAt;
  }

  random(): number {
    const { calls } = this.#options;
    const { first, turns } = this.#seed;
    const turn = turns.length === 0 ? 0 : turns.filter(({ call }) => call < calls.made).length;
    if (turn !== this.#drawn) this.#random = undefined;
    this.#drawn = turn;
    return (this.#random ??= createRandom(turns[turn - 1]?.seed ?? first))();
  }

  get variables(): Variables {
    const { records, recorder, clock } = this.#options;
    return (this.#variables ??= createVariables(
      records,
      (named, output) => void recorder.record(named, { event: 'set', startedAt: clock.now(), output }),
    ));
  }

  get #seed(): Seed {
    return (this.#seedRead ??= readSeed(this.#options.run));
  }
}
