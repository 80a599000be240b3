import type { ChatMessage } from '../agents/model/messages.ts';

/**
 * A call of a stateless turn as its client is shown it: the id says which run keeps what the client is not shown, and
 * every client sends it back with the result. Letters, digits, `-` and `_` alone, as clients of both formats take them.
 */
export function markCallId(callId: string, runId: string): string {
  return `${callId}${MARK}${Buffer.from(runId.replaceAll('-', ''), 'hex').toString('base64url')}`;
}

/** The messages with the ids the model gave its calls, and the newest run that is named in them. */
export function readMarks<M extends ChatMessage>(messages: readonly M[]): { messages: M[]; continues?: string } {
  let continues: string | undefined;
  const unmark = (marked: string): string => {
    const [, id, run] = MARKED.exec(marked) ?? [];
    if (id === undefined || run === undefined) return marked;
    continues = toRunId(run);
    return id;
  };
  const plain = messages.map((message): M => {
    if (message.role === 'tool') return { ...message, tool_call_id: unmark(message.tool_call_id) };
    if (message.role !== 'assistant' || !message.tool_calls) return message;
    return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: unmark(call.id) })) };
  });
  return { messages: plain, ...(continues === undefined ? {} : { continues }) };
}

// --- internal ---

const MARK = '-svc-';

/** The sixteen bytes of a run's id have 22 characters. */
const MARKED = /^(.+)-svc-([\w-]{22})$/s;

function toRunId(mark: string): string {
  return Buffer.from(mark, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
