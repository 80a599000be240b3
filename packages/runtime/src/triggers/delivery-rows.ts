import { and, desc, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { later } from '../stores/later.ts';
import type { InboundRequest } from './request.ts';
import type { TriggerLimits } from './limits.ts';
import type { DeliveryState } from './store.ts';
import { triggerDeliveries as table, triggers } from './table.ts';

export type DeliveryRow = typeof table.$inferSelect;

export interface NewDelivery {
  id: string;
  triggerId: string;
  state: 'pending' | 'filtered';
  event: string | null;
  senderId: string | null;
  /** By which the same is known again, and for how many milliseconds; null: for as long as it is kept. */
  same: { key: string; forMs: number | null } | null;
  request: InboundRequest | null;
  bytes: number;
}

export type Stored = { outcome: 'stored' | 'repeated'; id: string } | { outcome: 'gone' | 'full' };

export interface DeliveryRows {
  /** Committed when it answers. */
  add(delivery: NewDelivery): Promise<Stored>;
  /** The same request again, as a delivery of its own. `unknown`: there is none whose request is kept. */
  repeat(
    triggerId: string,
    deliveryId: string,
    as: { id: string; armedBy: string | null },
  ): Promise<DeliveryRow | 'unknown' | 'full'>;
  find(triggerId: string, id: string): Promise<DeliveryRow | undefined>;
  /** Newest first, without their requests. */
  listRecent(triggerId: string, limit: number): Promise<Omit<DeliveryRow, 'request'>[]>;
  /** The newest of each. */
  listLast(triggerIds: readonly string[]): Promise<Map<string, { id: string; state: DeliveryState; receivedAt: Date }>>;
  /** Deletes those that are over of this trigger, or of all, that are more or older than are kept. */
  forget(triggerId?: string): Promise<void>;
}

export function createDeliveryRows(db: Drizzle, limits: TriggerLimits): DeliveryRows {
  const { request: _, ...columns } = getTableColumns(table);
  const isFull = async (tx: Pick<Drizzle, 'select'>, triggerId: string): Promise<boolean> => {
    const waiting = await tx
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.triggerId, triggerId), isWaiting))
      .limit(limits.mostPending);
    return waiting.length >= limits.mostPending;
  };
  return {
    add: (delivery) =>
      db.transaction(async (tx) => {
        const { triggerId, same } = delivery;
        if (!(await isThere(tx, triggerId))) return { outcome: 'gone' };
        if (delivery.state === 'pending' && (await isFull(tx, triggerId))) return { outcome: 'full' };
        const isSame = and(eq(table.triggerId, triggerId), eq(table.dedupeKey, same?.key ?? ''));
        if (same && same.forMs !== null)
          await tx
            .update(table)
            .set({ dedupeKey: null })
            .where(and(isSame, sql`${table.dedupeUntil} < now()`));
        const [stored] = await tx
          .insert(table)
          .values(toStoredDelivery(delivery))
          .onConflictDoNothing()
          .returning({ id: table.id });
        if (stored) return { outcome: 'stored', id: stored.id };
        const [known] = await tx.select({ id: table.id }).from(table).where(isSame);
        return known ? { outcome: 'repeated', id: known.id } : { outcome: 'gone' };
      }),
    repeat: (triggerId, deliveryId, { id, armedBy }) =>
      db.transaction(async (tx) => {
        const [known] = await tx.select().from(table).where(at(triggerId, deliveryId));
        if (!known || known.request === null || !(await isThere(tx, triggerId))) return 'unknown';
        if (await isFull(tx, triggerId)) return 'full';
        const { event, senderId, request, bytes } = known;
        const again = { event, senderId, request, bytes, redeliveryOf: deliveryId, armedBy };
        const [row] = await tx
          .insert(table)
          .values({ id, triggerId, state: 'pending', ...again })
          .returning();
        return row!;
      }),
    async find(triggerId, id) {
      const [row] = await db.select().from(table).where(at(triggerId, id));
      return row;
    },
    listRecent: (triggerId, limit) =>
      db
        .select(columns)
        .from(table)
        .where(eq(table.triggerId, triggerId))
        .orderBy(desc(table.receivedAt), desc(table.id))
        .limit(limit),
    async listLast(triggerIds) {
      if (triggerIds.length === 0) return new Map();
      const rows = await db
        .selectDistinctOn([table.triggerId], {
          triggerId: table.triggerId,
          id: table.id,
          state: table.state,
          receivedAt: table.receivedAt,
        })
        .from(table)
        .where(inArray(table.triggerId, [...triggerIds]))
        .orderBy(table.triggerId, desc(table.receivedAt), desc(table.id));
      return new Map(rows.map(({ triggerId, ...last }) => [triggerId, last]));
    },
    async forget(triggerId) {
      const of = triggerId === undefined ? sql`true` : sql`d.trigger_id = ${triggerId}`;
      await db.execute(sql`delete from ${table} where id in (
        select id from (
          select d.id, d.state, d.received_at, row_number() over w as place, sum(case when d.request is null then 0 else d.bytes end) over w as bytes
          from ${table} d where ${of} window w as (partition by d.trigger_id order by d.received_at desc, d.id desc)
        ) ranked
        where state in ('delivered', 'filtered', 'dead')
          and (place > ${limits.keptCount} or bytes > ${limits.keptBytes}
            or received_at < now() - make_interval(secs => ${limits.keptMs / 1_000}::double precision))
        limit ${FORGOTTEN_AT_ONCE})`);
    },
  };
}

export function toStoredDelivery({ same, request, ...delivery }: NewDelivery) {
  return {
    ...delivery,
    dedupeKey: same?.key ?? null,
    dedupeUntil: same && same.forMs !== null ? later(same.forMs) : null,
    request: request && JSON.stringify(request),
    endedAt: delivery.state === 'filtered' ? sql`now()` : null,
  };
}

export const isWaiting = inArray(table.state, ['pending', 'failed']);

// --- internal ---

/** Until the end of the transaction. */
async function isThere(tx: Pick<Drizzle, 'select'>, triggerId: string): Promise<boolean> {
  const found = await tx.select({ id: triggers.id }).from(triggers).where(eq(triggers.id, triggerId)).for('key share');
  return found.length > 0;
}

const FORGOTTEN_AT_ONCE = 5_000;

function at(triggerId: string, id: string) {
  return and(eq(table.triggerId, triggerId), eq(table.id, id));
}
