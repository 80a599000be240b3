import { boolean, jsonb, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import type { Limits } from '../limits/limits.ts';
import { boxSchema } from '../stores/table.ts';

/** What an operator chose for an agent or a workflow, beside its code. */
export const catalogOverrides = boxSchema.table(
  'catalog_overrides',
  {
    kind: text('kind').$type<'agent' | 'workflow'>().notNull(),
    name: text('name').notNull(),
    model: text('model'),
    /** Of an agent. Null: those of the code. */
    limits: jsonb('limits').$type<Limits>(),
    isHidden: boolean('is_hidden').notNull().default(false),
    updatedBy: text('updated_by').notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
);
