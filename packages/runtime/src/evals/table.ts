import {
  boolean,
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
import { boxSchema } from '../stores/table.ts';
import type { EvalInput, EvalTarget } from './case.ts';
import type { RunCase, RunPlan, RunSummary, ScoredCell } from './run.ts';
import type { Scorer } from './scorer.ts';
import type { SuiteSettings } from './suite.ts';

/** What is asked, and what is expected. */
export const evalCases = boxSchema.table(
  'eval_cases',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    targetKind: text('target_kind').$type<EvalTarget['kind']>().notNull(),
    targetName: text('target_name').notNull(),
    input: jsonb('input').$type<EvalInput>().notNull(),
    /** In an object: null is a value that may be expected. */
    expected: jsonb('expected').$type<{ value: unknown }>(),
    scorers: jsonb('scorers').$type<Scorer[]>().notNull(),
    tags: text('tags').array().notNull(),
    note: text('note'),
    fromRunId: text('from_run_id'),
    createdBy: text('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [index('eval_cases_by_target').on(table.targetKind, table.targetName, table.id)],
);

export const evalSuites = boxSchema.table(
  'eval_suites',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    note: text('note'),
    settings: jsonb('settings').$type<SuiteSettings>().notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('eval_suites_by_name').on(table.name)],
);

/** The cases of a suite that are named one by one, in their order. */
export const evalSuiteCases = boxSchema.table(
  'eval_suite_cases',
  {
    suiteId: uuid('suite_id')
      .notNull()
      .references(() => evalSuites.id, { onDelete: 'cascade' }),
    caseId: uuid('case_id')
      .notNull()
      .references(() => evalCases.id, { onDelete: 'cascade' }),
    position: integer('position').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.suiteId, table.caseId] }),
    index('eval_suite_cases_by_case').on(table.caseId),
  ],
);

/** A launch of a suite. Its id is that of the run that carries it out. */
export const evalRuns = boxSchema.table(
  'eval_runs',
  {
    id: uuid('id').primaryKey(),
    /** Null: the suite was deleted. */
    suiteId: uuid('suite_id').references(() => evalSuites.id, { onDelete: 'set null' }),
    suiteName: text('suite_name').notNull(),
    plan: jsonb('plan').$type<RunPlan>().notNull(),
    /** How many results there will be. */
    planned: integer('planned').notNull(),
    status: text('status').$type<'running' | 'completed' | 'failed' | 'cancelled'>().notNull(),
    /** Null: it has not ended. */
    passed: boolean('passed'),
    score: doublePrecision('score'),
    summary: jsonb('summary').$type<RunSummary>(),
    error: text('error'),
    startedBy: text('started_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (table) => [index('eval_runs_by_suite').on(table.suiteId, table.id)],
);

/** The cases as they were when the suite was launched: what is changed later changes no result. */
export const evalRunCases = boxSchema.table(
  'eval_run_cases',
  {
    evalRunId: uuid('eval_run_id')
      .notNull()
      .references(() => evalRuns.id, { onDelete: 'cascade' }),
    position: integer('position').notNull(),
    caseId: uuid('case_id').notNull(),
    snapshot: jsonb('snapshot').$type<RunCase>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.evalRunId, table.position] })],
);

/** The outcome of one sample of a case. Written once it is scored; written again, it says the same. */
export const evalResults = boxSchema.table(
  'eval_results',
  {
    evalRunId: uuid('eval_run_id')
      .notNull()
      .references(() => evalRuns.id, { onDelete: 'cascade' }),
    position: integer('position').notNull(),
    sample: integer('sample').notNull(),
    /** Null: its run was not started. */
    runId: text('run_id'),
    passed: boolean('passed').notNull(),
    score: doublePrecision('score').notNull(),
    cells: jsonb('cells').$type<ScoredCell[]>().notNull(),
    error: text('error'),
    latencyMs: integer('latency_ms'),
    inputTokens: integer('input_tokens').notNull(),
    outputTokens: integer('output_tokens').notNull(),
    scoredAt: timestamp('scored_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.evalRunId, table.position, table.sample] })],
);
