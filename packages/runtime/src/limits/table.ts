import { bigint, doublePrecision, index, primaryKey, text } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';

/** Tokens of models, by whom they were used for, and when. */
export const tokenUsage = boxSchema.table(
  'token_usage',
  {
    /** `agent:support`, `key:01m2n8p4`, `user:shop/ada`, `model:vendor/model` */
    who: text('who').notNull(),
    /** A day of UTC, `2026-11-23`, or a month of UTC, `2026-11`. */
    period: text('period').notNull(),
    tokens: bigint('tokens', { mode: 'number' }).notNull(),
    /** By the prices there were. */
    cost: doublePrecision('cost').notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.who, table.period] }),
    index('token_usage_by_period').on(table.period, table.who),
  ],
);
