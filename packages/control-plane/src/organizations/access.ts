import { notFound, PlaneError } from '../errors.ts';
import type { Account } from '../http/route.ts';
import { PERMISSIONS } from '../roles.ts';
import type { Permission, PermissionName, Role } from '../roles.ts';
import type { Db } from '../store/db.ts';
import { findMember } from './members.ts';

/** What an account may do in an organisation, as the roles are at the moment of the request. */
export interface Access {
  /** Undefined: it is no member, or its credential is for another organisation. */
  roleIn(account: Account, organizationId: string): Promise<Role | undefined>;
  /** Throws `not_found` for an organisation it has no part in, as for one that is not there; `forbidden`. */
  require(account: Account, organizationId: string, permission: PermissionName): Promise<Role>;
}

export function createAccess({ db }: { db: Db }): Access {
  const roleIn: Access['roleIn'] = async (account, organizationId) => {
    if (account.via === 'session') return findMember(db, account.userId, organizationId);
    return account.organizationId === organizationId ? account.role : undefined;
  };
  return {
    roleIn,
    async require(account, organizationId, permission) {
      const role = await roleIn(account, organizationId);
      if (role === undefined) throw notFound(`organisation "${organizationId}"`);
      requirePermission(account, role, permission);
      return role;
    },
  };
}

/** Throws `forbidden`. */
export function requirePermission(account: Account, role: Role, permission: PermissionName): void {
  const { roles, isPersonal } = PERMISSIONS[permission] as Permission;
  if (isPersonal) requireSignedIn(account);
  if (roles.includes(role)) return;
  throw new PlaneError('forbidden', `The role "${role}" may not do this. It takes ${roles.join(' or ')}.`, {
    details: { permission, role, roles },
  });
}

/** Throws `forbidden` for a personal access token: it does nothing that outlasts it. */
export function requireSignedIn({ via }: Account): void {
  if (via === 'token')
    throw new PlaneError('forbidden', 'A personal access token may not do this. Sign in, or run `svc login`.');
}
