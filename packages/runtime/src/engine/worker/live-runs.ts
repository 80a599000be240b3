import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { Execution } from '../run/execution.ts';
import { decode } from '../serialize.ts';
import type { Suspects } from './suspects.ts';

/** The one register of the runs this process has: in memory, on their way there, or waiting for their turn as suspects. */
export interface LiveRuns {
  get(runId: string): Execution | undefined;
  list(): Execution[];
  /** Runs in memory. */
  readonly size: number;
  /** Those, and the ones on their way there. */
  readonly count: number;
  /** The run is in memory in this epoch or a later one. */
  hasEpoch(run: RunRow): boolean;
  /** This process has the run: it need not be claimed. */
  has(runId: string): boolean;
  /** The run is in memory, or on its way there. */
  isHere(runId: string): boolean;
  /** Takes the place of the execution of an earlier epoch, which is dropped. */
  add(execution: Execution): void;
  remove(run: RunRow): void;
  /** Ends the execution of a run that is final in the journal, with what ended it. False: it is not final. */
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
  suspects: Suspects;
}

export function createLiveRuns({ journal, suspects }: LiveRunsOptions): LiveRuns {
  const executions = new Map<string, Execution>();
  /** How many starts or claims are about to bring the run. */
  const arriving = new Map<string, number>();
  const entering = new Set<Promise<unknown>>();

  const arrive = async <T>(runId: string, work: () => Promise<T>): Promise<T> => {
    arriving.set(runId, (arriving.get(runId) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (arriving.get(runId) ?? 1) - 1;
      if (left > 0) arriving.set(runId, left);
      else arriving.delete(runId);
    }
  };
  const has = (runId: string): boolean => executions.has(runId) || suspects.has(runId);
  return {
    get: (runId) => executions.get(runId),
    list: () => [...executions.values()],
    get size() {
      return executions.size;
    },
    get count() {
      return executions.size + entering.size + suspects.waiting;
    },
    hasEpoch: ({ runId, epoch }) => (executions.get(runId)?.run.epoch ?? 0) >= epoch,
    has,
    isHere: (runId) => has(runId) || arriving.has(runId),
    add(execution) {
      const { runId } = execution.run;
      executions.get(runId)?.drop(new Error('The run was taken up again.'));
      executions.set(runId, execution);
    },
    remove({ runId, epoch }) {
      if (executions.get(runId)?.run.epoch === epoch) executions.delete(runId);
    },
    async abandonIfFinal(execution) {
      const run = await journal.getRun(execution.run.runId);
      if (!run || !isFinal(run.status)) return false;
      execution.abandon(run.error === null ? new Error(`The run is ${run.status}.`) : decode(run.error));
      return true;
    },
    arrive,
    enter(runId, work) {
      const entry = arrive(runId, work).finally(() => entering.delete(entry));
      entering.add(entry);
      return entry;
    },
    entered: () => Promise.allSettled(entering),
  };
}
