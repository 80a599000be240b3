import type { TurnOutput } from '../agents/turn/options.ts';
import type { ConversationMessage, TurnInput } from '../agents/turn/input.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';

/**
 * What was said in a turn whose messages are not kept: what was new in its request, and its answer. Nothing of a turn
 * whose messages were: they have been cut away since.
 */
export function messagesOfRun(run: RunRow): ConversationMessage[] {
  const { messages, session } = decode(run.input) as TurnInput;
  if (session) return [];
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const asked = messages.slice(last + 1);
  if (run.output === null) return asked;
  const { content } = decode(run.output) as TurnOutput;
  return [...asked, { id: `msg_${run.runId.replaceAll('-', '')}`, role: 'assistant', content }];
}
