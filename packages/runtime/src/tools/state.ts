/** What an agent keeps beside its messages, with the session: JSON only. */
export type AgentState = Readonly<Record<string, unknown>>;

export const NO_STATE: AgentState = Object.freeze({});
