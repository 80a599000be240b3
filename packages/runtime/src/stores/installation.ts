import type { Drizzle } from './drizzle.ts';
import { installation } from './table.ts';

export interface Installation {
  id: string;
  createdAt: Date;
}

/**
 * The identity of this box's data. Made by the first call, with the id if one is given; of two at once, both answer the
 * one that was first.
 */
export async function ensureInstallation(db: Drizzle, id?: string): Promise<Installation> {
  const [found] = await db.select().from(installation);
  if (found) return found;
  await db
    .insert(installation)
    .values(id === undefined ? {} : { id })
    .onConflictDoNothing();
  const [made] = await db.select().from(installation);
  if (!made) throw new Error('The row of the installation is gone right after it was made.');
  return made;
}
