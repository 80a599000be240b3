import type { Agents } from '../agents/agents.ts';
import type { RunningTurn } from '../agents/reading/running-turn.ts';
import type { TurnRequest } from '../agents/turn/request.ts';
import type { Caller } from '../auth/caller.ts';
import { toGrantedError } from './key.ts';

export interface ClientTurn extends RunningTurn {
  /** To call when the client goes away in a way its request does not show. */
  onGone: () => void;
}

/** A turn that is left when the client of the request goes away. */
export async function startClientTurn(
  agents: Agents,
  request: TurnRequest,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
): Promise<ClientTurn> {
  const turn = await agents.startTurn({ ...request, caller }).catch(async (error: unknown) => {
    throw await toGrantedError(error, { agents, agent: request.agent, caller });
  });
  return { ...turn, onGone: leaveWhenGone(turn, signal) };
}

/** Leaves the turn once the signal aborts; answers what does so before. */
export function leaveWhenGone(turn: Pick<RunningTurn, 'leave'> | undefined, signal: AbortSignal): () => void {
  const onGone = () => turn?.leave();
  if (signal.aborted) onGone();
  else signal.addEventListener('abort', onGone, { once: true });
  return onGone;
}
