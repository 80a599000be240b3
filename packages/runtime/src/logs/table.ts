import { bigint, index, integer, jsonb, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';

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
