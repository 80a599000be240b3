import type { Attempt } from '../call.ts';
import { currentContext } from '../context.ts';
import type { EngineContext } from '../context.ts';
import type { ScheduledWorkflow, ScheduleTime } from '../handle.ts';
import { isStoreDown, persist } from '../persist.ts';
import { digestOf } from '../serialize.ts';
import { encodeGiven } from '../values/given.ts';
import { ONCE } from './step.ts';

/** When a workflow is to be started: again and again, or once. */
export type ScheduleOptions = ScheduleTime & {
  /**
   * Names the timer among those of its workflow. The same name with the same input and time changes nothing, with
   * others it replaces the timer. Default: one of its own for this call.
   */
  id?: string;
};

/**
 * Arms a timer that starts a workflow. It outlives the run that made it. Recorded in a body, and a repeated attempt of a
 * step finds the timer of the first, so it is armed once.
 */
export async function scheduleWorkflow(
  name: string,
  input: unknown,
  options: ScheduleOptions,
): Promise<ScheduledWorkflow> {
  const { id: own, ...when } = options;
  const given = { name, input, ...options };
  return perform('schedule', { name, given }, (context, key) =>
    context.execution.ambient.schedule({ name, input, when, id: own ?? digestOf(key), by: context.execution.run }),
  ) as Promise<ScheduledWorkflow>;
}

/** Removes a timer that `scheduleWorkflow` made. False: there is none (any more). */
export async function unscheduleWorkflow(id: string): Promise<boolean> {
  return perform('unschedule', { name: id, given: { id } }, (context) =>
    context.execution.ambient.unschedule(id),
  ) as Promise<boolean>;
}

// --- internal ---

const STORE_MS = 30_000;

/** In a body: one recorded call. In a step: the work itself. Either way under a key that its repeats have too. */
function perform(
  verb: string,
  { name, given }: { name: string; given: object },
  work: (context: EngineContext, key: string) => Promise<unknown>,
): Promise<unknown> {
  const context = currentContext();
  if (!context) throw new Error(`svc.workflows.${verb}() works in a workflow, a step or a tool.`);
  if (context.kind === 'step') {
    const starts = (context.starts ??= []);
    const same = `${verb} ${digestOf(encodeGiven(given, verb))}`;
    starts.push(same);
    const nth = starts.filter((other) => other === same).length;
    return work(context, `${context.idempotencyKey}:${same}:${nth}`);
  }
  const run = ({ idempotencyKey }: Attempt) => persist(() => work(context, idempotencyKey), STORE_MS, isStoreDown);
  const stepId = `${verb} ${name}`;
  const action = { type: 'run', name: stepId, policy: ONCE, run } as const;
  const written = context.execution.write({ value: given, stepId, root: verb });
  return context.execution.invoke({ kind: 'step', stepId, ...written, action });
}
