import type { WorkflowInput, WorkflowOutput } from './register.ts';
import type { OperationTypes } from './operations.ts';
import { isPassing, pause } from './again.ts';
import { ClientError, ClientRunError } from './errors.ts';
import type { JsonOutput } from './json.ts';
import type { CallOptions, Sender } from './send.ts';

/** A start: what `workflows.start` takes besides the name and the input. */
export interface StartOptions extends Omit<OperationTypes['workflows.start']['input'], 'name' | 'input'>, CallOptions {}

/** One of many starts. */
export interface ManyStart<I> extends Omit<StartOptions, keyof CallOptions> {
  input: I;
}

/** Of the list as a whole. With the key it may be sent again: nothing is started twice. */
export interface StartManyOptions extends CallOptions {
  idempotencyKey?: string | undefined;
}

/** The outcome of one of many starts, at its place in the list. */
export type ManyStarted<O> =
  | { status: 'started' | 'queued'; run: ClientRun<O> }
  | { status: 'refused'; error: { code: string; message: string; details?: Record<string, unknown> | undefined } };

export interface WaitOptions extends CallOptions {
  /** Milliseconds. Default: until it ends. */
  timeout?: number | undefined;
}

/** A workflow of the box. */
export interface ClientWorkflow<I, O> {
  /** Starts a run, or queues one. Throws `ClientError` for what the box refuses. */
  start(
    ...args: undefined extends I ? [input?: I, options?: StartOptions] : [input: I, options?: StartOptions]
  ): Promise<ClientRun<O>>;
  /** Up to 500 starts in one request. One that is refused refuses no other, and is answered as such at its place. */
  startMany(items: readonly ManyStart<I>[], options?: StartManyOptions): Promise<ManyStarted<O>[]>;
  /** A run of it that was started before. */
  run(runId: string): ClientRun<O>;
}

/** A run, or a start that waits in a queue and becomes one. */
export interface ClientRun<O> {
  /** Undefined: the start waits in a queue; it is known once `get` or `result` has seen the run. */
  readonly runId: string | undefined;
  /** Of a start that was queued. */
  readonly triggerId: string | undefined;
  /** Undefined: it waits in a queue. */
  get(options?: CallOptions): Promise<OperationTypes['runs.get']['output'] | undefined>;
  /**
   * What it answered, once it has ended; of a run that has continued as another, what the last one did. Throws
   * `ClientRunError` when it ended otherwise, or has not ended in time.
   */
  result(options?: WaitOptions): Promise<O>;
  /** Cancels the run, or takes the start out of its queue. */
  cancel(options?: CallOptions): Promise<void>;
}

export type TypedWorkflow<N extends string> = ClientWorkflow<WorkflowInput<N>, JsonOutput<WorkflowOutput<N>>>;

export function createWorkflow<N extends string>(send: Sender, name: N): TypedWorkflow<N> {
  const toRun = (ids: RunIds): ClientRun<never> => createRun(send, name, ids);
  return {
    async start(...[input, { signal, headers, ...how } = {}]: [input?: unknown, options?: StartOptions]) {
      const answer = await send.operation('workflows.start', { name, input: input ?? {}, ...how }, { signal, headers });
      return toRun((await answer.json()) as RunIds);
    },
    async startMany(items: readonly ManyStart<unknown>[], { signal, headers, idempotencyKey }: StartManyOptions = {}) {
      const asked = { name, items, idempotencyKey };
      const answer = await send.operation('workflows.start_many', asked, { signal, headers });
      const { items: made } = (await answer.json()) as OperationTypes['workflows.start_many']['output'];
      return made.map((one) =>
        one.status === 'refused' ? { status: one.status, error: one.error } : { status: one.status, run: toRun(one) },
      );
    },
    run: (runId) => toRun({ runId }),
  };
}

// --- internal ---

interface RunIds {
  runId?: string;
  triggerId?: string;
}

type Run = OperationTypes['runs.get']['output'];

const WAIT_S = 30;
const QUEUE_MS = 500;
const PAUSE_MS = 1_000;
/** How often in a row a box may be out of reach while it is waited for: a deploy takes less. */
const MOST_FAILURES = 10;
const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

function createRun(send: Sender, name: string, ids: RunIds): ClientRun<never> {
  const { triggerId } = ids;
  let { runId } = ids;
  const ask = async <T>(id: string, input: object, call: CallOptions | undefined): Promise<T> =>
    (await send.operation(id, input, call)).json() as Promise<T>;
  const findRunId = async (call: CallOptions | undefined): Promise<string | undefined> => {
    if (runId !== undefined) return runId;
    try {
      const queued = await ask<{ runId: string | null }>('workflows.queued', { name, triggerId }, call);
      return (runId = queued.runId ?? undefined);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== 'trigger_not_found') throw error;
      throw new ClientRunError('run_cancelled', `The start "${triggerId}" was taken out of its queue.`);
    }
  };
  /** The run after a while, or as soon as it is final. */
  const look = async (call: CallOptions, waitMs: number): Promise<Run | undefined> => {
    const id = await findRunId(call);
    if (id !== undefined) return ask<Run>('runs.get', { id, wait: `${Math.ceil(waitMs / 1_000)}s` }, call);
    await pause(Math.min(QUEUE_MS, waitMs), call.signal);
    return undefined;
  };
  return {
    get runId() {
      return runId;
    },
    triggerId,
    async get(call) {
      const id = await findRunId(call);
      return id === undefined ? undefined : ask('runs.get', { id }, call);
    },
    async result({ timeout = Infinity, ...call } = {}) {
      const end = performance.now() + timeout;
      for (let failures = 0; ;) {
        const left = end - performance.now();
        if (left <= 0) throw notFinal(name, runId ?? triggerId);
        try {
          const run = await look(call, Math.min(left, WAIT_S * 1_000));
          failures = 0;
          if (run && FINAL.has(run.status)) return toResult(run) as never;
        } catch (error) {
          if (!isPassing(error, call.signal) || ++failures > MOST_FAILURES) throw error;
          await pause(Math.min(PAUSE_MS, Math.max(0, left)), call.signal);
        }
      }
    },
    async cancel(call) {
      const id = await findRunId(call);
      if (id === undefined) await ask('workflows.dequeue', { name, triggerId }, call);
      else await ask('runs.cancel', { id }, call);
    },
  };
}

function toResult({ status, output, error, runId }: Run): unknown {
  if (status === 'completed') return output;
  const code = status === 'cancelled' ? 'run_cancelled' : (error?.code ?? 'run_failed');
  throw new ClientRunError(code, error?.message ?? `The run "${runId}" is ${status}.`, runId);
}

function notFinal(name: string, id: string | undefined): ClientRunError {
  return new ClientRunError('run_not_final', `The run "${id}" of "${name}" has not ended in time. It goes on.`, id);
}
