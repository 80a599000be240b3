import { and, desc, eq, gt, inArray, like, lt, or, sql } from 'drizzle-orm';
import { createLru } from '../lru.ts';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { toWho } from './limits.ts';
import type { Who } from './limits.ts';
import { LENGTH, periodsAt } from './periods.ts';
import type { Periods } from './periods.ts';
import { tokenUsage } from './table.ts';
import { createTokenCounter } from './token-counter.ts';

export interface UsedTokens {
  /** Of this day and this month, in UTC. */
  day: number;
  month: number;
}

/** What has been used, in the relational store: a restart forgets nothing, and replicas add to one sum. */
export interface TokenUsage {
  /** Adds it to the sums of this day and month, within half a second. Never waits and never throws. */
  add(who: string, tokens: number, cost?: number): void;
  /** As the store had it at most 2 s ago, with what this process has used since. */
  read(who: string): Promise<UsedTokens>;
  /** Newest first, then by who. */
  list(
    filter: TokenFilter,
    page: { limit: number; after?: [period: string, who: string] },
  ): Promise<{ who: string; period: string; tokens: number; cost: number }[]>;
  close(): Promise<void>;
}

export interface TokenFilter {
  kind?: Who['kind'];
  /** The name of the agent, the id of the key or the model, `<client>/<user>`. */
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

export function createTokenUsage(options: TokenUsageOptions): TokenUsage {
  const { db, now = Date.now } = options;
  /** Sums of the store. */
  const known = createLru<Known>(MOST_KNOWN);
  const reading = new Map<string, Promise<Known>>();
  const counter = createTokenCounter({
    ...options,
    now,
    onAdded(who, period, sum) {
      const seen = known.get(who);
      if (seen?.day === period) seen.used.day = sum.after;
      if (seen?.month === period) seen.used.month = sum.after;
      options.onAdded?.(who, period, sum);
    },
  });

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
    add: counter.add,
    async read(who) {
      const { day, month } = periodsAt(now());
      const seen = known.get(who);
      const { used } = seen && seen.day === day && now() - seen.readAt < KNOWN_MS ? seen : await readShared(who);
      return { day: used.day + counter.waiting(who, day), month: used.month + counter.waiting(who, month) };
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
    close: () => counter.close(),
  };
}

// --- internal ---

interface Known extends Periods {
  used: UsedTokens;
  readAt: number;
}

const KINDS = ['agent', 'key', 'user', 'model'] as const;
const KNOWN_MS = 2_000;
const MOST_KNOWN = 10_000;
