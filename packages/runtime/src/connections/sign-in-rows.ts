import { eq, lt, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import type { ConnectionStore } from './store.ts';
import { connectionSignIns } from './table.ts';

export function createSignIns(db: Drizzle): Pick<ConnectionStore, 'addSignIn' | 'takeSignIn'> {
  return {
    async addSignIn(signIn) {
      await db.delete(connectionSignIns).where(lt(connectionSignIns.expiresAt, sql`now()`));
      await db.insert(connectionSignIns).values(signIn);
    },
    async takeSignIn(stateHash) {
      const [row] = await db.delete(connectionSignIns).where(eq(connectionSignIns.stateHash, stateHash)).returning();
      return row && row.expiresAt > new Date() ? { connectionId: row.connectionId, owner: row.owner } : undefined;
    },
  };
}
