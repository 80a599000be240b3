import type { ModelReply } from '../agents/model/read-reply.ts';
import type { ChatMessage } from '../agents/model/messages.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';

/** The model a record asked. A summary is recorded under the name of its step. */
export function modelOf({ stepId, input }: JournalRecord): string {
  if (stepId !== 'compact') return stepId;
  return (read(input) as { model?: string } | undefined)?.model ?? stepId;
}

/** What the model was sent since its last call. What the turn began with is kept with its run. */
export function readAsked(run: RunRow, record: JournalRecord): ChatMessage[] {
  const messagesOf = (text: string) => (read(text) as { messages?: ChatMessage[] } | undefined)?.messages ?? [];
  return messagesOf(record.call === 0 ? run.input : (record.input ?? ''));
}

export function readReply({ output }: JournalRecord): Partial<ModelReply> {
  return (read(output) as Partial<ModelReply> | undefined) ?? {};
}

// --- internal ---

function read(text: string | null): unknown {
  try {
    return text === null ? undefined : decode(text);
  } catch {
    return undefined;
  }
}
