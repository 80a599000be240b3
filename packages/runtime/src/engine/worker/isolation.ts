import type { Log } from '../../log.ts';
import { atMost } from '../at-most.ts';
import type { Doorbell, RingKind } from '../doorbell.ts';
import type { FromIsolated, Isolate } from '../isolation.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { persist } from '../persist.ts';
import { real } from '../real.ts';
import { openGroup } from './isolated-group.ts';
import type { IsolatedGroup } from './isolated-group.ts';

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
  const groups = new Set<IsolatedGroup>();
  const listeners = new Set<(kind: RingKind, runId: string) => void>();
  let failures = 0;

  const all = (): IsolatedGroup[] => [...groups];
  const groupOf = (runId: string): IsolatedGroup | undefined => all().find(({ members }) => members.has(runId));

  const onMessage = (message: FromIsolated): void => {
    if (message.type === 'ready') failures = 0;
    else if (message.type === 'ring') for (const listener of listeners) listener(message.kind, message.runId);
    else if (message.type === 'event' && lifecycle.isFollowed) lifecycle.publish(message.event);
  };

  const begin = (runs: readonly RunRow[], { isOpen = false, isAlone = false } = {}): void => {
    const group = openGroup(runs, { process: isolate(), journal, owner, leaseMs, isOpen, isAlone, onMessage });
    groups.add(group);
    group.process.onExit(() => {
      groups.delete(group);
      died(group).catch((error: unknown) =>
        log.error('Runs of a dead process are taken up when their lease ends.', { error }),
      );
    });
  };

  /** What the process held when it ended: what it was given, and what those runs have begun in it. */
  const reclaim = async (group: IsolatedGroup): Promise<RunRow[]> => {
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

  const died = async (group: IsolatedGroup): Promise<void> => {
    if (closing.aborted) return;
    const runs = await reclaim(group);
    if (runs.length === 0) return;
    if (group.owner === undefined) return notBegun(group, runs);
    log.warn('A separate process for runs that may have crashed theirs has died.', {
      runs: runs.length,
      isAlone: group.isAlone,
    });
    const suspects: RunRow[] = [];
    await Promise.all(runs.map((run) => resume(run, (suspect) => suspects.push(suspect))));
    if (suspects.length === 1) return begin(suspects, { isAlone: true });
    const half = Math.ceil(suspects.length / 2);
    for (const part of [suspects.slice(0, half), suspects.slice(half)]) if (part.length > 0) begin(part);
  };

  /** It never came to take a run, which is no run's doing: tried again, and then the runs go on here. */
  const notBegun = async ({ isOpen, isAlone }: IsolatedGroup, runs: RunRow[]): Promise<void> => {
    failures += 1;
    if (failures < MOST_FAILURES) {
      await new Promise((resolve) => real.setTimeout(resolve, RETRY_MS * failures));
      if (!closing.aborted) begin(runs, { isOpen, isAlone });
      return;
    }
    log.error('No separate process can be started for runs that may have crashed theirs; they go on in this one.', {
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
      if (open) open.add(run);
      else begin([run], { isOpen: true });
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
        else group.end();
        await atMost(CLOSE_MS, isOver);
        group.process.kill();
      });
      await Promise.all(ends);
      return waiting;
    },
  };
}

// --- internal ---

/** How long a run that is final may take to leave it. */
const CANCEL_MS = 5_000;
/** How long it may take to give back its runs. */
const CLOSE_MS = 12_000;
const RETRY_MS = 1_000;
const MOST_FAILURES = 3;
