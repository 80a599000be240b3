import type { SessionKind } from '../agents/turn/session-store.ts';
import { BoxError } from '../errors.ts';

/** What the client calls its conversation, from one of the two session headers. Undefined: a stateless turn. */
export function readSession(headers: Headers): { name: string; kind: SessionKind } | undefined {
  const session = nameIn(headers, 'x-svc-session');
  if (session !== undefined) return { name: session, kind: 'session' };
  const conversation = nameIn(headers, 'x-svc-conversation');
  return conversation === undefined ? undefined : { name: conversation, kind: 'conversation' };
}

/** What is new in a request on a session: clients repeat what the box has. System texts are of every request. */
export function newestOf<M extends { role: string }>(messages: readonly M[]): M[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.filter(({ role }, index) => index > last || role === 'system' || role === 'developer');
}

// --- internal ---

const MAX_NAME = 256;

function nameIn(headers: Headers, header: string): string | undefined {
  const name = headers.get(header)?.trim();
  if (name === undefined || name === '') return undefined;
  if (name.length <= MAX_NAME) return name;
  throw new BoxError(
    'invalid_request',
    `The header "${header}" has ${name.length} characters; ${MAX_NAME} are allowed.`,
  );
}
