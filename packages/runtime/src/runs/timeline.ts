import { z } from 'zod';
import type { Run } from './run.ts';
import type { Step } from './steps.ts';

/** One row of a timeline: the run, its calls, and the runs it started. Spans name their parent. */
export const Span = z.object({
  spanId: z.string(),
  parentId: z.string().nullable(),
  kind: z.string().describe('`run`, or the kind of the step'),
  name: z.string(),
  status: z.string(),
  runId: z.uuid().describe('The run it belongs to; a child run for its own span'),
  attempt: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  totalTokens: z.int(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});
export type Span = z.infer<typeof Span>;

/** The run first, then everything below it by the time it began. */
export function toTimeline(run: Run, steps: readonly Step[], children: readonly Run[]): Span[] {
  const below = [
    ...steps.map((step) => toStepSpan(run, step)),
    ...children.map((child) => toRunSpan(child, run.runId)),
  ];
  return [toRunSpan(run, null), ...below.sort((a, b) => a.startedAt.localeCompare(b.startedAt))];
}

// --- internal ---

function toRunSpan(run: Run, parentId: string | null): Span {
  return {
    spanId: run.runId,
    parentId,
    kind: 'run',
    name: run.name,
    status: run.status,
    runId: run.runId,
    attempt: 1,
    inputTokens: run.inputTokens,
    outputTokens: run.outputTokens,
    totalTokens: run.totalTokens,
    startedAt: run.startedAt ?? run.createdAt,
    endedAt: run.endedAt,
  };
}

function toStepSpan(run: Run, step: Step): Span {
  return {
    spanId: `${run.runId}:${step.stepId}`,
    parentId: run.runId,
    kind: step.kind,
    name: step.name,
    status: step.status,
    runId: run.runId,
    attempt: step.attempt,
    inputTokens: step.inputTokens,
    outputTokens: step.outputTokens,
    totalTokens: step.totalTokens,
    startedAt: step.startedAt,
    endedAt: step.endedAt,
  };
}
