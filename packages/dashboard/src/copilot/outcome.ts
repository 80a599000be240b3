import type { CallWords, Outcome } from '../chat/tool-card.tsx';
import { CONFIRM_TOOL } from './agent.ts';

/** The calls of the copilot: by the operation that is called, and why it was refused, or what was opened. */
export const CALLS: CallWords = {
  toCalled({ function: { name, arguments: text } }) {
    if (!CALLING.has(name)) return undefined;
    const { operation, input = {} } = readRecord(text) ?? {};
    return typeof operation === 'string' ? { name: operation, args: JSON.stringify(input) } : undefined;
  },
  toOutcome({ function: { name } }, result) {
    // It answers in JSON; what is none says why it was not called: that the person said no, or what a rule has found.
    if (name === CONFIRM_TOOL && !result.startsWith('{')) return { text: result, is: 'refused' };
    return toOutcome(name, readRecord(result) ?? {});
  },
};

/** What a marked write answered, for who is to confirm it. */
export interface Question {
  message: string;
  expiresAt: string | undefined;
}

/** The newest answer that asked for a confirmation with this state. */
export function findQuestion(
  messages: readonly { role: string; content?: unknown }[],
  requestState: string,
): Question | undefined {
  const found = messages.findLast(
    ({ role, content }) => role === 'tool' && typeof content === 'string' && content.includes(requestState),
  );
  const { message, details } = readRecord(String(found?.content ?? '')) ?? {};
  if (typeof message !== 'string') return undefined;
  const { expiresAt } = (details ?? {}) as { expiresAt?: unknown };
  return { message, expiresAt: typeof expiresAt === 'string' ? expiresAt : undefined };
}

// --- internal ---

/** Their arguments name an operation, and hold its input. */
const CALLING = new Set(['call_read_operation', 'call_write_operation', CONFIRM_TOOL]);

function toOutcome(tool: string, answer: Record<string, unknown>): Outcome | undefined {
  if (tool === 'navigate' && answer['refused'] === true) return { text: String(answer['reason']), is: 'refused' };
  if (tool === 'navigate' && answer['ok'] === true) return { text: `Opened ${String(answer['opened'])}.`, is: 'done' };
  const { code, message, requestState, ran, note } = answer;
  // A restart of the box has met it.
  if (ran !== undefined && typeof note === 'string') return { text: note, is: 'done' };
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  // The rest of it stands in a panel of its own.
  if (requestState !== undefined) return { text: 'Nothing has run: it asks you first.', is: 'asks' };
  return { text: `${message} (${code})`, is: 'refused' };
}

/** A longer result is data, and no refusal. */
const MOST = 50_000;

function readRecord(text: string): Record<string, unknown> | undefined {
  if (text.length > MOST || !text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
