import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound, PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { removeFamilies } from '../oauth/remove-families.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql, taking } from '../store/sql.ts';
import { requirePermission } from './access.ts';
import type { Access } from './access.ts';
import { getMembership } from './organizations.ts';
import type { Membership } from './organizations.ts';

export interface DeleteOrganization {
  db: Db;
  access: Access;
  audit: Audit;
}

export function deleteOrganizationRoute({ db, access, audit }: DeleteOrganization): Route {
  return route({
    id: 'organizations.delete',
    method: 'DELETE',
    path: '/api/v1/orgs/:id',
    summary: 'Delete an organisation with all it has here; its boxes keep running, and no longer accept its members',
    tag: 'organizations',
    access: 'person',
    status: 204,
    body: z.strictObject({ confirm: z.string().max(100).describe('The slug of the organisation.') }),
    errors: ['forbidden', 'not_found'],
    async handle(call, { params: { id = '' }, body: { confirm } }) {
      const account = call.account();
      const require = async (queries: Queries): Promise<Membership> => {
        const found = await getMembership(queries, account.userId, id);
        if (!found) throw notFound(`organisation "${id}"`);
        requirePermission(account, found.role, 'organization:delete');
        return found;
      };
      await access.require(account, id, 'organization:delete');
      const { slug } = await require(db);
      if (confirm !== slug)
        throw new PlaneError('invalid_request', `The request is not valid. "confirm": it is not "${slug}".`);
      // A crash from here on leaves the organisation with its command lines signed out, and it can be deleted still.
      await removeFamilies(db, { of: 'organization', id, now: call.now });
      await db.transaction(async (tx) => {
        await require(tx);
        await tx.run(sql`update plane_sessions set organization_id = null where organization_id = ${id}`);
        await tx.run(sql`delete from plane_device_codes where organization_id = ${id}`);
        // With members, invites, tokens, installations and what was registered of them.
        await tx.run(taking(sql`delete from plane_organizations where id = ${id}`));
        // Of no organisation: no one could read a row of this one any more.
        await audit.record(entryOf(call, { action: 'organizations.delete', target: `${slug} (${id})` }), tx);
      });
    },
  });
}
