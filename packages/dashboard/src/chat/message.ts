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

/** Of content, what is drawn of its pictures, and what is said besides. */
export function toParts(content: ChatContent): { pictures: string[]; text: string } {
  if (typeof content === 'string') return { pictures: [], text: content };
  const drawn = content.map((part) => [part, toAddress(part)] as const);
  const rest = drawn.filter(([, address]) => address === undefined).map(([part]) => part);
  return { pictures: drawn.flatMap(([, address]) => address ?? []), text: toText(rest) };
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
    if (role === 'user') return [{ id, role, content: toUserContent(message.content) }];
    const content = toContent(message.content);
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

type Part = Exclude<ChatContent, string>[number];

/** Undefined: it is no picture, or one that only its model has. */
function toAddress(part: Part): string | undefined {
  if (part.type !== 'image') return undefined;
  const { type, value, mimeType } = part.source as { type: string; value: string; mimeType?: string };
  if (type === 'data') return /^image\/[\w.+-]+$/.test(mimeType ?? '') ? `data:${mimeType};base64,${value}` : undefined;
  return type === 'url' && /^(?:https?:|data:image\/)/.test(value) ? value : undefined;
}

/** Parts as the model was sent them, with pictures as AG-UI has them. */
function toUserContent(content: unknown): ChatContent {
  if (!Array.isArray(content) || !content.some((part: SentPart | null) => part?.image_url?.url))
    return toContent(content);
  return content.map((part: SentPart | null): Part => {
    const url = part?.type === 'image_url' ? part.image_url?.url : undefined;
    if (url === undefined) return { type: 'text', text: toContent([part]) };
    const [, mimeType, value] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
    const isData = mimeType !== undefined && value !== undefined;
    return { type: 'image', source: isData ? { type: 'data', value, mimeType } : { type: 'url', value: url } };
  });
}

interface SentPart {
  type?: unknown;
  image_url?: { url?: string };
}

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
