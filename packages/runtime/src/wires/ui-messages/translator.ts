import type { FinishReason, Interrupt, TurnEvent, Usage } from '../../agents/events/turn-events.ts';
import { isSilent } from '../../agents/threads/view.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import { toText } from '../agui/content.ts';
import type { ApprovalDescriptor, PartMetadata, UiCall, UiChunk, UiFinishReason } from './chunk.ts';
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
  const streamed = new Set<string>();
  /** Read from the middle on: they are restated at the end. */
  const missed = new Set<string>();
  /** Parts that have begun, and how they end. */
  const open = new Map<string, UiChunk>();
  const usages: Usage[] = [];
  let turns = 0;
  let hasStarted = false;
  let isInStep = false;
  let current: string | undefined;

  const start = (messageId: string | undefined): UiChunk[] => {
    if (hasStarted) return [];
    hasStarted = true;
    const id = options.messageId ?? messageId;
    return [{ type: 'start', ...(id === undefined ? {} : { messageId: id }), messageMetadata: { svc: { runId } } }];
  };
  const endStep = (): UiChunk[] => {
    const ends: UiChunk[] = [...open.values()];
    open.clear();
    if (isInStep) ends.push({ type: 'finish-step' });
    isInStep = false;
    return ends;
  };
  /** Each message of the thread is a step of the client's. */
  const enter = (messageId: string): UiChunk[] => {
    if (current === messageId) return [];
    current = messageId;
    streamed.add(messageId);
    const begun: UiChunk[] = [...start(messageId), ...endStep(), { type: 'start-step' }];
    isInStep = true;
    return begun;
  };
  const beginPart = (kind: 'text' | 'reasoning', id: string): UiChunk[] => {
    const messageId = messageOf(id);
    if (had.has(messageId)) return [];
    const step = enter(messageId);
    open.set(id, { type: `${kind}-end`, id });
    return [...step, { type: `${kind}-start`, id, providerMetadata: metadataOf(messageId) }];
  };
  const endPart = (id: string): UiChunk[] => {
    const end = open.get(id);
    open.delete(id);
    return end ? [end] : [];
  };
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
  const goOn = (kind: 'text' | 'reasoning', { id, text: delta }: { id: string; text: string }): UiChunk[] => {
    if (open.has(id)) return [{ type: `${kind}-delta`, id, delta }];
    if (!had.has(messageOf(id))) missed.add(messageOf(id));
    return [];
  };
  const beginCall = (toolCallId: string, toolName: string, messageId: string): UiChunk[] => {
    if (had.has(messageId) || missed.has(messageId)) return [];
    const call: UiCall = { toolCallId, toolName, ...(clientTools.has(toolName) ? {} : { providerExecuted: true }) };
    const step = enter(messageId);
    calls.add(toolCallId);
    begunCalls.set(toolCallId, { ...call, messageId });
    return [...step, { type: 'tool-input-start', ...call }];
  };
  const toResult = (id: string, toolCallId: string, result: { content: unknown; isError: boolean }): UiChunk[] => {
    if (had.has(id) || !calls.has(toolCallId)) return [];
    had.add(id);
    const first = start(undefined);
    if (denied.has(toolCallId)) return [...first, { type: 'tool-output-denied', toolCallId }];
    const text = toText(result.content);
    return [
      ...first,
      result.isError
        ? { type: 'tool-output-error', toolCallId, errorText: text, providerExecuted: true }
        : { type: 'tool-output-available', toolCallId, output: toValue(text), providerExecuted: true },
    ];
  };

  const handlers: Handlers = {
    'turn.start'() {
      turns = usages.length;
      return [];
    },
    'step.start': () => [],
    'step.end': () => endStep(),
    'reasoning.start': ({ id }) => beginPart('reasoning', id),
    'reasoning.delta': (event) => goOn('reasoning', event),
    'reasoning.end': ({ id }) => endPart(id),
    'text.start': ({ id }) => beginPart('text', id),
    'text.delta': (event) => goOn('text', event),
    'text.end': ({ id }) => endPart(id),
    'tool.start': ({ callId, name, messageId }) => beginCall(callId, name, messageId),
    'tool.args': ({ callId: toolCallId, delta }) =>
      begunCalls.has(toolCallId) ? [{ type: 'tool-input-delta', toolCallId, inputTextDelta: delta }] : [],
    'tool.end': ({ callId, args }) => toInput(callId, args),
    'tool.result': ({ callId, messageId, ...result }) => toResult(messageId, callId, result),
    interrupt: (interrupt) => {
      const { id: approvalId, callId: toolCallId } = interrupt;
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

  const restateAnswer = (message: ConversationMessage & { role: 'assistant' }): UiChunk[] => {
    const { id, content, reasoning, tool_calls: toolCalls = [] } = message;
    const text = toText(content);
    return [
      ...(reasoning ? toWholePart('reasoning', `${id}-reasoning`, reasoning) : []),
      ...(text === '' ? [] : toWholePart('text', id, text)),
      ...toolCalls.flatMap((call) => [
        ...beginCall(call.id, call.function.name, id),
        ...toInput(call.id, call.function.arguments),
      ]),
    ];
  };
  const toWholePart = (kind: 'text' | 'reasoning', id: string, delta: string): UiChunk[] => [
    ...beginPart(kind, id),
    { type: `${kind}-delta`, id, delta },
    ...endPart(id),
  ];

  return {
    translate: (event) => handlers[event.type as Translated]?.(event as never) ?? [],
    restate: (messages) =>
      messages.flatMap((message) => {
        if (message.role === 'tool')
          return toResult(message.id, message.tool_call_id, { content: message.content, isError: false });
        if (message.role !== 'assistant' || had.has(message.id) || streamed.has(message.id)) return [];
        if (isSilent(message)) return [];
        missed.delete(message.id);
        const chunks = restateAnswer(message);
        had.add(message.id);
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
    fail: ({ message }) => [...start(undefined), ...endStep(), { type: 'error', errorText: message }],
  };
}

// --- internal ---

type Translated = Exclude<TurnEvent['type'], 'finish' | 'error'>;
type Handlers = { [T in Translated]: (event: Extract<TurnEvent, { type: T }>) => UiChunk[] };

const FINISH_REASONS: Record<Exclude<FinishReason, 'cancelled'>, UiFinishReason> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  interrupt: 'tool-calls',
};

function metadataOf(messageId: string): PartMetadata {
  return { svc: { messageId } };
}

/** The id of a text or of what was thought before it is that of its message, and a number behind it from the second on. */
function messageOf(partId: string): string {
  return /^(msg_[^_]+_\d+)-/.exec(partId)?.[1] ?? partId;
}

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
    tool: name,
    arguments: args,
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
