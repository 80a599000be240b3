import { ClientError } from '@svc/runtime/client';
import type { Session } from './session.ts';

/** Who calls a box of another origin. Kept in memory alone. */
export interface Identity {
  token(): Promise<string>;
}

/** Asks the control plane, whose cookie says who it is, a minute before the last token ends. */
export function createIdentity(installation: string, session: Session): Identity {
  let current: { token: Promise<string>; until: number } | undefined;
  return {
    token() {
      if (!current || Date.now() >= current.until) {
        const token = ask(installation, session);
        const mine = (current = { token, until: Date.now() + FRESH_MS });
        token.catch(() => {
          if (current === mine) current = undefined;
        });
      }
      return current.token;
    },
  };
}

// --- internal ---

const FRESH_MS = 240_000;

async function ask(installation: string, session: Session): Promise<string> {
  const answer = await fetch(`/api/v1/installations/${encodeURIComponent(installation)}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ use: 'operate' }),
  });
  const body = (await answer.json().catch(() => ({}))) as { token?: string; code?: string; message?: string };
  session.note(answer.status !== 401);
  if (answer.ok && body.token !== undefined) return body.token;
  throw new ClientError(answer.status, { message: `The control plane answered ${answer.status}.`, ...body });
}
