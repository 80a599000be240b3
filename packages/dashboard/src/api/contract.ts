/** The version of the protocol that this dashboard was made for. */
export const SPOKEN = 15;
