import type { Log } from '../../log.ts';
import { atMost } from '../at-most.ts';
import type { Doorbell, RingKind } from '../doorbell.ts';
import type { FromIsolated, Isolate, IsolatedProcess } from '../isolation.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { persist } from '../persist.ts';
import { real } from '../real.ts';
import { ALIVE_MS } from './assigned.ts';

/** Runs that go on in other processes of this box, because they may be what kills theirs. */
export interface Isolation {
  /** How many there are, on their way there too. */
  readonly count: number;
  has(runId: string): boolean;
  /** Hands the run, which this process holds, to another. */
  add(run: RunRow): void;
  /** Reaches the runs there, and hears from them. */
  readonly doorbell: Doorbell;
  /** Ends the other processes, each after it has given back its runs. Answers those that were still on their way. */
  close(): Promise<RunRow[]>;
}

export interface IsolationOptions {
  isolate: Isolate;
  journal: Pick<Journal, 'claimRun' | 'listHeld' | 'renew'>;
  log: Log;
  owner: string;
  leaseMs: number;
  lifecycle: Lifecycle;
  closing: AbortSignal;
  /** Goes on with a run whose process has died; `mayIsolate`: by `add` where that is called for. */
  resume(run: RunRow, isolate: (run: RunRow) => void): Promise<unknown>;
}

/**
 * All suspects share one process at first. When it dies they are divided between two, and so on, until a run is alone:
 * only then a death counts for it, and nothing that kills the box from outside does.
 */
export function createIsolation(options: IsolationOptions): Isolation {
  const { isolate, journal, log, owner, leaseMs, lifecycle, closing, resume } = options;
  const groups = new Set<Group>();
  const listeners = new Set<(kind: RingKind, runId: string) => void>();
  let failures = 0;

  const all = (): Group[] => [...groups];
  const groupOf = (runId: string): Group | undefined => all().find(({ members }) => members.has(runId));

  const take = (group: Group, runs: RunRow[]): void => {
    const runIds = runs.map(({ runId }) => runId);
    group.process.send({ type: 'take', runIds, from: owner, isAlone: group.isAlone });
  };

  const onMessage = (group: Group, message: FromIsolated): void => {
    group.heardAt = real.performanceNow();
    if (message.type === 'alive') return;
    if (message.type === 'ready') {
      failures = 0;
      real.clearTimeout(group.boot);
      group.owner = message.owner;
      take(group, [...group.members.values()]);
    } else if (message.type === 'ring') {
      for (const listener of listeners) listener(message.kind, message.runId);
    } else if (message.type === 'left') leave(group, message.runId);
    else if (lifecycle.isFollowed) lifecycle.publish(message.event);
  };

  const leave = (group: Group, runId: string): void => {
    group.members.delete(runId);
    if (group.members.size > 0) return;
    // Another suspect may come at once: it need not wait for a new process.
    group.idle = real.setTimeout(() => end(group), IDLE_MS);
    group.idle.unref();
  };

  const end = (group: Group): void => {
    group.isEnding = true;
    group.process.send({ type: 'close' });
  };

  /** Its lease is renewed from here, so that a step that holds its event loop is not taken for dead. */
  const keepLease = (group: Group): void => {
    if (group.owner !== undefined) journal.renew(group.owner, leaseMs).catch(() => {});
  };

  /** Such a step is to hold up no other run: they are divided until it is alone. */
  const look = (group: Group): void => {
    const isStill = group.owner !== undefined && real.performanceNow() - group.heardAt > STILL_MS;
    if (isStill && group.members.size > 1) group.process.kill();
  };

  const begin = (runs: readonly RunRow[], { isOpen = false, isAlone = false } = {}): void => {
    const members = new Map(runs.map((run) => [run.runId, run]));
    const heardAt = real.performanceNow();
    const group: Group = { members, isOpen, isAlone, isEnding: false, heardAt, process: isolate() };
    groups.add(group);
    group.boot = real.setTimeout(() => group.process.kill(), BOOT_MS);
    group.watch = setInterval(() => look(group), ALIVE_MS);
    group.lease = setInterval(() => keepLease(group), leaseMs / 3);
    group.process.onMessage((message) => onMessage(group, message));
    group.process.onExit(() => {
      clearInterval(group.watch);
      clearInterval(group.lease);
      real.clearTimeout(group.idle);
      real.clearTimeout(group.boot);
      groups.delete(group);
      died(group).catch((error: unknown) =>
        log.error('Runs of a dead process are taken up when their lease ends.', { error }),
      );
    });
  };

  /** What the process held when it ended: what it was given, and what those runs have begun in it. */
  const reclaim = async (group: Group): Promise<RunRow[]> => {
    const { owner: dead } = group;
    if (dead === undefined) return [...group.members.values()];
    const held = await persist(() => journal.listHeld(dead), leaseMs);
    const runIds = new Set([...group.members.keys(), ...held.map(({ runId }) => runId)]);
    const from = { owner: dead, died: true };
    const claimed = await Promise.all(
      Array.from(runIds, (runId) => persist(() => journal.claimRun(runId, { owner, leaseMs, from }), leaseMs)),
    );
    return claimed.flatMap((run) => run ?? []);
  };

  const died = async (group: Group): Promise<void> => {
    if (closing.aborted) return;
    const runs = await reclaim(group);
    if (runs.length === 0) return;
    if (group.owner === undefined) return notBegun(group, runs);
    log.warn('A process for runs that may have killed theirs has died.', { runs: runs.length, isAlone: group.isAlone });
    const suspects: RunRow[] = [];
    await Promise.all(runs.map((run) => resume(run, (suspect) => suspects.push(suspect))));
    if (suspects.length === 1) return begin(suspects, { isAlone: true });
    const half = Math.ceil(suspects.length / 2);
    for (const part of [suspects.slice(0, half), suspects.slice(half)]) if (part.length > 0) begin(part);
  };

  /** It never came to take a run, which is no run's doing: tried again, and then the runs go on here. */
  const notBegun = async ({ isOpen, isAlone }: Group, runs: RunRow[]): Promise<void> => {
    failures += 1;
    if (failures < MOST_FAILURES) {
      await new Promise((resolve) => real.setTimeout(resolve, RETRY_MS * failures));
      if (!closing.aborted) begin(runs, { isOpen, isAlone });
      return;
    }
    log.error('No process can be begun for runs that may have killed theirs; they go on in this one.', {
      runs: runs.length,
    });
    failures = 0;
    await Promise.all(runs.map((run) => resume(run, () => undefined)));
  };

  return {
    get count() {
      return all().reduce((sum, { members }) => sum + members.size, 0);
    },
    has: (runId) => groupOf(runId) !== undefined,
    add(run) {
      const open = all().find((group) => group.isOpen && !group.isEnding);
      if (!open) return begin([run], { isOpen: true });
      real.clearTimeout(open.idle);
      open.members.set(run.runId, run);
      if (open.owner !== undefined) take(open, [run]);
    },
    doorbell: {
      ring(kind, runId) {
        for (const { process, owner: isReady } of groups) if (isReady) process.send({ type: 'ring', kind, runId });
        const group = kind === 'ended' ? groupOf(runId) : undefined;
        // Cancelled, and its step holds the event loop: nothing there can hear of it.
        if (group) real.setTimeout(() => group.members.has(runId) && group.process.kill(), CANCEL_MS).unref();
      },
      listen(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    async close() {
      const waiting: RunRow[] = [];
      const ends = all().map(async (group) => {
        const isOver = new Promise<void>((resolve) => group.process.onExit(resolve));
        if (group.owner === undefined) waiting.push(...group.members.values());
        if (group.owner === undefined) group.process.kill();
        else end(group);
        await atMost(CLOSE_MS, isOver);
        group.process.kill();
      });
      await Promise.all(ends);
      return waiting;
    },
  };
}

// --- internal ---

/** How long a process without a run stays, in milliseconds. */
const IDLE_MS = 2_000;
/** How long one may take until it can have runs. */
const BOOT_MS = 60_000;
/** How long the event loop of one with several runs may stand still. */
const STILL_MS = 3 * ALIVE_MS;
/** How long a run that is final may take to leave it. */
const CANCEL_MS = 5_000;
/** How long it may take to give back its runs. */
const CLOSE_MS = 12_000;
const RETRY_MS = 1_000;
const MOST_FAILURES = 3;

interface Group {
  members: Map<string, RunRow>;
  process: IsolatedProcess;
  /** Its name in the journal, once it can take runs. */
  owner?: string;
  /** Whether further suspects are given to it. */
  isOpen: boolean;
  isAlone: boolean;
  isEnding: boolean;
  /** When it last sent something, by this process's clock. */
  heardAt: number;
  watch?: ReturnType<typeof setInterval>;
  lease?: ReturnType<typeof setInterval>;
  boot?: ReturnType<typeof setTimeout>;
  idle?: ReturnType<typeof setTimeout>;
}
