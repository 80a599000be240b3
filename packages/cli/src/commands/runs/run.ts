import type { Style } from '../../style.ts';

export const RUN_STATUSES = ['queued', 'running', 'waiting', 'blocked', 'completed', 'failed', 'cancelled'] as const;
/** Nothing follows them. */
export const FINAL_STATUSES: readonly string[] = ['completed', 'failed', 'cancelled'];
export const RUN_KINDS = ['workflow', 'agent'] as const;

/** A run as the box shows it. Times are ISO 8601. */
export interface Run {
  runId: string;
  traceId: string;
  kind: (typeof RUN_KINDS)[number];
  name: string;
  trigger: string;
  status: (typeof RUN_STATUSES)[number];
  sessionId?: string | null;
  parentRunId?: string | null;
  retryOf?: string | null;
  input?: unknown;
  output?: unknown;
  error?: { code?: string; message: string; stack?: string } | null;
  waitingFor?: unknown;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  totalTokens: number;
  createdAt: string;
  startedAt?: string | null;
  endedAt?: string | null;
}

export function paintStatus(text: string, status: Run['status'], style: Style): string {
  if (status === 'completed') return style.green(text);
  if (status === 'failed' || status === 'blocked') return style.red(text);
  return status === 'running' || status === 'waiting' ? style.yellow(text) : style.dim(text);
}
