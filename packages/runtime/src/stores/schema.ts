import { sql } from 'drizzle-orm';
import {
  bigint,
  index,
  integer,
  jsonb,
  pgSchema,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import type { ConversationMessage, ConversationSummary } from '../agents/turn-input.ts';
import type { Granted } from '../auth/caller.ts';
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

const tokens = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0);

/** One conversation of one agent; its id is made of the two. */
export const sessions = boxSchema.table(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    agent: text('agent').notNull(),
    /** What the client calls it. */
    name: text('name').notNull(),
    kind: text('kind').$type<'session' | 'conversation'>().notNull(),
    /** What the agent keeps beside the messages: its plan, its files. */
    state: jsonb('state').$type<Record<string, unknown>>().notNull().default({}),
    /** What the model is shown in place of the older messages, which stay. */
    summary: jsonb('summary').$type<ConversationSummary>(),
    turns: integer('turns').notNull().default(0),
    inputTokens: tokens('input_tokens'),
    outputTokens: tokens('output_tokens'),
    totalTokens: tokens('total_tokens'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    lastActiveAt: timestamp('last_active_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('sessions_by_name').on(table.agent, table.name),
    index('sessions_by_activity').on(table.lastActiveAt, table.id),
  ],
);

/** The turns of a session, each a run. */
export const sessionTurns = boxSchema.table(
  'session_turns',
  {
    runId: uuid('run_id').primaryKey(),
    sessionId: uuid('session_id')
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }),
    totalTokens: tokens('total_tokens'),
    endedAt: timestamp('ended_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [index('session_turns_by_session').on(table.sessionId, table.runId)],
);

export const sessionMessages = boxSchema.table(
  'session_messages',
  {
    sessionId: uuid('session_id')
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }),
    n: integer('n').notNull(),
    id: text('id').notNull(),
    /** The turn that added it. */
    runId: uuid('run_id').notNull(),
    message: jsonb('message').$type<ConversationMessage>().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.sessionId, table.n] }),
    uniqueIndex('session_messages_by_id').on(table.sessionId, table.id),
  ],
);

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
