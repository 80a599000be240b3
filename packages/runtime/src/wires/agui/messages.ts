import { isSilent } from '../../agents/threads/view.ts';
import type { SentMessage } from '../../agents/threads/view.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import { toAguiContent, toProviderContent, toText } from './content.ts';
import type { AguiMessage } from './input.ts';

/** The messages of a request, as threads have them. */
export function toSentMessages(messages: readonly AguiMessage[]): SentMessage[] {
  return messages.map((message) => {
    const { id } = message;
    if (message.role === 'user') {
      const name = message.name === undefined ? {} : { name: message.name };
      return { id, message: { id, role: 'user', content: toProviderContent(message.content), ...name } };
    }
    if (message.role === 'tool') {
      const content = message.error === undefined ? toProviderContent(message.content) : `Error: ${message.error}`;
      return { id, message: { id, role: 'tool', content, tool_call_id: message.toolCallId } };
    }
    if (message.role !== 'assistant') return { id };
    const { content = null, toolCalls = [] } = message;
    return {
      id,
      message: { id, role: 'assistant', content, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) },
    };
  });
}

/** The messages a thread has, as this wire has them. */
export function toAguiMessages(messages: readonly ConversationMessage[]): AguiMessage[] {
  return messages.flatMap((message): AguiMessage[] => {
    const { id, content, reasoning } = message;
    if (message.role === 'tool')
      return [{ id, role: 'tool', content: toAguiContent(content), toolCallId: message.tool_call_id }];
    if (message.role !== 'assistant') {
      const name = message.name === undefined ? {} : { name: message.name };
      if (message.role === 'user') return [{ id, role: 'user', content: toAguiContent(content), ...name }];
      return [{ id, role: message.role, content: toText(content), ...name }];
    }
    const text = toText(content);
    const { tool_calls: toolCalls = [] } = message;
    const said: AguiMessage = {
      id,
      role: 'assistant',
      ...(text === '' ? {} : { content: text }),
      ...(toolCalls.length > 0 ? { toolCalls } : {}),
    };
    // The id under which it was streamed.
    const thought = reasoning ? [{ id: `${id}-reasoning`, role: 'reasoning' as const, content: reasoning }] : [];
    return isSilent(message) ? thought : [...thought, said];
  });
}
