import type { OperationOutput } from '@svc/runtime/client';
import { Status } from '../../ui/badge.tsx';
import { toCount } from '../../ui/count.ts';
import { Link } from '../../ui/link.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time, toDuration } from '../../ui/time.tsx';

export type Run = OperationOutput<'runs.list'>['items'][number];

/** What a list of runs can show of each, by its name in the address, in the order of the columns. */
export const COLUMNS: Readonly<Record<string, Column<Run>>> = {
  run: {
    title: 'Run',
    cell: (run) => (
      <>
        <Link to={`/runs/${run.runId}`} className="font-medium text-accent">
          <bdi>{run.name}</bdi>
        </Link>
        <div className="text-xs text-muted">{run.runId.slice(0, 8)}</div>
      </>
    ),
  },
  status: {
    title: 'Status',
    cell: (run) => (
      <>
        <Status value={run.status} />
        {run.error && (
          <div className="max-w-72 truncate text-xs text-bad">
            <bdi>{run.error.message.slice(0, 200)}</bdi>
          </div>
        )}
      </>
    ),
  },
  input: { title: 'Input', wide: true, cell: ({ input }) => <Line value={input} /> },
  output: { title: 'Output', wide: true, cell: ({ output }) => <Line value={output} /> },
  trigger: { title: 'Trigger', wide: true, cell: (run) => run.trigger },
  by: { title: 'Started by', wide: true, cell: ({ startedBy }) => <bdi>{startedBy?.name ?? ''}</bdi> },
  session: {
    title: 'Session',
    wide: true,
    cell: ({ sessionId }) => sessionId !== null && <Link to={`/sessions/${sessionId}`}>{sessionId.slice(0, 8)}</Link>,
  },
  repeats: { title: 'Repeats', wide: true, cell: ({ retryOf }) => <RunLink id={retryOf} /> },
  parent: { title: 'Parent', wide: true, cell: ({ parentRunId }) => <RunLink id={parentRunId} /> },
  created: { title: 'Created', cell: (run) => <Time at={run.createdAt} /> },
  took: {
    title: 'Took',
    end: true,
    wide: true,
    cell: ({ startedAt, endedAt }) =>
      startedAt === null || endedAt === null ? '' : toDuration(Date.parse(endedAt) - Date.parse(startedAt)),
  },
  in: { title: 'Tokens in', end: true, wide: true, cell: (run) => toTokens(run.inputTokens) },
  out: { title: 'Tokens out', end: true, wide: true, cell: (run) => toTokens(run.outputTokens) },
  tokens: { title: 'Tokens', end: true, wide: true, cell: (run) => toTokens(run.totalTokens) },
};

export const USUAL = ['run', 'status', 'input', 'trigger', 'created', 'took', 'in', 'out'];

// --- internal ---

function Line({ value }: { value: unknown }) {
  return (
    <code className="block max-w-80 truncate text-xs">
      <bdi>{toLine(value)}</bdi>
    </code>
  );
}

function RunLink({ id }: { id: string | null }) {
  return id !== null && <Link to={`/runs/${id}`}>{id.slice(0, 8)}</Link>;
}

function toTokens(count: number): string {
  return count === 0 ? '' : toCount(count);
}

function toLine(value: unknown): string {
  if (value === null || value === undefined) return '';
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 200);
}
