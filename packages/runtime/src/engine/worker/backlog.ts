import { createLru } from '../../lru.ts';
import type { Journal } from '../journal.ts';

/** What has been given to hooks and waits for their runs to take it. */
export interface Backlog {
  /** A hook that has been given fewer is not full. */
  readonly most: number;
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
  const counted = createLru<{ taken: number; at: number }>(MOST_KNOWN);
  return {
    most,
    async isFull(token) {
      const open = await hooks.countGiven(token);
      if (!open || open.given < most) return false;
      const key = `${open.runId} ${token}`;
      const known = counted.get(key);
      if (known && open.given < known.taken + most) return false;
      if (known && now() - known.at < AGAIN_MS) return true;
      const taken = await hooks.countTaken(open.runId);
      counted.set(key, { taken, at: now() });
      return open.given >= taken + most;
    },
  };
}

// --- internal ---

const MOST_KNOWN = 1_000;
const AGAIN_MS = 1_000;
