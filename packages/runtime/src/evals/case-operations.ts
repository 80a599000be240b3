import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, withoutUndefined } from '../operations/inputs.ts';
import { CaseName, EvalCase, EvalTarget, Note, Tags } from './case.ts';
import type { Evals } from './evals.ts';
import { ScorerList } from './scorer.ts';

const operation = operationsOf<{ evals: Evals }>();

const id = z.string().describe('The id of the case');

const GIVEN = {
  name: CaseName.optional().describe('What people call it. Default: the beginning of its message'),
  target: EvalTarget.optional(),
  input: z
    .unknown()
    .optional()
    .describe('Of an agent: the message, or `{message, before}`. Of a workflow: what it is started with'),
  expected: z.unknown().optional().describe('What is expected, for the scorers that compare'),
  scorers: ScorerList.optional().describe('How it is judged, besides the scorers of its suites'),
  tags: Tags.optional(),
  note: Note.optional(),
};

export const listCases = operation({
  id: 'evals.cases.list',
  summary: 'List eval cases by target and tag, newest first',
  route: 'GET /api/evals/cases',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  input: z.strictObject({
    kind: EvalTarget.shape.kind.optional().describe('Of the target'),
    name: z.string().max(200).optional().describe('Of the target'),
    tag: z.string().max(64).optional(),
    ...Page,
  }),
  output: z.object({ items: z.array(EvalCase), nextCursor: z.string().nullable() }),
  handle: ({ evals }, { limit, cursor, ...filter }) => evals.cases.list(filter, { limit, cursor }),
});

export const getCase = operation({
  id: 'evals.cases.get',
  summary: 'Get one eval case with its input, expectation and scorers',
  route: 'GET /api/evals/cases/:id',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  errors: ['eval_case_not_found'],
  input: z.strictObject({ id }),
  output: EvalCase,
  handle: ({ evals }, input) => evals.cases.get(input.id),
});

export const createCase = operation({
  id: 'evals.cases.create',
  summary: 'Create an eval case, also from a recorded run or a turn of a session',
  route: 'POST /api/evals/cases',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  copilot: 'yes',
  status: 201,
  secret: ['input', 'expected'],
  errors: ['run_not_found', 'run_not_final', 'workflow_input_invalid'],
  input: z.strictObject({
    ...GIVEN,
    fromRunId: z
      .uuid()
      .optional()
      .describe('A run that has ended: its target, what it was asked and what it answered are taken, where not given'),
  }),
  output: EvalCase,
  handle: ({ evals }, given, { caller }) => evals.cases.create(given, caller),
});

export const updateCase = operation({
  id: 'evals.cases.update',
  summary: 'Change an eval case',
  route: 'PATCH /api/evals/cases/:id',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  copilot: 'yes',
  secret: ['input', 'expected'],
  errors: ['eval_case_not_found', 'workflow_input_invalid'],
  input: z.strictObject({ id, ...GIVEN }),
  output: EvalCase,
  before: ({ evals }, input) => evals.cases.get(input.id),
  handle: ({ evals }, { id: of, ...change }) => evals.cases.update(of, withoutUndefined(change)),
});

export const deleteCase = operation({
  id: 'evals.cases.delete',
  summary: 'Delete an eval case; runs keep what they have of it',
  route: 'DELETE /api/evals/cases/:id',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  confirm: true,
  copilot: 'yes',
  secret: ['input', 'expected'],
  errors: ['eval_case_not_found'],
  input: z.strictObject({ id }),
  output: z.object({ deleted: z.boolean() }),
  before: ({ evals }, input) => evals.cases.get(input.id),
  async handle({ evals }, input) {
    await evals.cases.remove(input.id);
    return { deleted: true };
  },
});
