import type { Attempt, CallRequest, ChildAction, RunAction } from '../call.ts';
import { currentContext } from '../context.ts';
import type { EngineContext, StepContext } from '../context.ts';
import type { ChildStartHow, RunHandle, StartedTurn, StartedWorkflow } from '../handle.ts';
import { isFinal } from '../journal/run.ts';
import { ERROR_STATUS } from '../../errors.ts';
import { RunCancelledError } from '../errors.ts';
import type { RunRow } from '../journal/run.ts';
import { isStoreDown, persist } from '../persist.ts';
import { startedByOf } from '../started-by.ts';
import { digestOf, encode } from '../serialize.ts';
import { encodeGiven } from '../values/given.ts';
import { LARGE_BYTES } from '../values/size.ts';
import { holdsSignal } from '../values/unread.ts';
import { ONCE } from './step.ts';

/** Starts another workflow below this run. Recorded in a body, so it starts once. */
export function startWorkflow(name: string, input: unknown, how: ChildHow = {}): Promise<StartedWorkflow> {
  const context = contextOf('svc.workflows.start');
  refuseSignals(name, input);
  if (context.kind === 'step') return startFrom(context, { name, input, how });
  return context.execution.invoke(startCall(context.execution, { name, input, how })) as Promise<StartedWorkflow>;
}

/** One of many runs below this one. */
export interface ManyChildStart<I = unknown> extends ChildStartHow {
  input: I;
}

/** Its outcome. `error`: what `start` would have thrown. */
export type ManyChildStarted = StartedWorkflow | { status: 'refused'; error: { code: string; message: string } };

/**
 * Starts many runs of a workflow below this run, each recorded by itself, as `startWorkflow` does: one that is refused
 * refuses no other. At most `MOST_CHILDREN` at once.
 */
export async function startManyWorkflows(name: string, items: readonly ManyChildStart[]): Promise<ManyChildStarted[]> {
  if (items.length > MOST_CHILDREN)
    throw new RangeError(
      `svc.workflows.startMany() takes at most ${MOST_CHILDREN} starts, and this list has ${items.length}. Cut it into several.`,
    );
  return Promise.all(items.map(({ input, ...how }) => orRefused(startWorkflow(name, input, how))));
}

export interface ChildHow extends ChildStartHow {
  /** The input is `{ args }`: positional arguments. */
  isSpread?: true;
}

/** Starts another workflow and waits for its output. What ends it otherwise is thrown, with its error as the cause. */
export async function startWorkflowAndWait(name: string, input: unknown, how: ChildStartHow = {}): Promise<unknown> {
  const context = contextOf('svc.workflows.startAndWait');
  refuseSignals(name, input);
  const { execution } = context;
  if (context.kind === 'step') {
    const started = await startFrom(context, { name, input, how });
    return execution.standBy(() => execution.ambient.waitForRun(started));
  }
  const started = (await execution.invoke(startCall(execution, { name, input, how }))) as StartedWorkflow;
  const child = started.status === 'started' ? { runId: started.runId } : { triggerId: started.triggerId };
  return execution.invoke(toWaitCall(name, child));
}

/** The call that starts a run below this one: once, as its answer is recorded. */
export function toStartCall(
  execution: RunHandle,
  { name, input }: { name: string; input: unknown },
  start: (attempt: Attempt) => Promise<unknown>,
): CallRequest {
  // Attempted once, as what a start is refused for stays; but a store that is down is no answer to the body.
  const run: RunAction['run'] = (attempt) => persist(() => start(attempt), START_MS, isStoreDown);
  const action: RunAction = { type: 'run', name: `start ${name}`, policy: ONCE, run };
  const stepId = `start ${name}`;
  return { kind: 'child', stepId, ...execution.write({ value: input, stepId, root: '' }), action };
}

/** The call that answers the output of another run, or with `leavesOutput` undefined once that has completed. */
export function toWaitCall(
  name: string,
  child: ChildAction['child'],
  how: Pick<ChildAction, 'leavesOutput'> = {},
): CallRequest {
  return {
    kind: 'child',
    stepId: `wait ${name}`,
    input: encode({ name }, 'input'),
    action: { type: 'child', child, ...how },
  };
}

/**
 * What a run below this one has answered, which has completed. Throws `child_gone` where it is deleted by now, and what the
 * store is refused for once that has been away for too long.
 */
export function readChild({ ambient }: RunHandle, runId: string): Promise<unknown> {
  return persist(() => ambient.waitForRun({ status: 'started', runId }), START_MS, isStoreDown);
}

/**
 * Starts a child by its key. A retried run finds the child of the run before by it; one that did not complete, is being
 * cancelled or was dropped from its queue is started again.
 * Throws `run_cancelled` in a step that was cancelled.
 */
export async function startOrAnew<S extends StartedWorkflow | StartedTurn>(
  handle: RunHandle,
  key: string,
  start: (key: string) => Promise<S>,
): Promise<S> {
  const context = currentContext();
  if (context?.kind === 'step' && context.isCancelled) throw new RunCancelledError();
  return handle.startBelow(() => startByKey(handle, key, start));
}

/** The key of a start in a step: the same for the same start of the same step, so a repeated attempt finds it. */
export function toStartKey(context: StepContext, what: string): string {
  const starts = (context.starts ??= []);
  starts.push(what);
  const nth = starts.filter((other) => other === what).length;
  return `${context.idempotencyKey}:${what}:${nth}`;
}

// --- internal ---

const MOST_CHILDREN = 500;

async function orRefused(start: Promise<StartedWorkflow>): Promise<ManyChildStarted> {
  try {
    return await start;
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    // A cancel, and whatever else is no answer to a start, is not one of this list alone.
    if (typeof code !== 'string' || !(code in ERROR_STATUS) || code === 'run_cancelled') throw error;
    return { status: 'refused', error: { code, message } };
  }
}

async function startByKey<S extends StartedWorkflow | StartedTurn>(
  { ambient, run }: RunHandle,
  key: string,
  start: (key: string) => Promise<S>,
): Promise<S> {
  const started = await start(key);
  if (run.seed === null) return started;
  const child = await ambient.client.findRun('runId' in started ? started.runId : started.triggerId);
  if (child && (child.parentRunId === run.runId || !('status' in child) || !isEnding(child))) return started;
  return start(`${key}:${run.runId}`);
}

function isEnding({ status, cancel }: RunRow): boolean {
  return status === 'failed' || status === 'cancelled' || (cancel !== null && !isFinal(status));
}

/** How long the start of a child, and what reads its answer, wait for the store to come back. */
const START_MS = 30_000;

function contextOf(caller: string): EngineContext {
  const context = currentContext();
  if (!context) throw new Error(`${caller}() works in a workflow, a step or a tool.`);
  return context;
}

interface Start {
  name: string;
  input: unknown;
  how: ChildHow;
}

function refuseSignals(name: string, input: unknown): void {
  if (holdsSignal(input))
    throw new TypeError(`An abort signal of this run goes to its steps alone. Cancel the run of "${name}" instead.`);
}

function startCall(execution: RunHandle, { name, input, how }: Start): CallRequest {
  const { run: parent } = execution;
  const { isSpread: _, ...options } = how;
  // A start with none is recorded as ever.
  const given = Object.keys(options).length > 0 ? { name, input, options } : { name, input };
  return toStartCall(execution, { name, input: given }, ({ idempotencyKey }) =>
    startChild(execution, { name, input, how }, { parentRunId: parent.runId, idempotencyKey }),
  );
}

function startChild(execution: RunHandle, { name, input, how }: Start, { parentRunId, idempotencyKey }: Named) {
  const onBehalfOf = startedByOf(execution.run);
  const start = (key: string): Promise<StartedWorkflow> =>
    execution.ambient.startWorkflow(name, input, { ...how, parentRunId, onBehalfOf, idempotencyKey: key });
  return startOrAnew(execution, idempotencyKey, start);
}

interface Named {
  parentRunId: string;
  idempotencyKey: string;
}

function startFrom(context: StepContext, { name, input, how }: Start): Promise<StartedWorkflow> {
  const { execution } = context;
  const idempotencyKey = toStartKey(context, `${name}:${digestOf(encodeGiven(input, 'input', LARGE_BYTES))}`);
  return startChild(execution, { name, input, how }, { parentRunId: execution.run.runId, idempotencyKey });
}
