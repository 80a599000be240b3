import { listMemberships } from '../organizations/organizations.ts';
import type { Membership } from '../organizations/organizations.ts';
import type { Account } from '../http/route.ts';
import type { Db } from '../store/db.ts';
import type { Me } from './schemas.ts';

export interface MeOptions {
  db: Db;
  publicUrl(): string;
}

/** Who an account is. A credential that is bound to an organisation names no other. */
export async function describeAccount({ db, publicUrl }: MeOptions, account: Account): Promise<Me> {
  const { userId, email, name, via, organizationId, role } = account;
  const all = await listMemberships(db, userId);
  const reached = via === 'session' ? all : all.filter(({ id }) => id === organizationId);
  const organizations = reached.map(toOrganization);
  const current = organizations.find(({ id }) => id === organizationId);
  return {
    user: { id: userId, email, name },
    // Of a personal token it is what that allows.
    organization: current ? { ...current, role: role ?? current.role } : null,
    organizations,
    via,
    endpoint: publicUrl(),
  };
}

export function toOrganization({ createdAt, ...membership }: Membership): Me['organizations'][number] {
  return { ...membership, createdAt: new Date(createdAt).toISOString() };
}
