import { createLru } from '../../lru.ts';
import type { Journal } from '../journal.ts';

/** What has been given to hooks and waits for their runs to take it. */
export interface Backlog {
  /** The hook of the token is not full while it has been given fewer, as far as is known here. */
  mostOf(token: string): number;
  /** A resume of the token went to a hook of this run. */
  saw(token: string, runId: string): void;
  /** Whether the open hook of the token takes no more, until its run has taken some. */
  isFull(token: string): Promise<boolean>;
}

export interface BacklogOptions {
  journal: Pick<Journal, 'hooks'>;
  now(): number;
  /** Resumes of one hook. */
  most: number;
}

/**
 * Counted by the look-up of an index. What a run has taken is counted where a hook comes to the most it may have: once for
 * so many resumes while its run keeps up, and once a second while it does not. Resumes that come at once may be a few more.
 */
export function createBacklog({ journal: { hooks }, now, most }: BacklogOptions): Backlog {
  const counted = createLru<{ runId: string; taken: number; at: number }>(MOST_KNOWN);
  return {
    mostOf: (token) => (counted.get(token)?.taken ?? 0) + most,
    saw(token, runId) {
      const known = counted.get(token);
      if (known && known.runId !== runId) counted.delete(token);
    },
    async isFull(token) {
      const open = await hooks.countGiven(token);
      if (!open || open.given < most) return false;
      const { runId } = open;
      const before = counted.get(token);
      const known = before?.runId === runId ? before : undefined;
      if (known && open.given < known.taken + most) return false;
      // The store's clock may have been set back.
      if (known && Math.abs(now() - known.at) < AGAIN_MS) return true;
      const taken = await hooks.countTaken(runId);
      counted.set(token, { runId, taken, at: now() });
      return open.given >= taken + most;
    },
  };
}

// --- internal ---

const MOST_KNOWN = 1_000;
const AGAIN_MS = 1_000;
