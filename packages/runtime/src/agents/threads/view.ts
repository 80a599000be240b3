import { isDeepStrictEqual } from 'node:util';
import type { ConversationMessage } from '../turn/input.ts';
import { toStorable } from '../turn/storable.ts';

/** A message of the thread as its client has it. */
export interface SentMessage {
  id: string;
  /** Undefined: it is no part of the conversation, such as a system text, which is of the request. */
  message?: ConversationMessage;
}

/** A thread as a request finds it and leaves it to the turn. */
export interface ThreadView {
  /** What the box has and keeps. */
  kept: ConversationMessage[];
  /** What the request adds. */
  added: ConversationMessage[];
  /** What the turn forgets first: what comes after this message, null all of it. Undefined: nothing. */
  cutAfter?: string | null;
  /** The client has sent nothing of what is kept, so it is sent. */
  isRestated: boolean;
}

/**
 * What a request's messages mean to the thread. Where the box knows one of them, they are the client's full view: what
 * it has edited or left out at the end is cut. Where it knows none, they are new. `append`: they are, whatever it knows.
 */
export function viewThread(
  stored: readonly ConversationMessage[],
  sent: readonly SentMessage[],
  { append = false }: { append?: boolean } = {},
): ThreadView {
  // As they are kept: a message that comes again is the same one.
  const messages = toStorable(toConversation(sent));
  const known = new Set(stored.map(({ id }) => id));
  const isKnown = messages.some(({ id }) => known.has(id));
  if (!isKnown || append) {
    return { kept: [...stored], added: without(messages, stored), isRestated: stored.length > 0 };
  }
  const kept = keepShared(stored, messages);
  const isCut = kept.length < stored.length;
  const added = without(messages, kept);
  return { kept, added, isRestated: false, ...(isCut ? { cutAfter: kept.at(-1)?.id ?? null } : {}) };
}

/** What a request says since the last thing the person said that the thread has. */
export function viewRest(thread: readonly ConversationMessage[], sent: readonly SentMessage[]): ThreadView {
  const known = new Set(thread.map(({ id }) => id));
  const last = sent.findLastIndex(({ id, message }) => message?.role === 'user' && known.has(id));
  return viewThread(thread, sent.slice(last + 1), { append: true });
}

/** Something was said after the agent's last answer. */
export function isAsked({ kept, added }: ThreadView): boolean {
  const last = added.at(-1) ?? kept.at(-1);
  return last !== undefined && last.role !== 'assistant';
}

/** The calls of the last answer that nothing answers: the client is to run them. */
export function listOpenCalls(messages: readonly ConversationMessage[]): string[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const last = messages[at];
  if (last?.role !== 'assistant') return [];
  const answered = new Set(
    messages.slice(at + 1).flatMap((message) => (message.role === 'tool' ? message.tool_call_id : [])),
  );
  return (last.tool_calls ?? []).map(({ id }) => id).filter((id) => !answered.has(id));
}

/** A reply that said nothing and called nothing: a client has never seen it. */
export function isSilent(message: ConversationMessage): boolean {
  return message.role === 'assistant' && !message.tool_calls?.length && !hasText(message.content);
}

// --- internal ---

/** What belongs to the conversation. An id counts once. */
function toConversation(sent: readonly SentMessage[]): ConversationMessage[] {
  const seen = new Set<string>();
  return sent.flatMap(({ id, message }) => {
    if (seen.has(id)) return [];
    seen.add(id);
    return message ?? [];
  });
}

function hasText(content: unknown): boolean {
  if (!Array.isArray(content)) return typeof content === 'string' && content !== '';
  return content.some(
    (part: { type?: unknown; text?: unknown } | null) =>
      part?.type === 'text' && typeof part.text === 'string' && part.text !== '',
  );
}

/** What is not kept; results in it are the client's. A call keeps the result it has: another one is of no use. */
function without(
  messages: readonly ConversationMessage[],
  kept: readonly ConversationMessage[],
): ConversationMessage[] {
  const ids = new Set(kept.map(({ id }) => id));
  const answered = new Set(kept.flatMap((message) => (message.role === 'tool' ? message.tool_call_id : [])));
  return messages.flatMap((message): ConversationMessage[] => {
    if (ids.has(message.id)) return [];
    if (message.role !== 'tool') return [message];
    return answered.has(message.tool_call_id) ? [] : [{ ...message, byClient: true }];
  });
}

/**
 * The beginning that both have. Results stand in the order in which they came, which is not the client's, so what is
 * compared is the rest; a call that is kept keeps its result, because the box has run it.
 */
function keepShared(
  stored: readonly ConversationMessage[],
  messages: readonly ConversationMessage[],
): ConversationMessage[] {
  const view = messages.filter(({ role }) => role !== 'tool');
  const kept: ConversationMessage[] = [];
  let at = 0;
  for (const message of stored) {
    if (message.role !== 'tool' && !isSilent(message) && !isSame(message, view[at++])) break;
    kept.push(message);
  }
  return kept;
}

/** What the box has said stays as it was said; what the person has said may be edited under its id. */
function isSame(stored: ConversationMessage, sent: ConversationMessage | undefined): boolean {
  if (stored.id !== sent?.id || stored.role !== sent.role) return false;
  return stored.role !== 'user' || isDeepStrictEqual(stored.content, sent.content);
}
