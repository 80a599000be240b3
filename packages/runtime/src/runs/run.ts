import { z } from 'zod';
import { readCancel } from '../engine/journal/cancel.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { startedByOf } from '../engine/started-by.ts';
import { DEFAULT_LIMITS, isNearLimit } from '../engine/limits.ts';
import { journalFilling } from '../engine/run/outcome.ts';
import { readSeed } from '../engine/run/seed.ts';
import type { BriefRun } from '../engine/journal/reading.ts';
import { encode } from '../engine/serialize.ts';
import { isRef } from '../engine/values/large-ref.ts';
import { toIso, toShownValue } from '../json-value.ts';
import { previewOf } from '../preview.ts';
import { RunError, toRunError } from './run-error.ts';

export const RunStatus = z.enum(['queued', 'running', 'waiting', 'blocked', 'completed', 'failed', 'cancelled']);
export const RunKind = z.enum(['workflow', 'agent']);
export const RunTrigger = z.enum([
  'api',
  'chat',
  'schedule',
  'trigger',
  'workflow',
  'eval',
  'retry',
  'fork',
  'rewind',
  'copilot',
]);

const CallerShown = {
  kind: z.enum(['person', 'key', 'user', 'box']),
  id: z.string().describe("A person's `sub`, the id of a key, what the client calls its user"),
  client: z.string().nullable().describe('The application, of a key and of a user'),
  key: z.string().nullable().default(null).describe('The id of the key that let it in, of a key and of a user'),
  user: z
    .object({ id: z.string(), name: z.string().optional(), data: z.record(z.string(), z.unknown()).optional() })
    .nullable(),
  role: z.string().nullable(),
  name: z.string(),
  via: z.enum(['mcp', 'copilot']).optional().describe('It was asked for over MCP, or by the copilot'),
};

/** Who made a run begin, as every surface shows it. */
export const StartedByShown = z.object({
  ...CallerShown,
  retriedBy: z
    .object(CallerShown)
    .optional()
    .describe('Who retried it, of a run that repeats another and of what that starts'),
  armedBy: z
    .array(z.object(CallerShown))
    .optional()
    .describe('Who armed or resumed the timer over MCP, of a run that a timer started and of what that run starts'),
});

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
  parentClosePolicy: z
    .enum(['abandon', 'cancel', 'wait'])
    .nullable()
    .describe('What becomes of it when its parent ends. Null: a cancel or a timeout takes it along'),
  retryOf: z.string().nullable(),
  forkedFrom: z
    .object({
      runId: z.string(),
      step: z.string().nullable().describe('The first step it executes itself. Null: all of them'),
    })
    .nullable()
    .describe('The run whose recorded results it took. `trigger` is `rewind` where it goes on in its place'),
  triggerId: z.string().nullable().describe('The queued start it was promoted from'),
  continuedFrom: z.string().nullable().describe('The run before it in its chain'),
  continuedTo: z.string().nullable().describe('The run it has continued as; `?wait=` answers with the last of them'),
  pausedAt: z.iso.datetime().nullable().describe('It begins no step from then on'),
  cancelling: z
    .object({ since: z.iso.datetime(), until: z.iso.datetime() })
    .nullable()
    .describe('It was cancelled and cleans up; at `until` it ends at the latest'),
  timeoutAt: z.iso
    .datetime()
    .nullable()
    .describe('It ends as failed with `run_timeout`, should it not have ended by then'),
  startedBy: StartedByShown.nullable().describe('Who made it begin. Null: the box itself, as by a timer'),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  input: z.unknown(),
  output: z.unknown(),
  error: RunError.nullable(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cacheReadTokens: z.int(),
  cacheWriteTokens: z.int(),
  totalTokens: z.int(),
  records: z.int().describe('What is recorded of it so far'),
  warning: z.string().nullable().describe('That it comes near the most records a run may have'),
  waitingFor: z.unknown().describe('What a waiting or blocked run waits for; null otherwise'),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
});
export type Run = z.infer<typeof Run>;

/** A run by its id. */
export const RunDetail = Run.extend({
  code: z
    .object({
      codeHash: z.string().nullable().describe('Of the code it began with, or was moved to'),
      newest: z.string().nullable().describe('Of the code that new runs begin with. Null: there is none that loads'),
      isKept: z.boolean().describe('It goes on with its own code, which is not the newest'),
      movedFrom: z.string().nullable().describe('The code it had before it was moved'),
      movedAt: z.iso.datetime().nullable(),
    })
    .optional()
    .describe('Which code it has. Absent once it has ended, unless it was moved, and for API keys'),
  cost: z
    .number()
    .optional()
    .describe(
      'What its calls of models have cost, by `prices` of svc.config.ts as they were then. Absent: none of them had a price. Not for API keys',
    ),
});
export type RunDetail = z.infer<typeof RunDetail>;

/** Which code the run has. `holds`: whether it is kept. */
export async function toCode(
  { codeHash, movedFrom, movedAt, status }: RunRow,
  newest: string | undefined,
  holds: (codeHash: string) => Promise<boolean>,
): Promise<RunDetail['code']> {
  const isKept = !isFinal(status) && codeHash !== null && newest !== codeHash && (await holds(codeHash));
  return { codeHash, newest: newest ?? null, isKept, movedFrom, movedAt: movedAt === null ? null : toIso(movedAt) };
}

/** A run in a list. */
export const ListedRun = Run.extend({
  cut: z
    .array(z.enum(['input', 'output']))
    .describe(
      'Too large for a list, which shows the beginning of its JSON or its size as a text. Get the run by its id for all of it',
    ),
});
export type ListedRun = z.infer<typeof ListedRun>;

export function toListedRun({ cut: large, bytes: _bytes, ...row }: BriefRun): ListedRun {
  const cut = [...large, ...STORABLE.filter((member) => isRef(row[member]))];
  const whole = { ...row, ...Object.fromEntries(cut.map((member) => [member, NOTHING])) } as RunRow;
  const previews = cut.map((member) => [member, previewOf(row[member] ?? '')]);
  return { ...toRun(whole), ...Object.fromEntries(previews), cut };
}

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
    parentClosePolicy: row.closePolicy,
    ...toOrigin(row),
    triggerId: row.triggerId,
    continuedFrom: row.continuedFrom,
    continuedTo: row.continuedTo,
    pausedAt: row.pausedAt === null ? null : toIso(row.pausedAt),
    cancelling: toCancelling(row),
    timeoutAt: toTimeoutAt(row),
    startedBy: startedByOf(row) ?? null,
    attributes: row.attributes === null ? {} : (JSON.parse(row.attributes) as Run['attributes']),
    input: toShownValue(row.input),
    output: row.output === null ? null : toShownValue(row.output),
    error: toRunError(row.error),
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    cacheReadTokens: row.cacheReadTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    totalTokens: row.totalTokens,
    records: row.seq,
    warning: isNearLimit(row.seq, DEFAULT_LIMITS) ? journalFilling(row.seq, DEFAULT_LIMITS.records) : null,
    waitingFor: row.waitingFor === null ? null : JSON.parse(row.waitingFor),
    createdAt: toIso(row.createdAt),
    startedAt: row.startedAt === null ? null : toIso(row.startedAt),
    endedAt: row.endedAt === null ? null : toIso(row.endedAt),
  };
}

/** Once the run is cancelled its deadline is that of its clean-up. */
export function toTimeoutAt({ timeoutMs, deadline, cancel }: RunRow): string | null {
  return timeoutMs === null || deadline === null || cancel !== null ? null : toIso(deadline);
}

// --- internal ---

/** The run it was made of. */
function toOrigin({ retryOf, trigger, ...row }: RunRow): Pick<Run, 'retryOf' | 'forkedFrom'> {
  if (retryOf === null || (trigger !== 'fork' && trigger !== 'rewind')) return { retryOf, forkedFrom: null };
  const turn = readSeed(row).turns.at(-1);
  return { retryOf: null, forkedFrom: { runId: retryOf, step: turn ? String(turn.call) : null } };
}

const NOTHING = encode(null, '');
const STORABLE = ['input', 'output'] as const;

function toCancelling(row: RunRow): Run['cancelling'] {
  const cancel = isFinal(row.status) ? undefined : readCancel(row);
  return cancel ? { since: toIso(cancel.at), until: toIso(row.deadline ?? cancel.at) } : null;
}
