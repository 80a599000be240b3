import { real } from '../real.ts';

/** Which of the processes that seem to be gone are. One that has lost its connection is back in a moment. */
export interface Deaths {
  /** What a look has found. Answers the owners that have been silent for long enough. */
  note(silent: readonly string[]): string[];
  /** Milliseconds until some of the others will have been. */
  readonly soon: number | undefined;
}

export function createDeaths(now: () => number = real.performanceNow): Deaths {
  let since = new Map<string, number>();
  return {
    note(silent) {
      const at = now();
      since = new Map(silent.map((owner) => [owner, since.get(owner) ?? at]));
      return silent.filter((owner) => at - (since.get(owner) ?? at) >= GRACE_MS);
    },
    get soon() {
      const waiting = [...since.values()].map((from) => from + GRACE_MS - now()).filter((left) => left > 0);
      return waiting.length === 0 ? undefined : Math.min(...waiting);
    },
  };
}

// --- internal ---

const GRACE_MS = 500;
