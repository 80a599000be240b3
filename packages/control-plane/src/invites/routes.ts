import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound, PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Call, Route } from '../http/route.ts';
import { requireSignedIn } from '../organizations/access.ts';
import type { Access } from '../organizations/access.ts';
import { toOrganization } from '../people/me.ts';
import { Email, OrganizationAnswer, RoleName } from '../people/schemas.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { acceptInvite, addInvite, listInvites, mayGive, requireInvite } from './invites.ts';
import type { Invite } from './invites.ts';

export interface InviteRoutes {
  db: Db;
  access: Access;
  audit: Audit;
  publicUrl(): string;
}

export function inviteRoutes(rooms: InviteRoutes): Route[] {
  return [...organizationInviteRoutes(rooms), ...invitedRoutes(rooms)];
}

// --- internal ---

const InviteAnswer = z.object({
  id: z.string(),
  email: z.string(),
  role: RoleName,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});

const InviteToken = z.string().max(128);

/** For who invites. */
function organizationInviteRoutes({ db, access, audit, publicUrl }: InviteRoutes): Route[] {
  const common = { tag: 'invites', access: 'person', path: '/api/v1/orgs/:id/invites' } as const;
  return [
    route({
      ...common,
      id: 'invites.list',
      method: 'GET',
      summary: 'List the open invites of an organisation',
      answer: z.object({ items: z.array(InviteAnswer) }),
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '' } }) {
        await access.require(call.account(), id, 'invites:read');
        return { items: (await listInvites(db, id, call.now)).map(toAnswer) };
      },
    }),
    route({
      ...common,
      id: 'invites.create',
      method: 'POST',
      summary: 'Invite an e-mail address; the token is shown this once',
      status: 201,
      body: z.strictObject({ email: Email, role: RoleName }),
      answer: InviteAnswer.extend({ token: z.string(), url: z.string() }),
      errors: ['forbidden', 'not_found', 'already_member', 'limit_reached'],
      async handle(call, { params: { id: organizationId = '' }, body: { email, role } }) {
        const account = call.account();
        const own = await access.require(account, organizationId, 'invites:write');
        if (!mayGive(own, role))
          throw new PlaneError('forbidden', 'Only owners make owners.', { details: { role: own } });
        const { invite, token } = await db.transaction(async (tx) => {
          const made = await addInvite(tx, { organizationId, email, role, invitedBy: account.userId, now: call.now });
          await audit.record(toEntry(call, made.invite, 'invites.create'), tx);
          return made;
        });
        return { ...toAnswer(invite), token, url: `${publicUrl()}/invite#${token}` };
      },
    }),
    route({
      ...common,
      id: 'invites.revoke',
      method: 'DELETE',
      path: `${common.path}/:inviteId`,
      summary: 'Revoke an open invite',
      status: 204,
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '', inviteId = '' } }) {
        await access.require(call.account(), id, 'invites:write');
        await db.transaction(async (tx) => {
          const invite = (await listInvites(tx, id, call.now)).find((one) => one.id === inviteId);
          if (!invite) throw notFound(`open invite "${inviteId}"`);
          await tx.run(sql`delete from plane_invites where id = ${inviteId}`);
          await audit.record(toEntry(call, invite, 'invites.revoke'), tx);
        });
      },
    }),
  ];
}

/** For who was invited. */
function invitedRoutes({ db, audit }: InviteRoutes): Route[] {
  const body = z.strictObject({ token: InviteToken });
  return [
    route({
      id: 'invites.preview',
      method: 'POST',
      path: '/api/v1/invites/preview',
      summary: 'Say what an invite is for',
      tag: 'invites',
      access: 'anyone',
      body,
      answer: z.object({
        email: z.string(),
        role: RoleName,
        organization: z.object({ name: z.string() }),
        expiresAt: z.iso.datetime(),
      }),
      errors: ['invite_invalid'],
      async handle(call, { body: { token } }) {
        const { email, role, organizationId, expiresAt } = await requireInvite(db, token, call.now);
        const named = await db.get<{ name: string }>(
          sql`select name from plane_organizations where id = ${organizationId}`,
        );
        const organization = { name: named?.name ?? '' };
        return { email, role, organization, expiresAt: new Date(expiresAt).toISOString() };
      },
    }),
    route({
      id: 'invites.accept',
      method: 'POST',
      path: '/api/v1/invites/accept',
      summary: 'Become a member of the organisation one was invited to',
      tag: 'invites',
      access: 'person',
      body,
      answer: z.object({ organization: OrganizationAnswer }),
      errors: ['forbidden', 'invite_invalid', 'already_member', 'limit_reached'],
      async handle(call, { body: { token } }) {
        const account = call.account();
        requireSignedIn(account);
        const user = { id: account.userId, email: account.email };
        const made = await db.transaction(async (tx) => {
          const invite = await requireInvite(tx, token, call.now);
          return acceptInvite(tx, { invite, user, audit, address: call.address, now: call.now });
        });
        return { organization: toOrganization(made) };
      },
    }),
  ];
}

function toAnswer({ id, email, role, createdAt, expiresAt }: Invite): z.infer<typeof InviteAnswer> {
  return {
    id,
    email,
    role,
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

function toEntry(call: Call, { organizationId, email, role }: Invite, action: string) {
  return entryOf(call, { organizationId, action, target: `${email}: ${role}` });
}
