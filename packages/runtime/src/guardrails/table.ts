import { boolean, index, integer, jsonb, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';
import type { Action, Attachment, Check, Side } from './store.ts';

/** Rules about what may pass. */
export const guardrails = boxSchema.table(
  'guardrails',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    note: text('note'),
    position: integer('position').notNull(),
    check: jsonb('check').$type<Check>().notNull(),
    sides: jsonb('sides').$type<Side[]>().notNull(),
    action: text('action').$type<Action>().notNull(),
    attachment: jsonb('attachment').$type<Attachment>().notNull(),
    enabled: boolean('enabled').notNull(),
    failClosed: boolean('fail_closed').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('guardrails_by_name').on(table.name)],
);

/** What rules have found. The rule may be gone. */
export const guardrailHits = boxSchema.table(
  'guardrail_hits',
  {
    id: uuid('id').primaryKey(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    ruleId: text('rule_id').notNull(),
    ruleName: text('rule_name').notNull(),
    side: text('side').$type<Side>().notNull(),
    action: text('action').$type<Action>().notNull(),
    place: text('place').notNull(),
    runId: uuid('run_id'),
    count: integer('count').notNull(),
    reason: text('reason'),
    isApplied: boolean('is_applied').notNull(),
    /** Of what not everyone may see: the one who may, besides those who see all. */
    askedBy: text('asked_by'),
  },
  (table) => [index('guardrail_hits_by_rule').on(table.ruleId, table.id), index('guardrail_hits_by_time').on(table.at)],
);
