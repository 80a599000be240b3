/** The seats of an organization. */
export const ROLES = ['owner', 'admin', 'member', 'approver', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

const ALL: readonly Role[] = ROLES;
const ADMINS: readonly Role[] = ['owner', 'admin'];
const MEMBERS: readonly Role[] = ['owner', 'admin', 'member'];
const DECIDERS: readonly Role[] = ['owner', 'admin', 'approver'];

/** Every permission of the box, and the roles that hold it. A token names a role; what the role may do is ours to say. */
const HOLDERS = {
  'runs:read': ALL,
  'runs:cancel': MEMBERS,
  'runs:delete': MEMBERS,
  'runs:retry': MEMBERS,
  'sessions:read': ALL,
  'sessions:delete': ADMINS,
  'hitl:read': ALL,
  'hitl:decide': DECIDERS,
  'logs:read': MEMBERS,
  'activity:read': ALL,
  'events:read': ALL,
  'catalog:read': ALL,
  'catalog:write': ADMINS,
  'workflows:start': MEMBERS,
  'agents:chat': MEMBERS,
  'evals:read': MEMBERS,
  'evals:write': MEMBERS,
  'evals:run': ADMINS,
  'evals:cancel': MEMBERS,
  'jobs:write': ADMINS,
  'config:read': MEMBERS,
  'config:write': MEMBERS,
  'secrets:read': ADMINS,
  'secrets:write': ADMINS,
  'secrets:rotate': ADMINS,
  'connections:read': ADMINS,
  'connections:write': ADMINS,
  'browser:read': ADMINS,
  'browser:write': ADMINS,
  'triggers:read': ADMINS,
  'triggers:write': ADMINS,
  'provider:read': ADMINS,
  'provider:write': ADMINS,
  'settings:read': ALL,
  'settings:write': MEMBERS,
  'settings:admin': ADMINS,
  'copilot:use': ALL,
  'copilot:write': ADMINS,
  'copilot:read_all': ADMINS,
  'storage:read': ADMINS,
  'storage:write': ADMINS,
  'rag:read': MEMBERS,
  'rag:write': MEMBERS,
  'rag:admin': ADMINS,
  'guardrails:read': ALL,
  'guardrails:write': MEMBERS,
  'keys:read': ADMINS,
  'keys:write': ADMINS,
  'database:read': MEMBERS,
  'services:read': ALL,
  'mcp:use': ALL,
} as const satisfies Record<string, readonly Role[]>;

export type Permission = keyof typeof HOLDERS;

// Maps, so that no name a token brings finds what an object inherits.
const ROLE_NAMES = new Map<string, Role>(ROLES.map((role) => [role, role]));
const HELD = new Map<string, ReadonlySet<Role>>(Object.entries(HOLDERS).map(([name, roles]) => [name, new Set(roles)]));

/** Undefined: there is no such role. */
export function findRole(name: unknown): Role | undefined {
  return typeof name === 'string' ? ROLE_NAMES.get(name) : undefined;
}

export function isHeld(permission: Permission, role: Role): boolean {
  return HELD.get(permission)?.has(role) ?? false;
}

export function listPermissions(): Permission[] {
  return Object.keys(HOLDERS) as Permission[];
}
