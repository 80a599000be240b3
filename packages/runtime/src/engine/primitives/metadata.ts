import { currentContext } from '../context.ts';

export interface StepMetadata {
  /** Of this call of the step, and the same across attempts, replicas and restarts. */
  stepId: string;
  stepName: string;
  /** 1 for the first attempt. */
  attempt: number;
  stepStartedAt: Date;
  /** The same across attempts, replicas and restarts: hand it to whatever the step has an effect on. */
  idempotencyKey: string;
  /** Aborts when the run is cancelled or the attempt has had its time. */
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
  return {
    stepId: idempotencyKey,
    stepName,
    attempt,
    stepStartedAt: new Date(context.startedAt),
    idempotencyKey,
    signal,
  };
}

/** The run a workflow body or one of its steps belongs to. Throws outside a run. */
export function getWorkflowMetadata(): WorkflowMetadata {
  const context = currentContext();
  if (!context) throw new Error('getWorkflowMetadata() works in a workflow body or one of its steps.');
  const { run, ambient } = context.execution;
  const workflowStartedAt = new Date(run.createdAt);
  return { workflowName: run.name, workflowRunId: run.runId, workflowStartedAt, url: ambient.startUrl(run.name) };
}
