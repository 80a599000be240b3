import { randomUUID } from 'node:crypto';
import { PlaneError } from '../errors.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';

/** A box, as an organisation knows it. */
export interface Installation {
  id: string;
  organizationId: string;
  name: string;
  createdAt: number;
  /** Where it runs, once it is registered. */
  deployment: { url: string; imageTag: string; contract: number | null; at: number } | null;
}

/** Of an organisation. */
export const MOST_INSTALLATIONS = 500;

export function listInstallations(db: Db, organizationId: string): Promise<Installation[]> {
  return db
    .all<Row>(sql`${INSTALLATIONS} where i.organization_id = ${organizationId} order by i.name, i.id`)
    .then((rows) => rows.map(toInstallation));
}

export async function findInstallation(queries: Queries, id: string): Promise<Installation | undefined> {
  const row = await queries.get<Row>(sql`${INSTALLATIONS} where i.id = ${id}`);
  return row && toInstallation(row);
}

/** Throws `conflict` when the name is taken, `limit_reached`. */
export async function addInstallation(
  tx: Queries,
  { organizationId, name, now, by }: { organizationId: string; name: string; now: number; by: string },
): Promise<Installation> {
  const row = await tx.get<{ count: number }>(
    sql`select count(*) as count from plane_installations where organization_id = ${organizationId}`,
  );
  if ((row?.count ?? 0) >= MOST_INSTALLATIONS)
    throw new PlaneError('limit_reached', `An organisation has at most ${MOST_INSTALLATIONS} installations.`);
  await requireFreeName(tx, organizationId, name);
  const id = randomUUID();
  await tx.run(
    sql`insert into plane_installations (id, organization_id, name, created_at, created_by)
      values (${id}, ${organizationId}, ${name}, ${now}, ${by})`,
  );
  return { id, organizationId, name, createdAt: now, deployment: null };
}

/** Throws `conflict` when the name is taken. */
export async function renameInstallation(
  tx: Queries,
  { id, organizationId }: Installation,
  name: string,
): Promise<void> {
  await requireFreeName(tx, organizationId, name, id);
  await tx.run(sql`update plane_installations set name = ${name} where id = ${id}`);
}

// --- internal ---

interface Row extends Omit<Installation, 'deployment'> {
  url: string | null;
  imageTag: string | null;
  contract: number | null;
  registeredAt: number | null;
}

const INSTALLATIONS = sql`select i.id, i.organization_id, i.name, i.created_at, d.url, d.image_tag, d.contract, d.registered_at
  from plane_installations i left join plane_deployments d on d.installation_id = i.id`;

function toInstallation({ url, imageTag, contract, registeredAt, ...row }: Row): Installation {
  const deployment =
    url === null || imageTag === null || registeredAt === null ? null : { url, imageTag, contract, at: registeredAt };
  return { ...row, deployment };
}

async function requireFreeName(tx: Queries, organizationId: string, name: string, own = ''): Promise<void> {
  const taken = await tx.get<{ id: string }>(
    sql`select id from plane_installations where organization_id = ${organizationId} and name = ${name} and id <> ${own}`,
  );
  if (taken)
    throw new PlaneError('conflict', `There is an installation "${name}" in the organisation. Choose another name.`, {
      details: { id: taken.id },
    });
}
