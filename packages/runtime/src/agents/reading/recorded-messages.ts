import type { JournalRecord } from '../../engine/journal/record.ts';
import { decode } from '../../engine/serialize.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import type { Usage } from '../events/turn-events.ts';
import { COMPACT } from '../turn/compaction.ts';
import type { RecordedModelCall, SummaryPlace } from '../turn/compaction.ts';
import type { ToolCall } from '../model/messages.ts';
import { toAssistantMessage } from '../model/messages.ts';
import type { ModelReply } from '../model/read-reply.ts';
import { DECIDED, toDecided } from '../turn/held-reply.ts';
import type { Decided } from '../turn/held-reply.ts';
import type { RecordedAnswer, ToolAnswer } from '../turn/recorded-answer.ts';
import { withReasoning } from '../turn/input.ts';
import type { ConversationMessage, TurnInput } from '../turn/input.ts';
import { messageIdOf } from '../turn/ids.ts';
import { toMessage } from '../turn/tool-answer.ts';
import { addUsage } from '../events/usage.ts';

/** What a turn has added to its conversation so far, of what is recorded: the session has it once the turn ends. */
export function toRecordedMessages(
  runId: string,
  input: TurnInput,
  records: readonly JournalRecord[],
): ConversationMessage[] {
  const results = readResults(records);
  return [
    ...input.messages,
    ...readReplies(input, records).flatMap((reply, index) => [
      withReasoning(toAssistantMessage(reply, messageIdOf(runId, index + 1)), reply),
      ...reply.toolCalls.flatMap(({ id }) => {
        const result = results.get(id);
        return result ? [toMessage({ id }, result)] : [];
      }),
    ]),
  ];
}

/** A model call that is part of the conversation; `usage` counts the others before it too. */
export function readReplies({ model }: TurnInput, records: readonly JournalRecord[]): ModelReply[] {
  let others: Usage = NO_USAGE;
  const decisions = readDecisions(records);
  return records.flatMap(({ kind, stepId, event, output }) => {
    if (kind !== 'model' || event !== 'done' || output === null) return [];
    const recorded = decode(output) as ModelReply;
    const reply = recorded.heldOutput ? toDecided(recorded, decisions.shift()) : recorded;
    const usage = addUsage(others, reply.usage);
    others = stepId === model ? NO_USAGE : usage;
    return stepId === model ? [{ ...reply, usage }] : [];
  });
}

/** The model calls of a turn so far, in the order in which it made them. */
export function listModelCalls(records: readonly JournalRecord[]): RecordedModelCall[] {
  return records
    .filter(({ kind, event }) => kind === 'model' && (event === 'done' || event === 'failed'))
    .sort((a, b) => a.call - b.call)
    .map(({ stepId, input }) => ({
      summary: stepId === COMPACT ? (decode(input ?? '') as SummaryPlace) : undefined,
    }));
}

/** The results of the calls as the model read them, by their ids, in the order in which they were known. */
export function readResults(records: readonly JournalRecord[]): Map<string, RecordedResult> {
  const results = new Map<string, RecordedResult>();
  for (const [id, result] of records.filter(({ event }) => event === 'done').flatMap(toResults))
    if (!results.has(id)) results.set(id, result);
  return results;
}

export interface RecordedResult extends ToolAnswer {
  durationMs: number;
}

// --- internal ---

/** A box before recorded what a sub-agent has answered with the next model call alone. */
function toResults({ kind, input, output, at, startedAt }: JournalRecord): [string, RecordedResult][] {
  if (kind === 'model' && input !== null) {
    const { messages = [] } = decode(input) as { messages?: ConversationMessage[] };
    return messages.flatMap((message): [string, RecordedResult][] =>
      message.role === 'tool'
        ? [[message.tool_call_id, { content: String(message.content), isError: false, durationMs: 0 }]]
        : [],
    );
  }
  if (kind !== 'tool' || input === null || output === null) return [];
  const { id } = decode(input) as ToolCall;
  const { held, by: _by, ...answer } = decode(output) as RecordedAnswer;
  // What has waited is recorded once more, as it was decided.
  return held ? [] : [[id, { ...answer, durationMs: at - startedAt }]];
}

/** What was decided about replies that waited, in their order. */
function readDecisions(records: readonly JournalRecord[]): Decided[] {
  return records
    .filter(({ kind, stepId, event }) => kind === 'step' && stepId === DECIDED && event === 'done')
    .map(({ output }) => decode(output ?? '') as Decided);
}
