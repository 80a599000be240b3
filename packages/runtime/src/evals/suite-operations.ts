import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, Page, withoutUndefined } from '../operations/inputs.ts';
import { Note } from './case.ts';
import type { Evals } from './evals.ts';
import { EvalRun } from './run.ts';
import { PromptChoice, Suite, SuiteName, SuiteSettings } from './suite.ts';

const operation = operationsOf<{ evals: Evals }>();

const id = z.string().max(64).describe('The id of the suite, or its name');
const named = z
  .array(z.uuid())
  .max(1_000)
  .describe('The ids of its cases, in their order; cases are in it by its tags as well');

/** The settings without their defaults: of a change, what is left out stays. */
const CHANGES = Object.fromEntries(
  Object.entries(SuiteSettings.shape).map(([name, schema]) => [name, schema.unwrap().optional()]),
) as { [K in keyof typeof SuiteSettings.shape]: z.ZodOptional<ReturnType<(typeof SuiteSettings.shape)[K]['unwrap']>> };

export const listSuites = operation({
  id: 'evals.suites.list',
  summary: 'List eval suites with what came of their last run',
  route: 'GET /api/evals/suites',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  cli: 'eval list',
  input: z.strictObject({ ...Page }),
  output: z.object({
    items: z.array(Suite.extend({ lastRun: EvalRun.nullable().describe('Null: it has not been launched') })),
    nextCursor: z.string().nullable(),
  }),
  async handle({ evals }, page) {
    const { items, nextCursor } = await evals.suites.list(page);
    const last = await evals.runs.listLast(items.map((suite) => suite.id));
    return { items: items.map((suite) => ({ ...suite, lastRun: last.get(suite.id) ?? null })), nextCursor };
  },
});

export const getSuite = operation({
  id: 'evals.suites.get',
  summary: 'Get one eval suite with its cases and gates',
  route: 'GET /api/evals/suites/:id',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  errors: ['eval_suite_not_found'],
  input: z.strictObject({ id }),
  output: Suite,
  handle: ({ evals }, input) => evals.suites.get(input.id),
});

export const createSuite = operation({
  id: 'evals.suites.create',
  summary: 'Create an eval suite',
  route: 'POST /api/evals/suites',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  copilot: 'yes',
  status: 201,
  errors: ['eval_suite_exists', 'eval_case_not_found'],
  input: z.strictObject({
    name: SuiteName,
    note: Note.default(null),
    cases: named.default([]),
    ...SuiteSettings.shape,
  }),
  output: Suite,
  handle: ({ evals }, given, { caller }) => evals.suites.create(given, caller),
});

export const updateSuite = operation({
  id: 'evals.suites.update',
  summary: 'Change an eval suite or its cases',
  route: 'PATCH /api/evals/suites/:id',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  copilot: 'yes',
  errors: ['eval_suite_not_found', 'eval_suite_exists', 'eval_case_not_found'],
  input: z.strictObject({
    id,
    name: SuiteName.optional(),
    note: Note.optional(),
    cases: named.optional(),
    ...CHANGES,
  }),
  output: Suite,
  before: ({ evals }, input) => evals.suites.get(input.id),
  handle: ({ evals }, { id: of, ...change }) => evals.suites.update(of, withoutUndefined(change)),
});

export const deleteSuite = operation({
  id: 'evals.suites.delete',
  summary: 'Delete an eval suite; its cases and its runs stay',
  route: 'DELETE /api/evals/suites/:id',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  confirm: true,
  copilot: 'yes',
  errors: ['eval_suite_not_found'],
  input: z.strictObject({ id }),
  output: z.object({ deleted: z.boolean() }),
  before: ({ evals }, input) => evals.suites.get(input.id),
  async handle({ evals }, input) {
    await evals.suites.remove(input.id);
    return { deleted: true };
  },
});

export const runSuite = operation({
  id: 'evals.suites.run',
  summary: 'Launch an eval suite; answers the eval run, which goes on by itself',
  route: 'POST /api/evals/suites/:id/run',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:run',
  confirm: true,
  copilot: 'yes',
  cli: 'eval',
  status: 202,
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'idempotency_conflict',
    'eval_suite_not_found',
    'eval_suite_not_runnable',
    'agent_not_found',
    'agent_load_failed',
    'agent_runtime_not_armed',
    'workflow_not_found',
    'workflow_compile_failed',
    'workflow_runtime_not_armed',
    'prompt_not_found',
    'prompt_version_not_found',
    'shutting_down',
  ],
  input: z.strictObject({
    id,
    model: z.string().min(1).max(200).optional().describe('In place of the model of the suite, and of its agents'),
    prompts: z
      .array(PromptChoice)
      .max(20)
      .optional()
      .describe('Versions to use in place of what is published, drafts too. Default: those of the suite'),
    samples: SuiteSettings.shape.samples.unwrap().optional().describe('Default: that of the suite'),
    concurrency: SuiteSettings.shape.concurrency.unwrap().optional().describe('Default: that of the suite'),
    note: Note.optional().describe('What this run is to show'),
    idempotencyKey: IdempotencyKey,
  }),
  output: EvalRun,
  async handle({ evals }, { id: of, ...how }, { caller }) {
    return evals.runs.launch(await evals.suites.get(of), caller, how);
  },
});
