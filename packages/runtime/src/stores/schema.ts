import { sql } from 'drizzle-orm';
import { integer, jsonb, pgSchema, primaryKey, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import type { Sealed } from '../secrets/seal.ts';

/**
 * The box's own tables. They live in a Postgres schema of their own, so that the project's tables in `public` may use
 * any name, `settings` and `secrets` included.
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

export const secrets = boxSchema.table(
  'secrets',
  {
    owner: text('owner').notNull().default('system'),
    name: text('name').notNull(),
    /** Raised by every set; part of what the value is sealed for. */
    version: integer('version').notNull(),
    sealed: jsonb('sealed').$type<Sealed>().notNull(),
    setAt: timestamp('set_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.owner, table.name] })],
);
