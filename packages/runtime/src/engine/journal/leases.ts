import type { RunRow } from './run.ts';

export interface Claim {
  owner: string;
  leaseMs: number;
  limit: number;
  /** Take every unfinished, unparked run whatever its owner: for a store only this process can hold, at boot. */
  takeover?: boolean;
  /** Leave out runs that have begun with code of these hashes. */
  notCodes?: readonly string[];
}

export interface ClaimOne {
  owner: string;
  leaseMs: number;
  /** Takes it from this owner too, though its lease is good: it has died, or hands the run over, which is no crash. */
  from?: { owner: string; died: boolean };
}

/** A run that an owner holds, as stored. */
export interface HeldRun {
  runId: string;
  epoch: number;
  signals: number;
  pausedAt: number | null;
  cancel: string | null;
}

/** What there is to do for an owner at this moment. */
export interface Look {
  /** The store's clock. */
  now: number;
  /** As `nextWake` answers. */
  wake: number | undefined;
  /** There may be something for the owner to claim. */
  isDue: boolean;
  /** The owner holds runs. */
  isHolding: boolean;
  /** Runs are past their deadline. */
  isOverdue: boolean;
  /** Timers are due. */
  isScheduled: boolean;
  /** Milliseconds until the next timer is, of those that are not yet. Undefined: there is none. */
  timer: number | undefined;
  /** Other owners of runs whose process seems to be gone, whatever their leases say. */
  silent: string[];
}

/** Who runs what: an owner claims a run and renews its lease. */
export interface RunLeases {
  /**
   * Takes up to `limit` runs without a valid lease: expired ones of other owners first, then due `wakeAt`, then queued
   * ones; oldest first.
   * Each gets the owner, a fresh lease, an epoch one higher, status `running` and, the first time, `startedAt`.
   * `blocked` and final runs are never taken; a `waiting` run only once `wakeAt` is due. Before that it gives free
   * locks to the first of the starts that wait for them, a bounded number; and once a minute it has old idempotency keys
   * forgotten, all of them, beside it.
   * A run taken from another owner that did not release it becomes suspect at its position (`crashSeq`). Was it that
   * already, and had that owner marked it so that it counts, `crashCount` goes up by one; at a new position it starts from 0.
   */
  claim(claim: Claim): Promise<RunRow[]>;
  /** Takes one run by id if no other owner holds it and it is due, as `claim` does. Undefined: it cannot be taken. */
  claimRun(runId: string, claim: ClaimOne): Promise<RunRow | undefined>;
  /**
   * Sets the start mark of an unfinished run for this epoch. `counts`: should its owner die, `crashCount` goes up.
   * False: the epoch has passed, or the run is final.
   */
  mark(runId: string, epoch: number, mark: string, counts: boolean): Promise<boolean>;
  /** Extends the lease of every run the owner holds. */
  renew(owner: string, leaseMs: number): Promise<void>;
  /**
   * From now on others see it at once when this process is gone, and with it the owner. A store that cannot tell goes by
   * the leases.
   */
  attend(owner: string): Promise<void>;
  /** Ends the leases of those of the owners that are still silent, and forgets their code. Answers which. */
  expire(owners: readonly string[]): Promise<string[]>;
  /** Who holds the run, whose lease is good. Undefined: no process. */
  findOwner(runId: string): Promise<string | undefined>;
  /** The runs the owner holds, with the epoch and the signals as stored: what has been lost, or was signalled. */
  listHeld(owner: string): Promise<HeldRun[]>;
  /** An unfinished run is not claimed any more; whoever holds it lets it rest. False: there is none, or it is final. */
  pause(runId: string): Promise<boolean>;
  /** False: it is not paused, or it is final: what it has continued as has its pause. */
  unpause(runId: string): Promise<boolean>;
  /**
   * Sets a run that is `blocked`, or waits for its code, free for the next claim (`queued`), under another code hash. False: it
   * is neither.
   */
  unblock(runId: string, codeHash: string): Promise<boolean>;
  /** Looks for all of it at once: a store that has nothing to do is asked one thing. Old keys are forgotten as by `claim`. */
  look(owner: string): Promise<Look>;
  /** Milliseconds until the earliest `wakeAt` of an unowned waiting run (0: due), or undefined when none waits. */
  nextWake(): Promise<number | undefined>;
}
