import { sql } from 'drizzle-orm';
import { boolean, index, integer, primaryKey, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';
import type { DeliveryState } from './store.ts';

const at = (name: string) => timestamp(name, { withTimezone: true });

/** What outside services start here. JSON is kept as text: what senders send may hold what jsonb does not. */
export const triggers = boxSchema.table('triggers', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  targetKind: text('target_kind').$type<'workflow' | 'agent'>().notNull(),
  target: text('target').notNull(),
  enabled: boolean('enabled').notNull(),
  settings: text('settings').notNull(),
  createdBy: text('created_by').notNull(),
  createdAt: at('created_at').notNull().defaultNow(),
  updatedAt: at('updated_at').notNull().defaultNow(),
});

/** What has come, and what has come of it. */
export const triggerDeliveries = boxSchema.table(
  'trigger_deliveries',
  {
    id: text('id').primaryKey(),
    triggerId: text('trigger_id')
      .notNull()
      .references(() => triggers.id, { onDelete: 'cascade' }),
    state: text('state').$type<DeliveryState>().notNull(),
    event: text('event'),
    senderId: text('sender_id'),
    /** By which the same is known again. Null: by nothing, or no more. */
    dedupeKey: text('dedupe_key'),
    /** Until when. Null: for as long as it is kept. */
    dedupeUntil: at('dedupe_until'),
    /** Headers, query and body. Null: it was not for the trigger. */
    request: text('request'),
    bytes: integer('bytes').notNull(),
    attempts: integer('attempts').notNull().default(0),
    nextAt: at('next_at').notNull().defaultNow(),
    /** Which process is at it, and until when none of the others is. */
    leaseId: uuid('lease_id'),
    leaseUntil: at('lease_until'),
    runId: text('run_id'),
    queueId: text('queue_id'),
    problem: text('problem'),
    redeliveryOf: text('redelivery_of'),
    /** Who had it delivered again over MCP. */
    armedBy: text('armed_by'),
    receivedAt: at('received_at').notNull().defaultNow(),
    endedAt: at('ended_at'),
  },
  (table) => [
    uniqueIndex('trigger_deliveries_once').on(table.triggerId, table.dedupeKey),
    index('trigger_deliveries_recent').on(table.triggerId, table.receivedAt.desc(), table.id.desc()),
    index('trigger_deliveries_due')
      .on(table.nextAt)
      .where(sql`state in ('pending', 'failed')`),
  ],
);

/** How far a trigger that asks for itself has come. */
export const triggerPolls = boxSchema.table(
  'trigger_polls',
  {
    triggerId: text('trigger_id')
      .primaryKey()
      .references(() => triggers.id, { onDelete: 'cascade' }),
    nextAt: at('next_at').notNull().defaultNow(),
    /** Which process asks, and until when none of the others does. */
    leaseId: uuid('lease_id'),
    leaseUntil: at('lease_until'),
    /** When it was last asked with an answer that was of use. Null: it has yet to begin. */
    polledAt: at('polled_at'),
    /** When it was last asked, whatever came of that. */
    triedAt: at('tried_at'),
    /** What the service answered then; null: nothing. */
    status: integer('status'),
    etag: text('etag'),
    lastModified: text('last_modified'),
    /** In the last answer that had any to look at. */
    items: integer('items').notNull().default(0),
    /** All that were ever new. */
    seen: integer('seen').notNull().default(0),
    /** In a row. */
    failures: integer('failures').notNull().default(0),
    problem: text('problem'),
  },
  (table) => [index('trigger_polls_due').on(table.nextAt)],
);

/** The items that a poll has come upon, by which it knows them again. */
export const triggerSeen = boxSchema.table(
  'trigger_seen',
  {
    triggerId: text('trigger_id')
      .notNull()
      .references(() => triggers.id, { onDelete: 'cascade' }),
    key: text('key').notNull(),
    /** When it was last in an answer, to the hour. */
    seenAt: at('seen_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.triggerId, table.key] }),
    index('trigger_seen_recent').on(table.triggerId, table.seenAt.desc()),
  ],
);
