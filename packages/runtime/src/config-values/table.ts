import { boolean, integer, jsonb, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';

/** What every key of the dynamic configuration was set to; the newest revision is in force. */
export const configRevisions = boxSchema.table(
  'config_revisions',
  {
    key: text('key').notNull(),
    revision: integer('revision').notNull(),
    /** The override was dropped: the declared default is in force. */
    isUnset: boolean('is_unset').notNull().default(false),
    value: jsonb('value'),
    changedBy: text('changed_by').notNull(),
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.key, table.revision] })],
);
