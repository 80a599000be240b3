import type { ConversationMessage } from '../agents/turn/input.ts';
import { toText } from '../agents/turn/memory.ts';
import { toStorable } from '../agents/turn/storable.ts';
import type { Mask } from '../mask.ts';
import { cutText } from '../rag/cutting/cut.ts';

/**
 * What of a turn is remembered: what the user said, and what the agent answered in the end. No tool calls, no results, no
 * files, and no secret that the box knows. Empty: neither was said.
 */
export async function toPieces(
  messages: readonly ConversationMessage[],
  mask: Pick<Mask, 'textFor'>,
): Promise<string[]> {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => toText(content));
  const answer = toText(messages.findLast(({ role }) => role === 'assistant')?.content);
  const user = said.filter(Boolean).join('\n').trim();
  if (user === '' || answer.trim() === '') return [];
  // Masked before it is cut: the beginning of a secret is part of it. One that can be guessed stays where the user has said
  // it, as a mask in its place would show that it is right.
  const clean = (text: string) => mask.textFor(user, text.slice(0, MOST_MASKED)).slice(0, MOST_CHARACTERS);
  const { text } = toStorable({ text: `User: ${clean(user)}\n\nAssistant: ${clean(answer.trim())}` });
  const cuts = await cutText(text, { size: TOKENS, overlap: 0, markdown: false, format: 'text', pages: null });
  return cuts.slice(0, MOST_PIECES).map((cut) => cut.text);
}

// --- internal ---

/** Of a piece. */
const TOKENS = 300;
const MOST_PIECES = 20;
/** Of what the user said, and of the answer. */
const MOST_CHARACTERS = 20_000;
const MOST_MASKED = 200_000;
