import type { Log } from '../../log.ts';
import type { Journal } from '../journal.ts';
import type { LiveRuns } from './live-runs.ts';

export interface OrphansOptions {
  journal: Pick<Journal, 'getRun' | 'append'>;
  log: Log;
  owner: string;
  live: Pick<LiveRuns, 'isHere'>;
}

/** What `listHeld` answers of a run. */
export interface Held {
  runId: string;
  epoch: number;
}

/**
 * Answers a function that gives back orphaned runs: those this owner holds in the journal while nothing here works on
 * them. Their start or claim was committed and its answer lost, or they were dropped when the store could not be
 * reached. Their lease is renewed with all others, so no other process would ever take them.
 */
export function createOrphans({ journal, log, owner, live }: OrphansOptions): (held: Held[]) => Promise<void> {
  let seen = new Map<string, number>();

  const giveBack = async ({ runId, epoch }: Held): Promise<void> => {
    const run = await journal.getRun(runId);
    if (!run || run.owner !== owner || run.epoch !== epoch || live.isHere(runId)) return;
    log.warn('The run is taken up again: this process held it without working on it.', { runId, name: run.name });
    // What is still on its way to the journal from here may land before this or not at all: the next claim fences it.
    await journal.append({ runId, epoch, seq: run.seq, records: [], patch: { release: true }, durability: 'process' });
  };

  return async (held) => {
    const missing = held.filter(({ runId }) => !live.isHere(runId));
    // Seen twice: a run that is just ending or parking is neither here nor given back for a moment.
    const orphans = missing.filter(({ runId, epoch }) => seen.get(runId) === epoch);
    seen = new Map(missing.map(({ runId, epoch }) => [runId, epoch]));
    await Promise.all(orphans.map(giveBack));
  };
}
