import { registerClass, WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from '../engine/values/classes.ts';
import { currentContext } from '../engine/context.ts';
import type { QueuedStart } from '../engine/journal/queue.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { stateOf } from '../engine/run/published-state.ts';
import { decode, encode } from '../engine/serialize.ts';
import { countFrames, createRunReadable } from '../engine/values/streams.ts';
import { WorkflowRunCancelledError, WorkflowRunFailedError, WorkflowRunNotFoundError } from './errors.ts';
import { workflowNameOf } from '../workflows/mark.ts';
import type { WorkflowName, WorkflowOutput, WorkflowState } from '../register.ts';
import { inBox } from './in-box.ts';

export type WorkflowRunStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';

export interface WorkflowReadableStreamOptions {
  /** Default `default`. */
  namespace?: string;
  /** The first frame to be read, from 0; below 0: counted from the end. */
  startIndex?: number;
}

export type WorkflowReadableStream<R = unknown> = ReadableStream<R> & {
  /** The index of the last frame there is; -1: none. Works in a step. */
  getTailIndex(): Promise<number>;
};

/** A run, looked at when it is asked. Every getter but `runId` throws `WorkflowRunNotFoundError` where there is none. */
export class Run<T = unknown, S = unknown> {
  /** Of a start that waits in its queue: its `triggerId`, which stands for the run it will be. */
  readonly runId: string;

  constructor(runId: string) {
    this.runId = runId;
  }

  get exists(): Promise<boolean> {
    return this.#ask('exists', (found) => found !== undefined);
  }

  get status(): Promise<WorkflowRunStatus> {
    return this.#look('status', (found) => ('runId' in found ? STATUS[found.status] : 'pending'));
  }

  get workflowName(): Promise<string> {
    return this.#look('workflowName', ({ name }) => name);
  }

  get createdAt(): Promise<Date> {
    return this.#look('createdAt', ({ createdAt }) => new Date(createdAt));
  }

  get startedAt(): Promise<Date | undefined> {
    return this.#look('startedAt', (found) => toDate('runId' in found ? found.startedAt : null));
  }

  get completedAt(): Promise<Date | undefined> {
    return this.#look('completedAt', (found) => toDate('runId' in found ? found.endedAt : null));
  }

  /** What the run returns, once it does. Throws `WorkflowRunFailedError` and `WorkflowRunCancelledError`. */
  get returnValue(): Promise<T> {
    const { runId } = this;
    return inBox({
      caller: 'run.returnValue',
      input: { runId },
      async work(client, signal) {
        const run = await client.waitForEnd(runId, signal);
        if (!run) throw fatal(new WorkflowRunNotFoundError(runId));
        if (run.status === 'cancelled') throw fatal(new WorkflowRunCancelledError(runId));
        if (run.status === 'failed') throw fatal(new WorkflowRunFailedError(runId, run.error && decode(run.error)));
        return (run.output === null ? undefined : decode(run.output)) as T;
      },
    });
  }

  /**
   * What the run has published last; undefined: nothing. Its type is what the `stateSchema` of the workflow gives, where that
   * is named: `getRun<'import-rows'>(id).getState()`. Without one it is said here: `getState<Progress>()`.
   */
  getState(): Promise<S | undefined>;
  getState<P>(): Promise<P | undefined>;
  getState(): Promise<unknown> {
    return this.#look('getState', (found) => ('runId' in found ? stateOf(found) : undefined));
  }

  /** Does nothing to a run that has ended. */
  async cancel(): Promise<void> {
    const { runId } = this;
    await inBox({ caller: 'run.cancel', input: { runId }, work: (client) => client.cancel(runId) });
  }

  /** The run's default stream. */
  get readable(): WorkflowReadableStream {
    return this.getReadable();
  }

  /** What the run's steps write to a stream of it, from the beginning. A body hands it to a step. */
  getReadable<R = unknown>(options: WorkflowReadableStreamOptions = {}): WorkflowReadableStream<R> {
    const { namespace: name = 'default', startIndex } = options;
    const ref = { runId: this.runId, name, ...(startIndex === undefined ? {} : { startIndex }) };
    const context = currentContext();
    return Object.assign(createRunReadable<R>(ref, { encode, decode }), {
      async getTailIndex() {
        if (context?.kind !== 'step') throw new Error('getTailIndex() works in a step.');
        return (await countFrames(ref, context)) - 1;
      },
    });
  }

  static [WORKFLOW_SERIALIZE]({ runId }: Run): { runId: string } {
    return { runId };
  }

  static [WORKFLOW_DESERIALIZE]({ runId }: { runId: string }): Run {
    return new Run(runId);
  }

  static {
    registerClass(this, 'workflow/api#Run');
  }

  #ask<R>(what: string, read: (found: RunRow | QueuedStart | undefined) => R): Promise<R> {
    const { runId } = this;
    return inBox({
      caller: `run.${what}`,
      input: { runId },
      work: async (client) => read(await client.findRun(runId)),
    });
  }

  #look<R>(what: string, read: (found: RunRow | QueuedStart) => R): Promise<R> {
    return this.#ask(what, (found) => {
      if (!found) throw fatal(new WorkflowRunNotFoundError(this.runId));
      return read(found);
    });
  }
}

/** A run of the workflow of that name. */
export type RunOf<N extends WorkflowName> = Run<WorkflowOutput<N>, WorkflowState<N>>;

/** A run by its id: `getRun<'import-rows'>(id)`, or by what it returns: `getRun<Result>(id)`. Nothing is asked yet. */
export function getRun<N extends WorkflowName = never>(runId: IsSaid<N> extends true ? string : never): RunOf<N>;
export function getRun<T = unknown>(runId: string): Run<T>;
export function getRun(runId: string): Run {
  return new Run(runId);
}

/** The run that was started with an id of its own. Undefined: there is none (any more). */
export function findRun<N extends WorkflowName>(workflow: N, id: string): Promise<RunOf<N> | undefined>;
export function findRun<T = unknown>(
  workflow: string | ((...args: never) => Promise<T>),
  id: string,
): Promise<Run<T> | undefined>;
export async function findRun(
  workflow: string | ((...args: never) => Promise<unknown>),
  id: string,
): Promise<Run | undefined> {
  const name = typeof workflow === 'string' ? workflow : workflowNameOf(workflow);
  if (name === undefined) throw new TypeError('findRun() takes a workflow, or its name.');
  const runId = await inBox({
    caller: 'findRun',
    input: { name, id },
    async work(client) {
      const found = await client.findById(name, id);
      if (!found) return undefined;
      return 'runId' in found ? found.runId : found.triggerId;
    },
  });
  return runId === undefined ? undefined : new Run(runId);
}

// --- internal ---

/** Without a name, or with `any`, the other `getRun` is meant. */
type IsSaid<N> = 0 extends 1 & N ? false : [N] extends [never] ? false : true;

const STATUS = {
  queued: 'pending',
  running: 'running',
  waiting: 'running',
  blocked: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<RunRow['status'], WorkflowRunStatus>;

function toDate(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms);
}

/** Asking again does not change it: a step that throws it is not attempted again. */
function fatal(error: Error): Error {
  return Object.assign(error, { fatal: true });
}
