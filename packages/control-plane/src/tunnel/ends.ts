import { PERMISSIONS } from '../roles.ts';
import type { Permission, Role } from '../roles.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import type { Sql } from '../store/sql.ts';
import type { Grant } from './grants.ts';
import type { End } from './open-tunnels.ts';

/** What the store says of tunnels: over is one without its installation, its member, or the session it was opened with. */
export async function findEnds(db: Db, grants: readonly Grant[], now: number): Promise<Map<Grant, End>> {
  const ends = new Map<Grant, End>();
  for (let at = 0; at < grants.length; at += PART) {
    const part = grants.slice(at, at + PART);
    const rows = await db.all<Row>(ask(part, now));
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

/** A row for each of which there is still the installation. */
function ask(grants: readonly Grant[], now: number): Sql {
  const values = listValues(grants);
  return sql`with g (name, installation_id, user_id, credential_id) as (values ${values})
    select g.name, m.role, coalesce(s.id, f.id) as credential_id
    from g join plane_installations i on i.id = g.installation_id
    left join plane_members m on m.organization_id = i.organization_id and m.user_id = g.user_id
    left join plane_sessions s on s.id = g.credential_id and s.user_id = g.user_id and s.expires_at > ${now}
    left join plane_families f on f.id = g.credential_id and f.user_id = g.user_id and f.expires_at > ${now}
      and f.ended_at is null`;
}

function mayOpen(role: Role | null): boolean {
  const { roles } = PERMISSIONS['tunnels:open'] as Permission;
  return role !== null && roles.includes(role);
}

/** As the rows of `values`. */
function listValues(grants: readonly Grant[]): Sql {
  const texts = grants.flatMap((_, at) => [at === 0 ? '(' : '), (', ', ', ', ', ', ']);
  const values = grants.flatMap(({ name, installationId, holder: { userId, credentialId } }) => [
    name,
    installationId,
    userId,
    credentialId,
  ]);
  return { texts: [...texts, ')'], values };
}
