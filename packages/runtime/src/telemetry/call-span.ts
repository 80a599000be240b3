import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import { decode } from '../engine/serialize.ts';
import type { Mask } from '../mask.ts';
import { contentOfModel, contentOfTool } from './content.ts';
import { placeOfCall, placeOfRun } from './ids.ts';
import { agentOf, modelOf, operationOf, readReply } from './model-call.ts';
import { GEN_AI, RUN, SERVER_ADDRESS, SERVER_PORT, STEP } from './names.ts';
import type { ProviderFacts } from './provider-name.ts';
import { usageOf } from './run-span.ts';
import type { Attributes, SpanData, SpanEvent, SpanLink } from './span.ts';
import { toSpanError } from './span-error.ts';
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
  const { provider } = options;
  const model = modelOf(record);
  const operation = operationOf(record);
  const agent = agentOf(run);
  const { finishReason, model: answeredBy } = readReply(record);
  return {
    name: `${operation} ${model}`,
    kind: 'client',
    attributes: {
      [GEN_AI.operation]: operation,
      [GEN_AI.provider]: provider.name,
      [GEN_AI.requestModel]: model,
      [GEN_AI.responseModel]: answeredBy ?? model,
      ...(agent === undefined ? {} : { [GEN_AI.agent]: agent }),
      ...(finishReason === undefined ? {} : { [GEN_AI.finishReasons]: [finishReason] }),
      ...(provider.address === undefined ? {} : { [SERVER_ADDRESS]: provider.address }),
      ...(provider.port === undefined ? {} : { [SERVER_PORT]: provider.port }),
      ...(record.tokens ? usageOf(record.tokens) : {}),
      ...(options.capturesContent && operation === 'chat' ? contentOfModel(run, record, options.mask) : {}),
    },
  };
}

function describeTool(run: RunRow, record: JournalRecord, options: CallSpanOptions): Description {
  const tool = readToolCall(record);
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

function attributesOf({ runId, name, sessionId }: RunRow, record: JournalRecord): Attributes {
  return {
    [RUN.id]: runId,
    [RUN.name]: name,
    [STEP.id]: record.call,
    [STEP.kind]: record.kind,
    [STEP.name]: nameOfStep(record),
    [STEP.attempt]: record.attempt,
    ...(sessionId === null ? {} : { [GEN_AI.conversation]: sessionId }),
  };
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
