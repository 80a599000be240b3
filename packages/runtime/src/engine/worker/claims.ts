import type { Journal } from '../journal.ts';
import { real } from '../real.ts';
import type { StoreClock } from '../clock.ts';
import type { RunKind } from '../journal/run.ts';
import type { NewRun } from '../journal/starts.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Loading } from './loading.ts';
import type { Replicas } from './replicas.ts';
import type { RunClaims } from './signals.ts';

/** How this process gets runs from the journal: those that are due, or one by its name. */
export interface Claims extends RunClaims {
  /** Nothing is claimed before. From then on the leases of this process are renewed. */
  arm(): void;
  readonly isArmed: boolean;
  /** Renews the leases at once. */
  renew(): Promise<void>;
  /** The same, where the timer that does it has not come to its turn. */
  renewIfLate(): Promise<void>;
  stopRenewing(): void;
  /** There is no room for what is due: it is taken as places become free, and to look for it is of no use. */
  readonly isBehind: boolean;
  /** Takes runs while there is room. `takeover`: whoever holds them. */
  claimAll(takeover: boolean): Promise<void>;
  /** What a new run is created with: held by this process, or free for all. */
  claimOf(kind: RunKind): NewRun['claim'];
}

export interface ClaimsOptions {
  journal: Journal;
  owner: string;
  leaseMs: number;
  /** Runs in memory at once. */
  maxLive: number;
  closing: AbortSignal;
  clock: StoreClock;
  live: LiveRuns;
  loading: Loading;
  replicas: Pick<Replicas, 'elsewhere'>;
}

export function createClaims(options: ClaimsOptions): Claims {
  const { journal, owner, leaseMs, maxLive, closing, clock, live, loading, replicas } = options;
  let isArmed = false;
  /** Runs wait in the journal for a place here: no start goes before them. */
  let isBehind = false;
  let filling: ReturnType<typeof setTimeout> | undefined;
  let renewTimer: ReturnType<typeof setInterval> | undefined;
  let renewedAt = clock.now();
  const renew = async (): Promise<void> => {
    const now = clock.now();
    await journal.renew(owner, leaseMs);
    renewedAt = now;
  };

  const claimAll = async (takeover: boolean): Promise<void> => {
    for (;;) {
      const room = Math.min(CLAIM_BATCH, live.roomFor(maxLive));
      if (closing.aborted) return;
      if (room <= 0) return void (isBehind = true);
      const { elsewhere } = replicas;
      const others = elsewhere.length > 0 ? { notCodes: elsewhere } : {};
      const runs = await journal.claim({ owner, leaseMs, limit: room, ...(takeover ? { takeover } : {}), ...others });
      await Promise.all(runs.map((run) => loading.resume(run)));
      if (runs.length < room) return void (isBehind = false);
    }
  };
  /** A place is free that others wait for: with what else becomes free in a moment. */
  const fillSoon = (): void => {
    if (!isBehind || !isArmed || closing.aborted || filling !== undefined) return;
    filling = real.setTimeout(() => {
      void claimAll(false)
        .catch(() => {})
        .finally(() => (filling = undefined));
    }, FILL_MS);
  };
  live.onRoom(fillSoon);

  return {
    arm() {
      isArmed = true;
      renewTimer = setInterval(() => void renew().catch(() => {}), leaseMs / 3);
    },
    get isArmed() {
      return isArmed;
    },
    renew,
    // This process stood still, or the store's clock was set: its own leases are over, and it still has the runs.
    renewIfLate: async () => (Math.abs(clock.now() - renewedAt) > leaseMs / 2 ? renew() : undefined),
    stopRenewing: () => clearInterval(renewTimer),
    claimAll,
    claimDue: async () => (isArmed ? claimAll(false) : undefined),
    async claimRun(runId) {
      if (live.has(runId)) return true;
      // Others that are due have waited longer.
      if (!isArmed || closing.aborted || isBehind || live.roomFor(maxLive) <= 0) return false;
      const claimed = async (): Promise<boolean> => {
        const run = await journal.claimRun(runId, { owner, leaseMs }).catch(() => undefined);
        if (run) await loading.resume(run);
        return run !== undefined;
      };
      return live.enter(runId, claimed).catch(() => false);
    },
    // A turn has a client waiting in this process, so it never queues.
    claimOf(kind) {
      if (closing.aborted) return null;
      if (kind === 'agent' || (!isBehind && live.roomFor(maxLive) > 0)) return { owner, leaseMs };
      isBehind = true;
      return null;
    },
    get isBehind() {
      return isBehind;
    },
  };
}

// --- internal ---

const CLAIM_BATCH = 100;
const FILL_MS = 10;
