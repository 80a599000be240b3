import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
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
import type { ConversationMessage, KeptSummary } from '../agents/turn/input.ts';
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
    /** Null: the box itself. */
    setBy: text('set_by'),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
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
    /** The person who began it; null: whoever needs no name, such as a key. */
    askedBy: text('asked_by'),
    /** What the agent keeps beside the messages: its plan, its files. */
    state: jsonb('state').$type<Record<string, unknown>>().notNull().default({}),
    /** What the model is shown in place of the older messages, which stay. */
    summary: jsonb('summary').$type<KeptSummary>(),
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

/** What every key of the dynamic configuration was set to; the newest revision is in force. */
export const configRevisions = boxSchema.table(
  'config_revisions',
  {
    key: text('key').notNull(),
    revision: integer('revision').notNull(),
    /** The override was dropped: the declared default is in force. */
    isUnset: boolean('is_unset').notNull().default(false),
    value: jsonb('value'),
    changedBy: text('changed_by').notNull(),
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.key, table.revision] })],
);

/** What an operator chose for an agent or a workflow, beside its code. */
export const catalogOverrides = boxSchema.table(
  'catalog_overrides',
  {
    kind: text('kind').$type<'agent' | 'workflow'>().notNull(),
    name: text('name').notNull(),
    model: text('model'),
    isHidden: boolean('is_hidden').notNull().default(false),
    updatedBy: text('updated_by').notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
);

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
    /** The surface it came through. */
    source: text('source').$type<'http' | 'mcp' | 'chat'>().notNull(),
    /** What the path names. */
    target: jsonb('target').$type<Record<string, string>>().notNull(),
    requestId: text('request_id'),
    /** Of what not everybody may see: the one who may, besides those who see all. */
    askedBy: text('asked_by'),
    before: jsonb('before'),
    after: jsonb('after'),
  },
  (table) => [index('activity_by_operation').on(table.operation, table.id)],
);

/** Records of the log that are kept. */
export const logs = boxSchema.table(
  'logs',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** 10 debug, 20 info, 30 warn, 40 error. */
    level: integer('level').notNull(),
    message: text('message').notNull(),
    runId: uuid('run_id'),
    sessionId: uuid('session_id'),
    /** The agent or workflow. */
    name: text('name'),
    step: text('step'),
    requestId: text('request_id'),
    fields: jsonb('fields').$type<Record<string, unknown>>(),
  },
  (table) => [index('logs_by_run').on(table.runId, table.id), index('logs_by_time').on(table.at)],
);

/** What may be used once: nonces of signed calls, confirmations. Kept until it would be refused for its age anyway. */
export const usedOnce = boxSchema.table(
  'used_once',
  {
    purpose: text('purpose').$type<'signature' | 'confirmation'>().notNull(),
    value: text('value').notNull(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.purpose, table.value] }), index('used_once_by_expiry').on(table.expiresAt)],
);
