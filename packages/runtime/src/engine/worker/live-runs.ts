import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import { real } from '../real.ts';
import type { Execution } from '../run/execution.ts';
import { decode } from '../serialize.ts';

/** The one register of the runs this process has: in memory, on their way there, or, as suspects, in the processes it has begun for those. */
export interface LiveRuns {
  get(runId: string): Execution | undefined;
  list(): Execution[];
  /** Runs in memory. */
  readonly size: number;
  /** Those, and the ones on their way there. */
  readonly count: number;
  /**
   * How many of so many runs may still be taken in. Runs that only wait, for others or for what their body awaits, leave
   * their place to others, or a thousand parents would wait for children that find none; up to ten times as many.
   */
  roomFor(most: number): number;
  /** The run is in memory in this epoch or a later one. */
  hasEpoch(run: RunRow): boolean;
  /** This process has the run: it need not be claimed. */
  has(runId: string): boolean;
  /** The run is in memory, or on its way there. */
  isHere(runId: string): boolean;
  /** Resolves once nothing brings the run into memory any more. Undefined: nothing does. */
  arrival(runId: string): Promise<void> | undefined;
  /** Takes the place of the execution of an earlier epoch, which is dropped. */
  add(execution: Execution): void;
  remove(run: RunRow): void;
  /** The run has continued as another: that is the parent of its children from now on. */
  adopt(parentRunId: string, by: string): void;
  /** Called when a run has left. */
  onRoom(listener: () => void): void;
  /** Ends the execution of a run that is final in the journal, with what ended it. False: it is not final; it is given a cancel. */
  abandonIfFinal(execution: Execution): Promise<boolean>;
  /** The work is about to bring the run into memory. */
  arrive<T>(runId: string, work: () => Promise<T>): Promise<T>;
  /** The same, and a close waits for it, so that it gives the run back too. */
  enter<T>(runId: string, work: () => Promise<T>): Promise<T>;
  /** Resolves when nothing that has entered is still on its way. */
  entered(): Promise<unknown>;
}

export interface LiveRunsOptions {
  journal: Pick<Journal, 'getRun'>;
  /** Undefined: no processes are begun for suspects. */
  isolated: { readonly count: number; has(runId: string): boolean } | undefined;
}

/** The runs that do something are counted at most so often, in milliseconds. */
const COUNTED_MS = 20;
const MOST_WAITING = 10;

export function createLiveRuns({ journal, isolated }: LiveRunsOptions): LiveRuns {
  const executions = new Map<string, Execution>();
  const arriving = new Map<string, Arrival>();
  const entering = new Set<Promise<unknown>>();
  let onRoom = (): void => {};
  let active = 0;
  let countedAt = -Infinity;

  // One promise more for each start, and not five: `work` answers one, so it does not throw.
  const arrive = <T>(runId: string, work: () => Promise<T>, onOver?: () => void): Promise<T> => {
    const arrival = arriving.get(runId) ?? { count: 0 };
    arrival.count += 1;
    arriving.set(runId, arrival);
    const leave = (): void => {
      arrival.count -= 1;
      if (arrival.count === 0) {
        arriving.delete(runId);
        arrival.end?.();
      }
      onOver?.();
    };
    return work().then(
      (value) => {
        leave();
        return value;
      },
      (error: unknown) => {
        leave();
        throw error;
      },
    );
  };
  const has = (runId: string): boolean => executions.has(runId) || isolated?.has(runId) === true;
  return {
    get: (runId) => executions.get(runId),
    list: () => [...executions.values()],
    get size() {
      return executions.size;
    },
    get count() {
      return executions.size + entering.size + (isolated?.count ?? 0);
    },
    roomFor(most) {
      const all = executions.size;
      if (all < most) return most - all;
      const now = real.performanceNow();
      if (now - countedAt > COUNTED_MS) {
        active = 0;
        for (const execution of executions.values()) if (execution.isActive) active += 1;
        countedAt = now;
      }
      return Math.min(most - active, most * MOST_WAITING - all);
    },
    hasEpoch: ({ runId, epoch }) => (executions.get(runId)?.run.epoch ?? 0) >= epoch,
    has,
    isHere: (runId) => has(runId) || arriving.has(runId),
    arrival(runId) {
      const arrival = arriving.get(runId);
      return arrival && (arrival.over ??= new Promise((resolve) => (arrival.end = resolve)));
    },
    add(execution) {
      active += 1;
      const { runId } = execution.run;
      executions.get(runId)?.drop(new Error('The run was taken up again.'));
      executions.set(runId, execution);
    },
    remove({ runId, epoch }) {
      if (executions.get(runId)?.run.epoch !== epoch) return;
      executions.delete(runId);
      active -= 1;
      onRoom();
    },
    adopt(parentRunId, by) {
      for (const { run } of executions.values()) if (run.parentRunId === parentRunId) run.parentRunId = by;
    },
    onRoom(listener) {
      onRoom = listener;
    },
    async abandonIfFinal(execution) {
      const run = await journal.getRun(execution.run.runId);
      if (run && !isFinal(run.status)) execution.cancel(run);
      if (!run || !isFinal(run.status)) return false;
      execution.abandon(run.error === null ? new Error(`The run is ${run.status}.`) : decode(run.error));
      return true;
    },
    arrive,
    enter<T>(runId: string, work: () => Promise<T>) {
      const entry: Promise<T> = arrive(runId, work, () => entering.delete(entry));
      entering.add(entry);
      return entry;
    },
    entered: () => Promise.allSettled(entering),
  };
}

// --- internal ---

interface Arrival {
  /** How many starts or claims are about to bring the run. */
  count: number;
  /** Made where someone waits for it. */
  over?: Promise<void>;
  end?: () => void;
}
