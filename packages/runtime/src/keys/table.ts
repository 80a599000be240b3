import { boolean, jsonb, text, timestamp } from 'drizzle-orm/pg-core';
import type { Granted } from '../auth/caller.ts';
import type { KeyLimits } from '../limits/limits.ts';
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
  limits: jsonb('limits').$type<KeyLimits>(),
  /** Where it may be used from: addresses and networks. Null: anywhere. */
  addresses: jsonb('addresses').$type<string[]>(),
  /** The application it is a key of. Null: itself. */
  client: text('client'),
  /** It may speak for users. */
  users: boolean('users').notNull().default(false),
  /** `agent`: it reads and continues every session of its agents. */
  sessions: text('sessions').$type<'own' | 'agent'>().notNull().default('own'),
  createdBy: text('created_by').notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  expiresAt: timestamp('expires_at', { withTimezone: true }),
  revokedAt: timestamp('revoked_at', { withTimezone: true }),
  lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
});
