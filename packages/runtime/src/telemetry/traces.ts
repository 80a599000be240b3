import type { PartCall } from '../ai/part-calls.ts';
import { currentContext, currentRequest, runOutside } from '../engine/context.ts';
import { toTraceId } from '../engine/ids.ts';
import type { Journal } from '../engine/journal.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { Observer } from '../engine/observer.ts';
import type { Mask } from '../mask.ts';
import { hasSpan, toCallSpan, toPartSpan } from './call-span.ts';
import { placeOfCall, placeOfRun, toTraceparent } from './ids.ts';
import { HTTP } from './names.ts';
import type { ProviderFacts } from './provider-name.ts';
import { placeOfRequest } from './request-span.ts';
import { toRunSpan } from './run-span.ts';
import type { Sampler } from './sampler.ts';
import type { SpanData, SpanLink } from './span.ts';

export interface Traces extends Observer {
  /** Headers of a call to a model in the step that is under way. */
  headers(): Record<string, string>;
  /** A model call that is a part of a step. */
  part(call: PartCall): void;
  emit(span: SpanData): void;
}

export interface TracesOptions {
  journal: Pick<Journal, 'getRecords'>;
  sampler: Sampler;
  mask: Mask;
  capturesContent: boolean;
  provider(): ProviderFacts;
  emit(span: SpanData): void;
}

/**
 * Makes spans of what the journal has taken. Their ids follow from the run's, and all that is in them from its row and
 * its records: each process exports what it wrote, and together that is one trace. A process that is killed takes with it
 * what it had not sent.
 */
export function createTraces({ journal, sampler, mask, capturesContent, provider, emit }: TracesOptions): Traces {
  /** Records of calls that are not answered yet. */
  const open = new Map<string, JournalRecord[]>();
  /** Requests that started runs which are not over. */
  const starters = new Map<string, SpanLink>();
  const isSampled = (runId: string): boolean => sampler(toTraceId(runId));

  const answered = async (run: RunRow, record: JournalRecord): Promise<void> => {
    const key = `${run.runId}:${record.call}`;
    const kept = open.get(key) ?? [];
    open.delete(key);
    const isWhole = kept.length >= expected(record);
    const before = isWhole ? kept : await readBefore(journal, run.runId, record).catch(() => kept);
    emit(toCallSpan(run, record, before, { provider: provider(), mask, capturesContent }));
  };

  return {
    created({ runId }) {
      const request = currentRequest();
      if (!request || !isSampled(runId)) return;
      (request.runs ??= []).push(runId);
      keep(starters, runId, { ...placeOfRequest(request), attributes: { [HTTP.requestId]: request.requestId } });
    },
    started() {},
    appended(run, records) {
      if (!isSampled(run.runId)) return;
      for (const record of records) {
        const key = `${run.runId}:${record.call}`;
        if (record.event === 'retry' || record.event === 'set') keep(open, key, [...(open.get(key) ?? []), record]);
        else if (hasSpan(record)) runOutside(() => void answered(run, record).catch(() => {}));
      }
    },
    ended(run) {
      const startedBy = starters.get(run.runId);
      starters.delete(run.runId);
      if (isSampled(run.runId)) runOutside(() => emit(toRunSpan(run, { provider: provider(), mask, startedBy })));
    },
    headers(): Record<string, string> {
      const context = currentContext();
      if (!context) return {};
      const { runId } = context.execution.run;
      const place = context.kind === 'step' ? placeOfCall(runId, context.call) : placeOfRun(runId);
      return { traceparent: toTraceparent(place, isSampled(runId)) };
    },
    part(call) {
      if (!isSampled(call.run.runId)) return;
      runOutside(() => emit(toPartSpan(call, { provider: provider(), mask, capturesContent })));
    },
    emit: (span) => runOutside(() => emit(span)),
  };
}

// --- internal ---

/** What is kept in memory for spans to come; beyond that a span is read from the journal, or has one link less. */
const MAX_KEPT = 10_000;

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  if (map.size <= MAX_KEPT) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/** How many records a call has before its answer, at least. */
function expected({ kind, attempt }: JournalRecord): number {
  return kind === 'sleep' ? 1 : attempt - 1;
}

async function readBefore(
  journal: Pick<Journal, 'getRecords'>,
  runId: string,
  { call, seq }: JournalRecord,
): Promise<JournalRecord[]> {
  const records = await journal.getRecords(runId);
  return records.filter((record) => record.call === call && record.seq < seq);
}
