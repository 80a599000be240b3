import type { Embedder, MemoryJobs } from './store.ts';

export interface LookLimits {
  /** Between two looks for what another replica has made with another model. */
  lookMs: number;
  /** After which this replica counts as the newest again, at first. */
  termMs: number;
}

/**
 * Looks now and then for what another model has: during a rolling deploy replicas of two models look at the same turns, and
 * what those of the old one still embed would be found by no one later.
 *
 * Of two models that of the replica wins that has been with its model for the shorter time, the newer one of a deploy: it takes
 * what older ones have made, and what it takes waits for its model alone. So none takes a turn from another in turns.
 *
 * A replica may be the newer one and yet be gone, as after a deploy that was taken back. So a replica counts as the newest
 * again after a term, an hour. Each time it takes something then, its next term is twice as long: two replicas that stay with
 * two models take turns from each other some dozen times in a year, and not for ever.
 */
export function createOthersLook(
  jobs: Pick<MemoryJobs, 'now' | 'requeueOthers'>,
  { lookMs, termMs }: LookLimits,
): (model: string) => Promise<Embedder> {
  let by: Embedder | undefined;
  let term = termMs;
  let termEnds = 0;
  let lookAt = 0;
  return async (model) => {
    const now = performance.now();
    if (by?.model === model && now < Math.min(lookAt, termEnds)) return by;
    const isSame = by?.model === model;
    const isNewest = !isSame || now >= termEnds;
    const next = by && !isNewest ? by : { model, since: await jobs.now() };
    const taken = await jobs.requeueOthers(next, { lately: !isNewest });
    by = next;
    lookAt = now + lookMs;
    if (isNewest) {
      if (!isSame) term = termMs;
      else if (taken > 0) term *= 2;
      termEnds = now + term;
    }
    return by;
  };
}
