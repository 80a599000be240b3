import { useList } from '../../api/queries.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toScore, Verdict } from './verdict.tsx';
import type { EvalRun } from './verdict.tsx';

/** Runs of one suite, or of all, newest first. */
export function EvalRuns({ suite }: { suite?: string }) {
  const runs = useList('evals.runs.list', suite === undefined ? {} : { suite });
  return (
    <List
      of={runs}
      label={suite === undefined ? 'Eval runs' : `Eval runs of ${suite}`}
      keyOf={({ id }) => id}
      columns={COLUMNS}
      empty={
        <Empty title="Nothing was launched yet">
          Launch a suite on its page, or from a terminal: <code>svc eval &lt;suite&gt;</code>
        </Empty>
      }
    />
  );
}

// --- internal ---

const COLUMNS: readonly Column<EvalRun>[] = [
  {
    title: 'Run',
    cell: ({ id, suite, origin }) => (
      <>
        <Link to={`/evals/runs/${id}`}>{suite}</Link>
        <div className="text-xs text-muted">{origin === 'online' ? 'live turns of a day' : id.slice(0, 8)}</div>
      </>
    ),
  },
  { title: 'Came to', cell: (run) => <Verdict run={run} /> },
  { title: 'Score', end: true, cell: ({ score }) => toScore(score) },
  { title: 'Passed', end: true, wide: true, cell: ({ planned, summary }) => `${summary.passed} of ${planned}` },
  {
    title: 'Tokens',
    end: true,
    wide: true,
    cell: ({ summary }) => (summary.inputTokens + summary.outputTokens).toLocaleString('en'),
  },
  {
    title: 'Note',
    wide: true,
    cell: ({ note }) => (
      <span className="block max-w-60 truncate">
        <bdi>{note}</bdi>
      </span>
    ),
  },
  { title: 'Launched', cell: ({ createdAt }) => <Time at={createdAt} /> },
];
