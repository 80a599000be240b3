import type { OperationOutput } from '@svc/runtime/client';
import { Badge, Status } from '../../ui/badge.tsx';

export type EvalRun = OperationOutput<'evals.runs.list'>['items'][number];

/** Whether a run has reached its gates; until then, and where it did not get there, its state. */
export function Verdict({ run: { status, passed } }: { run: Pick<EvalRun, 'status' | 'passed'> }) {
  if (status !== 'completed' || passed === null) return <Status value={status} />;
  return <Badge tone={passed ? 'good' : 'bad'}>{passed ? 'passed' : 'below its gates'}</Badge>;
}

/** A score or a rate from 0 to 1. */
export function toScore(score: number | null): string {
  return score === null ? '–' : score.toFixed(2);
}
