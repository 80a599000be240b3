import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { Status } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { previewOf } from '../../ui/json/rows.ts';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { Time } from '../../ui/time.tsx';
import type { Column } from '../../ui/table.tsx';

type Run = OperationOutput<'runs.list'>['items'][number];

export function LastRuns({ name }: { name: string }) {
  const runs = useList('runs.list', { name, kind: 'workflow', limit: 20 });
  return (
    <List
      of={runs}
      label={`Runs of ${name}`}
      keyOf={({ runId }) => runId}
      columns={COLUMNS}
      empty={<Empty title="It has not run yet">Start it, and its runs are listed here.</Empty>}
    />
  );
}

// --- internal ---

const COLUMNS: readonly Column<Run>[] = [
  { title: 'Run', cell: ({ runId }) => <Link to={`/runs/${runId}`}>{runId.slice(0, 8)}</Link> },
  { title: 'Status', cell: ({ status }) => <Status value={status} /> },
  {
    title: 'Input',
    wide: true,
    cell: ({ input, cut }) => (
      <code className="text-xs wrap-anywhere">
        <bdi>{cut.includes('input') ? String(input).slice(0, 72) : previewOf(input)}</bdi>
      </code>
    ),
  },
  { title: 'Started by', wide: true, cell: ({ startedBy, trigger }) => <bdi>{startedBy?.name ?? trigger}</bdi> },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
];
