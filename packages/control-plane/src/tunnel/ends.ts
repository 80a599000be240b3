import { PERMISSIONS } from '../roles.ts';
import type { Permission, Role } from '../roles.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import type { Sql } from '../store/sql.ts';
import type { Grant } from './grants.ts';
import type { End } from './relay.ts';

/** What the store says of tunnels: over is one without its installation, its member, or the session it was opened with. */
export async function findEnds(db: Db, grants: readonly Grant[], now: number): Promise<Map<Grant, End>> {
  const ends = new Map<Grant, End>();
  for (let at = 0; at < grants.length; at += PART) {
    const part = grants.slice(at, at + PART);
    const rows = await db.all<Row>(joinAll(part.map((grant) => ask(grant, now))));
    const found = new Map(rows.map((row) => [row.name, row]));
    for (const grant of part) {
      const row = found.get(grant.name);
      if (!row) ends.set(grant, 'ended');
      else if (row.credentialId === null || !mayOpen(row.role)) ends.set(grant, 'revoked');
    }
  }
  return ends;
}

// --- internal ---

/** Of one statement, which SQLite answers before anything else. */
const PART = 50;

interface Row {
  name: string;
  role: Role | null;
  credentialId: string | null;
}

/** A row, if there is still the installation. */
function ask({ installationId, name, holder: { userId, credentialId } }: Grant, now: number): Sql {
  const own = sql`id = ${credentialId} and user_id = ${userId} and expires_at > ${now}`;
  return sql`select cast(${name} as text) as name, m.role, coalesce(
      (select id from plane_sessions where ${own}),
      (select id from plane_families where ${own} and ended_at is null)) as credential_id
    from plane_installations i
    left join plane_members m on m.organization_id = i.organization_id and m.user_id = ${userId}
    where i.id = ${installationId}`;
}

function joinAll([first = sql``, ...rest]: readonly Sql[]): Sql {
  return rest.reduce((all, one) => sql`${all} union all ${one}`, first);
}

function mayOpen(role: Role | null): boolean {
  const { roles } = PERMISSIONS['tunnels:open'] as Permission;
  return role !== null && roles.includes(role);
}
