import type { Span } from './timeline.ts';

/** Seconds from a beginning, as ISO 8601. */
export const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();

/** A step of the run `r`, or the run itself, between two of these times. */
export const span = (spanId: string, from: number, to: number | null, more: Partial<Span> = {}): Span => ({
  spanId,
  parentId: spanId === 'run' ? null : 'run',
  kind: spanId === 'run' ? 'run' : 'step',
  name: spanId,
  status: 'completed',
  runId: 'r',
  attempt: 1,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  startedAt: at(from),
  endedAt: to === null ? null : at(to),
  ...more,
});
