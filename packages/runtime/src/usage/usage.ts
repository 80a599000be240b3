import { z } from 'zod';
import type { Limiter } from '../limits/limiter.ts';
import { Limits, readWho, toWho } from '../limits/limits.ts';
import type { TokenFilter } from '../limits/token-usage.ts';
import { toAmount } from '../limits/prices.ts';
import { parseCursor, toCursor } from '../operations/cursor.ts';

export const UsageKind = z.enum(['agent', 'key', 'user', 'model']);

export const UsageId = z
  .string()
  .describe('The name of the agent, the id of the key or of the model, or `<client>/<user>`');

export const TokensUsed = z.object({
  kind: UsageKind,
  id: UsageId,
  period: z.string().describe('A day of UTC, `2026-11-23`, or a month of UTC, `2026-11`'),
  tokens: z.int().describe('Of models, input and output'),
  cost: z.number().describe('By `prices` of svc.config.ts as they were then; 0 of models that have none'),
});
export type TokensUsed = z.infer<typeof TokensUsed>;

export const UsageNow = z.object({
  kind: UsageKind,
  id: UsageId,
  limits: Limits,
  requests: z.int().describe('In the last 60 seconds; 0 where there is no limit of them'),
  turns: z.int().describe('Under way; 0 where there is no limit of them'),
  tokensToday: z.int(),
  tokensThisMonth: z.int(),
});
export type UsageNow = z.infer<typeof UsageNow>;

/** What agents, keys, users and models have used. */
export interface Usage {
  get(kind: TokensUsed['kind'], id: string): Promise<UsageNow>;
  /** Newest first. Throws `invalid_cursor`. */
  list(
    filter: TokenFilter,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: TokensUsed[]; nextCursor: string | null }>;
}

export function createUsage(limiter: Pick<Limiter, 'find' | 'read' | 'listTokens'>): Usage {
  return {
    async get(kind, id) {
      const who = toWho({ kind, id });
      const limited = (await limiter.find(who)) ?? { id: who, name: who, limits: {} };
      return { kind, id, limits: limited.limits, ...(await limiter.read(limited)) };
    },
    async list(filter, { limit, cursor }) {
      const after = cursor === undefined ? {} : { after: parseCursor(cursor, isPlace) };
      const rows = await limiter.listTokens(filter, { limit: limit + 1, ...after });
      const items = rows.slice(0, limit);
      const last = rows.length > limit ? items.at(-1) : undefined;
      return {
        items: items.map(({ who, period, tokens, cost }) => ({
          ...readWho(who),
          period,
          tokens,
          cost: toAmount(cost),
        })),
        nextCursor: last ? toCursor(last.period, last.who) : null,
      };
    },
  };
}

// --- internal ---

function isPlace(place: unknown[]): place is [period: string, who: string] {
  return place.length === 2 && place.every((part) => typeof part === 'string');
}
