import type { JournalRecord } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import type { ToolCall } from './messages.ts';
import { toAssistantMessage } from './messages.ts';
import type { ModelReply } from './model.ts';
import { resultIdOf } from './tool-answer.ts';
import type { ToolAnswer } from './tool-answer.ts';
import type { ConversationMessage, TurnInput } from './turn-input.ts';
import { messageIdOf } from './turn.ts';

/** What a turn has added to its conversation so far, of what is recorded: the session has it once the turn ends. */
export function toRecordedMessages(
  runId: string,
  input: TurnInput,
  records: readonly JournalRecord[],
): ConversationMessage[] {
  const done = records.filter(({ event }) => event === 'done');
  const results = new Map(done.flatMap(toResults).map((message) => [message.tool_call_id, message]));
  const replies = done
    .filter(({ kind, stepId, output }) => kind === 'model' && stepId === input.model && output !== null)
    .map(({ output }) => decode(output ?? '') as ModelReply);
  return [
    ...input.messages,
    ...replies.flatMap((reply, index) => [
      toAssistantMessage(reply, messageIdOf(runId, index + 1)),
      ...reply.toolCalls.flatMap(({ id }) => results.get(id) ?? []),
    ]),
  ];
}

// --- internal ---

function toResults({ kind, input, output }: JournalRecord) {
  if (kind !== 'tool' || input === null || output === null) return [];
  const { id } = decode(input) as ToolCall;
  const { content } = decode(output) as ToolAnswer;
  return [{ id: resultIdOf(id), role: 'tool' as const, content, tool_call_id: id }];
}
