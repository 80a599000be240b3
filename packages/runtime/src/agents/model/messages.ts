import { BoxError } from '../../errors.ts';

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

/** What the box keeps of a message for people and clients, and sends to no provider. */
export interface KeptMembers {
  id?: string;
  /** What the model thought before it said this. */
  reasoning?: string;
  /** Of the answer to a call: it says why there is no result. */
  isError?: true;
  /** With `isError`: the approval that was rejected, for which the call was not run. */
  rejected?: string;
  /** Of the answer to a call: the client has run it. */
  byClient?: true;
}

interface ProviderToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/**
 * The client's messages, checked. Unknown roles are refused. `keepsHistory`: the box has what was said before, so a
 * result may stand without its call.
 */
export function toMessages(value: unknown, { keepsHistory = false } = {}): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid('messages', '"messages" must be an array with at least one message.');
  const messages = value.map((message, index) => checkMessage(message, index));
  if (!keepsHistory && pairToolCalls(messages).length === 0)
    throw invalid(
      'messages',
      '"messages" holds nothing to answer: no message is left without its missing tool results.',
    );
  return messages;
}

/**
 * The messages as the provider can take them. A tool call without its result, and a result without its call, are
 * dropped: a provider refuses them, and calls the box ran come back from clients exactly so. Results stand directly
 * after their calls, whatever was put between.
 */
export function pairToolCalls(given: readonly (ChatMessage & KeptMembers)[]): ChatMessage[] {
  const plain = given.map(toChatMessage);
  return plain.flatMap((message, index): ChatMessage[] => {
    if (message.role === 'tool') return [];
    if (message.role !== 'assistant') return [message];
    const results = resultsAfter(plain, index);
    const isFirst = createIsFirst();
    const calls = (message.tool_calls ?? []).filter(({ id }) => results.has(id) && isFirst(id));
    if (calls.length > 0)
      return [{ ...message, tool_calls: calls }, ...calls.map(({ id }) => results.get(id) as ChatMessage)];
    const { tool_calls: _dropped, ...rest } = message;
    return isEmpty(rest.content) ? [] : [rest];
  });
}

/** The message as a provider takes it. */
export function toChatMessage(message: ChatMessage & KeptMembers): ChatMessage {
  const { id: _id, reasoning: _thought, isError: _failed, rejected: _rejected, byClient: _client, ...plain } = message;
  return plain as ChatMessage;
}

/** The assistant message of a finished model call. */
export function toAssistantMessage(
  { content, toolCalls }: { content: string; toolCalls: readonly ToolCall[] },
  id: string,
): ChatMessage & { id: string } {
  return {
    id,
    role: 'assistant',
    content: content === '' ? null : content,
    ...(toolCalls.length > 0
      ? {
          tool_calls: toolCalls.map(({ id: callId, name, arguments: args }) => ({
            id: callId,
            type: 'function',
            function: { name, arguments: args },
          })),
        }
      : {}),
  };
}

// --- internal ---

function checkMessage(value: unknown, index: number): ChatMessage {
  const message = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const { role, content = null, name, tool_calls: calls, tool_call_id: callId, function_call: called = null } = message;
  if (role === 'function')
    throw invalid(
      `messages[${index}].role`,
      `"messages[${index}].role" is "function", of the old format. Send role "tool" with its "tool_call_id".`,
    );
  if (typeof role !== 'string' || !ROLES.has(role))
    throw invalid(
      `messages[${index}].role`,
      `"messages[${index}].role" is ${JSON.stringify(role)}; it must be one of ${[...ROLES].join(', ')}.`,
    );
  if (role === 'tool') {
    if (typeof callId !== 'string' || callId === '')
      throw invalid(
        `messages[${index}].tool_call_id`,
        `"messages[${index}].tool_call_id" must name the call it answers.`,
      );
    return { role, content, tool_call_id: callId };
  }
  if (role === 'assistant') {
    // Left out, the answer of the call would be left out with it.
    if (called !== null)
      throw invalid(
        `messages[${index}].function_call`,
        `"messages[${index}].function_call" is of the old format. Send it as "tool_calls".`,
      );
    return {
      role,
      content,
      ...(Array.isArray(calls) ? { tool_calls: calls.map((call) => checkCall(call, index)) } : {}),
    };
  }
  return { role: role as 'user', content, ...(typeof name === 'string' ? { name } : {}) };
}

function checkCall(value: unknown, index: number): ProviderToolCall {
  const { id, function: called } = (value ?? {}) as {
    id?: unknown;
    function?: { name?: unknown; arguments?: unknown };
  };
  const { name, arguments: args = '{}' } = called ?? {};
  if (typeof id !== 'string' || typeof name !== 'string' || typeof args !== 'string')
    throw invalid(
      `messages[${index}].tool_calls`,
      `"messages[${index}].tool_calls" must hold {id, type: "function", function: {name, arguments}} with texts.`,
    );
  return { id, type: 'function', function: { name, arguments: args } };
}

/** The tool messages up to the next assistant message, by call id; the first one counts. */
function resultsAfter(messages: readonly ChatMessage[], index: number): Map<string, ChatMessage> {
  const results = new Map<string, ChatMessage>();
  for (let at = index + 1; at < messages.length; at++) {
    const message = messages[at];
    if (message?.role === 'assistant') break;
    if (message?.role === 'tool' && !results.has(message.tool_call_id)) results.set(message.tool_call_id, message);
  }
  return results;
}

/** Asked once of each: whether it has not come before. */
function createIsFirst(): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => !seen.has(id) && seen.add(id) !== undefined;
}

function isEmpty(content: unknown): boolean {
  return content === null || content === '' || (Array.isArray(content) && content.length === 0);
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
