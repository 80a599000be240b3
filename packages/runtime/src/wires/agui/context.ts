import type { AgentState } from '../../tools/state.ts';
import type { RunAgentInput } from './input.ts';

/** The state of a client beside what the agent keeps, which the client was sent and sends back. */
export interface ClientState {
  /** What is the client's own. Undefined: nothing. */
  own: unknown;
  /** What the client is sent when the agent keeps something else. */
  toState(snapshot: AgentState): unknown;
}

export function readClientState(state: unknown, kept: AgentState): ClientState {
  if (!isRecord(state)) return { own: state ?? undefined, toState: (snapshot) => snapshot };
  const own = Object.fromEntries(Object.entries(state).filter(([key]) => !Object.hasOwn(kept, key)));
  return {
    own: Object.keys(own).length > 0 ? own : undefined,
    toState: (snapshot) => ({ ...own, ...snapshot }),
  };
}

/** What the client says around the conversation, as system texts: they are of this turn alone. */
export function toSystemTexts({ messages, context }: RunAgentInput, { own }: ClientState): string[] {
  const facts = context.map(({ description, value }) => `- ${description}: ${value}`);
  return [
    ...messages.flatMap((message) => (isSystem(message) ? message.content : [])),
    ...(facts.length > 0 ? [['What the application says:', ...facts].join('\n')] : []),
    ...(own === undefined ? [] : [`The state of the application, as JSON: ${JSON.stringify(own)}`]),
  ];
}

export function isSystem<M extends { role: string }>(message: M): message is M & { role: 'system' | 'developer' } {
  return message.role === 'system' || message.role === 'developer';
}

// --- internal ---

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
