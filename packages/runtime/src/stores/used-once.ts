import { and, eq, lt } from 'drizzle-orm';
import type { Drizzle } from './drizzle.ts';
import { usedOnce } from './table.ts';

export interface UsedOnce {
  /** Uses the value up, for every replica. False: it has been used. It is forgotten after `ttlMs`. */
  use(value: string, ttlMs: number, content?: string): Promise<boolean>;
  /** What it was used up with. */
  read(value: string): Promise<string | undefined>;
}

/** In the database rather than in the key-value store: losing what was used would let it be used again. */
export function createUsedOnce(db: Drizzle, purpose: 'signature' | 'confirmation'): UsedOnce {
  let sweptAt = 0;
  return {
    async use(value, ttlMs, content) {
      const now = Date.now();
      if (now - sweptAt > SWEEP_MS) {
        sweptAt = now;
        await db.delete(usedOnce).where(lt(usedOnce.expiresAt, new Date(now)));
      }
      const rows = await db
        .insert(usedOnce)
        .values({ purpose, value, content, expiresAt: new Date(now + ttlMs) })
        .onConflictDoNothing()
        .returning({ value: usedOnce.value });
      return rows.length > 0;
    },
    async read(value) {
      const isIt = and(eq(usedOnce.purpose, purpose), eq(usedOnce.value, value));
      const [row] = await db.select({ content: usedOnce.content }).from(usedOnce).where(isIt);
      return row?.content ?? undefined;
    },
  };
}

// --- internal ---

const SWEEP_MS = 60_000;
