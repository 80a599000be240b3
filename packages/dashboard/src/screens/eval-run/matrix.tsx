import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { toDuration } from '../../ui/time.tsx';
import { toScore } from '../evals/verdict.tsx';

type Run = OperationOutput<'evals.runs.get'>;
type Row = Run['cases'][number];

/** A row a case, a column a scorer; behind a case are its runs. */
export function Matrix({ run, rows }: { run: Run; rows: readonly Row[] }) {
  if (rows.length === 0)
    return (
      <Empty title="Nothing is scored yet">Cases are listed here as soon as each has been asked and scored.</Empty>
    );
  const scorers = [
    ...new Set([
      ...run.summary.scorers.map(({ scorer }) => scorer),
      ...rows.flatMap(({ cells }) => cells.map(({ scorer }) => scorer)),
    ]),
  ];
  return (
    <Table
      label="Cases by scorers"
      keyOf={({ caseId }) => caseId}
      rows={rows}
      columns={[CASE, SCORE, ...scorers.map(toColumn), TOKENS, RUNS]}
    />
  );
}

// --- internal ---

const CASE: Column<Row> = {
  title: 'Case',
  cell: ({ name, target }) => (
    <>
      <bdi className="wrap-anywhere">{name}</bdi>
      <div className="text-xs text-muted">
        <bdi>{target.name}</bdi>
      </div>
    </>
  ),
};

const SCORE: Column<Row> = {
  title: 'Score',
  cell: ({ score, passRate, samples }) =>
    score === null || passRate === null ? (
      <span className="text-muted">waits</span>
    ) : (
      <>
        <Badge tone={toTone(passRate)}>{toScore(score.mean)}</Badge>
        {samples.length > 1 && (
          <div className="mt-1 text-xs whitespace-nowrap text-muted">
            {Math.round(passRate * 100)} % pass · {toSpread(score)}
          </div>
        )}
      </>
    ),
};

function toColumn(scorer: string): Column<Row> {
  return {
    title: scorer,
    cell({ cells, samples }) {
      const cell = cells.find((one) => one.scorer === scorer);
      if (!cell) return <span className="text-muted">–</span>;
      return (
        <>
          <Badge tone={toTone(cell.passRate)}>{toScore(cell.mean)}</Badge>
          {samples.length > 1 && <div className="mt-1 text-xs whitespace-nowrap text-muted">{toSpread(cell)}</div>}
          {cell.note !== null && cell.passRate < 1 && (
            <div className="mt-1 line-clamp-3 max-w-60 text-xs wrap-anywhere text-muted">
              <bdi>{cell.note.slice(0, 300)}</bdi>
            </div>
          )}
        </>
      );
    },
  };
}

const TOKENS: Column<Row> = {
  title: 'Tokens',
  end: true,
  wide: true,
  cell: ({ samples }) => samples.reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0).toLocaleString('en'),
};

const RUNS: Column<Row> = {
  title: 'Runs',
  cell: ({ samples }) => (
    <ul className="flex flex-col gap-1 text-xs">
      {samples.map(({ sample, runId, passed, error, latencyMs }) => (
        <li key={sample} className="whitespace-nowrap">
          <span className={passed ? 'text-good' : 'text-bad'}>{passed ? 'passes' : 'fails'}</span>{' '}
          {runId === null ? 'not started' : <Link to={`/runs/${runId}`}>{runId.slice(0, 8)}</Link>}
          {latencyMs !== null && <span className="text-muted"> {toDuration(latencyMs)}</span>}
          {error !== null && (
            <div className="max-w-60 truncate text-bad">
              <bdi>{error.slice(0, 200)}</bdi>
            </div>
          )}
        </li>
      ))}
    </ul>
  ),
};

function toTone(passRate: number): Tone {
  return passRate === 1 ? 'good' : passRate === 0 ? 'bad' : 'warn';
}

function toSpread({ min, max, deviation }: { min: number; max: number; deviation: number }): string {
  return `${toScore(min)} to ${toScore(max)}, ± ${toScore(deviation)}`;
}
