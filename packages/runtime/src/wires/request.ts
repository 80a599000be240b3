import type { Agents } from '../agents/agents.ts';
import type { Caller } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';
import { readJson } from '../http/body.ts';
import { agentNotOffered } from './key.ts';

/** Conversations are long, and carry images. */
const BODY_LIMIT = 32 * 1_048_576;
const MOST = { messages: 20_000, tools: 2_000 };

/** The JSON body of a chat request. Keys such as `__proto__` may stand in it: it holds what people and models wrote. */
export function readChatBody(request: Request): Promise<unknown> {
  return readJson(request, { limit: BODY_LIMIT, refuseProtoKeys: false });
}

/** Throws `invalid_request` where a request has more messages or tools than are taken. */
export function checkCounts(body: unknown): void {
  for (const [param, most] of Object.entries(MOST)) {
    const list = (body as Record<string, unknown> | null)?.[param];
    if (!Array.isArray(list) || list.length <= most) continue;
    throw new BoxError('invalid_request', `"${param}" holds ${list.length}; at most ${most} are taken.`, {
      details: { param },
    });
  }
}

/** Throws `agent_not_found` with the names the caller is granted. */
export async function requireAgent(
  agents: Pick<Agents, 'has' | 'names'>,
  agent: string,
  caller: Caller,
): Promise<void> {
  if (!agents.has(agent)) throw await agentNotOffered({ agents, agent, caller });
}
