/** What an agent keeps beside its messages, with the session: JSON only. */
export type TurnState = Readonly<Record<string, unknown>>;

export const NO_STATE: TurnState = Object.freeze({});
