import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { later } from '../stores/later.ts';
import { isWaiting } from './delivery-rows.ts';
import type { DeliveryRow } from './delivery-rows.ts';
import type { TriggerLimits } from './limits.ts';
import type { DeliveryProblem } from './store.ts';
import { triggerDeliveries as table, triggers } from './table.ts';

/** How an attempt ended. */
export type Settled =
  | { state: 'delivered'; runId: string | null; queueId: string | null }
  | { state: 'dead'; problem: DeliveryProblem }
  /** `isNoTry`: the attempt does not count. */
  | { state: 'failed' | 'pending'; problem: DeliveryProblem | null; inMs: number; isNoTry?: boolean };

/** Deliveries that wait for their runs, as one process after the other has them. */
export interface DeliveryLeases {
  /** Those whose time has come, for one process alone until the lease ends. Those of a disabled trigger stay. */
  take(leaseId: string, limit: number): Promise<DeliveryRow[]>;
  /** False: another process has it. */
  settle(leaseId: string, id: string, how: Settled): Promise<boolean>;
  /** Milliseconds until one is due. Undefined: none is waited for. */
  nextIn(): Promise<number | undefined>;
}

export function createDeliveryLeases(db: Drizzle, limits: Pick<TriggerLimits, 'leaseMs'>): DeliveryLeases {
  const enabled = db.select({ id: triggers.id }).from(triggers).where(eq(triggers.enabled, true));
  return {
    take: (leaseId, limit) =>
      db
        .update(table)
        .set({ leaseId, leaseUntil: later(limits.leaseMs), attempts: sql`${table.attempts} + 1` })
        .where(
          sql`${table.id} in (select d.id from ${table} d join ${triggers} t on t.id = d.trigger_id
            where t.enabled and d.state in ('pending', 'failed') and d.next_at <= now()
            and (d.lease_until is null or d.lease_until < now()) order by d.next_at limit ${limit} for update of d skip locked)`,
        )
        .returning(),
    async settle(leaseId, id, how) {
      const isOver = how.state === 'delivered' || how.state === 'dead';
      const rows = await db
        .update(table)
        .set({
          state: how.state,
          leaseId: null,
          leaseUntil: null,
          problem: 'problem' in how && how.problem ? JSON.stringify(how.problem) : null,
          ...(how.state === 'delivered' ? { runId: how.runId, queueId: how.queueId } : {}),
          ...(isOver ? { endedAt: sql`now()` } : {}),
          ...('inMs' in how ? { nextAt: later(how.inMs) } : {}),
          ...('isNoTry' in how && how.isNoTry ? { attempts: sql`${table.attempts} - 1` } : {}),
        })
        .where(and(eq(table.id, id), eq(table.leaseId, leaseId)))
        .returning({ id: table.id });
      return rows.length > 0;
    },
    async nextIn() {
      const [row] = await db
        .select({
          ms: sql<
            number | null
          >`(extract(epoch from min(greatest(${table.nextAt}, ${table.leaseUntil})) - now()) * 1000)::double precision`,
        })
        .from(table)
        .where(and(isWaiting, inArray(table.triggerId, enabled)));
      return row?.ms ?? undefined;
    },
  };
}
