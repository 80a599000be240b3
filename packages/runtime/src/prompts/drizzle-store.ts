import { and, asc, desc, eq, lt } from 'drizzle-orm';
import { newRunId } from '../engine/ids.ts';
import { invalidCursor } from '../errors.ts';
import { isUuid, parseIdCursor, parseUuidCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { promptPublications, prompts, promptVersions } from './table.ts';
import { findBefore } from './rollback.ts';
import type { PageOf, Prompt, PromptKey, PromptStore, PromptText, PromptVersion, Publication } from './store.ts';

export function createPromptStore(db: Drizzle): PromptStore {
  /** Moves the pointer of a prompt that no other caller moves meanwhile. */
  const move = (id: string, by: string, choose: (tx: Drizzle, row: Row) => Promise<number | Refusal>) =>
    db.transaction(async (tx): Promise<Publication> => {
      const row = await lock(tx, id);
      if (!row) return 'no_prompt';
      const version = await choose(tx, row);
      if (typeof version === 'string') return version;
      // What is in force already is not published once more: a rollback would find it as the one before.
      if (version === row.publishedVersion) return { prompt: toPrompt(row) };
      const [last] = await tx
        .select({ n: promptPublications.n })
        .from(promptPublications)
        .where(eq(promptPublications.promptId, id))
        .orderBy(desc(promptPublications.n))
        .limit(1);
      await tx.insert(promptPublications).values({ promptId: id, n: (last?.n ?? 0) + 1, version, publishedBy: by });
      const changed = { publishedVersion: version, updatedAt: new Date() };
      const [next] = await tx.update(prompts).set(changed).where(eq(prompts.id, id)).returning();
      return next ? { prompt: toPrompt(next) } : 'no_prompt';
    });

  return {
    async list(filter, { limit, cursor }) {
      const rows = await db
        .select()
        .from(prompts)
        .where(and(ofKey(filter), cursor === undefined ? undefined : lt(prompts.id, parseUuidCursor(cursor))))
        .orderBy(desc(prompts.id))
        .limit(limit + 1);
      return toPage(rows.map(toPrompt), limit, ({ id }) => id);
    },
    async find(id) {
      const [row] = isUuid(id) ? await db.select().from(prompts).where(eq(prompts.id, id)) : [];
      return row && toPrompt(row);
    },
    create: ({ text, by, ...given }) =>
      db.transaction(async (tx) => {
        const values = { id: newRunId(), ...given, latestVersion: 1, createdBy: by };
        const [row] = await tx.insert(prompts).values(values).onConflictDoNothing().returning();
        if (!row) return undefined;
        await tx.insert(promptVersions).values({ promptId: row.id, version: 1, text, createdBy: by });
        return toPrompt(row);
      }),
    async update(id, change) {
      if (!isUuid(id)) return undefined;
      const changed = { ...change, updatedAt: new Date() };
      const [row] = await db.update(prompts).set(changed).where(eq(prompts.id, id)).returning();
      return row && toPrompt(row);
    },
    async remove(id) {
      const [row] = isUuid(id) ? await db.delete(prompts).where(eq(prompts.id, id)).returning() : [];
      return row && toPrompt(row);
    },
    async listVersions(id, { limit, cursor }) {
      const before = cursor === undefined ? undefined : lt(promptVersions.version, parseNumber(cursor));
      const rows = await db
        .select({ row: VERSION_COLUMNS, publishedVersion: prompts.publishedVersion })
        .from(promptVersions)
        .innerJoin(prompts, eq(prompts.id, promptVersions.promptId))
        .where(and(eq(promptVersions.promptId, id), before))
        .orderBy(desc(promptVersions.version))
        .limit(limit + 1);
      const versions = rows.map(({ row, publishedVersion }) => toVersion(row, publishedVersion));
      return toPage(versions, limit, ({ version }) => String(version));
    },
    async findVersion(id, version) {
      if (!isUuid(id)) return undefined;
      const [found] = await db
        .select({ row: promptVersions, publishedVersion: prompts.publishedVersion })
        .from(promptVersions)
        .innerJoin(prompts, eq(prompts.id, promptVersions.promptId))
        .where(and(eq(promptVersions.promptId, id), eq(promptVersions.version, version)));
      return found && toText(found.row, found.publishedVersion);
    },
    addVersion: (id, { text, note, by }) =>
      db.transaction(async (tx) => {
        const prompt = await lock(tx, id);
        if (!prompt) return undefined;
        const version = prompt.latestVersion + 1;
        const values = { promptId: id, version, text, note, createdBy: by };
        const [row] = await tx.insert(promptVersions).values(values).returning();
        await tx.update(prompts).set({ latestVersion: version, updatedAt: new Date() }).where(eq(prompts.id, id));
        return row && toText(row, prompt.publishedVersion);
      }),
    publish: (id, version, by) =>
      move(id, by, async (_tx, { latestVersion }) => {
        const chosen = version ?? latestVersion;
        return chosen >= 1 && chosen <= latestVersion ? chosen : 'no_version';
      }),
    rollback: (id, by) =>
      move(id, by, async (tx) => {
        const rows = await tx
          .select({ version: promptPublications.version })
          .from(promptPublications)
          .where(eq(promptPublications.promptId, id))
          .orderBy(asc(promptPublications.n));
        return findBefore(rows.map(({ version }) => version)) ?? 'nothing_before';
      }),
    async findPublished(key) {
      const [row] = await db
        .select({ promptId: promptVersions.promptId, version: promptVersions.version, text: promptVersions.text })
        .from(prompts)
        .innerJoin(
          promptVersions,
          and(eq(promptVersions.promptId, prompts.id), eq(promptVersions.version, prompts.publishedVersion)),
        )
        .where(ofKey(key));
      return row;
    },
  };
}

// --- internal ---

type Row = typeof prompts.$inferSelect;
type VersionRow = typeof promptVersions.$inferSelect;
type Refusal = Extract<Publication, string>;

const VERSION_COLUMNS = {
  promptId: promptVersions.promptId,
  version: promptVersions.version,
  note: promptVersions.note,
  createdBy: promptVersions.createdBy,
  createdAt: promptVersions.createdAt,
};

function ofKey({ ownerKind, ownerName, key }: Partial<PromptKey>) {
  return and(
    ownerKind === undefined ? undefined : eq(prompts.ownerKind, ownerKind),
    ownerName === undefined ? undefined : eq(prompts.ownerName, ownerName),
    key === undefined ? undefined : eq(prompts.key, key),
  );
}

/** Held to the end of the transaction: versions and publications are numbered one after the other. */
async function lock(tx: Drizzle, id: string): Promise<Row | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx.select().from(prompts).where(eq(prompts.id, id)).for('update');
  return row;
}

function parseNumber(cursor: string): number {
  const text = parseIdCursor(cursor);
  if (!/^\d{1,9}$/.test(text)) throw invalidCursor(cursor);
  return Number(text);
}

/** @param rows one more than the page has, where there is one */
function toPage<T>(rows: T[], limit: number, idOf: (item: T) => string): PageOf<T> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last ? toIdCursor(idOf(last)) : null };
}

function toPrompt(row: Row): Prompt {
  return { ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() };
}

function toVersion(row: Omit<VersionRow, 'text'>, publishedVersion: number | null): PromptVersion {
  const { version, note, createdBy, createdAt } = row;
  return { version, note, isPublished: version === publishedVersion, createdBy, createdAt: createdAt.toISOString() };
}

function toText(row: VersionRow, publishedVersion: number | null): PromptText {
  return { ...toVersion(row, publishedVersion), text: row.text };
}
