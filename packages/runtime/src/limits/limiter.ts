import { createLru } from '../lru.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createCountingKv } from '../stores/kv-counting.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { whoOfModel } from './limits.ts';
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
  /**
   * A request that is admitted counts as so many. Throws `rate_limited`, and `invalid_request` for more than a limit ever
   * admits; then it counts as one.
   */
  admitAs(limited: readonly Limited[], count: number): Promise<void>;
  /** A turn is about to begin. Throws `rate_limited` and `budget_exceeded`; else `leave` gives its places back. */
  enter(turnId: string, limited: readonly Limited[]): Promise<void>;
  /** A turn that waits is to go on, here or on another replica. Throws the same. */
  admitAgain(turnId: string, limited: readonly Limited[]): Promise<void>;
  /**
   * A call of a model, or a turn that a run asks for, is about to begin. Throws `budget_exceeded`; else what it is taken to
   * use counts as used until `release`, or until its turn has used some, has ended or waits.
   */
  reserve(who: readonly string[], planned: Planned): Promise<() => void>;
  /** The turn has used tokens that are counted, or uses none. */
  settle(turnId: string): void;
  /** A turn that has begun goes on: it takes its places again, whether there is room or not. */
  reenter(turnId: string, limited: readonly Limited[]): void;
  /** The turn waits, has ended, or has not begun after all. */
  leave(turnId: string): void;
  /** Models have used tokens for all of these. */
  spend(who: readonly string[], tokens: number): void;
  /** A call of a model has used tokens, which are counted for all of these elsewhere. Adds what it has cost, and both to it. */
  charge(who: readonly string[], model: string, used: { tokens: number; cost: number }): void;
  /** What steps under way have used: budgets end them, too. */
  unrecorded: Unrecorded;
  /** Who is counted so. Undefined: it is gone, or has no limits. */
  find(who: string): Promise<Limited | undefined>;
  /** What is used of the limits now. */
  read(limited: Limited): Promise<Used>;
  listTokens: TokenUsage['list'];
  close(): Promise<void>;
}

/** What is about to use tokens. */
export interface Planned {
  /** The run of a turn, or a name of the call that nothing else has. */
  id: string;
  /** Tokens it is going to use at the least, and may use at the most. Asked for where there is a budget. */
  size?(): PlannedSize;
}

export interface PlannedSize {
  atLeast: number;
  /** Default: no limit. */
  atMost?: number;
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
 * relational store. Neither being away refuses anyone.
 */
export function createLimiter({ db, kv, log, find, onBudget, now = Date.now }: LimiterOptions): Limiter {
  const store = createCountingKv(kv, now);
  const rates = createRates(store, now);
  const places = createPlaces(store);
  const unrecorded = createUnrecorded();
  /** What calls and turns under way are taken to use. Of this process alone, too. */
  const reserved = createUnrecorded();
  /** What a call has used lately, by who is counted so. */
  const typical = createLru<number>(MOST_KNOWN);
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

  /** Throws; else reserves for it. A budget is no reason to refuse what the store would not have refused. */
  const reserve = async (limited: readonly Limited[], { id, size }: Planned): Promise<void> => {
    const budgeted = limited.filter(({ limits }) => limits.tokensPerDay ?? limits.tokensPerMonth);
    if (budgeted.length === 0) return;
    const used = await Promise.all(budgeted.map((one) => usage.read(one.id).catch(() => NOTHING)));
    // Nothing is awaited from here on: of those that come at once, each counts the ones before.
    budgeted.forEach((one, at) => requireBudget(one, used[at] ?? NOTHING));
    const who = budgeted.map((one) => one.id);
    const { atLeast, atMost = Infinity } = size?.() ?? { atLeast: 0 };
    const known = Math.max(0, ...who.map((one) => typical.get(one) ?? 0));
    reserved.add(id, who, Math.max(1, atLeast, Math.min(atMost, known || atLeast + USUAL_TOKENS)));
  };

  const requireBudget = (limited: Limited, used: { day: number; month: number }): void => {
    const more = unrecorded.of(limited.id);
    const planned = reserved.of(limited.id);
    for (const unit of ['month', 'day'] as const) {
      const limit = limited.limits[LIMIT_OF[unit]];
      if (!limit) continue;
      if (used[unit] + more >= limit) throw budgetExceeded(limited, unit, limit, now());
      if (used[unit] + more + planned >= limit) throw budgetTaken(limited, unit, limit);
    }
  };

  return {
    async admit(limited) {
      for (const one of limited) await rates.admit(one);
    },
    async admitAs(limited, count) {
      for (const [at, one] of limited.entries()) {
        try {
          await rates.admitAs(one, count);
        } catch (error) {
          await Promise.all(limited.slice(0, at).map((other) => rates.forget(other, count - 1)));
          throw error;
        }
      }
    },
    async enter(turnId, limited) {
      await reserve(limited, { id: turnId });
      try {
        await places.enter(turnId, limited);
      } catch (error) {
        reserved.forget(turnId);
        throw error;
      }
    },
    async admitAgain(turnId, limited) {
      await reserve(limited, { id: turnId });
      // Wherever it goes on, it is looked at there.
      reserved.forget(turnId);
      await places.admit(turnId, limited);
    },
    find,
    async reserve(who, planned) {
      const found = await Promise.all(who.map(find));
      await reserve(
        found.filter((limited) => limited !== undefined),
        planned,
      );
      return () => reserved.forget(planned.id);
    },
    settle: reserved.forget,
    reenter: places.reenter,
    leave: places.leave,
    spend(who, tokens) {
      for (const one of who) {
        const before = typical.get(one) ?? tokens;
        typical.set(one, before + (tokens - before) / WEIGHT);
        usage.add(one, tokens);
      }
    },
    charge(who, model, { tokens, cost }) {
      for (const one of who) usage.add(one, 0, cost);
      usage.add(whoOfModel(model), tokens, cost);
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
const NOTHING = { day: 0, month: 0 };
/** What a call is taken to use beside what it is sent, until there was one. */
const USUAL_TOKENS = 256;
/** Of what was typical before, one part in so many is what the last call has used. */
const WEIGHT = 4;
const MOST_KNOWN = 10_000;

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

/** What is under way may use up the rest: whether it does is known in a moment. */
function budgetTaken({ name }: Limited, unit: 'day' | 'month', limit: number): BoxError {
  const message = `${name} has calls under way that may use up its ${limit} tokens of this ${unit}. Try again when they have ended.`;
  return new BoxError('budget_exceeded', message, { details: { limit: LIMIT_OF[unit], value: limit, retryAfter: 1 } });
}

function endOf(unit: 'day' | 'month', at: number): number {
  const { day, month } = periodsAt(at);
  const [year = 0, number = 0] = month.split('-').map(Number);
  return unit === 'day' ? Date.parse(day) + DAY_MS : Date.UTC(year, number, 1);
}

const DAY_MS = 86_400_000;
