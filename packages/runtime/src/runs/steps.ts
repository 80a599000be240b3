import { z } from 'zod';
import { historyOf } from '../engine/call.ts';
import type { CallRecord } from '../engine/call.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import { NO_TOKENS } from '../engine/journal/run.ts';
import type { Spent } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { addTokens } from '../engine/run/outcome.ts';
import { toIso, toShownValue } from '../json-value.ts';
import { RunError, toRunError } from './run-error.ts';

export const StepStatus = z.enum(['waiting', 'retrying', 'completed', 'failed']);

/** One call of a run, as far as it is recorded. A step that runs for the first time has no record yet. */
export const Step = z.object({
  stepId: z.string().describe('The number of the call in the run'),
  name: z.string(),
  source: z.string().describe("`<file>#<name>` of an author's step, else what the engine calls it"),
  kind: z.enum(['step', 'model', 'tool', 'sleep', 'hook', 'approval', 'child']),
  seq: z.int().describe('Position of its last record'),
  call: z.int(),
  status: StepStatus,
  attempt: z.int(),
  input: z.unknown(),
  output: z.unknown(),
  error: RunError.nullable(),
  attempts: z
    .array(
      z.object({
        attempt: z.int(),
        error: z.string(),
        startedAt: z.iso.datetime(),
        at: z.iso.datetime().describe('When it failed'),
      }),
    )
    .describe('Failed attempts'),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cacheReadTokens: z.int(),
  cacheWriteTokens: z.int(),
  totalTokens: z.int(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});
export type Step = z.infer<typeof Step>;

/** The calls of a run in the order the body made them. */
export function toSteps(records: readonly JournalRecord[]): Step[] {
  return toCalls(records).map(toStep);
}

/** A call of a run, by its records. */
export interface RecordedCall {
  first: CallRecord;
  last: CallRecord;
  /** Those of its attempts that failed and were repeated. */
  retries: CallRecord[];
  /** Its last record is its answer. */
  isAnswered: boolean;
}

/** The calls of a run in the order the body made them. */
export function toCalls(records: readonly JournalRecord[]): RecordedCall[] {
  return [...historyOf(records)]
    .sort(([a], [b]) => a - b)
    .flatMap(([, { answer, set, retries }]) => {
      const last = answer ?? retries.at(-1) ?? set;
      return last ? [{ first: set ?? retries[0] ?? last, last, retries, isAnswered: answer !== undefined }] : [];
    });
}

/** What is known of a call without its values. */
export function toFacts({ first, last, retries, isAnswered }: RecordedCall) {
  const { cost: _cost, ...tokens } = sumTokens(isAnswered ? [...retries, last] : retries);
  const isDone = isAnswered ? last.event === 'done' : isOpening(last);
  const status: z.infer<typeof StepStatus> = isDone
    ? 'completed'
    : isAnswered
      ? 'failed'
      : retries.length > 0
        ? 'retrying'
        : 'waiting';
  return {
    stepId: String(last.call),
    name: nameOfStep(last),
    kind: last.kind,
    status,
    attempt: last.attempt,
    ...tokens,
    startedAt: toIso(first.startedAt),
    endedAt: isAnswered || isDone ? toIso(last.at) : null,
  };
}

// --- internal ---

function toStep(call: RecordedCall): Step {
  const { first, last, retries, isAnswered } = call;
  const { stepId, name, kind, status, attempt, startedAt, endedAt, ...tokens } = toFacts(call);
  return {
    stepId,
    name,
    source: last.stepId,
    kind,
    seq: last.seq,
    call: last.call,
    status,
    attempt,
    input: valueOf(last.input ?? first.input),
    output: isAnswered && last.event === 'done' ? valueOf(last.output) : null,
    error: isAnswered ? toRunError(last.error) : null,
    attempts: retries.map((retry) => ({
      attempt: retry.attempt,
      error: toRunError(retry.error)?.message ?? '',
      startedAt: toIso(retry.startedAt),
      at: toIso(retry.at),
    })),
    ...tokens,
    startedAt,
    endedAt,
  };
}

/** Of all its attempts. */
function sumTokens(records: readonly CallRecord[]): Spent {
  return records.reduce((sum, { tokens }) => (tokens ? addTokens(sum, tokens) : sum), NO_TOKENS as Spent);
}

/** A hook that was made: nothing answers it, what waits for it is a call of its own. */
function isOpening({ kind, event, stepId }: JournalRecord): boolean {
  return kind === 'hook' && event === 'set' && !stepId.startsWith('await ');
}

function valueOf(text: string | null): unknown {
  return text === null ? null : toShownValue(text);
}
