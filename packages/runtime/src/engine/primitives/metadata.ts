import { currentContext } from '../context.ts';

export interface StepMetadata {
  /** Of this call of the step, and the same across attempts, replicas and restarts. */
  stepId: string;
  stepName: string;
  /** 1 for the first attempt. */
  attempt: number;
  /** When the first attempt began. */
  stepStartedAt: Date;
  /** The same across attempts, replicas and restarts: hand it to whatever the step has an effect on. */
  idempotencyKey: string;
  /** Aborts when the run is cancelled or the attempt has had its time. Left out where the metadata is recorded. */
  signal: AbortSignal;
}

export interface WorkflowMetadata {
  workflowName: string;
  workflowRunId: string;
  workflowStartedAt: Date;
  /** Where the workflow is started. */
  url: string;
}

/** What a running step may know about itself. Throws outside a step. */
export function getStepMetadata(): StepMetadata {
  const context = currentContext();
  if (context?.kind !== 'step') throw new Error('getStepMetadata() works in a step only.');
  const { stepName, attempt, idempotencyKey, signal } = context;
  const stepStartedAt = new Date(context.firstStartedAt);
  const metadata = { stepId: idempotencyKey, stepName, attempt, stepStartedAt, idempotencyKey };
  // Not enumerable: a step may return its metadata, and a signal cannot be recorded.
  return Object.defineProperty(metadata, 'signal', { value: signal }) as StepMetadata;
}

/**
 * Says that the running step is getting on: its `heartbeatTimeout` starts over. Costs next to nothing, however often it
 * is called; without that option it does nothing. Throws outside a step.
 */
export function heartbeat(): void {
  const context = currentContext();
  if (context?.kind !== 'step') throw new Error('heartbeat() works in a step only.');
  context.beat();
}

/** The run a workflow body or one of its steps belongs to. Throws outside a run. */
export function getWorkflowMetadata(): WorkflowMetadata {
  const context = currentContext();
  if (!context) throw new Error('getWorkflowMetadata() works in a workflow body or one of its steps.');
  const { run, ambient } = context.execution;
  const workflowStartedAt = new Date(run.createdAt);
  return { workflowName: run.name, workflowRunId: run.runId, workflowStartedAt, url: ambient.startUrl(run.name) };
}
