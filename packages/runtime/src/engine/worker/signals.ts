import { runOutside } from '../context.ts';
import { SILENT } from '../doorbell.ts';
import type { Doorbell, RingKind, RingListener } from '../doorbell.ts';
import type { Journal } from '../journal.ts';
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
  journal: Pick<Journal, 'findOwner'>;
  owner: string;
  doorbell: Doorbell | undefined;
  live: LiveRuns;
  watchers: Pick<Watchers, 'ended' | 'changed'>;
}

export function createSignals(options: SignalsOptions): Signals {
  const { doorbell = SILENT, journal, owner, live, watchers } = options;
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

  const onRing: RingListener = (kind, runId, to = owner) => {
    const execution = live.get(runId);
    if (kind === 'ended') watchers.ended(runId);
    if (kind === 'written') watchers.changed(runId);
    // What fails here, the sweep does.
    if (kind === 'ended' && execution) live.abandonIfFinal(execution).catch(() => {});
    if (kind === 'due' && execution) execution.poke();
    // Where another replica has the run, that one looks: the others would ask the journal in vain.
    if (kind === 'due' && !execution && to === owner) takeDue(runId).catch(() => {});
  };

  // Outside of any run: what sends a ring is no code of an author.
  const ring = (kind: RingKind, runId: string, to?: string): void => runOutside(() => doorbell.ring(kind, runId, to));
  const signalElsewhere = async (runId: string): Promise<void> => {
    if (await claims.claimRun(runId)) return;
    ring('due', runId, await journal.findOwner(runId).catch(() => undefined));
  };
  return {
    ring,
    signal(runId) {
      const execution = live.get(runId);
      if (execution) return execution.poke();
      void signalElsewhere(runId);
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
