import type { ToOutcome } from '../chat/tool-card.tsx';

/** What is said of a call without its card being opened: why it was refused, or what was opened. */
export const toCallOutcome: ToOutcome = ({ function: { name } }, result) => {
  const answer = readRecord(result);
  if (name === 'navigate' && answer?.['refused'] === true) return { text: String(answer['reason']), isRefusal: true };
  if (name === 'navigate' && answer?.['ok'] === true)
    return { text: `Opened ${String(answer['opened'])}.`, isRefusal: false };
  const { code, message, requestState } = answer ?? {};
  // What asks the person stands in a panel of its own.
  if (typeof code !== 'string' || typeof message !== 'string' || requestState !== undefined) return undefined;
  return { text: `${message} (${code})`, isRefusal: true };
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
