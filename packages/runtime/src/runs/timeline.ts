import { z } from 'zod';
import type { JournalRecord } from '../engine/journal/record.ts';
import { decodeInert } from '../engine/serialize.ts';
import { toIso } from '../json-value.ts';
import type { Run } from './run.ts';
import { toCalls, toFacts } from './steps.ts';
import type { RecordedCall } from './steps.ts';

const Stretch = z.object({ startedAt: z.iso.datetime(), endedAt: z.iso.datetime() });

/** One row of a timeline: the run, its calls, and the runs it started. Spans name their parent. */
export const Span = z.object({
  spanId: z.string(),
  parentId: z
    .string()
    .nullable()
    .describe(
      'The run; of a child run the call that started it, and of what an agent did for a reply its call of the model',
    ),
  kind: z.string().describe('`run`, or the kind of the step'),
  name: z.string(),
  status: z.string(),
  runId: z.uuid().describe('The run it belongs to; a child run for its own span'),
  attempt: z.int(),
  attempts: z
    .array(Stretch)
    .optional()
    .describe('Of a call that was tried more than once: those of its attempts that have ended, the last 50'),
  retryAt: z.iso.datetime().optional().describe('When the next attempt is due, or was, of one whose last has failed'),
  inputTokens: z.int(),
  outputTokens: z.int(),
  totalTokens: z.int(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});
export type Span = z.infer<typeof Span>;

/** The run first, then everything below it by the time it began. */
export function toTimeline(run: Run, records: readonly JournalRecord[], children: readonly Run[]): Span[] {
  const calls = toCalls(records);
  const starts = startsOf(calls);
  const isAgent = run.kind === 'agent';
  let model: string | undefined;
  const steps = calls.map((call) => {
    const span = toCallSpan(run, call);
    if (!isAgent) return span;
    if (call.last.kind === 'model') model = span.spanId;
    // A turn asks the model, and does what its reply says before it asks again.
    else if (model !== undefined && OF_REPLY.has(call.last.kind)) span.parentId = model;
    return span;
  });
  const below = children.map((child) => {
    const start = starts.get(child.runId) ?? starts.get(child.triggerId ?? '');
    return toRunSpan(child, start === undefined ? run.runId : toSpanId(run, start));
  });
  return [
    toRunSpan(run, null),
    ...[...steps, ...below].sort((a, b) => (a.startedAt < b.startedAt ? -1 : Number(a.startedAt > b.startedAt))),
  ];
}

// --- internal ---

const MOST_ATTEMPTS = 50;
const OF_REPLY: ReadonlySet<string> = new Set(['tool', 'approval', 'child']);

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

function toCallSpan(run: Run, call: RecordedCall): Span {
  const { stepId: _, cacheReadTokens: _read, cacheWriteTokens: _write, ...facts } = toFacts(call);
  return {
    ...facts,
    ...toAttempts(call),
    spanId: toSpanId(run, call),
    parentId: run.runId,
    runId: run.runId,
  };
}

function toSpanId({ runId }: Run, { last }: RecordedCall): string {
  return `${runId}:${last.call}`;
}

function toAttempts({ retries, last, isAnswered }: RecordedCall): Pick<Span, 'attempts' | 'retryAt'> {
  if (retries.length === 0) return {};
  const ended = isAnswered ? [...retries, last] : retries;
  const attempts = ended
    .slice(-MOST_ATTEMPTS)
    .map(({ startedAt, at }) => ({ startedAt: toIso(startedAt), endedAt: toIso(at) }));
  const due = isAnswered || last.output === null ? undefined : decodeInert(last.output);
  return { attempts, ...(typeof due === 'number' ? { retryAt: toIso(due) } : {}) };
}

/** The calls that started a run below, by its id, or by that of the queued start it is of. */
function startsOf(calls: readonly RecordedCall[]): Map<string, RecordedCall> {
  return new Map(
    calls.flatMap((call): [string, RecordedCall][] => {
      const { kind, event, stepId, output } = call.last;
      if (kind !== 'child' || event !== 'done' || output === null || !stepId.startsWith('start ')) return [];
      const { runId, triggerId } = (decodeInert(output) ?? {}) as { runId?: unknown; triggerId?: unknown };
      const id = runId ?? triggerId;
      return typeof id === 'string' ? [[id, call]] : [];
    }),
  );
}
