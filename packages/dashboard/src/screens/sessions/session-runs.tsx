import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toCount } from '../../ui/count.ts';

/** Every run of a session, also those that added nothing to it. */
export function SessionRuns({ id }: { id: string }) {
  const list = useList('sessions.runs', { id, limit: 50 });
  return (
    <Answer of={{ ...list, data: list.items }}>
      {(items) =>
        items.length === 0 ? (
          <Empty title="It has no run">
            They were deleted, by hand or because they were old enough. What is said next in it has one.
          </Empty>
        ) : (
          <>
            <Table label="Runs of the session" columns={COLUMNS} rows={items} keyOf={({ runId }) => runId} />
            <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
          </>
        )
      }
    </Answer>
  );
}

// --- internal ---

type Run = OperationOutput<'sessions.runs'>['items'][number];

const COLUMNS: readonly Column<Run>[] = [
  { title: 'Status', cell: ({ status }) => <Status value={status} /> },
  {
    title: 'Run',
    cell: ({ runId }) => (
      <Link to={`/runs/${runId}`} className="font-mono text-xs text-accent underline wrap-anywhere">
        {runId}
      </Link>
    ),
  },
  { title: 'Of', wide: true, cell: ({ name }) => name },
  { title: 'Tokens', end: true, cell: ({ totalTokens }) => toCount(totalTokens) },
  { title: 'Created', end: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];
