import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { MasterKey } from '../secrets/seal.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { settings } from '../stores/table.ts';

/**
 * The key of what does not outlive a boot. Replicas share it: it follows from the key of the box and from what the last
 * of them wrote down at its boot, so that each boot makes another. It is looked up at each use: those are questions to a
 * person, too rare for a memory that would be wrong for a while after a boot elsewhere.
 */
export async function createSharedStateKey(db: Drizzle, { key }: MasterKey): Promise<() => Promise<Buffer>> {
  const value = randomUUID();
  await db
    .insert(settings)
    .values({ key: ROW, value })
    .onConflictDoUpdate({ target: settings.key, set: { value, updatedAt: new Date() } });
  return async () => {
    const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, ROW));
    return Buffer.from(hkdfSync('sha256', key, String(row?.value ?? value), PURPOSE, KEY_BYTES));
  };
}

/** The same for a box that is one process: no other process has the key, and it is not kept. */
export function createOwnStateKey(): () => Promise<Buffer> {
  const key = randomBytes(KEY_BYTES);
  return async () => key;
}

// --- internal ---

const ROW = 'boot-generation';
const PURPOSE = 'svc sealed state';
const KEY_BYTES = 32;
