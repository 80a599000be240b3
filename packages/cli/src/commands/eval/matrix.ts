import type { Row } from '../../operations/row.ts';
import { createShortener } from '../../operations/short-id.ts';
import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { formatTable } from '../../terminal/table.ts';
import type { Column } from '../../terminal/table.ts';
import type { EvalRun } from './eval-run.ts';

type Case = EvalRun['cases'][number];

/** A run of a suite: its cases by its scorers, and what it says of its gates. */
export function formatRun(answer: Row | EvalRun, style: Style): string {
  const run = answer as EvalRun;
  const scorers = [...new Set(run.cases.flatMap(({ cells }) => cells.map(({ scorer }) => scorer)))];
  const columns: Column<Case>[] = [
    { title: 'case', cell: ({ name }) => name, shrinks: 14 },
    { title: 'passed', cell: toMark, paint: (text, row, own) => paint(text, row.passRate === 1, own) },
    { title: 'score', cell: ({ score }) => toScore(score) },
    ...scorers.map((scorer): Column<Case> => {
      const find = ({ cells }: Case) => cells.find((cell) => cell.scorer === scorer);
      return {
        title: scorer,
        cell: (row) => toScore(find(row)),
        paint: (text, row, own) => paint(text, find(row)?.passRate !== undefined && find(row)?.passRate === 1, own),
      };
    }),
    { title: 'tokens', cell: ({ samples }) => String(sumTokens(samples)) },
    { title: 'runs', cell: toRuns(run, style) },
  ];
  return [
    `${style.bold(toPlainText(run.suite))}  ${toVerdict(run, style)}  eval run ${run.id}`,
    ...(run.error === null ? [] : [toPlainText(run.error)]),
    formatTable(columns, run.cases, style),
    ...listReasons(run, style),
    toTotals(run),
    ...run.summary.gates.map(
      ({ gate, wanted, got, passed }) =>
        `${passed ? style.green('gate') : style.red('gate')} ${toPlainText(gate)}: ${got === null ? '-' : toNumber(got)} of ${toNumber(wanted)}`,
    ),
  ].join('\n');
}

// --- internal ---

const MOST_REASONS = 10;

function toVerdict({ status, passed }: EvalRun, style: Style): string {
  if (status !== 'completed') return status === 'running' ? style.yellow(status) : style.red(status);
  return passed ? style.green('passed') : style.red('below its gates');
}

function toMark({ passRate, samples }: Case): string {
  if (passRate === null) return '-';
  if (samples.length === 1) return passRate === 1 ? 'yes' : 'no';
  return `${Math.round(passRate * samples.length)}/${samples.length}`;
}

/** With how far its samples lie apart, where they do. */
function toScore(spread: { mean: number; deviation: number } | null | undefined): string {
  if (!spread) return '-';
  return spread.deviation === 0 ? toNumber(spread.mean) : `${toNumber(spread.mean)} ±${toNumber(spread.deviation)}`;
}

function sumTokens(samples: Case['samples']): number {
  return samples.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
}

/** The ids of the runs behind a case: all of them on a pipe, on a terminal the first and how many there are besides. */
function toRuns({ cases }: EvalRun, { columns }: Style): (row: Case) => string {
  const listIds = ({ samples }: Case) => samples.flatMap(({ runId }) => runId ?? []);
  const shorten = createShortener(cases.flatMap(listIds));
  return (row) => {
    const ids = listIds(row);
    const [first, ...others] = ids;
    if (first === undefined) return '-';
    if (columns === undefined) return ids.join(',');
    return others.length > 0 ? `${shorten(first)} +${others.length}` : shorten(first);
  };
}

function toNumber(value: number): string {
  return String(Number(value.toFixed(3)));
}

function paint(text: string, isGood: boolean, style: Style): string {
  return text.trim() === '-' ? text : isGood ? style.green(text) : style.red(text);
}

/** Why the first of those that do not pass do not. */
function listReasons({ cases }: EvalRun, style: Style): string[] {
  const failed = cases.filter(({ passRate }) => passRate !== null && passRate < 1);
  const lines = failed.slice(0, MOST_REASONS).map(({ name, samples, cells }) => {
    const broken = samples.find(({ error }) => error !== null)?.error;
    const cell = cells.find(({ passRate }) => passRate < 1);
    const why = broken ?? `${cell?.scorer}: ${cell?.note ?? `score ${toNumber(cell?.mean ?? 0)}`}`;
    const runId = samples.find(({ passed }) => !passed)?.runId;
    return `${style.red(toPlainText(name))}  ${toPlainText(why)}${runId ? style.dim(`  run ${runId}`) : ''}`;
  });
  const more = failed.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more that do not pass`] : lines;
}

function toTotals({ summary, planned, score }: EvalRun): string {
  const { passed, results, errors, inputTokens, outputTokens } = summary;
  const parts = [
    `${passed} of ${planned} pass`,
    ...(results < planned ? [`${planned - results} are not scored`] : []),
    ...(errors > 0 ? [`${errors} could not be run`] : []),
    ...(score === null ? [] : [`score ${toNumber(score)}`]),
    `${inputTokens + outputTokens} tokens`,
  ];
  return parts.join(', ');
}
