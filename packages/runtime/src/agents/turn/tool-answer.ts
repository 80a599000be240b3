import { DEFAULT_LIMITS } from '../../engine/limits.ts';
import type { ToolCall } from '../model/messages.ts';
import type { ConversationMessage } from './input.ts';
import { resultIdOf } from './ids.ts';
import type { RecordedAnswer, ToolAnswer } from './recorded-answer.ts';
import type { ToolTurn } from './tool-turn.ts';

/** Records an answer that no tool gave, and emits it. */
export async function answerCall(
  turn: ToolTurn,
  call: ToolCall,
  answer: ToolAnswer,
  by: NonNullable<RecordedAnswer['by']> = 'box',
): Promise<ConversationMessage> {
  const recorded = (await turn.invoke('tool', `tool:${call.name}`, call, {
    name: call.name,
    run: () => {
      const kept = withinLimit(call.name, answer);
      emitResult(turn, call, { ...kept, durationMs: 0 });
      return { ...kept, by };
    },
  })) as ToolAnswer;
  // What was recorded: should the state be another on a replay, what the model has read is not.
  return toMessage(call, recorded);
}

export function failed(content: string): ToolAnswer {
  return { content, isError: true };
}

/** The answer, or that it is larger than a record may be. */
export function withinLimit(name: string, answer: ToolAnswer): ToolAnswer {
  const { content } = answer;
  if (content.length * LONGEST_CHARACTER <= MAX_BYTES) return answer;
  // As long as it is in a record, where a quote takes two bytes.
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes <= MAX_BYTES) return answer;
  return failed(
    `The result of "${name}" is too long: ${bytes} bytes, and at most ${MAX_BYTES} are kept. ` +
      'Ask for less: a part of it, a page, a summary.',
  );
}

/** The arguments as the model wrote them, parsed. */
export function parseArguments(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: text.trim() === '' ? {} : JSON.parse(text) };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}

export function emitResult(turn: ToolTurn, call: ToolCall, result: ToolAnswer & { durationMs: number }): void {
  turn.options.emit({ type: 'tool.result', callId: call.id, messageId: resultIdOf(call.id), ...result });
}

export function toMessage({ id }: Pick<ToolCall, 'id'>, answer: ToolAnswer): ConversationMessage {
  const { content, isError, rejected } = answer;
  return {
    id: resultIdOf(id),
    role: 'tool',
    content,
    tool_call_id: id,
    ...(isError ? { isError } : {}),
    ...(rejected === undefined ? {} : { rejected }),
  };
}

export function notJson(call: ToolCall, reason: string): ToolAnswer {
  return failed(`The arguments of "${call.name}" are not JSON: ${reason}`);
}

// --- internal ---

/** Room for what the record has besides the text: of one that is held the rule, and why. */
const MAX_BYTES = DEFAULT_LIMITS.resultBytes - 8_192;

/** A control character is written as \u0000. */
const LONGEST_CHARACTER = 6;
