import type { ChildStartHow } from '../engine/handle.ts';
import { startWorkflow } from '../engine/primitives/child-workflow.ts';
import { workflowNameOf } from '../workflows/mark.ts';
import { Run } from './run.ts';

/**
 * When the run begins, its priority, and an id of its own: `{ delay: '10m', priority: 5, id: 'order-7' }`. Of the Workflow
 * SDK's own options none means anything here: a box runs the code it was built with.
 */
export type StartOptions = ChildStartHow & Record<string, unknown>;

/**
 * Starts a workflow by its function, with positional arguments; where it has an `inputSchema` the first one is its
 * input. Works in workflows, steps and tools. In a body the start is recorded; in a step it has the step's idempotency
 * key: either way it happens once.
 */
export function start<A extends unknown[], R>(
  workflow: (...args: A) => Promise<R>,
  args: A,
  options?: StartOptions,
): Promise<Run<R>>;
export function start<R>(workflow: () => Promise<R>, options?: StartOptions): Promise<Run<R>>;
export async function start<R>(workflow: unknown, given?: unknown, more?: StartOptions): Promise<Run<R>> {
  const name = workflowNameOf(workflow);
  if (name === undefined)
    throw new TypeError(
      `start() takes a workflow: the function marked 'use workflow' of a file "workflows/<name>.workflow.ts".`,
    );
  const args: unknown[] = Array.isArray(given) ? given : [];
  const options = Array.isArray(given) ? more : (given as StartOptions | undefined);
  const started = await startWorkflow(name, { args }, { isSpread: true, ...pickHow(options) });
  return new Run<R>(started.status === 'started' ? started.runId : started.triggerId);
}

// --- internal ---

const HOW = [
  'priority',
  'delay',
  'at',
  'timeout',
  'id',
  'onConflict',
  'reuse',
  'parentClosePolicy',
] as const satisfies (keyof ChildStartHow)[];

function pickHow(options: StartOptions = {}): ChildStartHow {
  return Object.fromEntries(HOW.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])));
}
