import { createHash } from 'node:crypto';
import type { AgentMessage } from '../../engine/handle.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { decode } from '../../engine/serialize.ts';
import type { Emit } from '../events/turn-events.ts';
import type { TurnRequest } from './request.ts';
import type { TurnInput } from './input.ts';

/** Turns below turns: an agent that hands its task to itself comes to an end. */
const MAX_DEPTH = 8;

/** How deep a turn below that run is. Throws when it would be too deep. */
export function nextDepth(agent: string, parent: RunRow): number {
  const above = parent.kind === 'agent' ? ((decode(parent.input) as TurnInput).depth ?? 0) : 0;
  if (above < MAX_DEPTH) return above + 1;
  const message = `Agent "${agent}" was not started: ${MAX_DEPTH} turns stand above each other, the most there may be.`;
  throw Object.assign(new Error(message), { code: 'agent_too_deep', fatal: true });
}

/** The message has an id of its own, so that a repeated start asks for the same. */
export function toChildRequest(
  { agent, message, session, outputSchema, before = [] }: AgentMessage,
  idempotencyKey: string,
): TurnRequest {
  const id = `in_${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32)}`;
  return {
    agent,
    messages: [
      ...before.map((said, index) => ({ ...said, id: `${id}_${index + 1}` })),
      { role: 'user', content: message, id },
    ],
    parameters: {},
    ...(session === undefined ? {} : { session: { name: session, kind: 'session' } }),
    ...(outputSchema ? { outputSchema } : {}),
  };
}

/** Hands on the text of a turn as it comes. */
export function toTextReader(onText: (text: string) => void): Emit {
  return (event) => {
    if (event.type === 'text.delta') onText(event.text);
  };
}
