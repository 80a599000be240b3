import type { ChatMessage } from '../agents/model/messages.ts';
import type { ModelReply } from '../agents/model/read-reply.ts';
import type { Mask } from '../mask.ts';
import { redact } from '../redact.ts';
import { GEN_AI } from './names.ts';
import type { Attributes } from './span.ts';
import type { ToolCallFacts } from './tool-call.ts';

/** What was said to a model since its last call, and what it answered, in the shape of the conventions. */
export function contentOfModel(
  asked: readonly ChatMessage[],
  { content = '', toolCalls = [], finishReason = 'stop' }: Partial<ModelReply>,
  mask: Mask,
): Attributes {
  const calls = toolCalls.map((call) => ({ type: 'tool_call', ...call }));
  const parts = [...(content === '' ? [] : [toText(content)]), ...calls];
  return {
    [GEN_AI.inputMessages]: toJson(asked.map(toMessage), mask),
    [GEN_AI.outputMessages]: toJson([{ role: 'assistant', parts, finish_reason: finishReason }], mask),
  };
}

export function contentOfTool({ arguments: given, result }: ToolCallFacts, mask: Mask): Attributes {
  return {
    ...(given === undefined ? {} : { [GEN_AI.toolArguments]: cut(mask.text(given)) }),
    ...(result === undefined ? {} : { [GEN_AI.toolResult]: cut(mask.text(result)) }),
  };
}

// --- internal ---

/** Characters of one attribute: collectors refuse what is too large. */
const MAX_CONTENT = 32_768;

function toMessage(message: ChatMessage) {
  const text = toText(message.content);
  if (message.role === 'tool')
    return { role: 'tool', parts: [{ type: 'tool_call_response', id: message.tool_call_id, response: text.content }] };
  if (message.role !== 'assistant' || !message.tool_calls) return { role: message.role, parts: [text] };
  const calls = message.tool_calls.map(({ id, function: { name, arguments: args } }) => ({
    type: 'tool_call',
    id,
    name,
    arguments: args,
  }));
  return { role: 'assistant', parts: [...(message.content ? [text] : []), ...calls] };
}

function toText(content: unknown) {
  return { type: 'text', content: typeof content === 'string' ? content : JSON.stringify(content) };
}

function toJson(value: unknown, mask: Mask): string {
  return cut(JSON.stringify(redact(value, mask)));
}

function cut(text: string): string {
  return text.length <= MAX_CONTENT ? text : `${text.slice(0, MAX_CONTENT)}…`;
}
