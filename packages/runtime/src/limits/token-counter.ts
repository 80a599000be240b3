import { lt, sql } from 'drizzle-orm';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { periodsAt } from './periods.ts';
import { tokenUsage } from './table.ts';

/** Adds to the sums of the store, many at a time. A crash loses what was used in the last half a second. */
export interface TokenCounter {
  /** Adds it to the sums of this day and month, within half a second. Never waits and never throws. */
  add(who: string, tokens: number, cost?: number): void;
  /** What is not in the store yet. */
  waiting(who: string, period: string): number;
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  db: Drizzle;
  log: Log;
  now(): number;
  /** Called with each sum of the store after it was added to. */
  onAdded(who: string, period: string, sum: { before: number; after: number }): void;
}

export function createTokenCounter({ db, log, now, onAdded }: TokenCounterOptions): TokenCounter {
  /** What is not in the store yet, by period and who, and what is on its way there. */
  let added = new Map<string, Added>();
  let leaving = new Map<string, Added>();
  let flushing: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  let forgottenOn = '';

  const plan = (delayMs: number): void => {
    if (timer || closed || added.size === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      void flush();
    }, delayMs);
    timer.unref();
  };
  const note = ({ who, period, tokens, cost }: Added): void => {
    const key = `${period} ${who}`;
    const entry = added.get(key);
    if (!entry) return void added.set(key, { who, period, tokens, cost });
    entry.tokens += tokens;
    entry.cost += cost;
  };
  const writeSome = async (): Promise<void> => {
    // In one order on every replica: two that wait for each other's rows would be a deadlock.
    const keys = [...leaving.keys()].toSorted().slice(0, BATCH);
    await write(keys.map((key) => leaving.get(key) as Added));
    for (const key of keys) leaving.delete(key);
  };
  const write = async (batch: Added[]): Promise<void> => {
    const sums = await db
      .insert(tokenUsage)
      .values(batch)
      .onConflictDoUpdate({
        target: [tokenUsage.who, tokenUsage.period],
        set: { tokens: sql`${tokenUsage.tokens} + excluded.tokens`, cost: sql`${tokenUsage.cost} + excluded.cost` },
      })
      .returning();
    const gained = new Map(batch.map((one) => [`${one.period} ${one.who}`, one.tokens]));
    for (const { who, period, tokens: after } of sums) {
      onAdded(who, period, { before: after - (gained.get(`${period} ${who}`) ?? 0), after });
    }
  };
  const flush = (): Promise<void> => {
    flushing = flushing.then(async () => {
      if (added.size === 0) return;
      leaving = added;
      added = new Map();
      try {
        while (leaving.size > 0) await writeSome();
        await forgetOld();
        plan(FLUSH_MS);
      } catch (error) {
        for (const one of leaving.values()) note(one);
        leaving = new Map();
        log.warn('Tokens that were used could not be counted. They are counted when the store is back.', { error });
        plan(AGAIN_MS);
      }
    });
    return flushing;
  };
  const forgetOld = async (): Promise<void> => {
    const today = periodsAt(now()).day;
    if (forgottenOn === today) return;
    forgottenOn = today;
    const oldest = new Date(now() - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10);
    await db.delete(tokenUsage).where(lt(tokenUsage.period, oldest));
  };

  return {
    add(who, tokens, cost = 0) {
      if (tokens <= 0 && cost <= 0) return;
      const { day, month } = periodsAt(now());
      for (const period of [day, month]) note({ who, period, tokens, cost });
      plan(FLUSH_MS);
    },
    waiting: (who, period) =>
      [added, leaving].reduce((sum, some) => sum + (some.get(`${period} ${who}`)?.tokens ?? 0), 0),
    async close() {
      await flush();
      closed = true;
      clearTimeout(timer);
    },
  };
}

// --- internal ---

interface Added {
  who: string;
  period: string;
  tokens: number;
  cost: number;
}

const FLUSH_MS = 500;
const AGAIN_MS = 5_000;
const BATCH = 500;
const DAY_MS = 86_400_000;
const KEPT_DAYS = 400;
