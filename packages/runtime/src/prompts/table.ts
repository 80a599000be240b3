import { integer, primaryKey, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';

/** Texts an agent or a workflow is given without a new build. */
export const prompts = boxSchema.table(
  'prompts',
  {
    id: uuid('id').primaryKey(),
    ownerKind: text('owner_kind').$type<'agent' | 'workflow' | 'workspace'>().notNull(),
    /** Empty for the workspace. */
    ownerName: text('owner_name').notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    note: text('note'),
    latestVersion: integer('latest_version').notNull(),
    /** Null: nothing of it is in force. */
    publishedVersion: integer('published_version'),
    createdBy: text('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('prompts_by_owner').on(table.ownerKind, table.ownerName, table.key)],
);

/** Never changed once written. */
export const promptVersions = boxSchema.table(
  'prompt_versions',
  {
    promptId: uuid('prompt_id')
      .notNull()
      .references(() => prompts.id, { onDelete: 'cascade' }),
    version: integer('version').notNull(),
    text: text('text').notNull(),
    note: text('note'),
    createdBy: text('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.promptId, table.version] })],
);

/** Every time the pointer to the version in force was moved. */
export const promptPublications = boxSchema.table(
  'prompt_publications',
  {
    promptId: uuid('prompt_id')
      .notNull()
      .references(() => prompts.id, { onDelete: 'cascade' }),
    n: integer('n').notNull(),
    version: integer('version').notNull(),
    publishedBy: text('published_by').notNull(),
    publishedAt: timestamp('published_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.promptId, table.n] })],
);
