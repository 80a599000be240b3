import { runOutside } from '../context.ts';
import { SILENT } from '../doorbell.ts';
import type { Doorbell, RingKind } from '../doorbell.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Watchers } from './watchers.ts';

/** What this process and the other replicas notify each other of. */
export interface Signals {
  ring(kind: RingKind, runId: string): void;
  /** The run is due, or was signalled in the journal: by its execution, here or elsewhere, or by taking it up. */
  signal(runId: string): void;
  /** From here on what is due is taken up here first, and what other replicas ring is heard. */
  listen(claims: RunClaims): void;
  /** Listens no more; what is rung is still sent. */
  stop(): void;
}

export interface RunClaims {
  /** Takes the run up; false: this process does not have it. */
  claimRun(runId: string): Promise<boolean>;
  /** Takes up whatever there is. */
  claimDue(): Promise<void>;
}

export interface SignalsOptions {
  doorbell: Doorbell | undefined;
  live: LiveRuns;
  watchers: Pick<Watchers, 'notify'>;
}

export function createSignals({ doorbell = SILENT, live, watchers }: SignalsOptions): Signals {
  let claims = NO_CLAIMS;
  let stop = (): void => {};
  let asking = 0;
  let claiming: Promise<void> | undefined;

  /** By name, or, when many become due together, whatever there is. */
  const takeDue = async (runId: string): Promise<void> => {
    if (asking >= MAX_ASKING) {
      claiming ??= claims.claimDue().finally(() => (claiming = undefined));
      return claiming;
    }
    asking += 1;
    await claims.claimRun(runId).finally(() => (asking -= 1));
  };

  const onRing = (kind: RingKind, runId: string): void => {
    const execution = live.get(runId);
    if (kind === 'ended' || kind === 'written') watchers.notify(runId);
    // What fails here, the sweep does.
    if (kind === 'ended' && execution) live.abandonIfFinal(execution).catch(() => {});
    if (kind === 'due' && execution) execution.poke();
    if (kind === 'due' && !execution) takeDue(runId).catch(() => {});
  };

  // Outside of any run: what sends a ring is no code of an author.
  const ring = (kind: RingKind, runId: string): void => runOutside(() => doorbell.ring(kind, runId));
  return {
    ring,
    signal(runId) {
      const execution = live.get(runId);
      if (execution) return execution.poke();
      void claims.claimRun(runId).then((taken) => taken || ring('due', runId));
    },
    listen(given) {
      claims = given;
      stop = doorbell.listen(onRing);
    },
    stop: () => stop(),
  };
}

// --- internal ---

/** So many runs are asked for by name at once. */
const MAX_ASKING = 20;

const NO_CLAIMS: RunClaims = { claimRun: async () => false, claimDue: async () => {} };
