import type { FinishReason, Interrupt, TurnEvent, Usage } from '../../agents/events/turn-events.ts';
import { isSilent } from '../../agents/threads/view.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import { toText } from '../agui/content.ts';
import type { ApprovalDescriptor, UiCall, UiChunk, UiFinishReason } from './chunk.ts';
import { createUiMessage, metadataOf } from './message.ts';
import { toValue } from './messages.ts';

/** Translates turns into the chunks of one message. What is open is ended before the last chunk. */
export interface UiTranslator {
  /** Of an event that is not the last one of its turn. What the client has is left out. */
  translate(event: TurnEvent): UiChunk[];
  /** What the thread has, and neither the client has nor was streamed. */
  restate(messages: readonly ConversationMessage[]): UiChunk[];
  finish(reason: FinishReason): UiChunk[];
  fail(error: { message: string }): UiChunk[];
}

export interface UiTranslatorOptions {
  runId: string;
  /** The message of the client that is gone on with. Undefined: a new one. */
  messageId: string | undefined;
  /** Ids of the messages of the thread that the client has. */
  has: ReadonlySet<string>;
  /** Calls of the message that is gone on with: only of those it takes results. */
  calls: Iterable<string>;
  /** Calls the client has refused. */
  denied: ReadonlySet<string>;
  /** Tools that the client runs. */
  clientTools: ReadonlySet<string>;
}

export function createUiTranslator(options: UiTranslatorOptions): UiTranslator {
  const { runId, denied, clientTools } = options;
  /** Messages of the thread that the client has whole. */
  const had = new Set(options.has);
  const calls = new Set(options.calls);
  const message = createUiMessage({ ...options, had });
  const { start, endStep } = message;
  const usages: Usage[] = [];
  let turns = 0;

  const begunCalls = new Map<string, UiCall & { messageId: string }>();
  const toInput = (callId: string, args: string): UiChunk[] => {
    const call = begunCalls.get(callId);
    if (!call) return [];
    begunCalls.delete(callId);
    const { messageId, ...named } = call;
    const providerMetadata = metadataOf(messageId);
    const { value: input, error } = parse(args);
    if (error === undefined) return [{ type: 'tool-input-available', ...named, input, providerMetadata }];
    return [{ type: 'tool-input-error', ...named, input, errorText: error, providerMetadata }];
  };
  const beginCall = (toolCallId: string, toolName: string, messageId: string): UiChunk[] => {
    if (message.isLeftOut(messageId)) return [];
    const call: UiCall = { toolCallId, toolName, ...(clientTools.has(toolName) ? {} : { providerExecuted: true }) };
    const step = message.enter(messageId);
    calls.add(toolCallId);
    begunCalls.set(toolCallId, { ...call, messageId });
    return [...step, { type: 'tool-input-start', ...call }];
  };
  const toResult = (id: string, toolCallId: string, result: ToolResult): UiChunk[] => {
    if (had.has(id) || !calls.has(toolCallId)) return [];
    had.add(id);
    const first = start(undefined);
    if (denied.has(toolCallId) || result.rejected !== undefined)
      return [...first, { type: 'tool-output-denied', toolCallId }];
    const text = toText(result.content);
    const by = result.byClient ? {} : { providerExecuted: true as const };
    return [
      ...first,
      result.isError
        ? { type: 'tool-output-error', toolCallId, errorText: text, ...by }
        : { type: 'tool-output-available', toolCallId, output: toValue(text), ...by },
    ];
  };

  const handlers: Handlers = {
    'turn.start'() {
      turns = usages.length;
      return [];
    },
    'step.start': () => [],
    'step.end': () => endStep(),
    'reasoning.start': ({ id }) => message.beginPart('reasoning', id),
    'reasoning.delta': (event) => message.addToPart('reasoning', event),
    'reasoning.end': ({ id }) => message.endPart(id),
    'text.start': ({ id }) => message.beginPart('text', id),
    'text.delta': (event) => message.addToPart('text', event),
    'text.end': ({ id }) => message.endPart(id),
    'tool.start': ({ callId, name, messageId }) => beginCall(callId, name, messageId),
    'tool.args': ({ callId: toolCallId, delta }) =>
      begunCalls.has(toolCallId) ? [{ type: 'tool-input-delta', toolCallId, inputTextDelta: delta }] : [],
    'tool.end': ({ callId, args }) => toInput(callId, args),
    'tool.result': ({ callId, messageId, ...result }) => toResult(messageId, callId, result),
    interrupt: (interrupt) => {
      const { id: approvalId, callId: toolCallId, message: title } = interrupt;
      // What is of no call has no part of the message, and none that would be sent back.
      if (toolCallId === undefined)
        return [...start(undefined), { type: 'data-approval', data: { approvalId, title }, transient: true }];
      if (!calls.has(toolCallId)) return [];
      return [
        ...start(undefined),
        { type: 'tool-approval-request', approvalId, toolCallId, approvalDescriptor: toDescriptor(interrupt) },
      ];
    },
    state: ({ snapshot: data }) => [...start(undefined), { type: 'data-state', data, transient: true }],
    usage(event) {
      usages[turns] = event;
      return [];
    },
  };

  const restateAnswer = (answer: ConversationMessage & { role: 'assistant' }): UiChunk[] => {
    const { id, content, reasoning, tool_calls: toolCalls = [] } = answer;
    const text = toText(content);
    return [
      ...(reasoning ? message.wholePart('reasoning', `${id}-reasoning`, reasoning) : []),
      ...(text === '' ? [] : message.wholePart('text', id, text)),
      ...toolCalls.flatMap((call) => [
        ...beginCall(call.id, call.function.name, id),
        ...toInput(call.id, call.function.arguments),
      ]),
    ];
  };

  return {
    translate: (event) => handlers[event.type as Translated]?.(event as never) ?? [],
    restate: (messages) =>
      messages.flatMap((one) => {
        if (one.role === 'tool') return toResult(one.id, one.tool_call_id, { ...one, isError: one.isError === true });
        if (one.role !== 'assistant' || isSilent(one) || !message.restart(one.id)) return [];
        const chunks = restateAnswer(one);
        had.add(one.id);
        return chunks;
      }),
    finish(reason) {
      const ends = [...start(undefined), ...endStep()];
      if (reason === 'cancelled') return [...ends, { type: 'abort', reason: 'The turn was cancelled.' }];
      const usage = usages.length > 0 ? { usage: sum(usages) } : {};
      return [
        ...ends,
        { type: 'finish', finishReason: FINISH_REASONS[reason], messageMetadata: { svc: { runId, ...usage } } },
      ];
    },
    fail: (error) => [...start(undefined), ...endStep(), { type: 'error', errorText: error.message }],
  };
}

// --- internal ---

type Translated = Exclude<TurnEvent['type'], 'finish' | 'error' | 'text.logprobs'>;
type Handlers = { [T in Translated]: (event: Extract<TurnEvent, { type: T }>) => UiChunk[] };

interface ToolResult {
  content: unknown;
  isError: boolean;
  /** The approval that was rejected. */
  rejected?: string;
  byClient?: true;
}

const FINISH_REASONS: Record<Exclude<FinishReason, 'cancelled'>, UiFinishReason> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  interrupt: 'tool-calls',
};

function parse(args: string): { value: unknown; error?: string } {
  try {
    return { value: args.trim() === '' ? {} : JSON.parse(args) };
  } catch (error) {
    return { value: args, error: `The arguments are not JSON: ${(error as Error).message}` };
  }
}

function toDescriptor({ message, name, args, allow, agent, expiresAt }: Interrupt): ApprovalDescriptor {
  return {
    title: message,
    ...(name === undefined ? {} : { tool: name, arguments: args }),
    allow,
    ...(agent === undefined ? {} : { agent }),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
  };
}

function sum(usages: readonly (Usage | undefined)[]) {
  let inputTokens = 0;
  let outputTokens = 0;
  for (const usage of usages) {
    inputTokens += usage?.inputTokens ?? 0;
    outputTokens += usage?.outputTokens ?? 0;
  }
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}
