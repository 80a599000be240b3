import { currentContext } from '../context.ts';

/**
 * Publishes what the run is at, for whoever looks: `GET /api/runs/:id/state`, or its stream. The last one counts, and stays
 * when the run has ended. It is kept with the run's next commit and is no record of it: a loop may publish at each turn.
 * Works in a workflow body and in its steps. Throws `state_too_large` above 64 KiB, and
 * `workflow_state_invalid` where the workflow has a `stateSchema` and it is another value.
 */
export function publish(state: unknown): void {
  const context = currentContext();
  if (!context) throw new Error('publish() works in a workflow or one of its steps.');
  // What is said again on the way through what is recorded has been said, and perhaps something later. What was thrown then
  // is thrown again: the body may have caught it.
  const isSaid = context.kind === 'body' && context.execution.isCatchingUp;
  context.execution.publish(state, isSaid);
}
