import { randomBytes, randomUUID } from 'node:crypto';
import { PlaneError } from '../errors.ts';
import type { Role } from '../roles.ts';
import type { Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { addMember } from './members.ts';

/** An organisation as one of its members sees it. */
export interface Membership {
  id: string;
  slug: string;
  name: string;
  role: Role;
  createdAt: number;
}

/** Of a person. */
export const MOST_ORGANIZATIONS = 100;

/** Of a person, the one it has been in longest first. */
export function listMemberships(queries: Queries, userId: string): Promise<Membership[]> {
  return queries.all<Membership>(
    sql`${MEMBERSHIPS} where m.user_id = ${userId} order by m.created_at, o.id limit ${MOST_ORGANIZATIONS}`,
  );
}

export function getMembership(
  queries: Queries,
  userId: string,
  organizationId: string,
): Promise<Membership | undefined> {
  return queries.get<Membership>(sql`${MEMBERSHIPS} where m.user_id = ${userId} and o.id = ${organizationId}`);
}

/** Its maker is its owner. Throws `limit_reached`. */
export async function createOrganization(
  tx: Queries,
  { name, userId, now }: { name: string; userId: string; now: number },
): Promise<Membership> {
  await requireRoomForOne(tx, userId);
  const id = randomUUID();
  const slug = await findFreeSlug(tx, name);
  await tx.run(
    sql`insert into plane_organizations (id, slug, name, created_at) values (${id}, ${slug}, ${name}, ${now})`,
  );
  await addMember(tx, { organizationId: id, userId, role: 'owner', createdAt: now });
  return { id, slug, name, role: 'owner', createdAt: now };
}

/** Throws `limit_reached` for a person who is in as many as one may be. */
export async function requireRoomForOne(tx: Queries, userId: string): Promise<void> {
  const row = await tx.get<{ count: number }>(
    sql`select count(*) as count from plane_members where user_id = ${userId}`,
  );
  if ((row?.count ?? 0) >= MOST_ORGANIZATIONS)
    throw new PlaneError('limit_reached', `A person is in at most ${MOST_ORGANIZATIONS} organisations.`);
}

// --- internal ---

const MEMBERSHIPS = sql`select o.id, o.slug, o.name, m.role, o.created_at
  from plane_members m join plane_organizations o on o.id = m.organization_id`;

const LONGEST_SLUG = 40;

async function findFreeSlug(tx: Queries, name: string): Promise<string> {
  const base = toSlug(name);
  const taken = await tx.get(sql`select id from plane_organizations where slug = ${base}`);
  return taken ? `${base}-${randomBytes(3).toString('hex')}` : base;
}

function toSlug(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replace(/[^a-z\d]+/g, '-')
    .slice(0, LONGEST_SLUG)
    .replace(/^-|-$/g, '');
  return slug === '' ? `org-${randomBytes(3).toString('hex')}` : slug;
}
