import type { Journal } from '../journal.ts';
import type { RunKind } from '../journal/run.ts';
import type { NewRun } from '../journal/starts.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Loading } from './loading.ts';
import type { RunClaims } from './signals.ts';
import type { Suspects } from './suspects.ts';

/** How this process gets runs from the journal: those that are due, or one by its name. */
export interface Claims extends RunClaims {
  /** Nothing is claimed before. From then on the leases of this process are renewed. */
  arm(): void;
  readonly isArmed: boolean;
  /** Renews the leases at once. */
  renew(): Promise<void>;
  stopRenewing(): void;
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
  live: LiveRuns;
  suspects: Suspects;
  loading: Loading;
}

export function createClaims(options: ClaimsOptions): Claims {
  const { journal, owner, leaseMs, maxLive, closing, live, suspects, loading } = options;
  let isArmed = false;
  let renewTimer: ReturnType<typeof setInterval> | undefined;
  const renew = (): Promise<void> => journal.renew(owner, leaseMs);

  const claimAll = async (takeover: boolean): Promise<void> => {
    for (;;) {
      const room = Math.min(CLAIM_BATCH, maxLive - live.size - suspects.waiting);
      if (room <= 0 || closing.aborted) return;
      const runs = await journal.claim({ owner, leaseMs, limit: room, ...(takeover ? { takeover } : {}) });
      await Promise.all(runs.map((run) => loading.resume(run)));
      if (runs.length < room) return;
    }
  };

  return {
    arm() {
      isArmed = true;
      renewTimer = setInterval(() => void renew().catch(() => {}), leaseMs / 3);
    },
    get isArmed() {
      return isArmed;
    },
    renew,
    stopRenewing: () => clearInterval(renewTimer),
    claimAll,
    claimDue: async () => (isArmed ? claimAll(false) : undefined),
    async claimRun(runId) {
      if (live.has(runId)) return true;
      if (!isArmed || closing.aborted || live.size >= maxLive) return false;
      const claimed = async (): Promise<boolean> => {
        const run = await journal.claimRun(runId, { owner, leaseMs }).catch(() => undefined);
        if (run) await loading.resume(run);
        return run !== undefined;
      };
      return live.enter(runId, claimed).catch(() => false);
    },
    // A turn has a client waiting in this process, so it never queues.
    claimOf: (kind) => (!closing.aborted && (kind === 'agent' || live.size < maxLive) ? { owner, leaseMs } : null),
  };
}

// --- internal ---

const CLAIM_BATCH = 100;
