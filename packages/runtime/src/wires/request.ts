import type { Agents } from '../agents/agents.ts';
import type { Caller } from '../auth/caller.ts';
import { readJson } from '../http/body.ts';
import { agentNotOffered } from './key.ts';

/** Conversations are long, and carry images. */
const BODY_LIMIT = 32 * 1_048_576;

/** The JSON body of a chat request. Keys such as `__proto__` may stand in it: it holds what people and models wrote. */
export function readChatBody(request: Request): Promise<unknown> {
  return readJson(request, { limit: BODY_LIMIT, refuseProtoKeys: false });
}

/** Throws `agent_not_found` with the names the caller is granted. */
export async function requireAgent(
  agents: Pick<Agents, 'has' | 'names'>,
  agent: string,
  caller: Caller,
): Promise<void> {
  if (!agents.has(agent)) throw await agentNotOffered({ agents, agent, caller });
}
