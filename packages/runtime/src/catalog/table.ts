import { boolean, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';

/** What an operator chose for an agent or a workflow, beside its code. */
export const catalogOverrides = boxSchema.table(
  'catalog_overrides',
  {
    kind: text('kind').$type<'agent' | 'workflow'>().notNull(),
    name: text('name').notNull(),
    model: text('model'),
    isHidden: boolean('is_hidden').notNull().default(false),
    updatedBy: text('updated_by').notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
);
