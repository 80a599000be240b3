import { atMost } from '../at-most.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import { persist } from '../persist.ts';
import { real } from '../real.ts';
import type { Claims } from './claims.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Replicas } from './replicas.ts';
import type { Signals } from './signals.ts';
import type { Isolation } from './isolation.ts';
import type { Sweep } from './sweep.ts';

export interface ShutdownOptions {
  journal: Pick<Journal, 'append'>;
  leaseMs: number;
  /** Milliseconds that steps under way have to end. */
  drainMs: number;
  close: AbortController;
  live: LiveRuns;
  isolation: Isolation | undefined;
  claims: Claims;
  sweep: Sweep;
  signals: Signals;
  replicas: Pick<Replicas, 'leave'>;
}

/** Takes no run any more, lets steps under way end, and gives the runs back for others to take. */
export async function shutDown(options: ShutdownOptions): Promise<void> {
  const { close, live, claims, sweep, signals } = options;
  close.abort();
  await atMost(
    STORE_MS,
    sweep.stop().then(() => live.entered()),
  );
  await drain(live, options.drainMs);
  // First: its runs are then for those, too, that have other code.
  await atMost(
    STORE_MS,
    options.replicas.leave().catch(() => {}),
  );
  await atMost(STORE_MS, giveBack(options));
  claims.stopRenewing();
  signals.stop();
}

// --- internal ---

/** How long a journal that does not answer holds up the end of the process, twice at most. */
const STORE_MS = 4_000;

/** Lets the steps under way end, and begins no others. */
async function drain(live: LiveRuns, timeoutMs: number): Promise<void> {
  const executions = live.list();
  for (const execution of executions) execution.hold();
  const end = real.performanceNow() + timeoutMs;
  while (executions.some((execution) => execution.isBusy) && real.performanceNow() < end)
    await new Promise((resolve) => real.setTimeout(resolve, 10));
}

async function giveBack({ journal, leaseMs, live, isolation, signals }: ShutdownOptions): Promise<void> {
  const waiting = ((await isolation?.close()) ?? []).map(async (run) => {
    await persist(() => journal.append(released(run)), leaseMs);
    signals.ring('due', run.runId);
  });
  const held = live.list().map(async (execution) => {
    await execution.release();
    signals.ring('due', execution.run.runId);
  });
  await Promise.allSettled([...waiting, ...held]);
}

function released({ runId, epoch, seq }: RunRow) {
  return { runId, epoch, seq, records: [], patch: { release: true }, durability: 'process' as const };
}
