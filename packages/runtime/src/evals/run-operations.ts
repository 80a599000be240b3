import { z } from 'zod';
import { parseCursor, toCursor, toPage } from '../operations/cursor.ts';
import { operationsOf } from '../operations/define.ts';
import { Page } from '../operations/inputs.ts';
import { Comparison } from './compare.ts';
import type { Evals } from './evals.ts';
import { EvalRow, EvalRun, EvalRunStatus } from './run.ts';

const operation = operationsOf<{ evals: Evals }>();

const id = z.uuid().describe('The id of the eval run');

export const listEvalRuns = operation({
  id: 'evals.runs.list',
  summary: 'List eval runs with their score and status, newest first',
  route: 'GET /api/evals/runs',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  errors: ['eval_suite_not_found'],
  input: z.strictObject({
    suite: z.string().max(64).optional().describe('The id or the name of the suite'),
    status: EvalRunStatus.optional(),
    ...Page,
  }),
  output: z.object({ items: z.array(EvalRun), nextCursor: z.string().nullable() }),
  async handle({ evals }, { suite, status, ...page }) {
    const suiteId = suite === undefined ? undefined : (await evals.suites.get(suite)).id;
    return evals.runs.list({ suiteId, status }, page);
  },
});

export const getEvalRun = operation({
  id: 'evals.runs.get',
  summary: 'Get one eval run: the matrix of its cases and scorers, tokens, and the runs behind it',
  route: 'GET /api/evals/runs/:id',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  cli: 'eval get',
  errors: ['eval_run_not_found'],
  input: z.strictObject({
    id,
    wait: z.coerce
      .number()
      .int()
      .min(0)
      .max(60)
      .default(0)
      .describe('Hold the answer until it has ended, for at most so many seconds'),
    ...Page,
  }),
  output: EvalRun.extend({
    cases: z.array(EvalRow).describe('A page of its cases, in their order'),
    nextCursor: z.string().nullable(),
  }),
  async handle({ evals }, { id: of, wait, limit, cursor }, { signal }) {
    const [after] = cursor === undefined ? [-1] : parseCursor(cursor, isPosition);
    if (wait > 0) await evals.runs.wait(of, wait * 1_000, signal);
    const { rows, next, ...run } = await evals.runs.get(of, { after, limit });
    return { ...run, cases: rows, nextCursor: next === null ? null : toCursor(next) };
  },
});

export const compareEvalRuns = operation({
  id: 'evals.runs.compare',
  summary: 'Compare an eval run with another one, case by case, what got worse first',
  route: 'GET /api/evals/runs/:id/compare',
  tag: 'evals',
  kind: 'read',
  permission: 'evals:read',
  copilot: 'yes',
  cli: 'eval compare',
  errors: ['eval_run_not_found'],
  input: z.strictObject({
    id,
    with: z.uuid().optional().describe('The one before. Default: the last completed one of the same suite'),
    ...Page,
  }),
  output: z.object({
    run: EvalRun,
    with: EvalRun,
    counts: z.object({ worse: z.int(), better: z.int(), new: z.int(), gone: z.int(), same: z.int() }),
    items: z.array(Comparison),
    nextCursor: z.string().nullable(),
  }),
  async handle({ evals }, { id: of, with: other, ...page }) {
    const { items, ...runs } = await evals.runs.compare(of, other);
    const counts = { worse: 0, better: 0, new: 0, gone: 0, same: 0 };
    for (const { change } of items) counts[change]++;
    return { ...runs, counts, ...toPage(items, ({ caseId }) => caseId, page) };
  },
});

export const cancelEvalRun = operation({
  id: 'evals.runs.cancel',
  summary: 'Cancel an eval run and what it has started',
  route: 'POST /api/evals/runs/:id/cancel',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:cancel',
  confirm: true,
  copilot: 'yes',
  cli: 'eval cancel',
  errors: ['eval_run_not_found', 'eval_run_final'],
  input: z.strictObject({ id }),
  output: EvalRun,
  settles: { isDone: ({ evals }, input) => evals.runs.isCancelled(input.id) },
  handle: ({ evals }, input) => evals.runs.cancel(input.id),
});

export const deleteEvalRun = operation({
  id: 'evals.runs.delete',
  summary: 'Delete the record of an eval run; the runs behind it stay',
  route: 'DELETE /api/evals/runs/:id',
  tag: 'evals',
  kind: 'write',
  permission: 'evals:write',
  confirm: true,
  copilot: 'yes',
  errors: ['eval_run_not_found', 'eval_run_not_final'],
  input: z.strictObject({ id }),
  output: z.object({ deleted: z.boolean() }),
  async handle({ evals }, input) {
    await evals.runs.remove(input.id);
    return { deleted: true };
  },
});

// --- internal ---

function isPosition(place: unknown[]): place is [number] {
  return place.length === 1 && Number.isSafeInteger(place[0]) && Number(place[0]) >= 0;
}
