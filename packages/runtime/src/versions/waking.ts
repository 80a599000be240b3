import type { CodeStore } from '../engine/journal/code.ts';
import type { Log } from '../log.ts';

/** Wakes the runs that wait for code which is there by now. */
export interface Waking {
  /** Code was loaded: runs may wait for what is served, or for what was kept since. */
  loaded(): void;
  /**
   * Called about once a second, once the other replicas know what is served here. Returns at once. `isKept`: what is served is
   * kept, too, as far as it can be.
   */
  sweep(how: { isKept: boolean }): void;
  /**
   * This process may have been cut off for a while, and others took its runs for lost. And what was refused here may be executed
   * by now. Throws what the journal does.
   */
  again(): Promise<void>;
}

export interface WakingOptions {
  store: Pick<CodeStore, 'wake'>;
  log: Log;
  /** The hashes of what is served. */
  codes(): readonly string[];
  /** The hashes of what was refused, and is executed by now. */
  reopened(): AsyncIterable<string>;
}

export function createWaking({ store, log, codes, reopened }: WakingOptions): Waking {
  let isDue = false;
  let isKeptDue = false;
  /** What was refused and is executed by now, and has not been woken for. */
  const found = new Set<string>();
  return {
    loaded() {
      isDue = true;
      isKeptDue = true;
    },
    sweep({ isKept }) {
      // What is kept counts once: it may be that the key of this process does not open it.
      const orKept = isKept && isKeptDue;
      if (!isDue && !orKept) return;
      isDue = false;
      if (orKept) isKeptDue = false;
      store.wake(codes(), { orKept }).catch((error: unknown) => {
        isDue = true;
        isKeptDue ||= orKept;
        log.warn('Runs that wait for their code cannot be looked for; the next sweep tries again.', { error });
      });
    },
    async again() {
      for await (const codeHash of reopened()) found.add(codeHash);
      await store.wake([...codes(), ...found]);
      found.clear();
    },
  };
}
