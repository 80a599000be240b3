import { and, eq, inArray, notInArray, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { later } from '../stores/later.ts';
import { isWaiting, toStoredDelivery } from './delivery-rows.ts';
import type { NewDelivery } from './delivery-rows.ts';
import type { TriggerLimits } from './limits.ts';
import type { Validators } from './poll-request.ts';
import { triggerDeliveries, triggerPolls as table, triggers, triggerSeen } from './table.ts';

export type PollRow = typeof table.$inferSelect;

/** How a poll ended. */
export interface PollEnd {
  status: number | null;
  nextInMs: number;
}
export interface PollAnswered extends PollEnd {
  items: readonly NewDelivery[];
  validators: Validators;
  /** What is new is noted, and starts nothing. */
  isOnlyNoted: boolean;
}

/** What is asked for, one process at a time. Each end says no where another process has the poll by now, or it is to start over. */
export interface PollRows {
  /** Those whose time has come, for one process alone until the lease ends. */
  take(leaseId: string, limit: number): Promise<PollRow[]>;
  /** Stores what is new, and that it was seen, at once. Undefined: nothing was stored. */
  answered(leaseId: string, triggerId: string, end: PollAnswered): Promise<{ stored: number } | undefined>;
  /** There was nothing new. */
  same(leaseId: string, triggerId: string, end: PollEnd): Promise<boolean>;
  failed(leaseId: string, triggerId: string, end: PollEnd & { problem: object }): Promise<boolean>;
  /** It is asked at once; one that was a moment ago, a moment later. What is under way is what is meant. */
  hasten(triggerId: string): Promise<void>;
  /** It was not asked after all. */
  release(leaseId: string): Promise<void>;
  /** Milliseconds until one is due. Undefined: there is none. */
  nextIn(): Promise<number | undefined>;
}

export function createPollRows(
  db: Drizzle,
  limits: Pick<TriggerLimits, 'pollLeaseMs' | 'pollSeen' | 'mostPending'>,
): PollRows {
  const isMine = (leaseId: string, triggerId: string) =>
    and(eq(table.triggerId, triggerId), eq(table.leaseId, leaseId));
  const ended = ({ status, nextInMs }: PollEnd) => ({
    ...FREE,
    status,
    nextAt: later(nextInMs),
    triedAt: sql`now()`,
  });
  const good = { polledAt: sql`now()`, failures: 0, problem: null };
  return {
    take: (leaseId, limit) =>
      db
        .update(table)
        .set({ leaseId, leaseUntil: later(limits.pollLeaseMs) })
        .where(
          sql`${table.triggerId} in (select p.trigger_id from ${table} p join ${triggers} t on t.id = p.trigger_id
            where t.enabled and p.next_at <= now() and (p.lease_until is null or p.lease_until < now())
            order by p.next_at limit ${limit} for update of p skip locked)`,
        )
        .returning(),
    answered: (leaseId, triggerId, { items, validators, isOnlyNoted, ...end }) =>
      db.transaction(async (tx) => {
        // Before the poll, as an update has them; it is not disabled before this is stored.
        const [trigger] = await tx
          .select({ enabled: triggers.enabled })
          .from(triggers)
          .where(eq(triggers.id, triggerId))
          .for('share');
        const [mine] = await tx.select().from(table).where(isMine(leaseId, triggerId)).for('update');
        if (!mine) return undefined;
        if (!trigger?.enabled) {
          await stopPoll(tx, triggerId);
          return undefined;
        }
        const unseen = await listUnseen(tx, triggerId, items);
        const room = isOnlyNoted ? 0 : limits.mostPending - (await countWaiting(tx, triggerId, limits.mostPending));
        const fitting = isOnlyNoted ? unseen : upTo(room, unseen);
        const stored = isOnlyNoted ? 0 : await store(tx, fitting);
        await note(tx, triggerId, fitting);
        await forget(tx, { triggerId, current: items, most: limits.pollSeen });
        // What did not fit comes again with the next answer: that must not be "nothing has changed".
        const known = fitting.length === unseen.length ? validators : { etag: null, lastModified: null };
        await tx
          .update(table)
          .set({ ...ended(end), ...good, ...known, items: items.length, seen: mine.seen + fitting.length })
          .where(eq(table.triggerId, triggerId));
        return { stored };
      }),
    async same(leaseId, triggerId, end) {
      const rows = await db
        .update(table)
        .set({ ...ended(end), ...good })
        .where(isMine(leaseId, triggerId))
        .returning({ id: table.triggerId });
      return rows.length > 0;
    },
    async failed(leaseId, triggerId, { problem, ...end }) {
      const rows = await db
        .update(table)
        .set({ ...ended(end), failures: sql`${table.failures} + 1`, problem: JSON.stringify(problem) })
        .where(isMine(leaseId, triggerId))
        .returning({ id: table.triggerId });
      return rows.length > 0;
    },
    async hasten(triggerId) {
      await db
        .update(table)
        .set({ nextAt: sql`least(${table.nextAt}, greatest(now(), ${table.triedAt} + ${`${HASTE_MS} ms`}::interval))` })
        .where(eq(table.triggerId, triggerId));
    },
    async release(leaseId) {
      await db.update(table).set(FREE).where(eq(table.leaseId, leaseId));
    },
    async nextIn() {
      const [row] = await db
        .select({
          ms: sql<
            number | null
          >`(extract(epoch from min(greatest(${table.nextAt}, ${table.leaseUntil})) - now()) * 1000)::double precision`,
        })
        .from(table)
        .innerJoin(triggers, eq(triggers.id, table.triggerId))
        .where(eq(triggers.enabled, true));
      return row?.ms ?? undefined;
    },
  };
}

/** It is asked next at once; where it asks for something else, as if for the first time. What is under way is not stored. */
export async function restartPoll(tx: Pick<Drizzle, 'update' | 'delete'>, id: string, isOther: boolean): Promise<void> {
  const begun = {
    ...NO_VALIDATORS,
    polledAt: null,
    triedAt: null,
    status: null,
    items: 0,
    seen: 0,
    failures: 0,
    problem: null,
  };
  await tx
    .update(table)
    .set({ ...FREE, nextAt: sql`now()`, ...(isOther ? begun : {}) })
    .where(eq(table.triggerId, id));
  if (isOther) await tx.delete(triggerSeen).where(eq(triggerSeen.triggerId, id));
}

/** What is under way is not stored; where it is asked again, it finds that. */
export async function stopPoll(tx: Pick<Drizzle, 'update'>, id: string): Promise<void> {
  await tx.update(table).set(FREE).where(eq(table.triggerId, id));
}

// --- internal ---

type Tx = Parameters<Parameters<Drizzle['transaction']>[0]>[0];

const FREE = { leaseId: null, leaseUntil: null };
const NO_VALIDATORS = { etag: null, lastModified: null };
/** A service is not asked more often, however often someone says so. */
const HASTE_MS = 10_000;
/** Rows that one statement writes. */
const AT_ONCE = 200;

/** In the order of the answer. */
async function listUnseen(tx: Tx, triggerId: string, items: readonly NewDelivery[]): Promise<NewDelivery[]> {
  if (items.length === 0) return [];
  const known = await tx
    .select({ key: triggerSeen.key })
    .from(triggerSeen)
    .where(and(eq(triggerSeen.triggerId, triggerId), inArray(triggerSeen.key, items.map(keyOf))));
  const keys = new Set(known.map(({ key }) => key));
  return items.filter((item) => !keys.has(keyOf(item)));
}

async function countWaiting(tx: Tx, triggerId: string, most: number): Promise<number> {
  const waiting = await tx
    .select({ id: triggerDeliveries.id })
    .from(triggerDeliveries)
    .where(and(eq(triggerDeliveries.triggerId, triggerId), isWaiting))
    .limit(most);
  return waiting.length;
}

/** As many as may wait; what waits for nothing is not counted. */
function upTo(room: number, items: readonly NewDelivery[]): NewDelivery[] {
  let left = room;
  return items.filter(({ state }) => state !== 'pending' || left-- > 0);
}

async function store(tx: Tx, items: readonly NewDelivery[]): Promise<number> {
  let stored = 0;
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const rows = await tx
      .insert(triggerDeliveries)
      .values(items.slice(at, at + AT_ONCE).map(toStoredDelivery))
      .onConflictDoNothing()
      .returning({ state: triggerDeliveries.state });
    stored += rows.filter(({ state }) => state === 'pending').length;
  }
  return stored;
}

async function note(tx: Tx, triggerId: string, items: readonly NewDelivery[]): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE)
    await tx
      .insert(triggerSeen)
      .values(items.slice(at, at + AT_ONCE).map((item) => ({ triggerId, key: keyOf(item) })))
      .onConflictDoNothing();
}

/** Those that were in no answer for the longest go first; those of this answer stay, however many they are. */
async function forget(
  tx: Tx,
  { triggerId, current, most }: { triggerId: string; current: readonly NewDelivery[]; most: number },
): Promise<void> {
  if (current.length === 0) return;
  const keys = current.map(keyOf);
  await tx
    .update(triggerSeen)
    .set({ seenAt: sql`now()` })
    .where(
      and(
        eq(triggerSeen.triggerId, triggerId),
        inArray(triggerSeen.key, keys),
        sql`${triggerSeen.seenAt} < now() - interval '1 hour'`,
      ),
    );
  const old = tx
    .select({ key: triggerSeen.key })
    .from(triggerSeen)
    .where(eq(triggerSeen.triggerId, triggerId))
    .orderBy(sql`${triggerSeen.seenAt} desc`, triggerSeen.key)
    .offset(most);
  await tx
    .delete(triggerSeen)
    .where(and(eq(triggerSeen.triggerId, triggerId), inArray(triggerSeen.key, old), notInArray(triggerSeen.key, keys)));
}

function keyOf({ same }: NewDelivery): string {
  return same?.key ?? '';
}
