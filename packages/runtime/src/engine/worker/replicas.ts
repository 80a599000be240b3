import type { Log } from '../../log.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';

/**
 * Which code the other replicas have, so that a run goes on where its own code is: while a release rolls out, two kinds
 * of replicas share the journal, and to the one the other's runs may be nondeterministic.
 */
export interface Replicas {
  /** The hashes of code that another replica has and this one has not, as last seen. */
  readonly elsewhere: readonly string[];
  /** Announces this replica to the others, and sees which there are. */
  announce(): Promise<void>;
  /** The same, once a lease is a third over, or while there is code elsewhere: when it ends, its runs are to be taken. */
  announceIfDue(): Promise<void>;
  /** The code that the run has begun with is not here, and another replica that lives has it. */
  hasCodeOf(run: Pick<RunRow, 'codeHash'>): Promise<boolean>;
  /** Looks now: the hashes of code that another replica that lives has and this one has not. */
  listElsewhere(): Promise<readonly string[]>;
  leave(): Promise<void>;
}

export interface ReplicasOptions {
  journal: Pick<Journal, 'code' | 'replicas'>;
  log: Log;
  owner: string;
  leaseMs: number;
  /** The hashes of the code this process has. Undefined: no other process can have a run of the journal. */
  codes: (() => readonly string[]) | undefined;
  now(): number;
}

export function createReplicas({ journal, log, owner, leaseMs, codes, now }: ReplicasOptions): Replicas {
  if (!codes) return ALONE;
  let elsewhere: readonly string[] = [];
  let announcedAt = -Infinity;

  const look = async (): Promise<void> => {
    const own = new Set(codes());
    const before = elsewhere;
    const found = (await journal.replicas.listCodesOfOthers(owner)).filter((code) => !own.has(code));
    // Who serves it may have a runtime that wakes no run. What fails is done by the next look.
    const gained = found.filter((code) => !before.includes(code));
    if (gained.length > 0) await journal.code.wake(gained);
    elsewhere = found;
    if (before.length === 0 && found.length > 0)
      log.info('Another replica has other code: each goes on with the runs of its own.', { codes: elsewhere });
  };
  const announce = async (): Promise<void> => {
    const at = now();
    await journal.replicas.announce({ owner, leaseMs, codes: codes() });
    await look();
    announcedAt = at;
  };
  return {
    get elsewhere() {
      return elsewhere;
    },
    announce,
    async announceIfDue() {
      // The store's clock may have been set back, and the lease with it.
      if (Math.abs(now() - announcedAt) > leaseMs / 3) return announce();
      if (elsewhere.length > 0) await look();
    },
    async hasCodeOf({ codeHash }) {
      if (codeHash === null || codes().includes(codeHash)) return false;
      // Others may have come or gone since.
      await look();
      return elsewhere.includes(codeHash);
    },
    async listElsewhere() {
      await look();
      return elsewhere;
    },
    leave: () => journal.replicas.leave(owner),
  };
}

// --- internal ---

const ALONE: Replicas = {
  elsewhere: [],
  announce: async () => {},
  announceIfDue: async () => {},
  hasCodeOf: async () => false,
  listElsewhere: async () => [],
  leave: async () => {},
};
