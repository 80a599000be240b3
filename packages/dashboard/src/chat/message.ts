import type { AgentEvent } from '@svc/runtime/client';

/** A message of a conversation, as AG-UI has it: what is shown, and what is sent back. */
export type ChatMessage = Extract<AgentEvent, { type: 'MESSAGES_SNAPSHOT' }>['messages'][number];
export type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>;
export type ChatToolCall = NonNullable<AssistantMessage['toolCalls']>[number];
export type ChatContent = Extract<ChatMessage, { role: 'user' }>['content'];

/** The text of content; what is no text is named by its kind. */
export function toText(content: ChatContent | undefined): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
}

/** The run that made a message; undefined: a person wrote it. */
export function runOf(messageId: string): string | undefined {
  const [, a, b, c, d, e] = /^msg_([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})/.exec(messageId) ?? [];
  return a === undefined ? undefined : [a, b, c, d, e].join('-');
}

/** A finished turn of a session, as the box lists it. */
export interface ListedTurn {
  messages: readonly {
    id: string;
    role: 'user' | 'assistant' | 'tool' | 'system' | 'developer';
    content: unknown;
    reasoning: string | null;
    toolCalls: readonly { callId: string; name: string; arguments: string }[];
    toolCallId: string | null;
  }[];
}

/** The messages of a turn that was not streamed. */
export function toChatMessages({ messages }: ListedTurn): ChatMessage[] {
  return messages.flatMap((message): ChatMessage[] => {
    const { id, role, reasoning, toolCalls } = message;
    const content = toContent(message.content);
    if (role === 'user') return [{ id, role, content }];
    if (role === 'tool') return [{ id, role, content, toolCallId: message.toolCallId ?? '' }];
    if (role !== 'assistant') return [{ id, role, content: toText(content) }];
    const calls = toolCalls.map(({ callId, name, arguments: args }): ChatToolCall => ({
      id: callId,
      type: 'function',
      function: { name, arguments: args },
    }));
    const text = toText(content);
    return [
      ...(reasoning ? [{ id: `${id}-reasoning`, role: 'reasoning' as const, content: reasoning }] : []),
      { id, role, ...(text === '' ? {} : { content: text }), ...(calls.length > 0 ? { toolCalls: calls } : {}) },
    ];
  });
}

// --- internal ---

/** Parts as the model was sent them: what is no text keeps its kind. */
function toContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { type?: unknown; text?: unknown } | null) =>
      typeof part?.text === 'string' ? part.text : `[${String(part?.type ?? 'part').replace(/_url$/, '')}]`,
    )
    .join('\n');
}
