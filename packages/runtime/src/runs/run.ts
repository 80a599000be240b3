import { z } from 'zod';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { toIso, toJsonValue } from '../json-value.ts';
import { RunError, toRunError } from './run-error.ts';

export const RunStatus = z.enum(['queued', 'running', 'waiting', 'blocked', 'completed', 'failed', 'cancelled']);
export const RunKind = z.enum(['workflow', 'agent']);
export const RunTrigger = z.enum(['api', 'chat', 'schedule', 'trigger', 'workflow', 'eval', 'retry', 'copilot']);

/** A run as every surface shows it. Times are ISO 8601 with milliseconds. */
export const Run = z.object({
  runId: z.uuid(),
  traceId: z.string().describe("The engine's own id: 32 hex digits, usable as an OpenTelemetry trace id"),
  kind: RunKind,
  name: z.string(),
  trigger: RunTrigger,
  status: RunStatus,
  sessionId: z.string().nullable(),
  parentRunId: z.string().nullable(),
  retryOf: z.string().nullable(),
  triggerId: z.string().nullable().describe('The queued start it was promoted from'),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  input: z.unknown(),
  output: z.unknown(),
  error: RunError.nullable(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cacheReadTokens: z.int(),
  cacheWriteTokens: z.int(),
  totalTokens: z.int(),
  waitingFor: z.unknown().describe('What a waiting or blocked run waits for; null otherwise'),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
});
export type Run = z.infer<typeof Run>;

export function toRun(row: RunRow): Run {
  return {
    runId: row.runId,
    traceId: row.traceId,
    kind: row.kind,
    name: row.name,
    trigger: row.trigger,
    status: row.status,
    sessionId: row.sessionId,
    parentRunId: row.parentRunId,
    retryOf: row.retryOf,
    triggerId: row.triggerId,
    attributes: row.attributes === null ? {} : (JSON.parse(row.attributes) as Run['attributes']),
    input: toJsonValue(decode(row.input)),
    output: row.output === null ? null : toJsonValue(decode(row.output)),
    error: toRunError(row.error),
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    cacheReadTokens: row.cacheReadTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    totalTokens: row.totalTokens,
    waitingFor: row.waitingFor === null ? null : JSON.parse(row.waitingFor),
    createdAt: toIso(row.createdAt),
    startedAt: row.startedAt === null ? null : toIso(row.startedAt),
    endedAt: row.endedAt === null ? null : toIso(row.endedAt),
  };
}
