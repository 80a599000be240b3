import { PlaneError } from '../errors.ts';
import type { Role } from '../roles.ts';
import { removeApproved } from '../sessions/sign-ins.ts';
import type { Queries } from '../store/db.ts';
import { sql, taking } from '../store/sql.ts';

export interface Member {
  userId: string;
  email: string;
  name: string;
  role: Role;
  createdAt: number;
}

export const MOST_MEMBERS = 1_000;

/** The role of a person in an organisation. Undefined: it is no member. */
export async function findMember(queries: Queries, userId: string, organizationId: string): Promise<Role | undefined> {
  const row = await queries.get<{ role: Role }>(
    sql`select role from plane_members where organization_id = ${organizationId} and user_id = ${userId}`,
  );
  return row?.role;
}

export function listMembers(queries: Queries, organizationId: string): Promise<Member[]> {
  return queries.all<Member>(
    sql`${MEMBERS} where m.organization_id = ${organizationId} order by m.created_at, u.email`,
  );
}

export function getMember(queries: Queries, userId: string, organizationId: string): Promise<Member | undefined> {
  return queries.get<Member>(sql`${MEMBERS} where m.organization_id = ${organizationId} and m.user_id = ${userId}`);
}

/** Throws `limit_reached`; `already_member`. */
export async function addMember(
  tx: Queries,
  given: Omit<Member, 'email' | 'name'> & { organizationId: string },
): Promise<void> {
  const { organizationId, userId, role, createdAt } = given;
  const row = await tx.get<{ members: number }>(
    sql`select count(*) as members from plane_members where organization_id = ${organizationId}`,
  );
  if ((row?.members ?? 0) >= MOST_MEMBERS)
    throw new PlaneError('limit_reached', `An organisation has at most ${MOST_MEMBERS} members.`);
  const added = await tx.run(
    sql`insert into plane_members (organization_id, user_id, role, created_at)
      values (${organizationId}, ${userId}, ${role}, ${createdAt}) on conflict (organization_id, user_id) do nothing`,
  );
  if (added === 0) throw new PlaneError('already_member', 'This person is a member of the organisation already.');
}

export async function setRole(
  tx: Queries,
  { userId, organizationId, role }: { userId: string; organizationId: string; role: Role },
): Promise<void> {
  await requireOtherOwner(tx, userId, organizationId);
  await tx.run(
    taking(
      sql`update plane_members set role = ${role} where organization_id = ${organizationId} and user_id = ${userId}`,
    ),
  );
}

/**
 * Throws `forbidden` for a person who owns no organisation, while there are any: who makes one may invite every address to it, and
 * an invite lets in.
 */
export async function requireOwner(tx: Queries, userId: string): Promise<void> {
  const own = await tx.get(
    sql`select user_id from plane_members where user_id = ${userId} and role = ${'owner'} limit 1`,
  );
  if (own || !(await tx.get(sql`select id from plane_organizations limit 1`))) return;
  throw new PlaneError(
    'forbidden',
    'Only an owner of an organisation here can create another. Ask an owner, or the administrator of the control plane.',
    { details: { variable: 'PLANE_OPEN_ORGANIZATIONS' } },
  );
}

/** With what it could come back by: its tokens, the sessions of its command lines, and those about to be, for this organisation. */
export async function removeMember(
  tx: Queries,
  { userId, organizationId, now }: { userId: string; organizationId: string; now: number },
): Promise<void> {
  await requireOtherOwner(tx, userId, organizationId);
  const own = sql`organization_id = ${organizationId} and user_id = ${userId}`;
  await tx.run(taking(sql`delete from plane_members where ${own}`));
  await tx.run(sql`delete from plane_personal_tokens where ${own}`);
  await removeApproved(tx, { userId, organizationId });
  await tx.run(taking(sql`update plane_families set ended_at = ${now} where ${own} and ended_at is null`));
}

/** Organisations that would have no owner without the person. */
export function listLastOwned(queries: Queries, userId: string): Promise<{ id: string; slug: string; name: string }[]> {
  return queries.all(
    sql`select o.id, o.slug, o.name from plane_members m join plane_organizations o on o.id = m.organization_id
      where m.user_id = ${userId} and m.role = ${'owner'} and not exists (select 1 from plane_members other
        where other.organization_id = m.organization_id and other.role = ${'owner'} and other.user_id <> ${userId})
      order by o.name, o.id`,
  );
}

// --- internal ---

const MEMBERS = sql`select u.id as user_id, u.email, u.name, m.role, m.created_at
  from plane_members m join plane_users u on u.id = m.user_id`;

/** Throws `last_owner` when it is the one owner there is. */
async function requireOtherOwner(tx: Queries, userId: string, organizationId: string): Promise<void> {
  const owners = await tx.all<{ userId: string }>(
    sql`select user_id from plane_members where organization_id = ${organizationId} and role = ${'owner'} limit 2`,
  );
  if (owners.length === 1 && owners[0]?.userId === userId)
    throw new PlaneError('last_owner', 'An organisation has at least one owner. Make another member an owner first.');
}
