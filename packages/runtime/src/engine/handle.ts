import type { CallRequest } from './call.ts';
import type { RunRow } from './journal.ts';

/** What a body sees instead of the machine's own clock and dice. */
export interface World {
  now(): number;
  random(): number;
}

/** A running run, as the code in it may know it. */
export interface RunHandle {
  readonly run: RunRow;
  readonly world: World;
  /** The one way in for every primitive. Resolves with the recorded answer. */
  invoke(request: CallRequest): Promise<unknown>;
}
