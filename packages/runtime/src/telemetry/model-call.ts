import type { ModelReply } from '../agents/model/read-reply.ts';
import type { ChatMessage } from '../agents/model/messages.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { read } from '../limits/asked-model.ts';

/** As the conventions of OpenTelemetry call it. */
export function operationOf({ stepId }: JournalRecord): 'chat' | 'embeddings' {
  return stepId === EMBED ? 'embeddings' : 'chat';
}

/** The agent that asked. Undefined: the code of a workflow did. */
export function agentOf({ kind, name }: RunRow): string | undefined {
  return kind === 'agent' ? name : undefined;
}

/** What the model was sent since its last call. What the turn began with is kept with its run. */
export function readAsked(run: RunRow, record: JournalRecord): ChatMessage[] {
  const messagesOf = (text: string) => (read(text) as { messages?: ChatMessage[] } | undefined)?.messages;
  const own = messagesOf(record.input ?? '');
  // Steps may stand before it: an approval, its instructions.
  const isFirst = run.kind === 'agent' && (record.call === 0 || own?.length === 0);
  return (isFirst ? messagesOf(run.input) : own) ?? [];
}

export function readReply({ output }: JournalRecord): Partial<ModelReply> {
  return (read(output) as Partial<ModelReply> | undefined) ?? {};
}

// --- internal ---

const EMBED = 'ai.embed';
