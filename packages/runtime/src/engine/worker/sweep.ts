import type { Log } from '../../log.ts';
import type { StoreClock } from '../clock.ts';
import type { Journal } from '../journal.ts';
import { real } from '../real.ts';
import type { Claims } from './claims.ts';
import type { LiveRuns } from './live-runs.ts';
import { createOrphans } from './orphans.ts';

/** The look at the journal that finds whatever no signal has brought, about once a second. */
export interface Sweep {
  /** Sweeps at once, after the sweep that is under way, and from then on until it is stopped. */
  now(): Promise<void>;
  /** Begins no further sweep; resolves once the one under way is over. */
  stop(): Promise<void>;
}

export interface SweepOptions {
  journal: Journal;
  log: Log;
  owner: string;
  sweepMs: number;
  /** Leases of earlier processes are void. */
  exclusive: boolean;
  clock: StoreClock;
  closing: AbortSignal;
  live: LiveRuns;
  claims: Claims;
  /** Work to be done with each sweep. */
  onSweep: (() => Promise<void>) | undefined;
}

export function createSweep(options: SweepOptions): Sweep {
  const { journal, log, owner, sweepMs, clock, closing, live, claims } = options;
  const giveBackOrphans = createOrphans({ journal, log, owner, live });
  let isTakeoverDue = options.exclusive;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sweeping: Promise<void> | undefined;

  /** What happened to the runs in memory without this process: taken over, ended, signalled. */
  const inspect = async (): Promise<void> => {
    const checked = live.list();
    const rows = await journal.listHeld(owner);
    const held = new Map(rows.map((run) => [run.runId, run]));
    await giveBackOrphans(rows);
    for (const execution of checked) {
      const { runId, epoch } = execution.run;
      const row = held.get(runId);
      if (row && row.epoch === epoch) {
        if (row.signals > execution.signals) execution.poke();
        continue;
      }
      if (await live.abandonIfFinal(execution)) continue;
      // Unless it ended or parked by itself meanwhile.
      if (live.get(runId) === execution) execution.drop(new Error('Another process has the run.'));
    }
  };

  const sweep = async (): Promise<void> => {
    try {
      await clock.sync();
      await claims.renewIfLate();
      await inspect();
      await claims.claimAll(isTakeoverDue);
      isTakeoverDue = false;
      await options.onSweep?.();
    } catch (error) {
      log.error('The journal cannot be read; the next sweep tries again.', { error });
    }
    if (closing.aborted) return;
    const due = claims.isBehind ? undefined : await journal.nextWake().catch(() => undefined);
    const jitter = sweepMs * (0.9 + Math.random() * 0.2);
    timer = real.setTimeout(() => (sweeping = sweep()), Math.max(5, Math.min(jitter, due ?? jitter)));
  };

  return {
    async now() {
      await sweeping;
      if (closing.aborted) return;
      real.clearTimeout(timer);
      await (sweeping = sweep());
    },
    async stop() {
      real.clearTimeout(timer);
      await Promise.allSettled([sweeping]);
      // It may have asked for the next one before the close began.
      real.clearTimeout(timer);
    },
  };
}
