import { integer, jsonb, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import type { Sealed } from './seal.ts';
import { boxSchema } from '../stores/table.ts';

export const secrets = boxSchema.table(
  'secrets',
  {
    owner: text('owner').notNull().default('system'),
    name: text('name').notNull(),
    /** Raised by every set; part of what the value is sealed for. */
    version: integer('version').notNull(),
    sealed: jsonb('sealed').$type<Sealed>().notNull(),
    setAt: timestamp('set_at', { withTimezone: true }).notNull().defaultNow(),
    /** Null: the box itself. */
    setBy: text('set_by'),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
  },
  (table) => [primaryKey({ columns: [table.owner, table.name] })],
);
