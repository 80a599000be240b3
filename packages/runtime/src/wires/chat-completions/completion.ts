import type { Executor, FinishReason, Interrupt, TurnEvent, Usage } from '../../agents/events/turn-events.ts';

/** What this wire needs to know about one answer, besides the events. */
export interface CompletionView {
  id: string;
  created: number;
  model: string;
  /** Calls the box ran are shown only to a client that would not try to run them. */
  showTools: boolean;
  /** The id with which the client is shown a call it is to run. */
  toShownId(callId: string): string;
  includeUsage: boolean;
  /** The client has asked for the log probabilities of tokens. */
  showLogprobs: boolean;
}

export interface WireToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** The whole answer of a turn that did not fail, in one object. */
export function toCompletion(events: readonly TurnEvent[], view: CompletionView) {
  let content = '';
  let reasoning = '';
  let finish: FinishReason = 'stop';
  let usage: Usage | undefined;
  const calls: WireToolCall[] = [];
  const tokens: unknown[] = [];
  const shown = new Map<string, { id: string; name: string }>();
  const interrupts: Interrupt[] = [];
  for (const event of events) {
    if (event.type === 'text.delta') content += event.text;
    else if (event.type === 'text.logprobs') for (const token of event.tokens) tokens.push(token);
    else if (event.type === 'reasoning.delta') reasoning += event.text;
    else if (event.type === 'tool.start' && isShown(event, view))
      shown.set(event.callId, { id: shownIdOf(event, view), name: event.name });
    else if (event.type === 'tool.end') calls.push(...toWireCalls(shown.get(event.callId), event.args));
    else if (event.type === 'interrupt') interrupts.push(event);
    else if (event.type === 'usage') usage = event;
    else if (event.type === 'finish') finish = event.reason;
  }
  content += interrupts.map(toInterruptText).join('');
  const message = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const svc = interrupts.length > 0 ? { svc: toWireInterrupts(interrupts) } : {};
  return {
    id: view.id,
    object: 'chat.completion',
    created: view.created,
    model: view.model,
    choices: [
      { index: 0, message, logprobs: toWireLogprobs(tokens, view), finish_reason: toWireFinish(finish), ...svc },
    ],
    usage: toWireUsage(usage),
  };
}

/** A call the client is to run is always its to see; one of the box only where it would not try to run it. */
export function isShown(
  { executor }: { executor: Executor },
  { showTools }: Pick<CompletionView, 'showTools'>,
): boolean {
  return executor === 'client' || showTools;
}

/** A call of the box keeps its id: no client answers it. */
export function shownIdOf(
  { executor, callId }: { executor: Executor; callId: string },
  { toShownId }: Pick<CompletionView, 'toShownId'>,
): string {
  return executor === 'client' ? toShownId(callId) : callId;
}

/** What a client that knows nothing of interrupts shows its user. */
export function toInterruptText({ message }: Interrupt): string {
  return `Waiting for a decision: ${message}\n`;
}

export function toWireInterrupts(interrupts: readonly Interrupt[]) {
  return {
    interrupts: interrupts.map(({ id, callId: toolCallId, message }) => ({
      id,
      ...(toolCallId === undefined ? {} : { toolCallId }),
      message,
    })),
  };
}

export function toWireFinish(reason: FinishReason): string {
  return reason === 'cancelled' || reason === 'interrupt' ? 'stop' : reason;
}

/** Null: the client did not ask, or the provider said nothing. */
export function toWireLogprobs(
  tokens: readonly unknown[],
  { showLogprobs }: Pick<CompletionView, 'showLogprobs'>,
): object | null {
  return showLogprobs && tokens.length > 0 ? { content: tokens, refusal: null } : null;
}

export function toWireUsage(usage: Usage | undefined) {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, reasoningTokens = 0 } = usage ?? {};
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

// --- internal ---

/** None of a call that is not shown. */
function toWireCalls(shown: { id: string; name: string } | undefined, args: string): WireToolCall[] {
  return shown ? [{ id: shown.id, type: 'function', function: { name: shown.name, arguments: args } }] : [];
}
