/** Of a person in an organisation. What a role may do at a box is the box's to know. */
export const ROLES = ['owner', 'admin', 'member', 'approver', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The first may do the most. */
export function isAtMost(role: Role, limit: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(limit);
}

export function lowerOf(a: Role, b: Role): Role {
  return isAtMost(a, b) ? a : b;
}
