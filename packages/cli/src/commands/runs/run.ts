import type { OperationOutput } from '@svc/runtime/client';
import type { Style } from '../../terminal/style.ts';

/** A run as the box shows it. */
export type Run = OperationOutput<'runs.get'>;

/** Nothing follows them. */
export const FINAL_STATUSES: readonly string[] = ['completed', 'failed', 'cancelled'];

export function paintStatus(text: string, status: Run['status'], style: Style): string {
  if (status === 'completed') return style.green(text);
  if (status === 'failed' || status === 'blocked') return style.red(text);
  return status === 'running' || status === 'waiting' ? style.yellow(text) : style.dim(text);
}
