import { eq } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { apiKeys } from './table.ts';

/** When keys were used last, to the minute. */
export interface KeyUse {
  /** Not waited for: a caller is answered all the same. */
  note(id: string): void;
  settled(): Promise<void>;
}

export function createKeyUse(db: Drizzle): KeyUse {
  const noted = new Map<string, number>();
  const noting = new Set<Promise<unknown>>();
  return {
    note(id) {
      const now = performance.now();
      if (now - (noted.get(id) ?? -Infinity) < NOTE_MS) return;
      if (noted.size >= MAX_KNOWN) noted.clear();
      noted.set(id, now);
      const note = db
        .update(apiKeys)
        .set({ lastUsedAt: new Date() })
        .where(eq(apiKeys.id, id))
        .catch(() => {})
        .finally(() => noting.delete(note));
      noting.add(note);
    },
    async settled() {
      await Promise.all(noting);
    },
  };
}

// --- internal ---

const NOTE_MS = 60_000;
const MAX_KNOWN = 10_000;
