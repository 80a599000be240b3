import type { Role } from '../../../../runtime/src/auth/permissions.ts';

export interface Member {
  userId: string;
  email: string;
  name: string;
  role: Role;
  createdAt: string;
}

export interface Invite {
  id: string;
  email: string;
  role: Role;
  createdAt: string;
  expiresAt: string;
}

/** As the control plane has it: owners and admins change who is in the organisation, and owners alone who is an owner. */
export function mayWriteMembers(own: Role): boolean {
  return own === 'owner' || own === 'admin';
}

export function mayChange(own: Role, member: Role): boolean {
  return mayWriteMembers(own) && (own === 'owner' || member !== 'owner');
}

/** What a person with that role may make another one. */
export function listRoles(own: Role): readonly (readonly [Role, string])[] {
  return own === 'owner' ? ROLES : ROLES.filter(([role]) => role !== 'owner');
}

// --- internal ---

const ROLES = [
  ['owner', 'Owner'],
  ['admin', 'Admin'],
  ['member', 'Member'],
  ['approver', 'Approver'],
  ['viewer', 'Viewer'],
] as const;
