import { agentNotFound } from '../agents/events/turn-errors.ts';
import type { Agents } from '../agents/agents.ts';
import type { Auth } from '../auth/auth.ts';
import { isGranted } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';

/**
 * Who sends a chat request: 401 without a key, or with one that is unknown, expired or revoked; 403 when it is not
 * granted the agent. Dev takes any text that is not empty for a key, and judges what begins as keys of the box do.
 */
export type Authorize = Auth['authorize'];

/** The agents a caller is shown. */
export function grantedAgents(caller: Caller, names: readonly string[]): string[] {
  return names.filter((name) => isGranted(caller, 'agents', name));
}

export interface AskedAgent {
  agents: Pick<Agents, 'names'>;
  agent: string;
  caller: Caller;
}

/** `agent_not_found`, with the names the caller is granted. */
export async function agentNotOffered({ agents, agent, caller }: AskedAgent): Promise<BoxError> {
  return agentNotFound(agent, grantedAgents(caller, await agents.names()));
}

/** What went wrong, naming no agent that the caller is not granted. */
export async function toGrantedError(error: unknown, asked: AskedAgent): Promise<unknown> {
  return error instanceof BoxError && error.code === 'agent_not_found' ? agentNotOffered(asked) : error;
}
