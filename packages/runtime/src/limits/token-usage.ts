import { and, desc, eq, gt, inArray, like, lt, or, sql } from 'drizzle-orm';
import { LRUCache } from 'lru-cache';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { toWho } from './limits.ts';
import type { Who } from './limits.ts';
import { tokenUsage } from './table.ts';

export interface UsedTokens {
  /** Of this day and this month, in UTC. */
  day: number;
  month: number;
}

/** What has been used, in the relational store: a restart forgets nothing, and replicas add to one sum. */
export interface TokenUsage {
  /** Adds it to the sums of this day and month, within half a second. Never waits and never throws. */
  add(who: string, tokens: number): void;
  /** As the store had it at most 2 s ago, with what this process has used since. */
  read(who: string): Promise<UsedTokens>;
  /** Newest first, then by who. */
  list(
    filter: TokenFilter,
    page: { limit: number; after?: [period: string, who: string] },
  ): Promise<{ who: string; period: string; tokens: number }[]>;
  close(): Promise<void>;
}

export interface TokenFilter {
  kind?: Who['kind'];
  /** The name of the agent, the id of the key, `<client>/<user>`. */
  id?: string;
  period: 'day' | 'month';
}

export interface TokenUsageOptions {
  db: Drizzle;
  log: Log;
  now?: () => number;
  /** Called with a sum of the store after tokens were added to it, by the one replica that added them. */
  onAdded?(who: string, period: string, sum: { before: number; after: number }): void;
}

/** A crash loses what was used in the last half a second. */
export function createTokenUsage({ db, log, now = Date.now, onAdded }: TokenUsageOptions): TokenUsage {
  /** What is not in the store yet, by period and who, and what is on its way there. */
  let added = new Map<string, Added>();
  let leaving = new Map<string, Added>();
  /** Sums of the store. */
  const known = new LRUCache<string, Known>({ max: MOST_KNOWN });
  const reading = new Map<string, Promise<Known>>();
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
  const note = (who: string, period: string, tokens: number): void => {
    const key = `${period} ${who}`;
    const entry = added.get(key);
    if (entry) entry.tokens += tokens;
    else added.set(key, { who, period, tokens });
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
        set: { tokens: sql`${tokenUsage.tokens} + excluded.tokens` },
      })
      .returning();
    const gained = new Map(batch.map((one) => [`${one.period} ${one.who}`, one.tokens]));
    for (const { who, period, tokens: after } of sums) {
      const seen = known.get(who);
      if (seen?.day === period) seen.used.day = after;
      if (seen?.month === period) seen.used.month = after;
      onAdded?.(who, period, { before: after - (gained.get(`${period} ${who}`) ?? 0), after });
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
        for (const { who, period, tokens } of leaving.values()) note(who, period, tokens);
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
  const readNow = async (who: string): Promise<Known> => {
    const periods = periodsAt(now());
    const readAt = now();
    const rows = await db
      .select()
      .from(tokenUsage)
      .where(and(eq(tokenUsage.who, who), inArray(tokenUsage.period, [periods.day, periods.month])));
    const of = (period: string): number => rows.find((row) => row.period === period)?.tokens ?? 0;
    const found = { ...periods, readAt, used: { day: of(periods.day), month: of(periods.month) } };
    known.set(who, found);
    return found;
  };
  const readShared = (who: string): Promise<Known> => {
    const under = reading.get(who);
    if (under) return under;
    const read = readNow(who).finally(() => reading.delete(who));
    reading.set(who, read);
    return read;
  };

  return {
    add(who, tokens) {
      if (tokens <= 0) return;
      const { day, month } = periodsAt(now());
      note(who, day, tokens);
      note(who, month, tokens);
      plan(FLUSH_MS);
    },
    async read(who) {
      const { day, month } = periodsAt(now());
      const seen = known.get(who);
      const { used } = seen && seen.day === day && now() - seen.readAt < KNOWN_MS ? seen : await readShared(who);
      const waiting = (period: string): number =>
        [added, leaving].reduce((sum, some) => sum + (some.get(`${period} ${who}`)?.tokens ?? 0), 0);
      return { day: used.day + waiting(day), month: used.month + waiting(month) };
    },
    list({ kind, id, period }, { limit, after: [oldest, last] = ['~', ''] }) {
      return db
        .select()
        .from(tokenUsage)
        .where(
          and(
            sql`length(${tokenUsage.period}) = ${LENGTH[period]}`,
            kind === undefined ? undefined : like(tokenUsage.who, `${kind}:%`),
            id === undefined
              ? undefined
              : inArray(
                  tokenUsage.who,
                  KINDS.map((each) => toWho({ kind: each, id })),
                ),
            or(lt(tokenUsage.period, oldest), and(eq(tokenUsage.period, oldest), gt(tokenUsage.who, last))),
          ),
        )
        .orderBy(desc(tokenUsage.period), tokenUsage.who)
        .limit(limit);
    },
    async close() {
      await flush();
      closed = true;
      clearTimeout(timer);
    },
  };
}

export interface Periods {
  day: string;
  month: string;
}

/** The day and the month of UTC. */
export function periodsAt(at: number): Periods {
  const day = new Date(at).toISOString().slice(0, 10);
  return { day, month: day.slice(0, 7) };
}

/** What a period of `periodsAt` is. */
export function unitOf(period: string): 'day' | 'month' {
  return period.length === LENGTH.day ? 'day' : 'month';
}

// --- internal ---

interface Known extends Periods {
  used: UsedTokens;
  readAt: number;
}

interface Added {
  who: string;
  period: string;
  tokens: number;
}

const KINDS = ['agent', 'key', 'user'] as const;
const FLUSH_MS = 500;
const AGAIN_MS = 5_000;
const KNOWN_MS = 2_000;
const MOST_KNOWN = 10_000;
const LENGTH = { day: '2026-11-23'.length, month: '2026-11'.length };
const BATCH = 500;
const DAY_MS = 86_400_000;
const KEPT_DAYS = 400;
