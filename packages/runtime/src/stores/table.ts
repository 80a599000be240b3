import { sql } from 'drizzle-orm';
import { index, jsonb, pgSchema, primaryKey, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';

/**
 * The box's own tables live in a Postgres schema of their own, so that the project's tables in `public` may use any name,
 * `settings` and `secrets` included. Every room has its own in its `table.ts`.
 */
export const boxSchema = pgSchema('svc');

/** One row, made at the first boot: the identity of this box's data. */
export const installation = boxSchema.table(
  'installation',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  () => [uniqueIndex('installation_single_row').on(sql`(true)`)],
);

export const settings = boxSchema.table('settings', {
  key: text('key').primaryKey(),
  value: jsonb('value').notNull(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
});

/** What may be used once: nonces of signed calls, confirmations. Kept until it would be refused for its age anyway. */
export const usedOnce = boxSchema.table(
  'used_once',
  {
    purpose: text('purpose').$type<'signature' | 'confirmation'>().notNull(),
    value: text('value').notNull(),
    content: text('content'),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.purpose, table.value] }), index('used_once_by_expiry').on(table.expiresAt)],
);
