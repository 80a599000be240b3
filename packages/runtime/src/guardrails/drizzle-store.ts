import { and, asc, desc, eq, inArray, isNull, lt, ne, or, sql } from 'drizzle-orm';
import { newRunId } from '../engine/ids.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import { isUuid, parseUuidCursor, toIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { GuardrailStore, Hit, StoredGuardrail } from './store.ts';
import { guardrailHits, guardrails } from './table.ts';

export function createGuardrailStore(db: Drizzle): GuardrailStore {
  return {
    list: async () =>
      (
        await db
          .select()
          .from(guardrails)
          .orderBy(...ORDER)
      ).map(toGuardrail),
    async find(id) {
      const [row] = isUuid(id) ? await db.select().from(guardrails).where(eq(guardrails.id, id)) : [];
      return row && toGuardrail(row);
    },
    create: ({ by, ...given }) =>
      db.transaction(async (tx) => {
        await lock(tx);
        const [last] = await tx
          .select({
            count: sql<number>`count(*)::int`,
            position: sql<number>`coalesce(max(${guardrails.position}), 0)`,
          })
          .from(guardrails);
        if ((last?.count ?? 0) >= MOST_RULES) return 'full';
        const position = Number(last?.position ?? 0) + 1;
        const values = { id: newRunId(), position, ...given, createdBy: by };
        const [row] = await tx.insert(guardrails).values(values).onConflictDoNothing().returning();
        return row ? toGuardrail(row) : 'name_taken';
      }),
    update: (id, change) =>
      db.transaction(async (tx) => {
        if (!isUuid(id)) return undefined;
        await lock(tx);
        const { name } = change;
        const ofName = name === undefined ? undefined : and(eq(guardrails.name, name), ne(guardrails.id, id));
        const taken = ofName && (await tx.select({ id: guardrails.id }).from(guardrails).where(ofName));
        if (taken && taken.length > 0) return 'name_taken';
        const changed = { ...change, updatedAt: new Date() };
        const [row] = await tx.update(guardrails).set(changed).where(eq(guardrails.id, id)).returning();
        return row && toGuardrail(row);
      }),
    order: (ids) =>
      db.transaction(async (tx) => {
        await lock(tx);
        const rows = await tx
          .select({ id: guardrails.id })
          .from(guardrails)
          .orderBy(...ORDER);
        const known = new Set(rows.map(({ id }) => id));
        const unknown = ids.filter((id) => !known.has(id));
        if (unknown.length > 0) return unknown;
        const ordered = [...new Set([...ids, ...known])];
        for (const [index, id] of ordered.entries())
          await tx
            .update(guardrails)
            .set({ position: index + 1 })
            .where(eq(guardrails.id, id));
        return [];
      }),
    async remove(id) {
      const [row] = isUuid(id) ? await db.delete(guardrails).where(eq(guardrails.id, id)).returning() : [];
      return row && toGuardrail(row);
    },
    async addHits(hits) {
      if (hits.length > 0) await db.insert(guardrailHits).values(hits.map((hit) => ({ id: newRunId(), ...hit })));
    },
    async listHits({ ruleId, hidden }, { limit, cursor }) {
      const rows = await db
        .select()
        .from(guardrailHits)
        .where(
          and(
            ruleId === undefined ? undefined : eq(guardrailHits.ruleId, ruleId),
            hidden &&
              or(
                and(isNull(guardrailHits.askedBy), ne(guardrailHits.place, OF_COPILOT)),
                eq(guardrailHits.askedBy, hidden.unless),
              ),
            cursor === undefined ? undefined : lt(guardrailHits.id, parseUuidCursor(cursor)),
          ),
        )
        .orderBy(desc(guardrailHits.id))
        .limit(limit + 1);
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return { items: rows.slice(0, limit).map(toHit), nextCursor: last ? toIdCursor(last.id) : null };
    },
    async deleteHits(before, limit) {
      const old = db
        .select({ id: guardrailHits.id })
        .from(guardrailHits)
        .where(lt(guardrailHits.at, before))
        .limit(limit);
      const rows = await db
        .delete(guardrailHits)
        .where(inArray(guardrailHits.id, old))
        .returning({ id: guardrailHits.id });
      return rows.length;
    },
  };
}

// --- internal ---

const MOST_RULES = 200;
/** Where a hit has no asker, it is of an older box, or of a turn that code asked for: no one's own. */
const OF_COPILOT = `agent ${COPILOT_AGENT}`;
const ORDER = [asc(guardrails.position), asc(guardrails.id)] as const;

/** Positions and names are compared with those of all. */
async function lock(tx: Drizzle): Promise<void> {
  await tx.execute(sql`lock table ${guardrails} in share row exclusive mode`);
}

function toGuardrail({ position, ...row }: typeof guardrails.$inferSelect): StoredGuardrail {
  const at = { createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() };
  return { ...row, order: position, origin: 'api', file: null, problem: null, ...at };
}

function toHit({ askedBy: _askedBy, ...row }: typeof guardrailHits.$inferSelect): Hit {
  return { ...row, at: row.at.toISOString() };
}
