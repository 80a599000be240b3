import type { ResultRow } from './run-store.ts';
import type { EvalRow, RunCase, RunSummary, ScoredCell, Spread } from './run.ts';
import type { Gates } from './suite.ts';

/** What all results of a run say together, and whether that reaches its gates. */
export function summarize(results: readonly ResultRow[], gates: Gates): RunSummary {
  const passed = results.filter((result) => result.passed).length;
  const scorers = [...byScorer(results.flatMap(({ cells }) => cells))].map(([scorer, cells]) => ({
    scorer,
    score: mean(cells.map(({ score }) => score)),
    passRate: cells.filter((cell) => cell.passed).length / cells.length,
    results: cells.length,
  }));
  const count = results.length;
  const asked = [
    { gate: 'passRate', wanted: gates.passRate, got: count === 0 ? null : passed / count },
    ...(gates.score === undefined ? [] : [{ gate: 'score', wanted: gates.score, got: scoreOf(results) }]),
    ...gates.scorers.map(({ scorer, score }) => ({
      gate: `scorer ${scorer}`,
      wanted: score,
      got: scorers.find((one) => one.scorer === scorer)?.score ?? null,
    })),
  ];
  return {
    gates: asked.map((gate) => ({ ...gate, passed: gate.got !== null && gate.got >= gate.wanted - SLACK })),
    scorers,
    results: count,
    passed,
    errors: results.filter(({ error }) => error !== null).length,
    inputTokens: results.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: results.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  };
}

/** The mean score of a run. Null: nothing of it is scored. */
export function scoreOf(results: readonly ResultRow[]): number | null {
  return results.length === 0 ? null : mean(results.map(({ score }) => score));
}

/** A row of the matrix, of the samples of one case. */
export function toRow(caseId: string, { name, target, tags }: RunCase, results: readonly ResultRow[]): EvalRow {
  return {
    caseId,
    name,
    target,
    tags,
    passRate: results.length === 0 ? null : results.filter(({ passed }) => passed).length / results.length,
    score: results.length === 0 ? null : toSpread(results.map(({ score }) => score)),
    cells: [...byScorer(results.flatMap(({ cells }) => cells))].map(([scorer, cells]) => ({
      scorer,
      ...toSpread(cells.map(({ score }) => score)),
      passRate: cells.filter(({ passed }) => passed).length / cells.length,
      note: noteOf(cells),
    })),
    samples: results.map(
      ({ evalRunId: _run, position: _position, cells: _cells, scoredAt: _at, sample, ...result }) => ({
        sample: sample + 1,
        ...result,
      }),
    ),
  };
}

// --- internal ---

/** Shares that were counted differ from those that were typed by less. */
const SLACK = 1e-9;

function byScorer(cells: readonly ScoredCell[]): Map<string, ScoredCell[]> {
  const all = new Map<string, ScoredCell[]>();
  for (const cell of cells) {
    const known = all.get(cell.scorer);
    if (known) known.push(cell);
    else all.set(cell.scorer, [cell]);
  }
  return all;
}

function noteOf(cells: readonly ScoredCell[]): string | null {
  const lowest = cells.reduce((low, cell) => (cell.score < low.score ? cell : low));
  return lowest.error ?? lowest.note ?? null;
}

function toSpread(scores: readonly number[]): Spread {
  const middle = mean(scores);
  const deviation = Math.sqrt(mean(scores.map((score) => (score - middle) ** 2)));
  return { mean: middle, min: Math.min(...scores), max: Math.max(...scores), deviation };
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
