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

export interface Permission {
  roles: readonly Role[];
  /** A personal access token never has it: what it could do with it would outlast it. */
  isPersonal?: true;
}

/** What is done in an organisation, and by whom. */
export const PERMISSIONS = {
  'organization:read': { roles: ROLES },
  'organization:write': { roles: ['owner', 'admin'], isPersonal: true },
  'organization:delete': { roles: ['owner'], isPersonal: true },
  'members:write': { roles: ['owner', 'admin'], isPersonal: true },
  'invites:read': { roles: ['owner', 'admin'] },
  'invites:write': { roles: ['owner', 'admin'], isPersonal: true },
  'audit:read': { roles: ['owner', 'admin'] },
  'installations:create': { roles: ['owner', 'admin', 'member'] },
  'installations:write': { roles: ['owner', 'admin'] },
  'tunnels:open': { roles: ['owner', 'admin', 'member'], isPersonal: true },
  'tokens:write': { roles: ROLES, isPersonal: true },
} as const satisfies Record<string, Permission>;
export type PermissionName = keyof typeof PERMISSIONS;
