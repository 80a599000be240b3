import type { OperationOutput } from '@svc/runtime/client';

/** A run of a suite as the box shows it, with its matrix. */
export type EvalRun = OperationOutput<'evals.runs.get'>;
