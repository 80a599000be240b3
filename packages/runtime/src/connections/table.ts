import { index, integer, jsonb, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';
import type { AuthKind } from './providers.ts';
import type { ConnectionSettings, CredentialState } from './store.ts';

/** Services of others that code of this box calls. */
export const connections = boxSchema.table('connections', {
  id: text('id').primaryKey(),
  provider: text('provider').notNull(),
  auth: text('auth').$type<AuthKind>().notNull(),
  /** Whose credential a call is made with: the box's own, or that of the end user of the run. */
  per: text('per').$type<'box' | 'user'>().notNull(),
  title: text('title'),
  settings: jsonb('settings').$type<ConnectionSettings>().notNull(),
  createdBy: text('created_by').notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
});

const connectionId = () =>
  text('connection_id')
    .notNull()
    .references(() => connections.id, { onDelete: 'cascade' });

/** What is known of a credential. The credential itself is among the secrets. */
export const connectionCredentials = boxSchema.table(
  'connection_credentials',
  {
    connectionId: connectionId(),
    /** Empty: the box's own. Else which end user's. */
    owner: text('owner').notNull(),
    /** Raised whenever the credential is replaced. */
    version: integer('version').notNull(),
    state: text('state').$type<CredentialState>().notNull(),
    scopes: text('scopes'),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    problem: text('problem'),
    /** Which process is asking for a new token, and until when none of the others does. */
    leaseId: uuid('lease_id'),
    leaseUntil: timestamp('lease_until', { withTimezone: true }),
    setAt: timestamp('set_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.connectionId, table.owner] })],
);

/** Sign-ins that have begun at a service and not come back. */
export const connectionSignIns = boxSchema.table(
  'connection_sign_ins',
  {
    /** SHA-256 of the state, in hex: who reads the table can finish none. */
    stateHash: text('state_hash').primaryKey(),
    connectionId: connectionId(),
    owner: text('owner').notNull(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  },
  (table) => [index('connection_sign_ins_by_expiry').on(table.expiresAt)],
);

/** Which agents, workflows and triggers have called through it. */
export const connectionUses = boxSchema.table(
  'connection_uses',
  {
    connectionId: connectionId(),
    kind: text('kind').$type<'agent' | 'workflow' | 'trigger'>().notNull(),
    name: text('name').notNull(),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.connectionId, table.kind, table.name] })],
);
