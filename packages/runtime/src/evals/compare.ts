import { z } from 'zod';
import type { EvalRow } from './run.ts';

const Change = z.object({
  before: z.number().nullable().describe('The mean score; null: it was not there, or not scored'),
  after: z.number().nullable(),
});

/** The outcome of one case between two runs. */
export const Comparison = z.object({
  caseId: z.string(),
  name: z.string(),
  change: z.enum(['worse', 'better', 'new', 'gone', 'same']),
  ...Change.shape,
  passRateBefore: z.number().nullable(),
  passRateAfter: z.number().nullable(),
  scorers: z.array(Change.extend({ scorer: z.string() })).describe('Those whose mean score is another'),
  runIdsBefore: z.array(z.string()).describe('Its runs'),
  runIdsAfter: z.array(z.string()),
});
export type Comparison = z.infer<typeof Comparison>;

/** Case by case, what got worse first. A case passes more or less often, or else its score says which it is. */
export function compareRows(after: readonly EvalRow[], before: readonly EvalRow[]): Comparison[] {
  const old = new Map(before.map((row) => [row.caseId, row]));
  const known = new Set(after.map(({ caseId }) => caseId));
  const all = [
    ...after.map((row) => toComparison(old.get(row.caseId), row)),
    ...before.filter(({ caseId }) => !known.has(caseId)).map((row) => toComparison(row, undefined)),
  ];
  const order = Comparison.shape.change.options;
  return all.sort((a, b) => order.indexOf(a.change) - order.indexOf(b.change));
}

// --- internal ---

/** Means differ by less where nothing has changed. */
const SLACK = 1e-9;

function toComparison(before: EvalRow | undefined, after: EvalRow | undefined): Comparison {
  const { caseId, name } = (after ?? before) as EvalRow;
  return {
    caseId,
    name,
    change: toChange(before, after),
    before: before?.score?.mean ?? null,
    after: after?.score?.mean ?? null,
    passRateBefore: before?.passRate ?? null,
    passRateAfter: after?.passRate ?? null,
    scorers: listChanged(before, after),
    runIdsBefore: listRuns(before),
    runIdsAfter: listRuns(after),
  };
}

function toChange(before: EvalRow | undefined, after: EvalRow | undefined): Comparison['change'] {
  if (!before) return 'new';
  if (!after) return 'gone';
  const passes = (after.passRate ?? 0) - (before.passRate ?? 0);
  const difference = Math.abs(passes) > SLACK ? passes : (after.score?.mean ?? 0) - (before.score?.mean ?? 0);
  if (Math.abs(difference) <= SLACK) return 'same';
  return difference > 0 ? 'better' : 'worse';
}

function listChanged(before: EvalRow | undefined, after: EvalRow | undefined): Comparison['scorers'] {
  const old = new Map(before?.cells.map(({ scorer, mean }) => [scorer, mean]));
  const own = new Map(after?.cells.map(({ scorer, mean }) => [scorer, mean]));
  return [...new Set([...own.keys(), ...old.keys()])].flatMap((scorer) => {
    const change = { before: old.get(scorer) ?? null, after: own.get(scorer) ?? null };
    const isSame = change.before !== null && change.after !== null && Math.abs(change.before - change.after) <= SLACK;
    return isSame ? [] : [{ scorer, ...change }];
  });
}

function listRuns(row: EvalRow | undefined): string[] {
  return row?.samples.flatMap(({ runId }) => runId ?? []) ?? [];
}
