import { index, jsonb, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';

/** Who changed what. Values that are secret are left out before a row is made. */
export const activity = boxSchema.table(
  'activity',
  {
    /** Time-ordered. */
    id: uuid('id').primaryKey(),
    at: timestamp('at', { withTimezone: true }).notNull().defaultNow(),
    operation: text('operation').notNull(),
    actorId: text('actor_id').notNull(),
    actorName: text('actor_name').notNull(),
    /** Null: an API key. */
    role: text('role'),
    /** The application that called, or whose user did. */
    client: text('client'),
    /** What that calls its user. */
    userId: text('user_id'),
    /** The id of the key that let it in. */
    keyId: text('key_id'),
    /** The surface it came through. */
    source: text('source').$type<'http' | 'mcp' | 'copilot' | 'chat' | 'command'>().notNull(),
    /** What the path names. */
    target: jsonb('target').$type<Record<string, string>>().notNull(),
    requestId: text('request_id'),
    /** Of what not everyone may see: the one who may, besides those who see all. */
    askedBy: text('asked_by'),
    before: jsonb('before'),
    after: jsonb('after'),
  },
  (table) => [index('activity_by_operation').on(table.operation, table.id)],
);
