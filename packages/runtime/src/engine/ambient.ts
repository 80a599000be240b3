import type { CallRequest, RunAction } from './call.ts';
import { currentContext } from './context.ts';
import type { EngineContext, StepContext } from './context.ts';
import type { RunHandle, StartedWorkflow } from './handle.ts';
import { isStoreDown, persist } from './persist.ts';
import { digestOf, encode } from './serialize.ts';
import { ONCE } from './step.ts';

/** Starts another workflow; its run ends as cancelled when this one does. Recorded in a body, so it starts once. */
export function startWorkflow(name: string, input: unknown, how: StartHow = {}): Promise<StartedWorkflow> {
  const context = contextOf('svc.workflows.start');
  if (context.kind === 'step') return startFrom(context, { name, input, how });
  return context.execution.invoke(startCall(context.execution, { name, input, how })) as Promise<StartedWorkflow>;
}

export interface StartHow {
  /** The input is `{ args }`: positional arguments. */
  isSpread?: true;
}

/** Starts another workflow and waits for its output. What ends it otherwise is thrown, with its error as the cause. */
export async function startWorkflowAndWait(name: string, input: unknown): Promise<unknown> {
  const context = contextOf('svc.workflows.startAndWait');
  const { execution } = context;
  if (context.kind === 'step') return execution.ambient.waitForRun(await startFrom(context, { name, input }));
  const started = (await execution.invoke(startCall(execution, { name, input }))) as StartedWorkflow;
  const child = started.status === 'started' ? { runId: started.runId } : { triggerId: started.triggerId };
  return execution.invoke({
    kind: 'child',
    stepId: `wait ${name}`,
    input: encode({ name }, 'input'),
    action: { type: 'child', child },
  });
}

// --- internal ---

/** How long the start of a child waits for the store to come back. */
const START_MS = 30_000;

function contextOf(caller: string): EngineContext {
  const context = currentContext();
  if (!context) throw new Error(`${caller}() works in a workflow, a step or a tool.`);
  return context;
}

interface Start {
  name: string;
  input: unknown;
  how?: StartHow;
}

function startCall(execution: RunHandle, { name, input, how }: Start): CallRequest {
  const { ambient, run: parent } = execution;
  const run: RunAction['run'] = ({ idempotencyKey }) => {
    const start = () => ambient.startWorkflow(name, input, { ...how, parentRunId: parent.runId, idempotencyKey });
    // Attempted once, as what a start is refused for stays; but a store that is down is no answer to the body.
    return persist(start, START_MS, isStoreDown);
  };
  const action: RunAction = { type: 'run', name: `start ${name}`, policy: ONCE, run };
  return { kind: 'child', stepId: `start ${name}`, input: encode({ name, input }, ''), action };
}

/** A repeated attempt finds what an earlier one started: the same start of the same step has the same key. */
function startFrom(context: StepContext, { name, input, how }: Start): Promise<StartedWorkflow> {
  const { execution } = context;
  const starts = (context.starts ??= []);
  const what = `${name}:${digestOf(encode(input, 'input'))}`;
  starts.push(what);
  const nth = starts.filter((other) => other === what).length;
  const idempotencyKey = `${context.idempotencyKey}:${what}:${nth}`;
  return execution.ambient.startWorkflow(name, input, {
    ...how,
    parentRunId: execution.run.runId,
    idempotencyKey,
  });
}
