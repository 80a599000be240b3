import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Account, Call, Route } from '../http/route.ts';
import { requirePermission } from '../organizations/access.ts';
import type { Access } from '../organizations/access.ts';
import { Name } from '../people/schemas.ts';
import type { PermissionName, Role } from '../roles.ts';
import type { Db } from '../store/db.ts';
import { sql, taking } from '../store/sql.ts';
import { addInstallation, findInstallation, listInstallations, renameInstallation } from './installations.ts';
import type { Installation } from './installations.ts';

export interface InstallationRoutes {
  db: Db;
  access: Access;
  audit: Audit;
}

export function installationRoutes({ db, access, audit }: InstallationRoutes): Route[] {
  const common = { tag: 'installations', access: 'person' } as const;
  const one = { ...common, path: '/api/v1/installations/:id', errors: ['forbidden', 'not_found'] } as const;
  return [
    route({
      ...common,
      id: 'installations.list',
      method: 'GET',
      path: '/api/v1/installations',
      summary: 'List the installations of the organisation that is acted in',
      answer: z.object({ items: z.array(InstallationAnswer) }),
      handle: async (call) => ({
        items: (await listInstallations(db, call.person().organizationId)).map(toAnswer),
      }),
    }),
    route({
      ...common,
      id: 'installations.create',
      method: 'POST',
      path: '/api/v1/installations',
      summary: 'Make an installation in the organisation that is acted in',
      status: 201,
      body: z.strictObject({ name: Name }),
      answer: InstallationAnswer,
      errors: ['forbidden', 'conflict', 'limit_reached'],
      async handle(call, { body: { name } }) {
        const person = call.person();
        const { organizationId, userId } = person;
        requirePermission(person, person.role, 'installations:create');
        const made = await db.transaction(async (tx) => {
          const added = await addInstallation(tx, { organizationId, name, now: call.now, by: userId });
          await audit.record(toEntry(call, added, 'installations.create'), tx);
          return added;
        });
        return toAnswer(made);
      },
    }),
    route({
      ...one,
      id: 'installations.get',
      method: 'GET',
      summary: 'Read an installation',
      answer: InstallationAnswer,
      handle: async (call, { params: { id = '' } }) =>
        toAnswer(await requireInstallation({ db, access }, call.account(), id, 'organization:read')),
    }),
    route({
      ...one,
      id: 'installations.rename',
      method: 'PATCH',
      summary: 'Rename an installation',
      body: z.strictObject({ name: Name }),
      answer: InstallationAnswer,
      errors: ['forbidden', 'not_found', 'conflict'],
      async handle(call, { params: { id = '' }, body: { name } }) {
        const found = await requireInstallation({ db, access }, call.account(), id, 'installations:write');
        const renamed = await db.transaction(async (tx) => {
          await renameInstallation(tx, found, name);
          await audit.record(toEntry(call, { ...found, name: `${found.name} -> ${name}` }, 'installations.rename'), tx);
          return findInstallation(tx, id);
        });
        if (!renamed) throw notFound(`installation "${id}"`);
        return toAnswer(renamed);
      },
    }),
    route({
      ...one,
      id: 'installations.delete',
      method: 'DELETE',
      summary: 'Delete an installation; the box itself goes on',
      status: 204,
      async handle(call, { params: { id = '' } }) {
        const found = await requireInstallation({ db, access }, call.account(), id, 'installations:write');
        await db.transaction(async (tx) => {
          const deleted = await tx.run(taking(sql`delete from plane_installations where id = ${id}`));
          if (deleted > 0) await audit.record(toEntry(call, found, 'installations.delete'), tx);
        });
      },
    }),
  ];
}

/**
 * With the role there at this moment. Throws `not_found` for one of an organisation the account has no part in, as for one
 * that is not there; `forbidden`.
 */
export async function requireInstallation(
  { db, access }: Pick<InstallationRoutes, 'db' | 'access'>,
  account: Account,
  id: string,
  permission: PermissionName,
): Promise<Installation & { role: Role }> {
  const found = await findInstallation(db, id);
  const role = found && (await access.roleIn(account, found.organizationId));
  if (!found || role === undefined) throw notFound(`installation "${id}"`);
  requirePermission(account, role, permission);
  return { ...found, role };
}

// --- internal ---

export const InstallationAnswer = z.object({
  id: z.uuid(),
  name: z.string(),
  organizationId: z.string(),
  createdAt: z.iso.datetime(),
  deployment: z
    .object({ url: z.string(), imageTag: z.string(), contract: z.number().nullable(), at: z.iso.datetime() })
    .nullable(),
});

export function toAnswer({ id, name, organizationId, createdAt, deployment }: Installation) {
  return {
    id,
    name,
    organizationId,
    createdAt: new Date(createdAt).toISOString(),
    deployment: deployment && { ...deployment, at: new Date(deployment.at).toISOString() },
  };
}

function toEntry(call: Call, { organizationId, id, name }: Installation, action: string) {
  return entryOf(call, { organizationId, action, target: `${name} (${id})` });
}
