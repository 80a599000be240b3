import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createCountingKv } from '../stores/kv-counting.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import type { Limited, Limits } from './limits.ts';
import { createPlaces } from './places.ts';
import { createRates } from './rates.ts';
import { periodsAt, unitOf } from './periods.ts';
import { createTokenUsage } from './token-usage.ts';
import type { TokenUsage } from './token-usage.ts';
import { createUnrecorded } from './unrecorded.ts';
import type { Unrecorded } from './unrecorded.ts';

/** Holds keys, users and agents to their limits, over all replicas. */
export interface Limiter {
  /** Counts a request. Throws `rate_limited`. */
  admit(limited: readonly Limited[]): Promise<void>;
  /** A turn is about to begin. Throws `rate_limited` and `budget_exceeded`; else `leave` gives its places back. */
  enter(turnId: string, limited: readonly Limited[]): Promise<void>;
  /** A turn that waits is to go on, here or on another replica. Throws the same. */
  admitAgain(turnId: string, limited: readonly Limited[]): Promise<void>;
  /** Throws `budget_exceeded`. */
  requireBudgets(who: readonly string[]): Promise<void>;
  /** A turn that has begun goes on: it takes its places again, whether there is room or not. */
  reenter(turnId: string, limited: readonly Limited[]): void;
  /** The turn waits, has ended, or has not begun after all. */
  leave(turnId: string): void;
  /** Models have used tokens for all of these. */
  spend(who: readonly string[], tokens: number): void;
  /** What steps under way have used: budgets end them, too. */
  unrecorded: Unrecorded;
  /** Who is counted so. Undefined: it is gone, or has no limits. */
  find(who: string): Promise<Limited | undefined>;
  /** What is used of the limits now. */
  read(limited: Limited): Promise<Used>;
  listTokens: TokenUsage['list'];
  close(): Promise<void>;
}

export interface Used {
  /** In the last 60 seconds. */
  requests: number;
  turns: number;
  tokensToday: number;
  tokensThisMonth: number;
}

/** A budget is nearly used up, or is: once for each. */
export interface BudgetNotice {
  limited: Limited;
  period: 'day' | 'month';
  used: number;
  limit: number;
  isExceeded: boolean;
}

export interface LimiterOptions {
  db: Drizzle;
  /** Undefined: there are no other replicas. */
  kv: KeyValueStore | undefined;
  log: Log;
  /** Who is counted so. Undefined: it is gone. */
  find(who: string): Promise<Limited | undefined>;
  onBudget(notice: BudgetNotice): void;
  now?: () => number;
}

/**
 * Rates and places are counted in the key-value store, and by each replica for itself while that is away; tokens in the
 * relational store. Neither being away refuses anybody.
 */
export function createLimiter({ db, kv, log, find, onBudget, now = Date.now }: LimiterOptions): Limiter {
  const store = createCountingKv(kv, now);
  const rates = createRates(store, now);
  const places = createPlaces(store);
  const unrecorded = createUnrecorded();
  const usage = createTokenUsage({
    db,
    log,
    now,
    onAdded: (who, period, sum) =>
      void find(who).then(
        (limited) => limited && noticesOf(limited, period, sum).forEach(onBudget),
        () => {},
      ),
  });

  const requireBudget = async (limited: Limited): Promise<void> => {
    const { tokensPerDay, tokensPerMonth } = limited.limits;
    if (!tokensPerDay && !tokensPerMonth) return;
    // A budget is no reason to refuse what the store would not have refused.
    const used = await usage.read(limited.id).catch(() => ({ day: 0, month: 0 }));
    const more = unrecorded.of(limited.id);
    if (tokensPerMonth && used.month + more >= tokensPerMonth)
      throw budgetExceeded(limited, 'month', tokensPerMonth, now());
    if (tokensPerDay && used.day + more >= tokensPerDay) throw budgetExceeded(limited, 'day', tokensPerDay, now());
  };

  return {
    async admit(limited) {
      for (const one of limited) await rates.admit(one);
    },
    async enter(turnId, limited) {
      for (const one of limited) await requireBudget(one);
      await places.enter(turnId, limited);
    },
    async admitAgain(turnId, limited) {
      for (const one of limited) await requireBudget(one);
      await places.admit(turnId, limited);
    },
    find,
    async requireBudgets(who) {
      for (const limited of await Promise.all(who.map(find))) if (limited) await requireBudget(limited);
    },
    reenter: places.reenter,
    leave: places.leave,
    spend(who, tokens) {
      for (const one of who) usage.add(one, tokens);
    },
    unrecorded,
    async read(limited) {
      const [requests, turns, { day, month }] = await Promise.all([
        rates.read(limited),
        places.read(limited),
        usage.read(limited.id),
      ]);
      return { requests, turns, tokensToday: day, tokensThisMonth: month };
    },
    listTokens: usage.list,
    async close() {
      await places.close();
      await usage.close();
    },
  };
}

// --- internal ---

const WARNED_AT = 0.8;

function noticesOf(
  limited: Limited,
  period: string,
  { before, after }: { before: number; after: number },
): BudgetNotice[] {
  const unit = unitOf(period);
  const limit = limited.limits[LIMIT_OF[unit]];
  if (!limit) return [];
  const crossed = (mark: number): boolean => before < mark && after >= mark;
  const notice = { limited, period: unit, used: after, limit } as const;
  return [
    ...(crossed(limit * WARNED_AT) ? [{ ...notice, isExceeded: false }] : []),
    ...(crossed(limit) ? [{ ...notice, isExceeded: true }] : []),
  ];
}

const LIMIT_OF = { day: 'tokensPerDay', month: 'tokensPerMonth' } as const satisfies Record<string, keyof Limits>;

function budgetExceeded({ name }: Limited, unit: 'day' | 'month', limit: number, at: number): BoxError {
  const retryAfter = Math.max(1, Math.ceil((endOf(unit, at) - at) / 1_000));
  const again = new Date(endOf(unit, at)).toISOString();
  const message = `${name} has used its ${limit} tokens of this ${unit}. There are more from ${again} on.`;
  return new BoxError('budget_exceeded', message, { details: { limit: LIMIT_OF[unit], value: limit, retryAfter } });
}

function endOf(unit: 'day' | 'month', at: number): number {
  const { day, month } = periodsAt(at);
  const [year = 0, number = 0] = month.split('-').map(Number);
  return unit === 'day' ? Date.parse(day) + DAY_MS : Date.UTC(year, number, 1);
}

const DAY_MS = 86_400_000;
