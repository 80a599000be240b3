import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound, PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Account, Call, Route } from '../http/route.ts';
import { toOrganization } from '../people/me.ts';
import { Name, OrganizationAnswer, RoleName } from '../people/schemas.ts';
import { isAtMost } from '../roles.ts';
import type { Role } from '../roles.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { requirePermission, requireSignedIn } from './access.ts';
import type { Access } from './access.ts';
import { deleteOrganizationRoute } from './delete-route.ts';
import { findMember, getMember, listMembers, removeMember, requireOwner, setRole } from './members.ts';
import type { Member } from './members.ts';
import { createOrganization, getMembership, listMemberships } from './organizations.ts';

export interface OrganizationRoutes {
  db: Db;
  access: Access;
  audit: Audit;
  full: { openOrganizations: boolean };
}

export function organizationRoutes(rooms: OrganizationRoutes): Route[] {
  const { db, access, audit, full } = rooms;
  return [
    route({
      id: 'organizations.list',
      method: 'GET',
      path: '/api/v1/orgs',
      summary: 'List the organisations one is a member of',
      tag: 'organizations',
      access: 'person',
      answer: z.object({ items: z.array(OrganizationAnswer) }),
      async handle(call) {
        const { userId, via, organizationId } = call.account();
        const all = await listMemberships(db, userId);
        return { items: all.filter(({ id }) => via === 'session' || id === organizationId).map(toOrganization) };
      },
    }),
    route({
      id: 'organizations.create',
      method: 'POST',
      path: '/api/v1/orgs',
      summary: 'Make an organisation and become its owner',
      tag: 'organizations',
      access: 'person',
      status: 201,
      body: z.strictObject({ name: Name }),
      answer: OrganizationAnswer,
      errors: ['forbidden', 'limit_reached'],
      async handle(call, { body }) {
        const account = call.account();
        requireSignedIn(account);
        const { userId } = account;
        const made = await db.transaction(async (tx) => {
          if (!full.openOrganizations) await requireOwner(tx, userId);
          const one = await createOrganization(tx, { name: body.name, userId, now: call.now });
          await audit.record(toEntry(call, one.id, 'organizations.create', one.slug), tx);
          return one;
        });
        return toOrganization(made);
      },
    }),
    route({
      id: 'organizations.rename',
      method: 'PATCH',
      path: '/api/v1/orgs/:id',
      summary: 'Rename an organisation; its slug stays',
      tag: 'organizations',
      access: 'person',
      body: z.strictObject({ name: Name }),
      answer: OrganizationAnswer,
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '' }, body: { name } }) {
        const account = call.account();
        await access.require(account, id, 'organization:write');
        const renamed = await db.transaction(async (tx) => {
          await tx.run(sql`update plane_organizations set name = ${name} where id = ${id}`);
          await audit.record(toEntry(call, id, 'organizations.rename', name), tx);
          return getMembership(tx, account.userId, id);
        });
        if (!renamed) throw notFound(`organisation "${id}"`);
        return toOrganization(renamed);
      },
    }),
    deleteOrganizationRoute(rooms),
    ...memberRoutes(rooms),
  ];
}

// --- internal ---

const MemberAnswer = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: RoleName,
  createdAt: z.iso.datetime(),
});

function memberRoutes({ db, access, audit }: OrganizationRoutes): Route[] {
  return [
    route({
      id: 'members.list',
      method: 'GET',
      path: '/api/v1/orgs/:id/members',
      summary: 'List the members of an organisation',
      tag: 'organizations',
      access: 'person',
      answer: z.object({ items: z.array(MemberAnswer) }),
      errors: ['not_found'],
      async handle(call, { params: { id = '' } }) {
        await access.require(call.account(), id, 'organization:read');
        return { items: (await listMembers(db, id)).map(toMember) };
      },
    }),
    route({
      id: 'members.update',
      method: 'PATCH',
      path: '/api/v1/orgs/:id/members/:userId',
      summary: 'Give a member another role',
      tag: 'organizations',
      access: 'person',
      body: z.strictObject({ role: RoleName }),
      answer: MemberAnswer,
      errors: ['forbidden', 'not_found', 'last_owner'],
      async handle(call, { params: { id = '', userId = '' }, body: { role } }) {
        await access.require(call.account(), id, 'members:write');
        const changed = await db.transaction(async (tx) => {
          const own = await requireOwnRole(tx, call.account(), id);
          requirePermission(call.account(), own, 'members:write');
          const member = await requireMember(tx, userId, id);
          requireOwnerFor(own, [member.role, role]);
          if (member.role === role) return member;
          await setRole(tx, { userId, organizationId: id, role });
          await audit.record(toEntry(call, id, 'members.update', `${member.email}: ${member.role} -> ${role}`), tx);
          return { ...member, role };
        });
        return toMember(changed);
      },
    }),
    route({
      id: 'members.remove',
      method: 'DELETE',
      path: '/api/v1/orgs/:id/members/:userId',
      summary: 'Remove a member, or leave',
      tag: 'organizations',
      access: 'person',
      status: 204,
      errors: ['forbidden', 'not_found', 'last_owner'],
      async handle(call, { params: { id = '', userId = '' } }) {
        const account = call.account();
        const isSelf = userId === account.userId;
        await access.require(account, id, isSelf ? 'organization:read' : 'members:write');
        requireSignedIn(account);
        await db.transaction(async (tx) => {
          const own = await requireOwnRole(tx, account, id);
          const member = await requireMember(tx, userId, id);
          if (!isSelf) {
            requirePermission(account, own, 'members:write');
            requireOwnerFor(own, [member.role]);
          }
          await removeMember(tx, { userId, organizationId: id, now: call.now });
          await audit.record(toEntry(call, id, isSelf ? 'members.leave' : 'members.remove', member.email), tx);
        });
      },
    }),
  ];
}

function toEntry(call: Call, organizationId: string, action: string, target: string) {
  return entryOf(call, { organizationId, action, target });
}

/** As it is in the transaction: whoever changes roles may have lost its own meanwhile. */
async function requireOwnRole(tx: Queries, { userId }: Account, organizationId: string): Promise<Role> {
  const role = await findMember(tx, userId, organizationId);
  if (role === undefined) throw notFound(`organisation "${organizationId}"`);
  return role;
}

async function requireMember(tx: Queries, userId: string, organizationId: string): Promise<Member> {
  const member = await getMember(tx, userId, organizationId);
  if (!member) throw notFound(`member "${userId}"`);
  return member;
}

/** Throws `forbidden` when an owner is made or changed by who is none. */
function requireOwnerFor(own: Role, roles: readonly Role[]): void {
  if (roles.every((role) => isAtMost(role, own))) return;
  throw new PlaneError('forbidden', 'Only owners make, change and remove owners.', { details: { role: own } });
}

function toMember({ createdAt, ...member }: Member): z.infer<typeof MemberAnswer> {
  return { ...member, createdAt: new Date(createdAt).toISOString() };
}
