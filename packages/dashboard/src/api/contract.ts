/** The version of the protocol that this dashboard was made for. */
export const SPOKEN = 15;
/** The oldest version whose copilot this dashboard can talk to. */
export const COPILOT_NEEDS = 15;
