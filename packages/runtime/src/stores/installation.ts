import type { Drizzle } from './drizzle.ts';
import { installation } from './table.ts';

export interface Installation {
  id: string;
  createdAt: Date;
}

/** Undefined: it has not been made. */
export async function findInstallation(db: Drizzle): Promise<Installation | undefined> {
  const [found] = await db.select().from(installation);
  return found;
}

/**
 * The identity of this box's data. Made by the first call, with the id if one is given; of two at once, both answer the
 * one that was first.
 */
export async function ensureInstallation(db: Drizzle, id?: string): Promise<Installation> {
  const found = await findInstallation(db);
  if (found) return found;
  await db
    .insert(installation)
    .values(id === undefined ? {} : { id })
    .onConflictDoNothing();
  const made = await findInstallation(db);
  if (!made) throw new Error('The row of the installation is gone right after it was made.');
  return made;
}
