import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createLimiter } from '../src/limits/limiter.ts';
import type { BudgetNotice, Limiter, LimiterOptions } from '../src/limits/limiter.ts';
import type { Limited, Limits } from '../src/limits/limits.ts';
import { createLog } from '../src/log.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import type { KeyValueStore } from '../src/stores/kv.ts';
import { useDatabase } from './_database.ts';
import { until } from './_setup.ts';

const log = createLog({ level: 'silent', write() {} });
const database = useDatabase();
const db = createDrizzle(database.client, database.client.ready);

/** Half past noon, ten seconds into a minute. */
const NOON = Date.parse('2026-11-30T12:30:10Z');
let now = NOON;
let each = 0;
const known = new Map<string, Limited>();

function limitedTo(limits: Limits): Limited {
  each += 1;
  const limited = { id: `key:${each}`, name: 'The API key "shop"', limits };
  known.set(limited.id, limited);
  return limited;
}

/** Replicas that share what they count in. */
function openReplicas(count: number, options: Partial<LimiterOptions> = {}): [Limiter, ...Limiter[]] {
  const kv = createMemoryKv(() => now);
  const limiters = Array.from({ length: count }, () =>
    createLimiter({
      db,
      kv,
      log,
      find: async (who) => known.get(who),
      onBudget: () => {},
      now: () => now,
      ...options,
    }),
  );
  onTestFinished(async () => void (await Promise.all(limiters.map((limiter) => limiter.close()))));
  return limiters as [Limiter, ...Limiter[]];
}

async function countAdmitted(limiters: readonly Limiter[], limited: Limited, requests: number): Promise<number> {
  const asked = Array.from({ length: requests }, (_, n) => limiters[n % limiters.length]?.admit([limited]));
  return (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled').length;
}

beforeEach(() => void (now = NOON));

describe('requests in a minute', () => {
  test('are admitted up to the limit, over all replicas, and refused with when to come again', async () => {
    const replicas = openReplicas(2);
    const limited = limitedTo({ requestsPerMinute: 10 });
    expect(await countAdmitted(replicas, limited, 25)).toBe(10);
    const refused = replicas[0].admit([limited]);
    await expect(refused).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'The API key "shop" may send 10 requests a minute. Try again in 56 s.',
      details: { limit: 'requestsPerMinute', value: 10, retryAfter: 56 },
    });
    now += 55_000;
    await expect(replicas[1]?.admit([limited])).rejects.toMatchObject({ details: { retryAfter: 1 } });
    now += 1_000;
    await replicas[0].admit([limited]);
  });

  test('of the minute before count by the share that the last 60 seconds reach into', async () => {
    const [limiter] = openReplicas(1);
    const limited = limitedTo({ requestsPerMinute: 60 });
    expect(await countAdmitted([limiter], limited, 60)).toBe(60);
    // Half of the next minute is over: half of those 60 are in the last 60 seconds.
    now = Date.parse('2026-11-30T12:31:30Z');
    expect((await limiter.read(limited)).requests).toBe(30);
    expect(await countAdmitted([limiter], limited, 100)).toBe(30);
    now += 60_000;
    expect(await countAdmitted([limiter], limited, 100)).toBe(45);
    now += 3_600_000;
    expect(await countAdmitted([limiter], limited, 100)).toBe(60);
  });

  test('that are refused do not keep their sender out', async () => {
    const [limiter] = openReplicas(1);
    const limited = limitedTo({ requestsPerMinute: 5 });
    for (let second = 0; second < 600; second++) {
      now += 1_000;
      await countAdmitted([limiter], limited, 20);
    }
    now += 60_000;
    expect(await countAdmitted([limiter], limited, 20)).toBeGreaterThanOrEqual(4);
  });

  test('that one stands for are admitted together or not at all, and once there is room', async () => {
    const [limiter] = openReplicas(1);
    const [limited, other] = [limitedTo({ requestsPerMinute: 10 }), limitedTo({ requestsPerMinute: 8 })];
    const ask = async (count: number, who = [limited]) => {
      await limiter.admit(who);
      await limiter.admitAs(who, count);
    };
    await expect(ask(11)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(ask(9, [limited, other])).rejects.toMatchObject({ code: 'invalid_request' });
    // What is refused is a request, too: it would be read over and over.
    expect((await limiter.read(limited)).requests).toBe(2);
    expect((await limiter.read(other)).requests).toBe(1);
    await ask(2);
    const refused = await ask(10).catch((error: unknown) => error as { details: { retryAfter: number } });
    if (!refused) throw new Error('It was admitted.');
    expect((await limiter.read(limited)).requests).toBe(5);
    now += refused.details.retryAfter * 1_000;
    await ask(10);
    expect((await limiter.read(limited)).requests).toBe(10);
  });

  test('are counted by each replica for itself while the store is away', async () => {
    const away: KeyValueStore = createMemoryKv();
    await away.close();
    const replicas = openReplicas(2, { kv: away });
    expect(await countAdmitted(replicas, limitedTo({ requestsPerMinute: 10 }), 40)).toBe(20);
  });
});

describe('turns at once', () => {
  test('are begun up to the limit, over all replicas, and again when one has ended', async () => {
    const [one, other] = openReplicas(2) as [Limiter, Limiter];
    const limited = limitedTo({ concurrentTurns: 2 });
    await one.enter('a', [limited]);
    await other.enter('b', [limited]);
    await expect(one.enter('c', [limited])).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'The API key "shop" may have 2 turns under way at once. Try again when one has ended.',
      details: { limit: 'concurrentTurns', value: 2, retryAfter: 1 },
    });
    expect((await one.read(limited)).turns).toBe(2);
    other.leave('b');
    other.leave('unknown');
    await one.enter('c', [limited]);
  });

  test('that one limit refuses hold no place under another', async () => {
    const [limiter] = openReplicas(1);
    const [wide, narrow] = [limitedTo({ concurrentTurns: 5 }), limitedTo({ concurrentTurns: 1 })];
    await limiter.enter('a', [wide, narrow]);
    await expect(limiter.enter('b', [wide, narrow])).rejects.toMatchObject({ details: { value: 1 } });
    expect((await limiter.read(wide)).turns).toBe(1);
  });

  test('of a process that is gone are free again after a minute', async () => {
    const [gone, other] = openReplicas(2) as [Limiter, Limiter];
    const limited = limitedTo({ concurrentTurns: 1 });
    await gone.enter('a', [limited]);
    now += 59_000;
    await expect(other.enter('b', [limited])).rejects.toMatchObject({ code: 'rate_limited' });
    now += 2_000;
    await other.enter('b', [limited]);
  });
});

describe('tokens', () => {
  test('are used up by day and by month of UTC, whatever restarts', async () => {
    const limited = limitedTo({ tokensPerDay: 100, tokensPerMonth: 250 });
    const [first] = openReplicas(1);
    first.spend([limited.id], 60);
    await first.enter('a', [limited]);
    first.spend([limited.id], 60);
    await expect(first.enter('b', [limited])).rejects.toMatchObject({
      code: 'budget_exceeded',
      message:
        'The API key "shop" has used its 100 tokens of this day. There are more from 2026-12-01T00:00:00.000Z on.',
      details: { limit: 'tokensPerDay', value: 100, retryAfter: 41_390 },
    });
    await first.close();
    const [second] = openReplicas(1);
    expect(await second.read(limited)).toMatchObject({ tokensToday: 120, tokensThisMonth: 120 });
    await expect(second.enter('c', [limited])).rejects.toMatchObject({ code: 'budget_exceeded' });
    now += 86_400_000;
    await second.enter('c', [limited]);
    expect(await second.read(limited)).toMatchObject({ tokensToday: 0, tokensThisMonth: 0 });
  });

  test('of all replicas are one sum', async () => {
    const [one, other] = openReplicas(2) as [Limiter, Limiter];
    const limited = limitedTo({ tokensPerMonth: 100 });
    await other.enter('a', [limited]);
    one.spend([limited.id], 100);
    await until(async () => {
      now += 2_000;
      return (await other.read(limited)).tokensThisMonth === 100;
    });
    await expect(other.enter('b', [limited])).rejects.toMatchObject({ details: { limit: 'tokensPerMonth' } });
    expect(await other.listTokens({ id: String(each), period: 'month' }, { limit: 10 })).toEqual([
      { who: limited.id, period: '2026-11', tokens: 100, cost: 0 },
    ]);
  });

  test('are announced at 80 % and at the limit, once each and by one replica', async () => {
    const notices: BudgetNotice[] = [];
    const replicas = openReplicas(2, { onBudget: (notice) => notices.push(notice) });
    const limited = limitedTo({ tokensPerMonth: 1_000 });
    for (let n = 0; n < 20; n++) replicas[n % 2]?.spend([limited.id], 55);
    await until(async () => {
      now += 2_000;
      return (await replicas[0].read(limited)).tokensThisMonth === 1_100;
    });
    await Promise.all(replicas.map((replica) => replica.close()));
    expect(notices.map(({ period, limit, isExceeded }) => [period, limit, isExceeded])).toEqual([
      ['month', 1_000, false],
      ['month', 1_000, true],
    ]);
    expect(notices[1]?.used).toBe(1_100);
  });
});
