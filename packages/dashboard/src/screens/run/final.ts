import type { OperationOutput } from '@svc/runtime/client';

type Run = OperationOutput<'runs.get'>;

const FINAL = new Set<Run['status']>(['completed', 'failed', 'cancelled']);

export function isFinal({ status }: Pick<Run, 'status'>): boolean {
  return FINAL.has(status);
}
