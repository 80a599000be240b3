import { and, desc, eq, getTableColumns, lt, sql } from 'drizzle-orm';
import { z } from 'zod';
import { invalidCursor } from '../errors.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { configRevisions } from './table.ts';

/** What a key was set to at one time. */
export const ConfigRevision = z.object({
  revision: z.int(),
  isSet: z.boolean().describe('False: the value was dropped, and the default came into force'),
  value: z.unknown(),
  changedBy: z.string(),
  changedAt: z.iso.datetime(),
});
export type ConfigRevision = z.infer<typeof ConfigRevision>;

export interface NewRevision {
  key: string;
  revision: number;
  isSet: boolean;
  value: unknown;
  by: string;
}

/** Every change of every key; the newest revision of a key is in force. */
export interface ConfigStore {
  /** Undefined: the key was never set. */
  findNewest(key: string): Promise<ConfigRevision | undefined>;
  /** The newest revision of every key. */
  listNewest(): Promise<Map<string, ConfigRevision>>;
  /** Undefined: there is a revision of that number already. */
  add(revision: NewRevision): Promise<ConfigRevision | undefined>;
  /** Newest first. Throws `invalid_cursor`. */
  list(
    key: string,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: ConfigRevision[]; nextCursor: string | null }>;
}

export function createConfigStore(db: Drizzle): ConfigStore {
  return {
    async findNewest(key) {
      const [row] = await db
        .select(COLUMNS)
        .from(configRevisions)
        .where(eq(configRevisions.key, key))
        .orderBy(desc(configRevisions.revision))
        .limit(1);
      return row && toRevision(row);
    },
    async listNewest() {
      const rows = await db
        .selectDistinctOn([configRevisions.key], COLUMNS)
        .from(configRevisions)
        .orderBy(configRevisions.key, desc(configRevisions.revision));
      return new Map(rows.map((row) => [row.key, toRevision(row)]));
    },
    async add({ key, revision, isSet, value, by }) {
      const [row] = await db
        .insert(configRevisions)
        .values({ key, revision, isUnset: !isSet, value, changedBy: by })
        .onConflictDoNothing()
        .returning(COLUMNS);
      return row && toRevision(row);
    },
    async list(key, { limit, cursor }) {
      const before = cursor === undefined ? undefined : lt(configRevisions.revision, parseRevision(cursor));
      const rows = await db
        .select(COLUMNS)
        .from(configRevisions)
        .where(and(eq(configRevisions.key, key), before))
        .orderBy(desc(configRevisions.revision))
        .limit(limit + 1);
      const items = rows.slice(0, limit).map(toRevision);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return { items, nextCursor: last ? toIdCursor(String(last.revision)) : null };
    },
  };
}

// --- internal ---

function parseRevision(cursor: string): number {
  const text = parseIdCursor(cursor);
  if (!/^\d{1,9}$/.test(text)) throw invalidCursor(cursor);
  return Number(text);
}

// As text: the column would parse a text that reads like JSON a second time, and "7" would come back as 7.
const COLUMNS = { ...getTableColumns(configRevisions), value: sql<string | null>`${configRevisions.value}::text` };

type Row = Omit<typeof configRevisions.$inferSelect, 'value'> & { value: string | null };

function toRevision({ revision, isUnset, value: text, changedBy, changedAt }: Row): ConfigRevision {
  const value: unknown = text === null ? null : JSON.parse(text);
  return { revision, isSet: !isUnset, value, changedBy, changedAt: changedAt.toISOString() };
}
