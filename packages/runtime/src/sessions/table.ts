import {
  bigint,
  doublePrecision,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import type { ConversationMessage, KeptSummary } from '../agents/turn/input.ts';
import { boxSchema } from '../stores/table.ts';

const tokens = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0);

/** One conversation of one agent; its id is made of the agent, the name and the owner. */
export const sessions = boxSchema.table(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    agent: text('agent').notNull(),
    /** What the client calls it. */
    name: text('name').notNull(),
    kind: text('kind').$type<'session' | 'conversation'>().notNull(),
    /** The person who began it; null: whoever needs no name, such as a key. */
    askedBy: text('asked_by'),
    /** Whose it is. Empty: the box's, whose code began it, or no one's, as of one from before sessions had owners. */
    owner: text('owner').notNull().default(''),
    /** The application that began it, and the user it spoke for. */
    client: text('client'),
    userId: text('user_id'),
    /** What the agent keeps beside the messages: its plan, its files. */
    state: jsonb('state').$type<Record<string, unknown>>().notNull().default({}),
    /** What the model is shown in place of the older messages, which stay. */
    summary: jsonb('summary').$type<KeptSummary>(),
    turns: integer('turns').notNull().default(0),
    inputTokens: tokens('input_tokens'),
    outputTokens: tokens('output_tokens'),
    totalTokens: tokens('total_tokens'),
    /** By the prices there were. Null: no model that answered had one. */
    cost: doublePrecision('cost'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    lastActiveAt: timestamp('last_active_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('sessions_by_name').on(table.agent, table.name, table.owner),
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
