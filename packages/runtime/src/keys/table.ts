import { jsonb, text, timestamp } from 'drizzle-orm/pg-core';
import type { Granted } from '../auth/caller.ts';
import { boxSchema } from '../stores/table.ts';

/** Keys of the chat wires and of single workflows. The value itself is never kept. */
export const apiKeys = boxSchema.table('api_keys', {
  /** Part of the value, and time-ordered. */
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  /** SHA-256 of the value, in hex. */
  digest: text('digest').notNull(),
  agents: jsonb('agents').$type<Granted>().notNull(),
  workflows: jsonb('workflows').$type<Granted>().notNull(),
  createdBy: text('created_by').notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  expiresAt: timestamp('expires_at', { withTimezone: true }),
  revokedAt: timestamp('revoked_at', { withTimezone: true }),
  lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
});
