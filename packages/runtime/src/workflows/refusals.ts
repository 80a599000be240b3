import type { Catalog, LoadedWorkflow, WorkflowDefinition } from '../catalog/catalog.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { CreateResult } from '../engine/journal/starts.ts';
import { BoxError } from '../errors.ts';
import { toIso } from '../json-value.ts';

// Why a start is refused.

export function workflowNotFound(name: string, catalog: Catalog): BoxError {
  const names = catalog.workflows().map(({ entry }) => entry.name);
  const real =
    names.length > 0 ? `This box has ${names.map((known) => `"${known}"`).join(', ')}.` : 'This box has none.';
  return new BoxError('workflow_not_found', `There is no workflow "${name}". ${real}`, {
    details: { workflows: names },
  });
}

export function notArmed(): BoxError {
  return new BoxError(
    'workflow_runtime_not_armed',
    'Workflows are held back until a model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.',
  );
}

export function triggerNotFound(name: string, triggerId: string): BoxError {
  return new BoxError('trigger_not_found', `There is no queued start "${triggerId}" of "${name}".`);
}

/** @param holder absent: it is not the caller's to know */
export function busy(name: string, holder?: RunRow): BoxError {
  const which = holder ? `run ${holder.runId} has not ended` : 'none of them has ended';
  const message = `Workflow "${name}" has as many runs as it takes at once, and ${which}.`;
  return new BoxError('workflow_busy', message, holder ? { details: { runId: holder.runId } } : {});
}

export function limited(name: string, retryAt: number, now: number): BoxError {
  const message = `Workflow "${name}" has been started as often as its rate limit allows. There is room at ${toIso(retryAt)}.`;
  const retryAfter = Math.max(1, Math.ceil((retryAt - now) / 1_000));
  return new BoxError('workflow_rate_limited', message, { details: { retryAt: toIso(retryAt), retryAfter } });
}

/** @param result absent: what has the id is not the caller's to know */
export function idTaken(
  name: string,
  id: string | undefined,
  result?: Extract<CreateResult, { outcome: 'id_taken' | 'id_used' }>,
): BoxError {
  if (!result)
    return new BoxError('workflow_id_taken', `The id "${id ?? ''}" of workflow "${name}" is taken. Take another id.`);
  const taken = result.outcome === 'id_used' ? result : result.start;
  const details =
    'run' in taken
      ? { runId: taken.run.runId, status: taken.run.status }
      : { triggerId: taken.triggerId, status: 'queued' };
  const who =
    'run' in taken ? `run ${taken.run.runId}, which is ${taken.run.status}` : `the queued start ${taken.triggerId}`;
  const what =
    result.outcome === 'id_used'
      ? 'Take another id, or let it be used again with "reuse"'
      : 'Take another id, or say with "onConflict" to "join" or to "replace" it';
  return new BoxError('workflow_id_taken', `The id "${id ?? ''}" of workflow "${name}" has ${who}. ${what}.`, {
    details,
  });
}

/** Throws `workflow_compile_failed` where it has never loaded. */
export function definitionOf({ entry, definition, problem }: LoadedWorkflow): WorkflowDefinition {
  if (definition) return definition;
  const place = problem ? `${problem.file}:${problem.line}: ${problem.message}` : 'It did not load.';
  throw new BoxError('workflow_compile_failed', `Workflow "${entry.name}" does not compile. ${place}`, {
    details: { problem },
  });
}
