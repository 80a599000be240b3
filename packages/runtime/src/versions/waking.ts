import type { CodeStore } from '../engine/journal/code.ts';
import type { Log } from '../log.ts';

/** Wakes the runs that wait for code which is there by now. */
export interface Waking {
  /** Code was loaded: runs may wait for what is served, or for what was kept since. */
  loaded(): void;
  /** Called about once a second, once the other replicas know what is served here. Returns at once. */
  sweep(): void;
  /** This process may have been cut off for a while, and others took its runs for lost. Throws what the journal does. */
  again(): Promise<void>;
}

export interface WakingOptions {
  store: Pick<CodeStore, 'wake'>;
  log: Log;
  /** The hashes of what is served. */
  codes(): readonly string[];
}

export function createWaking({ store, log, codes }: WakingOptions): Waking {
  let isDue = false;
  return {
    loaded: () => void (isDue = true),
    sweep() {
      if (!isDue) return;
      isDue = false;
      // What is kept counts once: it may be that the key of this process does not open it.
      store.wake(codes(), { orKept: true }).catch((error: unknown) => {
        isDue = true;
        log.warn('Runs that wait for their code cannot be looked for; the next sweep tries again.', { error });
      });
    },
    again: async () => void (await store.wake(codes())),
  };
}
