import type { Caller } from '../../auth/caller.ts';
import { COPILOT_AGENT } from '../../manifest.ts';
import { BOX_OWNER } from '../turn/session-store.ts';
import type { SessionOwner, SessionStore } from '../turn/session-store.ts';

export interface AskedSession {
  agent: string;
  name: string;
  /** Absent: the box. */
  caller: Caller | undefined;
}

/** Whose session a caller means by a name: its own. A key that reads every session of its agents means any there is. */
export async function ownerFor(
  sessions: Pick<SessionStore, 'findOwner'>,
  { agent, name, caller }: AskedSession,
): Promise<SessionOwner> {
  if (!caller) return BOX_OWNER;
  const owner: SessionOwner = { id: caller.owner, client: caller.client, userId: caller.user?.id ?? null };
  if (!caller.hasAllSessions) return owner;
  return (await sessions.findOwner({ agent, name, owner })) ?? owner;
}

/**
 * Whose thread a caller posts to by its id. Of the copilot a person means any there is: whoever holds the id of a conversation
 * with it can post to that, by rule 7 of the contract's section Authentication.
 */
export async function posterOwnerFor(
  sessions: Pick<SessionStore, 'findOwner'>,
  asked: AskedSession,
): Promise<SessionOwner> {
  const owner = await ownerFor(sessions, asked);
  const { agent, name, caller } = asked;
  if (agent !== COPILOT_AGENT || caller?.kind !== 'person') return owner;
  return (await sessions.findOwner({ agent, name, owner }, { askedBy: 'anyone' })) ?? owner;
}
