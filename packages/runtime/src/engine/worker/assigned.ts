import type { Doorbell } from '../doorbell.ts';
import type { Supervisor, ToIsolated } from '../isolation.ts';
import type { Journal } from '../journal.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { persist } from '../persist.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Loading } from './loading.ts';

/** What a process for suspects has of the one that began it. */
export interface Assigned {
  /** Notifies the other process instead of replicas. */
  readonly doorbell: Doorbell;
  /** Publishes there what happens to runs here. */
  readonly lifecycle: Lifecycle;
  /** The run is the only one here: should the process die, the run was it. */
  readonly isAlone: boolean;
  /** Takes the runs it is given, from now on. */
  begin(parts: AssignedParts): void;
  /** The run has left this process. */
  left(runId: string): void;
}

export interface AssignedParts {
  journal: Pick<Journal, 'claimRun'>;
  owner: string;
  leaseMs: number;
  live: LiveRuns;
  loading: Loading;
}

/** How often it says that its event loop turns, in milliseconds. */
export const ALIVE_MS = 1_000;

export function createAssigned(supervisor: Supervisor): Assigned {
  let isAlone = false;

  const take = async (parts: AssignedParts, message: ToIsolated & { type: 'take' }): Promise<void> => {
    const { journal, owner, leaseMs, live, loading } = parts;
    isAlone = message.isAlone;
    const from = { owner: message.from, died: false };
    const takeOne = async (runId: string): Promise<void> => {
      const run = await persist(() => journal.claimRun(runId, { owner, leaseMs, from }), leaseMs);
      if (run) await loading.resume(run);
    };
    for (const runId of message.runIds)
      void live
        .enter(runId, () => takeOne(runId))
        .catch(() => {})
        // Taken by another, final, or its code cannot be loaded.
        .finally(() => live.get(runId) ?? supervisor.send({ type: 'left', runId }));
  };

  return {
    doorbell: {
      ring: (kind, runId) => supervisor.send({ type: 'ring', kind, runId }),
      listen(listener) {
        supervisor.onMessage((message) => {
          if (message.type === 'ring') listener(message.kind, message.runId);
        });
        return () => {};
      },
    },
    lifecycle: { isFollowed: true, publish: (event) => supervisor.send({ type: 'event', event }) },
    get isAlone() {
      return isAlone;
    },
    begin(parts) {
      supervisor.onMessage((message) => {
        if (message.type === 'take') void take(parts, message);
      });
      supervisor.send({ type: 'ready', owner: parts.owner });
      setInterval(() => supervisor.send({ type: 'alive' }), ALIVE_MS).unref();
    },
    left: (runId) => supervisor.send({ type: 'left', runId }),
  };
}
