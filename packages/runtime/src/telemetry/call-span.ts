import type { PartCall } from '../ai/part-calls.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { encodeError } from '../engine/run/outcome.ts';
import { decode } from '../engine/serialize.ts';
import type { Mask } from '../mask.ts';
import { contentOfTool } from './content.ts';
import { newSpanId, placeOfCall, placeOfRun } from './ids.ts';
import { modelOf } from '../limits/asked-model.ts';
import { operationOf, readAsked, readReply } from './model-call.ts';
import { describeModelCall } from './model-span.ts';
import { GEN_AI, RUN, STEP } from './names.ts';
import type { ProviderFacts } from './provider-name.ts';
import type { Attributes, SpanData, SpanEvent, SpanLink } from './span.ts';
import { toSpanError } from './span-error.ts';
import { attributesOfStep } from './step-attributes.ts';
import { readToolCall } from './tool-call.ts';

export interface CallSpanOptions {
  provider: ProviderFacts;
  mask: Mask;
  capturesContent: boolean;
}

/**
 * The span of a call that is answered. `before`: its earlier records, from when its wait was set or an attempt failed;
 * they may be those of another process.
 */
export function toCallSpan(
  run: RunRow,
  record: JournalRecord,
  before: readonly JournalRecord[],
  options: CallSpanOptions,
): SpanData {
  const { name, kind, attributes, links, isFailed } = describe(run, record, options);
  const start = Math.min(record.startedAt, ...before.map(({ startedAt }) => startedAt));
  return {
    ...placeOfCall(run.runId, record.call),
    parentSpanId: placeOfRun(run.runId).spanId,
    name,
    kind: kind ?? 'internal',
    start,
    end: Math.max(start, record.at),
    attributes: { ...attributesOf(run, record), ...attributes },
    events: before.filter(({ event }) => event === 'retry').map((failed) => toRetryEvent(failed, options.mask)),
    ...(links ? { links } : {}),
    ...(record.event === 'failed' ? { error: toSpanError(record.error, options.mask) } : {}),
    ...(isFailed ? { error: { type: 'tool_error', message: 'The tool answered with an error.' } } : {}),
  };
}

/** The span of a model call that is a part of a step or a tool: below that, and without a record, so its id is drawn. */
export function toPartSpan(call: PartCall, options: CallSpanOptions): SpanData {
  const { run, stepName: name, startedAt: start, at, error, reply } = call;
  const { traceId, spanId } = placeOfCall(run.runId, call.call);
  const { attributes, ...described } = describeModelCall({ ...call, model: reply?.asked ?? call.model }, options);
  return {
    traceId,
    spanId: newSpanId(),
    parentSpanId: spanId,
    ...described,
    start,
    end: Math.max(start, at),
    attributes: { ...attributesOfStep(run, { ...call, kind: 'model', name }), ...attributes },
    ...(reply ? {} : { error: toSpanError(encodeError(error), options.mask) }),
  };
}

/** Whether an answered call has a span: what takes no time and asks no other party has none. */
export function hasSpan({ kind, event, stepId }: JournalRecord): boolean {
  return kind !== 'env' && (event === 'done' || event === 'failed') && !stepId.startsWith('hook.');
}

// --- internal ---

interface Description {
  name: string;
  kind?: SpanData['kind'];
  attributes?: Attributes;
  links?: SpanLink[];
  isFailed?: boolean;
}

function describe(run: RunRow, record: JournalRecord, options: CallSpanOptions): Description {
  const { kind } = record;
  if (kind === 'model') return describeModel(run, record, options);
  if (kind === 'tool') return describeTool(run, record, options);
  if (kind === 'child') return { name: record.stepId, links: childOf(record) };
  // The token of a hook lets its holder in: no name is made of it.
  if (kind !== 'step') return { name: kind };
  return { name: `step ${nameOfStep(record)}` };
}

function describeModel(run: RunRow, record: JournalRecord, options: CallSpanOptions): Description {
  const called = { run, operation: operationOf(record), model: modelOf(record), tokens: record.tokens };
  const said = { messages: readAsked(run, record), reply: readReply(record) };
  return describeModelCall({ ...called, ...said }, options);
}

function describeTool(run: RunRow, record: JournalRecord, options: CallSpanOptions): Description {
  const tool = readToolCall(record);
  if (tool.isDecision) return { name: 'step guardrail' };
  return {
    name: `execute_tool ${tool.name}`,
    isFailed: tool.isError,
    attributes: {
      [GEN_AI.operation]: 'execute_tool',
      [GEN_AI.toolName]: tool.name,
      [GEN_AI.toolType]: 'function',
      [GEN_AI.agent]: run.name,
      ...(tool.id === undefined ? {} : { [GEN_AI.toolCallId]: tool.id }),
      ...(options.capturesContent ? contentOfTool(tool, options.mask) : {}),
    },
  };
}

function attributesOf(run: RunRow, record: JournalRecord): Attributes {
  const { call, kind, attempt } = record;
  return attributesOfStep(run, { call, kind, attempt, name: nameOfStep(record) });
}

/** The run that was started. */
function childOf({ output }: JournalRecord): SpanLink[] {
  try {
    const { runId } = (output === null ? {} : decode(output)) as { runId?: unknown };
    return typeof runId === 'string' ? [{ ...placeOfRun(runId), attributes: { [RUN.id]: runId } }] : [];
  } catch {
    return [];
  }
}

function toRetryEvent({ attempt, at, error }: JournalRecord, mask: Mask): SpanEvent {
  const { type, message } = toSpanError(error, mask);
  const attributes = { [STEP.attempt]: attempt, 'exception.type': type, 'exception.message': message };
  return { name: 'retry', at, attributes };
}
