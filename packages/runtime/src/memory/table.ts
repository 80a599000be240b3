import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, real, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { sessions } from '../sessions/table.ts';
import { boxSchema } from '../stores/table.ts';

const at = (name: string) => timestamp(name, { withTimezone: true });

export const MEMORY_STATES = ['queued', 'embedding', 'ready', 'failed'] as const;
export type MemoryState = (typeof MEMORY_STATES)[number];

/** A turn that is remembered of an end user. It goes with its session. */
export const memoryTurns = boxSchema.table(
  'memory_turns',
  {
    runId: uuid('run_id').primaryKey(),
    sessionId: uuid('session_id')
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }),
    agent: text('agent').notNull(),
    /** Whose it is: that of the session. */
    owner: text('owner').notNull(),
    client: text('client'),
    userId: text('user_id').notNull(),
    state: text('state').$type<MemoryState>().notNull().default('queued'),
    /** What its vectors were made with, what it failed with, or what alone it waits for. Null: it waits for any. */
    model: text('model'),
    /** Numbers of each of them. */
    dimension: integer('dimension'),
    error: text('error'),
    attempts: integer('attempts').notNull().default(0),
    /** Not taken before. Of one that is ready or failed: since when the process that made it so was with that model. */
    dueAt: at('due_at').notNull().defaultNow(),
    /** Which process is at it, and until when none of the others is. */
    leaseId: uuid('lease_id'),
    leaseUntil: at('lease_until'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('memory_turns_by_owner').on(table.agent, table.owner, table.createdAt),
    index('memory_turns_by_session').on(table.sessionId),
    index('memory_turns_by_time').on(table.createdAt, table.runId),
    index('memory_turns_due')
      .on(table.dueAt)
      .where(sql`${table.state} in ('queued', 'embedding')`),
  ],
);

/** What of it is found by itself. The vector is an array: no migration needs an extension. */
export const memoryPieces = boxSchema.table(
  'memory_pieces',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => memoryTurns.runId, { onDelete: 'cascade' }),
    n: integer('n').notNull(),
    text: text('text').notNull(),
    embedding: real('embedding').array(),
  },
  (table) => [primaryKey({ columns: [table.runId, table.n] })],
);
