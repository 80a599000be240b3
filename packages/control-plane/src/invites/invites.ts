import { randomUUID } from 'node:crypto';
import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import { addMember, findMember } from '../organizations/members.ts';
import { getMembership, requireRoomForOne } from '../organizations/organizations.ts';
import type { Membership } from '../organizations/organizations.ts';
import { isAtMost, PERMISSIONS } from '../roles.ts';
import type { Permission, Role } from '../roles.ts';
import { hashSecret, makeSecret } from '../secrets.ts';
import type { Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';

export interface Invite {
  id: string;
  organizationId: string;
  email: string;
  role: Role;
  /** The id of a user. */
  invitedBy: string;
  createdAt: number;
  expiresAt: number;
}

const DAY = 24 * 3_600_000;
export const INVITE_LIFETIME = 7 * DAY;
/** Of an organisation, open at a time. */
export const MOST_INVITES = 200;

/** Those that are open. */
export function listInvites(queries: Queries, organizationId: string, now: number): Promise<Invite[]> {
  return queries.all<Invite>(
    sql`${INVITES} where organization_id = ${organizationId} and ${isOpen(now)} order by created_at, id`,
  );
}

/**
 * Answers the secret, which is kept nowhere. An earlier one for the same address is no longer good. Throws
 * `already_member`, `limit_reached`.
 */
export async function addInvite(
  tx: Queries,
  given: Pick<Invite, 'organizationId' | 'email' | 'role' | 'invitedBy'> & { now: number },
): Promise<{ invite: Invite; token: string }> {
  const { organizationId, email, role, invitedBy, now } = given;
  const member = await tx.get(
    sql`select u.id from plane_users u join plane_members m on m.user_id = u.id
      where u.email = ${email} and m.organization_id = ${organizationId}`,
  );
  if (member) throw new PlaneError('already_member', `"${email}" is a member of the organisation already.`);
  await tx.run(
    sql`delete from plane_invites where organization_id = ${organizationId} and email = ${email} and accepted_at is null`,
  );
  const open = await tx.get<{ count: number }>(
    sql`select count(*) as count from plane_invites where organization_id = ${organizationId} and ${isOpen(now)}`,
  );
  if ((open?.count ?? 0) >= MOST_INVITES)
    throw new PlaneError(
      'limit_reached',
      `An organisation has at most ${MOST_INVITES} open invites. Revoke some first.`,
    );
  const token = makeSecret('invite');
  const invite = {
    id: randomUUID(),
    organizationId,
    email,
    role,
    invitedBy,
    createdAt: now,
    expiresAt: now + INVITE_LIFETIME,
  };
  await tx.run(
    sql`insert into plane_invites (id, organization_id, email, role, token_hash, invited_by, created_at, expires_at)
      values (${invite.id}, ${organizationId}, ${email}, ${role}, ${hashSecret(token)}, ${invitedBy}, ${now}, ${invite.expiresAt})`,
  );
  return { invite, token };
}

/** The open invite of a token. Throws `invite_invalid`, the same for each reason. */
export async function requireInvite(queries: Queries, token: string, now: number): Promise<Invite> {
  const invite = await queries.get<Invite>(sql`${INVITES} where token_hash = ${hashSecret(token)} and ${isOpen(now)}`);
  if (!invite || !(await mayStillInvite(queries, invite))) throw inviteInvalid();
  return invite;
}

/** Throws `invite_invalid` for another address than that it is bound to. */
export function requireInvited(invite: Invite, email: string): void {
  if (invite.email !== email) throw inviteInvalid();
}

/** The open invites of an address, for one who has proved to have it. */
export async function listInvitesOf(queries: Queries, email: string, now: number): Promise<Invite[]> {
  const all = await queries.all<Invite>(
    sql`${INVITES} where email = ${email} and ${isOpen(now)} order by created_at, id limit ${MOST_INVITES}`,
  );
  const good: Invite[] = [];
  for (const invite of all) if (await mayStillInvite(queries, invite)) good.push(invite);
  return good;
}

/** Makes a member of the user. Throws `invite_invalid` for an invite of another address; `already_member`, `limit_reached`. */
export async function acceptInvite(tx: Queries, { invite, user, audit, address, now }: Accepting): Promise<Membership> {
  requireInvited(invite, user.email);
  const { id, organizationId, role } = invite;
  await requireRoomForOne(tx, user.id);
  await addMember(tx, { organizationId, userId: user.id, role, createdAt: now });
  await tx.run(sql`update plane_invites set accepted_at = ${now} where id = ${id}`);
  const target = `${user.email}: ${role}`;
  await audit.record({ organizationId, action: 'invites.accept', actor: user.email, target, address }, tx);
  const made = await getMembership(tx, user.id, organizationId);
  if (!made) throw inviteInvalid();
  return made;
}

export interface Accepting {
  invite: Invite;
  user: { id: string; email: string };
  audit: Audit;
  address: string | undefined;
  now: number;
}

/** Whether who is `own` may make someone a `role`. */
export function mayGive(own: Role, role: Role): boolean {
  const { roles } = PERMISSIONS['invites:write'] as Permission;
  return roles.includes(own) && isAtMost(role, own);
}

// --- internal ---

const INVITES = sql`select id, organization_id, email, role, invited_by, created_at, expires_at from plane_invites`;

function isOpen(now: number) {
  return sql`accepted_at is null and expires_at > ${now}`;
}

/** An invite is worth no more than who has made it: one who was removed, or is an admin no longer, brings in none. */
async function mayStillInvite(queries: Queries, { invitedBy, organizationId, role }: Invite): Promise<boolean> {
  const own = await findMember(queries, invitedBy, organizationId);
  return own !== undefined && mayGive(own, role);
}

function inviteInvalid(): PlaneError {
  return new PlaneError(
    'invite_invalid',
    'The invite is not valid: it has expired, was used or revoked, or is for another e-mail address. Ask for a new one.',
  );
}
