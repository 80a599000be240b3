import { BoxError } from '../errors.ts';

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as the model wrote it. */
  arguments: string;
}

/** A message as the provider takes it. */
export type ChatMessage =
  | { role: 'system' | 'developer' | 'user'; content: unknown; name?: string }
  | { role: 'assistant'; content: unknown; tool_calls?: ProviderToolCall[] }
  | { role: 'tool'; content: unknown; tool_call_id: string };

interface ProviderToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);

/**
 * The client's messages as the provider can take them. Unknown roles are refused. A tool call without its result is
 * dropped: a provider refuses it, and calls the box ran come back from clients exactly so.
 */
export function toMessages(value: unknown): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new BoxError('invalid_request', '"messages" must be an array with at least one message.', {
      details: { param: 'messages' },
    });
  const messages = value.map((message, index) => checkMessage(message, index));
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? message.tool_call_id : [])));
  const called = new Set<string>();
  return messages.flatMap((message): ChatMessage[] => {
    if (message.role === 'assistant') {
      const calls = message.tool_calls?.filter(({ id }) => answered.has(id)) ?? [];
      for (const { id } of calls) called.add(id);
      const { tool_calls: _dropped, ...rest } = message;
      if (calls.length === 0) return rest.content === null || rest.content === '' ? [] : [rest];
      return [{ ...rest, tool_calls: calls }];
    }
    return message.role === 'tool' && !called.has(message.tool_call_id) ? [] : [message];
  });
}

/** The assistant message of a finished model call, for the next one. */
export function toAssistantMessage(content: string, toolCalls: readonly ToolCall[]): ChatMessage {
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    ...(toolCalls.length > 0
      ? {
          tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        }
      : {}),
  };
}

// --- internal ---

function checkMessage(value: unknown, index: number): ChatMessage {
  const message = value as { role?: unknown; content?: unknown; tool_calls?: unknown; tool_call_id?: unknown } | null;
  const role = typeof message === 'object' ? message?.role : undefined;
  if (typeof role !== 'string' || !ROLES.has(role))
    throw new BoxError(
      'invalid_request',
      `"messages[${index}].role" is ${JSON.stringify(role)}; it must be one of ${[...ROLES].join(', ')}.`,
      {
        details: { param: `messages[${index}].role` },
      },
    );
  const { content = null, tool_calls: calls, tool_call_id: callId } = message ?? {};
  if (role === 'tool' || role === 'function') return { role: 'tool', content, tool_call_id: String(callId) };
  if (role === 'assistant')
    return { role, content, ...(Array.isArray(calls) ? { tool_calls: calls as ProviderToolCall[] } : {}) };
  return { role: role as 'user', content };
}
