import type { Journal } from '../journal.ts';
import { real } from '../real.ts';
import type { StoreClock } from '../clock.ts';
import { isFinal } from '../journal/run.ts';
import type { RunKind, RunRow } from '../journal/run.ts';
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

  /** Claims of whatever is due, of which it is not known yet what they bring. */
  const underWay = new Set<Promise<unknown>>();
  /** Runs that are claimed by their ids, until they are here. */
  const named = new Map<string, Promise<RunRow | undefined>>();
  const claimNamed = async (runId: string): Promise<RunRow | undefined> => {
    const run = await journal.claimRun(runId, { owner, leaseMs }).catch(() => undefined);
    if (run) await loading.resume(run);
    return run;
  };
  /** One that has been claimed by its id meanwhile is brought by that claim, if it was the later one. */
  const bring = (run: RunRow): Promise<void> => {
    const again = named.get(run.runId);
    if (!again) return loading.resume(run);
    return live.arrive(run.runId, async () => {
      const later = await again.catch(() => undefined);
      if (!later || later.epoch < run.epoch) await loading.resume(run);
    });
  };
  /** It was on its way here as something was recorded for it, which may not be in what was read of it. */
  const catchUp = async (runId: string): Promise<void> => {
    const execution = live.get(runId);
    execution?.poke();
    const run = execution && (await journal.getRun(runId).catch(() => undefined));
    if (run && !isFinal(run.status)) execution.cancel(run);
  };

  const claimAll = async (takeover: boolean): Promise<void> => {
    for (;;) {
      const room = Math.min(CLAIM_BATCH, live.roomFor(maxLive));
      if (closing.aborted) return;
      if (room <= 0) return void (isBehind = true);
      const { elsewhere } = replicas;
      const others = elsewhere.length > 0 ? { notCodes: elsewhere } : {};
      const asked = journal.claim({ owner, leaseMs, limit: room, ...(takeover ? { takeover } : {}), ...others });
      underWay.add(asked);
      let runs: RunRow[];
      try {
        runs = await asked;
      } finally {
        underWay.delete(asked);
      }
      await Promise.all(runs.map(bring));
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
      // What this process is about to have is not claimed again: that would take the run from itself, and begin it twice.
      for (let hasWaited = false; ; hasWaited = true) {
        if (live.has(runId)) {
          if (hasWaited) await catchUp(runId);
          return true;
        }
        // Others that are due have waited longer.
        if (!isArmed || closing.aborted || isBehind || live.roomFor(maxLive) <= 0) return false;
        const coming = live.arrival(runId) ?? (underWay.size > 0 ? Promise.allSettled(underWay) : undefined);
        if (!coming) break;
        await coming;
      }
      const claimed = live.enter(runId, () => claimNamed(runId));
      named.set(runId, claimed);
      try {
        return (await claimed) !== undefined;
      } catch {
        return false;
      } finally {
        // Who waited for it may have claimed the run since.
        if (named.get(runId) === claimed) named.delete(runId);
      }
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
