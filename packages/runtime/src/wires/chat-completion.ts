import type { FinishReason, TurnEvent, Usage } from './events.ts';

/** What this wire needs to know about one answer, besides the events. */
export interface CompletionView {
  id: string;
  created: number;
  model: string;
  /** Calls the box ran are shown only to a client that brought no tools of its own. */
  showTools: boolean;
  includeUsage: boolean;
}

export interface WireToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** The whole answer in one object, or the error that ended the turn. */
export async function toCompletion(events: AsyncIterable<TurnEvent>, view: CompletionView) {
  let content = '';
  let reasoning = '';
  let finish: FinishReason = 'stop';
  let usage: Usage | undefined;
  const calls: WireToolCall[] = [];
  const names = new Map<string, string>();
  for await (const event of events) {
    if (event.type === 'text.delta') content += event.text;
    else if (event.type === 'reasoning.delta') reasoning += event.text;
    else if (event.type === 'tool.start') names.set(event.callId, event.name);
    else if (event.type === 'tool.end')
      calls.push({
        id: event.callId,
        type: 'function',
        function: { name: names.get(event.callId) ?? '', arguments: event.args },
      });
    else if (event.type === 'usage') usage = event;
    else if (event.type === 'finish') finish = event.reason;
    else if (event.type === 'error') return { completion: undefined, error: event };
  }
  const shown = view.showTools ? calls : [];
  const message = {
    role: 'assistant',
    content: content === '' && shown.length > 0 ? null : content,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(shown.length > 0 ? { tool_calls: shown } : {}),
  };
  return {
    completion: {
      id: view.id,
      object: 'chat.completion',
      created: view.created,
      model: view.model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: toWireFinish(finish) }],
      usage: toWireUsage(usage),
    },
    error: undefined,
  };
}

export function toWireFinish(reason: FinishReason): string {
  return reason === 'cancelled' ? 'stop' : reason;
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
