import { toTraceId } from '../engine/ids.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { idempotencyConflict } from '../errors.ts';
import type { StartReceipt } from '../runs/start-receipt.ts';
import type { FlowResult } from './flow.ts';
import { busy, idTaken, limited } from './refusals.ts';

/** What was asked, for the words of a refusal. */
export interface Asked {
  now: number;
  idempotencyKey?: string | undefined;
  id?: string | undefined;
  /** Whether a run that is in the way may be named. Default: all may. */
  isOwn?: (run: RunRow) => boolean;
}

/** The receipt of a start. Throws what refuses it. */
export function toAnswer(name: string, result: FlowResult, asked: Asked): StartReceipt {
  const { isOwn = () => true } = asked;
  // Joined to, a run of another caller would be named.
  if (result.outcome === 'repeated' && !isOwn(result.run))
    throw asked.id === undefined ? busy(name) : idTaken(name, asked.id);
  if (result.outcome === 'created' || result.outcome === 'repeated') return toReceipt(result.run);
  if (result.outcome === 'idempotency_conflict') throw idempotencyConflict(asked.idempotencyKey);
  if (result.outcome === 'refused') throw busy(name, isOwn(result.holder) ? result.holder : undefined);
  if (result.outcome === 'limited') throw limited(name, result.retryAt, asked.now);
  if (result.outcome === 'id_taken_by_other') throw idTaken(name, asked.id);
  if (result.outcome === 'id_used') throw idTaken(name, asked.id, isOwn(result.run) ? result : undefined);
  if (result.outcome === 'id_taken') throw idTaken(name, asked.id, result);
  // A child that was started and deleted is not started again: what waits for it finds none.
  if (result.outcome === 'gone') return toReceipt({ runId: result.startId, traceId: toTraceId(result.startId), name });
  return { workflowName: name, status: 'queued', triggerId: result.triggerId, trigger: startRoute(name) };
}

function toReceipt(run: Pick<RunRow, 'runId' | 'traceId' | 'name'>): StartReceipt {
  return {
    workflowName: run.name,
    status: 'started',
    runId: run.runId,
    worldRunId: run.traceId,
    trigger: startRoute(run.name),
  };
}

/** Of a turn, which no route of a workflow starts. */
export function toTurnReceipt(run: RunRow): StartReceipt {
  return { ...toReceipt(run), trigger: `POST /api/runs/${run.retryOf}/retry` };
}

export function startRoute(name: string): string {
  return `POST /api/workflows/${name}/start`;
}
